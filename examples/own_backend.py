"""Another framework plugs into autograph: `if`, `while` and `for` on its values become its own expressions.

The first part stands for a library that cannot be edited: `Sym`, a value that is known later. The second is all that
autograph has to be told. `autograph/core/backend.py` says what else a backend may answer.
"""
from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass

import autograph as ag

# --- A library: expressions that are evaluated later -----------------------------------------------------------


def binary(fn):
    return lambda self, other: Sym(fn, (self, other))


@dataclass(frozen=True, eq=False)
class Sym:
    """An expression: the function that computes it, and what it takes."""

    fn: object
    args: tuple = ()

    __add__, __sub__, __mul__, __mod__, __gt__ = map(
        binary, (operator.add, operator.sub, operator.mul, operator.mod, operator.gt))

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
    if value.fn in (choose, loop):  # these evaluate what they need
        return value.fn(known, *value.args)
    return value.fn(*[evaluate(arg, known) for arg in value.args])


def choose(known, test, then, orelse):
    return evaluate(then if evaluate(test, known) else orelse, known)


def loop(known, place, items, test, symbols, after, start):
    """The variable at `place` after a loop over `items`, or over nothing in particular (None), while `test` holds.
    `symbols` are the item and the variables, `after` the expressions of these after an iteration."""
    values = [evaluate(value, known) for value in start]
    for count, item in enumerate(itertools.repeat(None) if items is None else evaluate(items, known)):
        inside = {**known, **dict(zip(symbols, (item, *values)))}
        if (items is None or count) and not evaluate(test, inside):
            break
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
        variables = [Sym(name) for name in names]
        return results(None, test_fn(*variables), [None, *variables], body_fn(*variables), init)

    def reduce(self, iterable, body_fn, test_fn, init, names, options):
        item, *variables = symbols = [Sym(name) for name in ("item", *names)]
        test = True if test_fn is None else test_fn(*variables)
        return results(iterable, test, symbols, body_fn(item, *variables), init)


def results(items, test, symbols, after, init):
    return tuple(Sym(loop, (place, items, test, symbols, after, init)) for place in range(len(init)))


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
