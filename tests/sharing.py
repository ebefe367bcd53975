"""Random programs in which several names refer to the same lists, staged against Python.

    python -m tests.sharing 1000 --seed 1

Variables, tuples, dicts and attributes refer to a few lists, which staged branches and loops change, and between which
they choose. A program may be refused with an error; what it returns otherwise has to be what Python returns.
"""
from __future__ import annotations

import argparse
import linecache
import random
import sys
from collections.abc import Iterator
from typing import Any

import runtime as rt
from runtime.errors import StagingError

NAMES = ("a", "b", "c")
PLACES = (*NAMES, "t[0]", "d['k']", "o.held", "u[0][0]")


class Program:
    """The text of a function `f(x)` of a float scalar."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        lines = ["    a = [x, x + 1.0]", "    b = " + self.pick("a", "[x * 2.0, x]"),
                 "    c = " + self.pick("a", "b", "[x, x, x]")]
        lines += ["    t = (" + self.pick(*NAMES) + ", 1)", "    d = {'k': " + self.pick(*NAMES) + "}",
                  "    o = Object()", "    o.held = " + self.pick(*NAMES), "    u = ((" + self.pick(*NAMES) + ",),)"]
        lines += self.block(1, 3, 5)
        shown = ", ".join(f"total({place}), len({place})" for place in PLACES)
        self.text = "def f(x):\n" + "\n".join(lines) + f"\n    return [{shown}]\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def block(self, depth: int, least: int, most: int) -> list[str]:
        indent = "    " * depth
        return [indent + line for _ in range(self.random.randint(least, most)) for line in self.statement(depth)]

    def inner(self, depth: int) -> list[str]:
        return [line.removeprefix("    " * depth) for line in self.block(depth + 1, 1, 3)]

    def statement(self, depth: int) -> Iterator[str]:
        place, other, name = self.pick(*PLACES), self.pick(*PLACES), self.pick(*NAMES)
        kind = self.random.randrange(10 if depth < 3 else 6)
        if kind < 2:
            yield f"{place}[{self.random.randrange(2)}] = {other}[{self.random.randrange(2)}] + x"
        elif kind == 2:
            yield f"{place}.append({other}[0] * 0.5)"
        elif kind == 3:
            yield f"{name} = {self.pick(*PLACES)}"
        elif kind == 4:
            yield f"{name} = {self.pick(f'[x, {other}[0]]', f'list({other})', f'[{other}[1], x, x]')}"
        elif kind == 5:
            yield self.pick(f"d['k'] = {name}", f"o.held = {name}", f"t = ({name}, 2)", f"{place}[0] += 1.0")
        elif kind < 8:
            yield f"if {self.pick('x', f'{place}[0]')} > {self.random.randrange(-1, 2)}.0:"
            yield from self.inner(depth)
            if self.random.random() < 0.5:
                yield "else:"
                yield from self.inner(depth)
        elif kind == 8:
            self.count += 1
            yield f"for i{self.count} in rt.range({self.pick('3', '2', 'rt.cast(x, rt.int32)')}):"
            yield from self.inner(depth)
        else:
            self.count += 1
            yield f"n{self.count} = rt.constant(0)"
            yield f"while n{self.count} < {self.random.randrange(4)}:"
            yield f"    n{self.count} += 1"
            yield from self.inner(depth)


class Object:
    pass


def total(values: Any) -> Any:
    result = 0.0
    for value in values:
        result = result + value
    return result


def outcome(text: str, filename: str) -> str:
    """"same", "refused", "raises" (in Python, too), or what differs."""
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    namespace: dict[str, Any] = {"rt": rt, "Object": Object, "total": total}
    exec(compile(text, filename, "exec"), namespace)
    f, staged = namespace["f"], rt.function(namespace["f"], executor="numpy")
    for value in (-1.0, 0.5, 2.0):
        x = rt.constant(value)
        try:
            want = [float(part) for part in f(x)]
        except (IndexError, TypeError):
            return "raises"
        try:
            got = [float(part) for part in staged(x)]
        except StagingError as error:
            if "traces it is still" in str(error):
                return f"{error}\n{text}"
            return "refused"
        except Exception as error:
            return f"x = {value}: {type(error).__name__}: {error}\n{text}"
        if want != got:
            return f"x = {value}: {want} in Python, {got} staged\n{text}"
    return "same"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sharing", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: dict[str, int] = {}
    for seed in range(options.seed, options.seed + options.count):
        found = outcome(Program(seed).text, f"<sharing {seed}>")
        if "\n" in found:
            print(f"seed {seed}, {found}")
            found = "differs"
        counts[found] = counts.get(found, 0) + 1
    print(counts)
    return int("differs" in counts)


if __name__ == "__main__":
    sys.exit(main())
