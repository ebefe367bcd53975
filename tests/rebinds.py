"""Random programs whose loops rebind names of arrays on some paths, traced and in Python.

    python -m tests.rebinds 300 --seed 1

Names of two arguments, of copies and of new arrays are rebound in loops, branches and `try`, as in a solver that
accepts or rejects a step, and arrays are changed by all names. What a traced function gives, which of its names are one
array, and what the caller's arrays hold after it, has to be what Python has; or an error names the line.
"""
from __future__ import annotations

import linecache
import random
import sys
from typing import Any

import numpy as np

import runtime as rt
from tests.outcomes import count, refusal

__all__ = ["Program", "outcome"]

NAMES = ("x", "y", "p", "best")


class Program:
    """The text of a function `f(a, b, n)` of two arrays of shape (3,) and an int scalar."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rate = self.random.choice([0.05, 0.2, 0.4])
        self.has_return = self.random.random() < 0.4
        start = [f"x = {self.pick('a', 'a', 'a.copy()')}", f"y = {self.pick('b', 'b', 'x', 'b * 2')}",
                 f"best = {self.pick('x', 'y', 'a + b', 'x.copy()')}", f"p = {self.pick('x', 'y', 'x + y')}",
                 f"c = {self.pick('np.zeros(3)', 'b', 'p')}", f"pair = {self.pick('x', 'p')}, {self.pick('y', 'best')}",
                 "i = 0"]
        loop = self.pick("for i in range(n):", "for i in range(n):", "while i < n:")
        body = [*self.block(2, 2, True), *(["        i += 1"] if loop.startswith("while") else [])]
        same = [f"{one} is {other}" for one in ("x", "best") for other in ("a", "b", "y") if one != other]
        names = self.random.sample([*NAMES, "c", "pair[0]", "pair[1]"], 3)
        lines = [*["    " + line for line in start], "    " + loop, *body, *self.block(1, 1, False),
                 f"    return {', '.join([*[f'{name} * 1' for name in names], *self.random.sample(same, 2)])}"]
        self.text = "def f(a, b, n):\n" + "\n".join(lines) + "\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.pick("x", "x", "best", "p", "y")

    def new(self) -> str:
        x = self.name()
        return self.pick(f"{x}.copy()", f"{x} + 1", f"{x} * 0.5 + {self.name()}", f"np.where({x} > 2, {x}, 1.0)")

    def value(self) -> str:
        return self.pick(self.name(), self.name(), self.new(), self.new(), "pair[0]", "pair[1]",
                         f"{self.name()} if {self.condition()} else {self.pick(self.name(), self.new())}")

    def condition(self) -> str:
        return self.pick(f"{self.name()}[0] < {self.random.randint(1, 6)}", f"i % {self.random.randint(2, 3)} == 0",
                         f"{self.name()}.sum() > {self.random.randint(3, 12)}", f"i > {self.random.randint(0, 2)}")

    def change(self) -> str:
        x = self.pick(*NAMES, "a", "b", "c", "c", "p", "pair[0]")
        return self.pick(f"{x}[{self.random.randrange(3)}] += {self.random.randint(1, 3)}", f"{x}[i % 3] = i",
                         f"{x}[:] = {self.name()} * 0.5", f"{x}[1:] += 1", f"{x}[0] = {self.name()}[1]",
                         f"v = {x}[1:]; v[0] = 7")

    def block(self, depth: int, indent: int, in_loop: bool) -> list[str]:
        return [line for _ in range(self.random.randint(1, 4)) for line in self.statement(depth, indent, in_loop)]

    def statement(self, depth: int, indent: int, in_loop: bool) -> list[str]:
        space, kind = "    " * indent, self.random.random()
        if kind < 0.6 or depth == 0:
            if self.random.random() < self.rate:
                return [space + self.change()]
            name = self.name()
            return [space + self.pick(f"{name} = {self.value()}", f"{name} = {self.value()}", f"p = {self.new()}",
                                      "x, best = best, x", f"pair = {self.value()}, {self.name()}")]
        if kind < 0.66 and in_loop and self.has_return:
            return [f"{space}if {self.condition()}:", f"{space}    " + self.pick(
                "break", "continue" if indent > 9 else "break", "return x * 1, best is a, y is x, x is a, i")]
        if kind < 0.72:
            return [f"{space}try:", *self.block(0, indent + 1, False), f"{space}    if {self.condition()}:",
                    f"{space}        raise ValueError", *self.block(0, indent + 1, False),
                    f"{space}except ValueError:", *self.block(depth - 1, indent + 1, False)]
        if kind < 0.78:
            return [f"{space}for j in range(n - 1):", *self.block(depth - 1, indent + 1, False)]
        lines = [f"{space}if {self.condition()}:", *self.block(depth - 1, indent + 1, in_loop)]
        if self.random.random() < 0.5:
            lines += [f"{space}else:", *self.block(depth - 1, indent + 1, in_loop)]
        return lines


def plain(value: Any) -> Any:
    return [*map(plain, value)] if isinstance(value, tuple) else np.asarray(value).tolist()


def run(fn: Any, n: int) -> Any:
    """What the function gives, and what the caller's arrays hold then; or the error."""
    a, b = np.array([0.5, 2.0, 3.0]), np.array([4.0, 1.0, 2.0])
    try:
        result = fn(a, b, rt.constant(n))
    except Exception as error:
        return error
    return plain(result), a.tolist(), b.tolist()


def outcome(program: Program, name: str, executor: str) -> str:
    """What became of a program: "same", "refused", or what is wrong."""
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    namespace: dict[str, Any] = {"rt": rt, "np": np}
    exec(compile(program.text, name, "exec"), namespace)
    fn = rt.function(namespace["f"], executor=executor)
    for n in (0, 1, 2, 5):
        want, got = run(namespace["f"], n), run(fn, n)
        if (found := refusal(got, name)) is not None:
            return found
        if str(got) != str(want):
            return f"for n = {n} Python gives\n{want}\nthe traced function\n{got}"
    return "same"


if __name__ == "__main__":
    sys.exit(count("rebinds", __doc__, Program, outcome))
