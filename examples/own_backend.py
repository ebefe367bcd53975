"""Another framework plugs into autograph: `if`, `while` and `for` on its values become its own expressions.

The first part stands for a library that cannot be edited: `Sym`, a value that is known later. The second is all that
autograph has to be told. `autograph/core/backend.py` says what else a backend may answer.
"""
from __future__ import annotations

import operator
from dataclasses import dataclass

import autograph as ag

# --- A library: expressions that are evaluated later -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sym:
    """An expression: the function that computes it, and what it takes."""

    fn: object
    args: tuple = ()

    def __add__(self, other):
        return Sym(operator.add, (self, other))

    def __sub__(self, other):
        return Sym(operator.sub, (self, other))

    def __mul__(self, other):
        return Sym(operator.mul, (self, other))

    def __mod__(self, other):
        return Sym(operator.mod, (self, other))

    def __gt__(self, other):
        return Sym(operator.gt, (self, other))

    def __bool__(self):
        raise TypeError("a Sym has no value yet")

    def __iter__(self):
        raise TypeError("a Sym has no items yet")


def evaluate(value, known):
    """The value of an expression, where `known` has those of the symbols without one of their own."""
    if not isinstance(value, Sym):
        return value
    if value in known:
        return known[value]
    if not callable(value.fn):
        raise KeyError(value.fn)
    if getattr(value.fn, "lazy", False):  # it evaluates what it needs
        return value.fn(known, *value.args)
    return value.fn(*[evaluate(arg, known) for arg in value.args])


def lazy(fn):
    fn.lazy = True
    return fn


@lazy
def choose(known, test, then, orelse):
    return evaluate(then if evaluate(test, known) else orelse, known)


@lazy
def loop(known, place, test, variables, after, start):
    """The variable at `place` after a `while`: `after` are the expressions of an iteration."""
    values = [evaluate(value, known) for value in start]
    while True:
        inside = {**known, **dict(zip(variables, values))}
        if not evaluate(test, inside):
            return values[place]
        values = [evaluate(value, inside) for value in after]


@lazy
def fold(known, place, items, item, variables, after, start):
    """The variable at `place` after a `for`."""
    values = [evaluate(value, known) for value in start]
    for each in evaluate(items, known):
        inside = {**known, item: each, **dict(zip(variables, values))}
        values = [evaluate(value, inside) for value in after]
    return values[place]


# --- What autograph is told ------------------------------------------------------------------------------------


class Backend(ag.Backend):
    """Control flow on a Sym becomes a Sym. Bodies are functions from the state to the state."""

    def stages(self, value):
        return True

    def cond(self, pred, true_fn, false_fn, init, names):
        return tuple(then if then is orelse else Sym(choose, (pred, then, orelse))
                     for then, orelse in zip(true_fn(*init), false_fn(*init)))

    def while_loop(self, test_fn, body_fn, init, names, options):
        variables = tuple(Sym(name) for name in names)
        test, after = test_fn(*variables), body_fn(*variables)
        return tuple(Sym(loop, (place, test, variables, after, init)) for place in range(len(init)))

    def reduce(self, iterable, body_fn, test_fn, init, names, options):
        if test_fn is not None:
            raise NotImplementedError("this backend has no `break` in a `for`")
        item, variables = Sym("item"), tuple(Sym(name) for name in names)
        after = body_fn(item, *variables)
        return tuple(Sym(fold, (place, iterable, item, variables, after, init)) for place in range(len(init)))


ag.register(Sym, Backend())


# --- A program --------------------------------------------------------------------------------------------------


@ag.convert
def score(numbers, limit):
    total, steps = 0, 0
    for n in numbers:
        if n % 2 > 0:
            total += n * n
        else:
            total -= n
    while total > limit:
        total = total - limit
        steps += 1
    return total, steps


if __name__ == "__main__":
    numbers, limit = Sym("numbers"), Sym("limit")
    staged = score(numbers, limit)
    known = {numbers: [1, 2, 3, 4, 5], limit: 7}
    print("staged:", tuple(evaluate(value, known) for value in staged))
    print("Python:", score([1, 2, 3, 4, 5], 7))
