"""Random programs in which several names refer to the same lists or objects, or a dict may have a key, staged against
Python.

    python -m tests.sharing 1000 --seed 1

Variables, tuples, dicts and attributes refer to a few lists (or objects of a class, or of a dataclass), which staged
branches and loops change, and between which they choose. A program may be refused with an error; what it returns
otherwise has to be what Python returns.
"""
from __future__ import annotations

import argparse
import dataclasses
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
    """The text of a function `f(x)` of a float scalar. `new` makes what is shared."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        lines = [f"    a = {self.new('x')}", "    b = " + self.pick("a", self.new("x * 2.0")),
                 "    c = " + self.pick("a", "b", self.new("x + 1.0"))]
        lines += ["    t = (" + self.pick(*NAMES) + ", 1)", "    d = {'k': " + self.pick(*NAMES) + "}",
                  "    o = Holder()", "    o.held = " + self.pick(*NAMES), "    u = ((" + self.pick(*NAMES) + ",),)"]
        lines += self.block(1, 3, 5)
        self.text = "def f(x):\n" + "\n".join(lines) + f"\n    return [{', '.join(map(self.shown, PLACES))}]\n"

    def new(self, value: str) -> str:
        return f"[{value}, {value}]"

    def shown(self, place: str) -> str:
        return f"total({place}), len({place})"

    def part(self) -> str:
        return f"[{self.random.randrange(2)}]"

    def change(self, place: str, other: str) -> str:
        """A statement that changes what is shared in one more way than to set a part of it."""
        return self.pick(f"{place}.append({other}[0] * 0.5)", f"{place}[0] += 1.0")

    def choice(self, name: str, place: str, other: str) -> Iterator[str]:
        """A statement that makes `name` one of two that are shared, or uses what may be one of several."""
        test = f"{self.pick('x', f'{place}{self.part()}')} > {self.random.randrange(-1, 2)}.0"
        yield from self.random.choice([
            [f"{name} = {place} if {test} else {other}"],
            [f"{name} = either({place}, {other}, {test})"],
            [f"{self.pick(*PLACES[4:6])} = {name} if {test} else {other}"],
            [f"if {place} is {other}:", f"    {name}{self.part()} = x"],
            *self.uses(name, place, other)])

    def uses(self, name: str, place: str, other: str) -> list[list[str]]:
        return [
            [f"if len({place}) > 1:", f"    {other}[0] = {place}.pop()"],
            [f"for y in {place}:", f"    {other}[0] = y * 0.5 + x"],
            [f"{place} += [x]" if place in NAMES else f"{place}.extend([x, {other}[0]])"],
            [f"{name}[0] = sum({place}) + max({other})"],
            [f"{place}.insert(0, x)"],
        ]

    def copied(self, other: str) -> str:
        return self.pick(f"[x, {other}[0]]", f"list({other})", f"[{other}[1], x, x]")

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def block(self, depth: int, least: int, most: int) -> list[str]:
        indent = "    " * depth
        return [indent + line for _ in range(self.random.randint(least, most)) for line in self.statement(depth)]

    def inner(self, depth: int) -> list[str]:
        return [line.removeprefix("    " * depth) for line in self.block(depth + 1, 1, 3)]

    def branches(self, value: str, depth: int) -> Iterator[str]:
        yield f"if {value} > {self.random.randrange(-1, 2)}.0:"
        yield from self.inner(depth)
        if self.random.random() < 0.5:
            yield "else:"
            yield from self.inner(depth)

    def loop(self, depth: int) -> Iterator[str]:
        self.count += 1
        yield f"for i{self.count} in rt.range({self.pick('3', '2', 'rt.cast(x, rt.int32)')}):"
        yield from self.inner(depth)

    def statement(self, depth: int) -> Iterator[str]:
        place, other, name = self.pick(*PLACES), self.pick(*PLACES), self.pick(*NAMES)
        kind = self.random.randrange(10 if depth < 3 else 6)
        if self.random.random() < 0.2:
            yield from self.choice(name, place, other)
        elif kind < 2:
            yield f"{place}{self.part()} = {other}{self.part()} + x"
        elif kind == 2:
            yield self.change(place, other)
        elif kind == 3:
            yield f"{name} = {self.pick(*PLACES)}"
        elif kind == 4:
            yield f"{name} = {self.copied(other)}"
        elif kind == 5:
            yield self.pick(f"d['k'] = {name}", f"o.held = {name}", f"t = ({name}, 2)")
        elif kind < 8:
            yield from self.branches(self.pick("x", f"{place}{self.part()}"), depth)
        elif kind == 8:
            yield from self.loop(depth)
        else:
            self.count += 1
            yield f"n{self.count} = rt.constant(0)"
            yield f"while n{self.count} < {self.random.randrange(4)}:"
            yield f"    n{self.count} += 1"
            yield from self.inner(depth)


class OfObjects(Program):
    """One that shares objects of the class `kind`."""

    def __init__(self, seed: int, kind: str) -> None:
        self.kind = kind
        super().__init__(seed)

    def new(self, value: str) -> str:
        return f"{self.kind}({value}, {value})"

    def shown(self, place: str) -> str:
        return f"{place}.v, {place}.w"

    def part(self) -> str:
        return self.pick(".v", ".w")

    def change(self, place: str, other: str) -> str:
        return self.pick(f"{place}.add({other}.v * 0.5)", f"{place}.v += 1.0")

    def uses(self, name: str, place: str, other: str) -> list[list[str]]:
        return [[f"{place}.v, {other}.w = {other}.w, {place}.v"], [f"{place}.add({name}.w)"]]

    def copied(self, other: str) -> str:
        return f"{self.kind}(x, {other}.v)"


class OfRows(Program):
    """One with a list of lists, rows of which the names and places are."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        first, rest = self.text.split("\n    t = (", 1)
        self.text = f"{first}\n    m = [{self.pick(*NAMES)}, {self.pick(*NAMES)}]\n    t = ({rest}"

    def pick(self, *choices: str) -> str:
        return super().pick(*choices, "m[0]", "m[1]") if choices == PLACES else super().pick(*choices)

    def shown(self, place: str) -> str:
        return f"total({place}), len({place})" + (", total(m[0]), total(m[1]), len(m)" if place == "a" else "")

    def statement(self, depth: int) -> Iterator[str]:
        place, name, row = self.pick(*PLACES), self.pick(*NAMES), self.pick("m[0]", "m[1]")
        kind = self.random.randrange(24)
        if kind < 3:
            yield f"{row} = " + self.pick(name, self.new("x"), place)
        elif kind == 3:
            yield "m[0], m[1] = m[1], m[0]"
        elif kind == 4:
            yield f"for row in m[{self.pick('', '1')}:]:"
            yield "    row[0] = row[1] + x"
        elif kind == 5:
            yield "m = " + self.pick(f"[{name}, {place}]", "m[::-1]", "list(m)", "[list(row) for row in m]")
        elif kind == 6:
            yield "for row in m:"
            yield f"    if row[0] > {self.pick('x', '0.0')}:"
            yield f"        {name} = row"
        else:
            yield from super().statement(depth)


class OfKeys(Program):
    """One with a dict whose keys staged code sets and asks for, and an iterator."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        first, rest = self.text.split("\n", 1)
        self.text = f"{first}\n    e = {{'p': x}}\n    it = iter([1.0, 2.0, 3.0])\n{rest}"

    def shown(self, place: str) -> str:
        return f"total({place}), e['p'], 'q' in e, 'r' in e"

    def statement(self, depth: int) -> Iterator[str]:
        place, key = self.pick(*NAMES), self.pick("p", "q", "q", "r")
        kind = self.random.randrange(24)
        if kind < 4:
            yield f"e['{key}'] = {place}[0] + 1.0"
        elif kind < 7:
            yield f"if '{key}' in e:"
            yield f"    {place}[1] = " + self.pick("x", f"e['{key}'] + x")
        elif kind == 7:
            yield f"if '{key}' not in e:"
            yield f"    e['{key}'] = x * 3.0"
        elif kind == 8:
            yield f"{place}[0] = {place}[0] + " + self.pick(
                "len(e)", "sum(e.values())", "sum([1.0 for k in e])", "len(list(e))", "len({**e})")
        elif kind == 9:
            yield f"{place}[0] = {place}[0] + " + self.pick(
                "next(it, 0.5)", "sum(it)", "sum([y for y in it])", "len(list(zip(it, [1, 2])))", "(2.0 in it) * 1.0")
        else:
            yield from super().statement(depth)


class OfOptional(Program):
    """One with names that may be None (`p`) or unbound (`q`, if `q_set` is false), and that asks which one they are."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        first, rest = self.text.split("\n", 1)
        self.text = f"{first}\n    p = None\n    q_set = rt.constant(False)\n{rest}"

    def shown(self, place: str) -> str:
        more = "" if place != "a" else (
            ", total(p) if p is not None else -1.0, total(q) if q_set else -1.0, p is a, p is b, p is None, a is b")
        return super().shown(place) + more

    def statement(self, depth: int) -> Iterator[str]:
        place, name = self.pick(*PLACES), self.pick(*NAMES)
        kind = self.random.randrange(16)
        if kind == 0:
            yield "p = " + self.pick("None", place, name, name, self.new("x"))
        elif kind == 1:
            yield f"q, q_set = {self.pick(place, name)}, True"
        elif kind == 2:
            yield "if p is not None:"
            yield "    " + self.pick(f"p{self.part()} = x * 4.0", f"{name} = p", f"{place}[0] = p[0] + x",
                                     "p.append(x)", "p, q, q_set = None, p, True")
        elif kind == 3:
            yield "if q_set:"
            yield "    " + self.pick(f"q{self.part()} = x * 4.0", f"{name} = q", f"{place}[0] = q[0] + x", "p = q")
        elif kind == 4:
            yield f"if {self.pick('p', 'p', name)} is {self.pick('p', name)}:"
            yield f"    {place}{self.part()} = x * 5.0"
        elif kind == 5:
            yield f"if x > {self.pick('0.0', '1.0')}:"
            yield "    " + self.pick(f"p = {name}", "p = None", f"q, q_set = {name}, True")
        else:
            yield from super().statement(depth)


class OfParts(Program):
    """One in which records hold the lists, and a tuple, a dict and an object hold the records."""

    LISTS = ("a", "b", "r.v", "s.v", "m[0]", "m[1]", "t[1]", "d['k']", "d['r'].v", "o.held.v", "t[0].v")
    RECORDS = ("r", "s", "t[0]", "d['r']", "o.held")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        lines = ["    a, b = [x, x], [x * 2.0, x]", "    r, s = Record(a, 1.0), Record(b, x)", "    m = [a, b]",
                 "    t = (r, a)", "    d = {'k': a, 'r': r}", "    o = Holder()", "    o.held = r"]
        lines += self.block(1, 3, 5)
        shown = [*(f"total({place})" for place in self.LISTS), *(f"{place}.w" for place in self.RECORDS)]
        self.text = "def f(x):\n" + "\n".join(lines) + f"\n    return [{', '.join(shown)}]\n"

    def statement(self, depth: int) -> Iterator[str]:
        place, other, record = self.pick(*self.LISTS), self.pick(*self.LISTS), self.pick(*self.RECORDS)
        kind = self.random.randrange(12 if depth < 3 else 7)
        if kind < 3:
            yield f"{place}{self.part()} = {other}{self.part()} + x"
        elif kind == 3:
            yield self.pick(f"a = {place}", f"b = {place}", f"r = {record}", f"s = {record}")
        elif kind == 4:
            yield self.pick(f"r.v = {place}", f"o.held = {record}", f"d['k'] = {place}", f"m{self.part()} = {place}",
                            f"d['r'] = {record}")
        elif kind == 5:
            yield self.pick("m = [b, a]", "m = m[::-1]", "t = (s, b)", "a = [x, b[0]]", "r = Record(b, x)",
                            "m[0], m[1] = m[1], m[0]", "a, b = b, a", "r, s = s, r")
        elif kind == 6:
            yield f"{record}.w = {place}[0] + x"
        elif kind < 9:
            yield from self.branches(self.pick("x", f"{place}[0]"), depth)
        else:
            yield from self.loop(depth)


class OfPlaces(Program):
    """One in which attributes, items and variables are None or get new objects, several of them the same one."""

    NEW = ("h.head", "h.tail", "e['p']", "e['q']", "m[0]", "m[1]", "a", "b")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        lines = ["    h, e, m, a, b = Ends(), {'p': None, 'q': None}, [None, None], None, None"]
        lines += [f"    {self.pick(*self.NEW)} = {self.pick(*self.NEW)} = {self.new('x')}"
                  for _ in range(self.random.randrange(2))]
        lines += self.block(1, 3, 5)
        shown = [f"{place}.v if {place} is not None else -9.0" for place in self.NEW]
        shown += [f"{place} is {other}" for place, other in zip(self.NEW, self.NEW[1:], strict=False)]
        self.text = "def f(x):\n" + "\n".join(lines) + f"\n    return [{', '.join(shown)}]\n"

    def new(self, value: str) -> str:
        return f"Object({value}, x)"

    def statement(self, depth: int) -> Iterator[str]:
        near = self.random.randrange(0, len(self.NEW), 2)  # two places of one container, more often than others
        place, other = self.random.sample(self.random.choice([self.NEW, self.NEW[near:near + 2]]), 2)
        kind = self.random.randrange(10 if depth < 3 else 5)
        if kind == 0:
            yield f"{place} = {other} = {self.new(self.pick('x', 'x * 2.0'))}"
        elif kind == 1:
            yield f"{place} = {self.pick(other, self.new('x + 1.0'))}"
        elif kind < 5:
            yield f"if {place} is None:"
            yield f"    {place} = {other} = {self.new('x')}"
            yield "else:"
            yield f"    {place}.v = {place}.v + 10.0"
        elif kind < 7:
            yield from self.branches("x", depth)
        else:
            yield from self.loop(depth)


class Object:
    def __init__(self, v: Any, w: Any) -> None:
        self.v, self.w = v, w

    def add(self, x: Any) -> None:
        self.v = self.v + x


@dataclasses.dataclass
class Record:
    v: Any
    w: Any

    def add(self, x: Any) -> None:
        self.v = self.v + x


class Holder:
    held: Any


class Ends:
    def __init__(self) -> None:
        self.head = self.tail = None


def either(a: Any, b: Any, test: Any) -> Any:
    if test:
        return a
    return b


def total(values: Any) -> Any:
    result = 0.0
    for value in values:
        result = result + value
    return result


PROGRAMS = {
    "lists": Program,
    "keys": OfKeys,
    "rows": OfRows,
    "optional": OfOptional,
    "objects": lambda seed: OfObjects(seed, "Object"),
    "parts": OfParts,
    "records": lambda seed: OfObjects(seed, "Record"),
    "places": OfPlaces,
}


def outcome(text: str, filename: str) -> str:
    """"same", "refused", "raises" (in Python, too), or what differs."""
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    namespace: dict[str, Any] = {"rt": rt, "Object": Object, "Record": Record, "Holder": Holder, "Ends": Ends,
                                 "either": either, "total": total}
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
    parser.add_argument("--of", choices=PROGRAMS, action="append")
    options = parser.parse_args()
    failed = False
    for kind in options.of or PROGRAMS:
        counts: dict[str, int] = {}
        for seed in range(options.seed, options.seed + options.count):
            found = outcome(PROGRAMS[kind](seed).text, f"<sharing {kind} {seed}>")
            if "\n" in found:
                print(f"{kind}, seed {seed}, {found}")
                found, failed = "differs", True
            counts[found] = counts.get(found, 0) + 1
        print(f"{kind}: " + ", ".join(f"{count} {found}" for found, count in sorted(counts.items())), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
