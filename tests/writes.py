"""Random programs that write NumPy arrays by several names, traced and in Python.

    python -m tests.writes 300 --seed 1

Names, views, rows, lists, a dict and helpers share arrays in loops, branches and `try`. What a traced function gives,
and what the caller's arrays hold after it, has to be what Python has; or an error names the line and the way out. Every
third program writes nothing, and none of these may be refused.
"""
from __future__ import annotations

import argparse
import linecache
import random
import sys
from collections import Counter
from typing import Any

import numpy as np

import runtime as rt

__all__ = ["Program", "outcome"]

TABLES = ("x", "y", "z")
ROWS = ("r", "s")
RESULTS = ("x", "y", "z", "r", "s", "out", "d", "a")


class Program:
    """The text of a function `f(a, m, n, k)` of two arrays of shape (3, 3) and two int scalars."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_reading = seed % 3 == 0
        self.rate = 0 if self.is_reading else self.random.choice([0.05, 0.1, 0.3])
        self.counters: list[str] = []
        self.count = 0
        start = [f"x = {self.fresh('a')}", f"y = {self.pick('x', 'm', 'm + 1', 'x[::-1]')}",
                 f"z = {self.pick('x', 'y', 'm * 2')}", f"r = {self.pick('x[0]', 'y[1]', 'm[0] + 1')}",
                 f"s = {self.pick('r', 'z[:, 1]', 'x[2] * 2')}", f"out = {self.pick('[r]', '[m[0] * 3]', '[s, r]')}",
                 f"d = {{'p': {self.pick(*TABLES)}, 'q': {self.pick(*TABLES)}}}", "t = a[0, 0] * 0"]
        lines = [*["    " + line for line in start], *self.block(2, 1), *self.block(2, 1),
                 f"    return t, {', '.join(self.random.sample(RESULTS, self.random.randint(1, 4)))}"]
        self.text = HELPERS + "def f(a, m, n, k):\n" + "\n".join(lines) + "\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def fresh(self, name: str) -> str:
        return self.pick(f"{name} * 2", f"{name} + 1", f"{name}.copy()", f"{name} * 3", name)

    def index(self) -> str:
        return self.pick("0", "1", "2", "-1", "k", *self.counters)

    def table(self) -> str:
        x = self.pick(*TABLES)
        return self.pick(x, x, f"{x} + 1", f"{x} * 2 - {self.pick(*TABLES)}", f"{x}[::-1]", f"{x}.copy()", f"same({x})",
                         "d['p']", "d['q']", f"{x} if t > {self.random.randint(0, 9)} else {self.pick(*TABLES)}")

    def row(self) -> str:
        x = self.pick(*ROWS)
        return self.pick(x, f"{x} + 1", f"{x}[::-1]", f"{self.pick(*TABLES)}[{self.index()}]", "out[0]", "out[-1]",
                         f"{self.pick(*TABLES)}[:, {self.index()}]", f"{x}.copy()", f"first({self.pick(*TABLES)})",
                         f"{x} * 2 + {self.pick(*ROWS)}", "d['p'][0]")

    def number(self) -> str:
        return self.pick("t", "5", "7", f"{self.pick(*ROWS)}[0]", f"{self.pick(*TABLES)}[0, 1]", "out[0][1]")

    def block(self, depth: int, indent: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 4)) for line in self.statement(depth, indent)]

    def statement(self, depth: int, indent: int) -> list[str]:
        kind, space, inner = self.random.random(), "    " * indent, indent + 1
        if kind < 0.66 or depth == 0:
            return [space + (self.reading() if self.random.random() > self.rate else self.writing())]
        condition = self.pick(f"t > {self.random.randint(0, 9)}", "n > k", f"{self.pick(*ROWS)}[0] > 3",
                              f"{self.pick(*TABLES)}[1, 1] < 20")
        if kind < 0.77:
            lines = [f"{space}if {condition}:", *self.block(depth - 1, inner)]
            if self.random.random() < 0.6:
                lines += [f"{space}else:", *self.block(depth - 1, inner)]
            return lines
        if kind < 0.86:
            return [f"{space}try:", *self.block(depth - 1, inner), f"{space}    if {condition}:",
                    f"{space}        raise ValueError", *self.block(0, inner),
                    f"{space}except ValueError:", *self.block(depth - 1, inner)]
        self.count += 1
        counter = f"i{self.count}"
        if kind < 0.93:
            self.counters.append(counter)
            lines = [f"{space}for {counter} in range({self.pick('n', 'n + 1')}):", *self.block(depth - 1, inner)]
            self.counters.remove(counter)
            return lines
        name, over = self.pick("r", "s"), self.pick(*TABLES, "out.copy()")
        return [f"{space}for {name} in {over}:", *self.block(depth - 1, inner)]

    def reading(self) -> str:
        return self.pick(
            f"{self.pick(*TABLES)} = {self.table()}", f"{self.pick(*TABLES)} = {self.table()}",
            f"{self.pick(*ROWS)} = {self.row()}", f"{self.pick(*ROWS)} = {self.row()}", "r, s = s, r", "x, y = y, x",
            f"t = t + {self.number()}", f"out.append({self.row()})", f"out.append({self.row()})",
            f"out.insert(0, {self.row()})", f"out = out + [{self.pick(*ROWS)}]", "r = out.pop() if t > 50 else r",
            f"out[0] = {self.row()}", f"out.extend({self.pick(*TABLES)})", "out = out[-3:]", f"d['p'] = {self.table()}")

    def writing(self) -> str:
        x, r, number = self.pick(*TABLES), self.pick(*ROWS), self.number()
        return self.pick(
            f"{x}[{self.index()}] = {self.pick(*ROWS)}", f"{x}[{self.index()}, 1] = {number}", f"{r}[0] = {number}",
            f"{r}[{self.index()}] += 1", f"{r} += 1", f"{x}[1] += {r}", f"out[0][1] = {number}", f"out[-1] += {r}",
            f"out[-1][{self.index()}] += 1", f"put({x}, {number})", f"put({r}, {number})", f"d['p'][0] = {number}",
            f"d['q'][{self.index()}] += 1", f"swap({x}, 0, {self.index()})", f"{r}[0] = {number}")


HELPERS = """def put(a, v):
    a[0] = v

