"""Random programs that update arrays in nested loops, branches and `try`, on both executors.

    python -m tests.updates 1000 --seed 1

Three arrays and a variable are changed item by item, by slices and as wholes, and exchanged: native code has to tell
which of them may be changed in place. What the executors return, raise and leave in the variable has to be the same,
and the arguments what they were.
"""
from __future__ import annotations

import argparse
import linecache
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from traced_once import on_both

import runtime as rt

__all__ = ["SIZE", "Program", "differences"]

ARRAYS = ("x", "y", "z")
SIZE = 6
SLICES = (("1:4", "2:5"), ("2:5", "1:4"), (":3", "3:"), ("3:", ":3"), ("::2", "1::2"))
STARTS = tuple((n, k) for n in (0, 1, 3) for k in (1, 4))


class Program:
    """The text of a function `f(n, k, x, y, z)` of two ints and three arrays, which uses a variable `v`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.counters: list[str] = []
        lines = ["    first = k", *self.block(3, False, 1), *self.block(3, False, 1), "    return x, y, z, k"]
        self.text = "def f(n, k, x, y, z):\n" + "\n".join(lines) + "\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        return self.pick(f"first % {SIZE}", f"k % {SIZE}", "2", "-1", "0", "k % 3 + 1",
                         *[f"{counter} % {SIZE}" for counter in self.counters])

    def item(self) -> str:
        return f"{self.pick(*ARRAYS)}[{self.index()}]"

    def number(self, depth: int = 0) -> str:
        kind = self.random.random()
        if kind < 0.35:
            return self.item()
        if kind < 0.5:
            return str(self.random.randint(-3, 9))
        if kind < 0.65:
            return self.pick("k", *self.counters)
        if kind < 0.72:
            return f"rt.reduce_sum({self.pick(*ARRAYS)})"
        if depth > 2:
            return "1"
        return f"({self.number(depth + 1)} {self.pick('+', '-', '*')} {self.number(depth + 1)})"

    def array(self) -> str:
        a, b = self.pick(*ARRAYS), self.pick(*ARRAYS)
        return self.pick(
            a, a, f"{a} + 1", f"{a} * 2 - {b}", f"rt.where({a} > {self.number()}, {b}, {a} - 1)", f"rt.roll({a}, 1, 0)",
            f"{a}[::-1]", f"rt.minimum({a}, {b})", "v.read_value()", f"rt.concat([{a}[2:], {b}[:2]], 0)",
            f"{a} + {self.number()}")

    def condition(self) -> str:
        return self.pick(f"{self.number()} > {self.number()}", f"{self.number()} % 2 == 0",
                         f"rt.reduce_any({self.pick(*ARRAYS)} > {self.random.randint(0, 40)})",
                         f"k < {self.random.randint(1, 6)}")

    def block(self, depth: int, in_loop: bool, indent: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 4)) for line in self.statement(depth, in_loop, indent)]

    def statement(self, depth: int, in_loop: bool, indent: int) -> list[str]:
        kind = self.random.random()
        space = "    " * indent
        if in_loop and kind < 0.04:
            left = self.pick("break", "continue", f"return {', '.join(self.random.sample(ARRAYS, 3))}, k")
            return [f"{space}if {self.condition()}:", f"{space}    {left}"]
        if kind < 0.64 or depth == 0:
            return [space + self.simple()]
        inner = indent + 1
        if kind < 0.83:
            lines = [f"{space}if {self.condition()}:", *self.block(depth - 1, in_loop, inner)]
            if self.random.random() < 0.6:
                lines += [f"{space}else:", *self.block(depth - 1, in_loop, inner)]
            return lines
        if kind < 0.88:
            return [f"{space}try:", *self.block(depth - 1, in_loop, inner), f"{space}    if {self.condition()}:",
                    f"{space}        raise ValueError", *self.block(0, in_loop, inner),
                    f"{space}except ValueError:", *self.block(depth - 1, in_loop, inner)]
        self.count += 1
        counter = f"i{self.count}"
        if kind < 0.95:
            self.counters.append(counter)
            lines = [f"{space}for {counter} in range({self.pick('n', 'n', 'n + 1', 'k % 4')}):",
                     *self.block(depth - 1, True, inner)]
            self.counters.remove(counter)
            return lines
        return [f"{space}{counter} = n - n",
                f"{space}while {counter} < {self.random.randint(1, 4)} and {self.condition()}:",
                f"{space}    {counter} += 1", *self.block(depth - 1, True, inner)]

    def simple(self) -> str:
        a, b = self.pick(*ARRAYS), self.pick(*ARRAYS)
        here, there = self.random.choice(SLICES)
        item, number = f"{a}[{self.index()}]", self.number()
        return self.pick(
            f"{item} = {number}", f"{item} = {number}", f"{item} = {number}", f"{item} += {number}",
            f"{a} = {self.array()}", f"{a} = {self.array()}", f"{a}, {b} = {b}, {a}",
            f"{a}[{here}] = {b}[{self.pick(here, there)}]", f"{a}[{here}] = {b}[{there}] + 1",
            f"v.scatter_nd_update([[{self.index()}]], [{number}])", f"v.assign({self.array()})",
            f"{a} = rt.tensor_scatter_nd_add({a}, [[{self.index()}], [1]], [{number}, {b}[0]])", f"k = {number} % 50")


def outcomes(program: Program, size: int | None) -> list[list[Any]]:
    """By executor: for each of some arguments what is returned or raised, and what the variable has then."""
    v = rt.Variable(np.arange(SIZE), dtype=rt.int64)
    namespace: dict[str, Any] = {"rt": rt, "v": v}
    exec(compile(program.text, name := f"<updates {id(program)}>", "exec"), namespace)
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    scalar, array = rt.TensorSpec([], rt.int64), rt.TensorSpec([size], rt.int64)
    return [_outcomes(traced, v) for traced in on_both(
        namespace["f"], input_signature=[scalar, scalar, array, array, array]).values()]


def _outcomes(traced: Any, v: Any) -> list[Any]:
    v.assign(np.arange(SIZE))
    found: list[Any] = []
    for n, k in STARTS:
        arrays = [rt.constant(np.arange(SIZE) * step % 7, rt.int64) for step in (1, 3, 5)]
        before = [x.numpy().copy() for x in arrays]
        try:
            numbers = [rt.constant(value, rt.int64) for value in (n, k)]
            result: Any = [x.numpy().tolist() for x in traced(*numbers, *arrays)]
        except Exception as error:
            result = type(error).__name__
        found.append((n, k, result, v.numpy().tolist()))
        for x, old in zip(arrays, before, strict=True):
            if (x.numpy() != old).any():
                found.append("an argument changed")
    return found


def differences(count: int, seed: int, size: int | None) -> Iterator[str]:
    """The programs whose outcomes differ, with the first that does."""
    for k in range(seed, seed + count):
        program = Program(k)
        want, got = outcomes(program, size)
        if got != want:
            first = next((pair for pair in zip(want, got, strict=False) if pair[0] != pair[1]), None)
            yield f"seed {k}:\n{program.text}\n{first}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("count", type=int, help="how many programs, each with known and with unknown sizes")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    options = parser.parse_args()
    bad = 0
    for size in (SIZE, None):
        for text in differences(options.count, options.seed, size):
            bad += 1
            print(text, flush=True)
    print(f"{options.count} programs, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
