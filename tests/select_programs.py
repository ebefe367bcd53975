"""Random programs of objects, rows, dicts and functions that tensors are the indices of, staged and in Python.

`python -m tests.select_programs 200 --seed 0` runs 200 and prints those that differ, with how many are refused. An
error that names a line of the program refuses it; any other is a difference.
"""
from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

import runtime as rt
from tests.plain_values import plain

EXECUTORS: Final = ("numpy", "native")
_REFUSED: Final = (rt.errors.StagingError, rt.errors.OperatorNotAllowedInGraphError)

HEAD: Final = '''class Node:
    def __init__(self, x, nxt=None):
        self.x, self.v, self.nxt, self.log = x, 1, nxt, [x]
    def step(self, k):
        self.x = (self.x + self.v * k) % 50
        return self.x
    def swap(self, o):
        self.v, o.v = o.v, self.v
        if self.x > o.x:
            self.x -= 1
        else:
            self.log[0] += 1
    @property
    def sum(self):
        return self.x + self.v
class Sub(Node):
    def step(self, k):
        self.v = (self.v + 1) % 7
        return super().step(k + 1)
'''


class Program:
    """The source of a function of objects, rows, dicts and functions that tensors are the indices of."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        choose = self.random.choice
        self.lines = [
            "def fn(n):", "    i = j = s = 0", "    c = Node(9)", "    b = Node(5, c)", "    a = Node(1, b)",
            f"    ps = [a, b, {choose(['Node(3)', 'Sub(3)', 'c'])}]",
            f"    g = {choose(['[[1, 2], [3], [4, 5, 6]]', '[[1], [2, 2], []]', '[[1, 2], [4, 5], [7, 8]]'])}",
            "    ds = [{'k': 1, 'l': [1, 2]}, {'k': 2, 'l': [3, 4]}]",
            "    fs = [lambda y: y + 1, abs, lambda y: y * 2 % 50]",
            f"    p = {choose(['a', 'ps[n % 3]', 'ps[2]'])}", f"    q = {choose(['b', 'ps[(n + 1) % 3]', 'a'])}",
            f"    cur = {choose(['a', 'None', 'ps[n % 3]'])}"]
        self.block(1, self.random.randrange(3, 7), 0)
        self.lines += ["    objects = [(o.x, o.v, o.log, o.nxt is None) for o in (a, b, c, *ps)]",
                       "    return s, objects, g, ds, p.x, q.sum, p is q, p is a, cur is None, i"]

    def index(self, size: int = 3) -> str:
        k = self.random.randrange(size)
        return self.random.choice([f"{k}", f"(n + {k}) % {size}", f"i % {size}", f"(i + j) % {size}", f"s % {size}"])

    def one(self) -> str:
        return self.random.choice([f"ps[{self.index()}]"] * 4 + ["p", "q", "a", "b"])

    def number(self, depth: int = 0) -> str:
        kind, r = self.random.random(), self.random
        if kind < 0.3 or depth > 1:
            return r.choice(["1", "2", "n", "i", "j", "s"])
        if kind > 0.85:
            return f"({self.number(depth + 1)} {r.choice('+-')} {self.number(depth + 1)})"
        return r.choice([
            f"{self.one()}.x", f"{self.one()}.v", f"{self.one()}.sum", f"len(g[{self.index()}])",
            f"sum(g[{self.index()}])", f"ds[{self.index(2)}]['k']", f"ds[{self.index(2)}]['l'][{self.index(2)}]",
            f"fs[{self.index()}](s)", f"{self.one()}.step({r.randrange(3)})", f"{self.one()}.log[0]",
            f"int({self.one()} is {self.one()})", f"int({self.index()} in g[{self.index()}])"])

    def block(self, indent: int, count: int, loops: int) -> None:
        for _ in range(count):
            self.statement(indent, loops)

    def statement(self, indent: int, loops: int) -> None:
        def add(line: str, deeper: int = 0) -> None:
            self.lines.append("    " * (indent + deeper) + line)

        kind, r = self.random.random(), self.random
        if kind < 0.5 or indent > 3:
            add(r.choice([
                f"{self.one()}.x = ({self.number()}) % 50", f"{self.one()}.v = ({self.number()}) % 50",
                f"s = ({self.number()}) % 100", f"p = {self.one()}", f"q = {self.one()}",
                f"{self.one()}.swap({self.one()})",
                f"{self.one()}.log[0] = ({self.number()}) % 50", f"g[{self.index()}].append(({self.number()}) % 50)",
                f"ds[{self.index(2)}]['k'] += 1", f"ds[{self.index(2)}]['l'][{self.index(2)}] = ({self.number()}) % 50",
                f"{self.one()}.log.append(s)", f"s = fs[{self.index()}](s)", f"ps[{self.index()}] = {self.one()}",
                f"ps[{self.index()}].x += {self.number()} % 9"]))
        elif kind < 0.56:
            add(f"for w in g[{self.index()}]:")
            add(r.choice(["s = (s + w) % 100", "ps[w % 3].x = w", "if w > 2: s += 1"]), 1)
        elif kind < 0.62:
            add("if cur is not None:")
            add("s = (s + cur.x) % 100", 1)
            add("cur = cur.nxt", 1)
        elif kind < 0.78:
            add(f"if {self.number()} > {r.randrange(20)}:")
            self.block(indent + 1, r.randrange(1, 4), loops)
            if r.random() < 0.4:
                add("else:")
                self.block(indent + 1, r.randrange(1, 3), loops)
        elif kind < 0.86:
            add("try:")
            self.block(indent + 1, r.randrange(1, 3), loops)
            add(f"if s > {r.randrange(60)}: raise ValueError", 1)
            add("except (ValueError, IndexError):")
            self.block(indent + 1, 1, loops)
        elif loops < 2:
            add(f"for {'ij'[loops]} in range({r.choice(['n', 'n + 1', '2'])}):")
            self.block(indent + 1, r.randrange(1, 4), loops + 1)
        else:
            add("s += 1")

    @property
    def text(self) -> str:
        return HEAD + "\n".join(self.lines) + "\n"


def difference(program: Program, folder: Path, executor: str) -> str | None:
    """What Python and the traced function give, if that differs; "" if tracing refuses the program; None if it does
    not differ."""
    path = folder / f"program_{program.seed}.py"
    path.write_text(program.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    traced = rt.function(module.fn, executor=executor)
    for n in (3, 0):
        try:
            got = plain(traced(rt.constant(n)))
        except _REFUSED as error:
            if str(error).startswith(str(path)):
                return ""
            got = repr(error)
        except Exception as error:
            got = repr(error)
        want = plain(module.fn(n))
        if got != want:
            return f"n = {n}: {want} in Python, {got}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    options = parser.parse_args()
    bad = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            program = Program(seed)
            found = difference(program, Path(folder), EXECUTORS[seed % 2])
            refused += found == ""
            if found:
                bad += 1
                print(f"seed {seed}:\n{program.text}\n{found}", flush=True)
    print(f"{options.count} programs, {refused} refused, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