def swap(a, i, j):
    a[i], a[j] = a[j] + 0, a[i] + 0

def same(a):
    return a

def first(a):
    return a[0]

"""


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


def run(fn: Any) -> Any:
    """What the function gives, and what the caller's arrays hold then; or the error."""
    a, m = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) % 4
    try:
        result = fn(a, m, rt.constant(2), rt.constant(1))
    except Exception as error:
        return error
    return plain(result), a.tolist(), m.tolist()


def outcome(program: Program, name: str) -> str:
    """What became of a program: "same", "error" where Python gives one too, "refused", or what is wrong."""
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    namespace: dict[str, Any] = {"rt": rt}
    exec(compile(program.text, name, "exec"), namespace)
    want = run(namespace["f"])
    got = run(rt.function(namespace["f"], executor="numpy"))
    if isinstance(want, Exception):
        return "error" if isinstance(got, Exception) else f"Python raises {want!r}, the traced function does not"
    if isinstance(got, Exception):
        text = str(got)
        if program.is_reading:
            return f"refused, but it writes nothing: {type(got).__name__}: {text}"
        if not isinstance(got, rt.errors.StagingError) or name not in text.splitlines()[0] or text.count("\n") < 3:
            return f"no error that names the line: {type(got).__name__}: {text}"
        return "refused"
    return "same" if got == want else f"Python gives\n{want}\nthe traced function\n{got}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.writes", description=__doc__.split("\n\n")[0])
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = Program(seed)
        found = outcome(program, f"<writes {seed}>")
        kind = "reads" if program.is_reading else "writes"
        if found not in ("same", "refused", "error"):
            print(f"seed {seed}:\n{program.text[len(HELPERS):]}\n{found}\n", flush=True)
            found = "wrong"
        counts[f"{kind}, {found}"] += 1
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if any("wrong" in kind for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
