"""Random programs on lists and dicts whose number of elements only the graph knows: lists, text, tuples and None.

    python -m tests.elements 1000 --seed 1

A program gives what Python gives, or is refused while it is traced; a wrong result is a failure, and so is an error
without a line.
"""
from __future__ import annotations

import argparse
import copy
import linecache
import random
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import runtime as rt
from runtime.errors import OperatorNotAllowedInGraphError, StagingError, UnimplementedError
from tests.plain_values import plain

__all__ = ["Program", "outcome"]

START = '''def f(n, k):
    rows = [[i] * (i % 3) for i in range(n)]
    groups = {i: [i, k] for i in range(n)}
    words = [f"w{i}" for i in range(n)]
    gaps = [i if i % 2 else None for i in range(n)]
    pairs = [(i, [i]) for i in range(n)]
    deep = [[[i], []] for i in range(n)]
    names = {i: f"{i}" for i in range(n)}
    edges, net = {}, [[] for i in range(n)]
    people = [NEW(i, [i]) for i in range(n)]
    table = {i: NEW(i * k, []) for i in range(n)}
    links, bags = [{} for i in range(n)], {i: {i} for i in range(n)}
    some = [0]
    total = 0
'''
END = "    return rows, groups, words, gaps, pairs, deep, names, edges, net, people, table, links, bags, some, total\n"
ARGUMENTS = ((3, 1), (4, 2), (5, 0))
REFUSED = (StagingError, OperatorNotAllowedInGraphError, UnimplementedError)


@dataclass
class Person:
    age: Any
    marks: Any


def record(age: Any, marks: Any) -> dict[str, Any]:
    return {"age": age, "marks": marks}


class Program:
    """The text of a function `f(n, k)` of two ints."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counters: list[str] = []
        self.names: list[str] = []
        self.records: list[str] = []
        self.count = 0
        self.has_objects = self.random.random() < 0.5
        lines = self.block(2, False, 1) + self.block(2, False, 1)
        self.text = START.replace("NEW", "Person" if self.has_objects else "record") + "".join(
            f"{line}\n" for line in lines) + END

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        return self.pick("0", "-1", "1", "k % n", *[f"{counter} % n" for counter in self.counters])

    def key(self) -> str:
        return self.pick("0", "1", "k", "k + 7", *self.counters)

    def number(self) -> str:
        return self.pick("k", "total % 9", "len(rows)", f"len({self.row()})", f"sum({self.row()})", "5",
                         f"len({self.word()})", self.age(), *self.counters)

    def row(self) -> str:
        return self.pick(f"rows[{self.index()}]", f"groups.get({self.key()}, [])", f"pairs[{self.index()}][1]", "some",
                         f"deep[{self.index()}][0]", f"[{self.number_of_known()}, 2]", self.marks(),
                         *self.names)

    def place(self) -> str:
        """A list that may be changed where it is."""
        return self.pick(f"rows[{self.index()}]", f"groups.setdefault({self.key()}, [])", f"pairs[{self.index()}][1]",
                         "some", f"deep[{self.index()}][{self.pick('0', '1')}]", self.marks(),
                         *self.names)

    def record(self) -> str:
        return self.pick(f"people[{self.index()}]", f"table.get({self.key()}, people[0])",
                         f"table.setdefault({self.key()}, {self.new(self.number_of_known())})",
                         *self.records, *self.records)

    def age(self, record: str | None = None) -> str:
        return (self.record() if record is None else record) + (".age" if self.has_objects else "['age']")

    def marks(self, record: str | None = None) -> str:
        return (self.record() if record is None else record) + (".marks" if self.has_objects else "['marks']")

    def new(self, age: str) -> str:
        return f"Person({age}, [])" if self.has_objects else f"{{'age': {age}, 'marks': []}}"

    def number_of_known(self) -> str:
        return self.pick("k", "3", *self.counters)

    def word(self) -> str:
        return self.pick(f"words[{self.index()}]", f"names.get({self.key()}, '?')", "'abc'", "f'{k:d}x'")

    def condition(self) -> str:
        return self.pick("k > 1", f"{self.number()} % 2 == 0", f"{self.row()} == {self.row()}",
                         f"{self.word()} < {self.word()}", f"gaps[{self.index()}] is None", f"{self.key()} in groups",
                         f"{self.word()} in words", "total > 20", f"{self.age()} > {self.number_of_known()}")

    def block(self, depth: int, in_loop: bool, indent: int) -> list[str]:
        known, records = len(self.names), len(self.records)
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, in_loop, indent)]
        del self.names[known:], self.records[records:]
        return lines

    def statement(self, depth: int, in_loop: bool, indent: int) -> list[str]:
        space, kind = "    " * indent, self.random.random()
        if in_loop and kind < 0.05:
            return [f"{space}if {self.condition()}:", f"{space}    {self.pick('break', 'continue')}"]
        if kind < 0.6 or not depth:
            return [space + self.simple()]
        inner = indent + 1
        if kind < 0.66:
            return [f"{space}try:", *self.block(depth - 1, False, inner),
                    f"{space}    total += 10 // ({self.number()} % 3)", *self.block(0, False, inner),
                    f"{space}except ZeroDivisionError:", *self.block(0, False, inner)]
        if kind < 0.78:
            lines = [f"{space}if {self.condition()}:", *self.block(depth - 1, in_loop, inner)]
            if self.random.random() < 0.5:
                lines += [f"{space}else:", *self.block(depth - 1, in_loop, inner)]
            return lines
        self.count += 1
        if kind < 0.84:
            return self.choice(depth - 1, indent)
        counter, name = f"i{self.count}", f"r{self.count}"
        header, names = self.random.choice((
            (f"for {counter} in range(n)", ()), (f"for {counter} in range(n)", ()),
            (f"for {counter}, {name} in enumerate(rows)", (name,)),
            (f"for {counter}, {name} in groups.items()", (name,)), (f"for {counter}, {name} in pairs", (name,)),
            (f"for {counter}, {name} in enumerate(people)", ()), (f"for {counter}, {name} in table.items()", ()),
            (f"for {counter} in {self.row()}", ()), (f"for {counter}, w in net[{self.index()}]", ()),
            (f"for {counter}, w in edges.get({self.key()}, [])", ())))
        self.counters.append(counter)
        self.names += names
        records = [name] if "people" in header or "table" in header else []
        self.records += records
        deeper = "    " * inner
        guard = [] if "range" in header else [f"{deeper}if total > 90 or len(rows) > 12:", f"{deeper}    break",
                                              f"{deeper}total += 1"]
        lines = [f"{space}{header}:", *guard, *self.block(depth - 1, True, inner)]
        self.counters.remove(counter)
        for each in names:
            self.names.remove(each)
        for each in records:
            self.records.remove(each)
        return lines

    def assigned(self, names: list[str], kind: str, value: str) -> str:
        """An assignment to one of the names, or to a new one."""
        if names and self.random.random() < 0.3:
            return f"{self.random.choice(names)} = {value}"
        self.count += 1
        names.append(f"{kind}{self.count}")
        return f"{names[-1]} = {value}"

    def choice(self, depth: int, indent: int) -> list[str]:
        """A loop that chooses a record, and the statements after it, which use that."""
        space, name, each = "    " * indent, f"b{self.count}", f"p{self.count}"
        start = self.pick("None", "people[0]", self.record())
        found = f"{name} is None or " if start == "None" else ""
        self.records.append(each)
        over = self.pick("people", "people", "people[1:]", "people[:2]", "table.values()")
        lines = [f"{space}{name} = {start}", f"{space}for {each} in {over}:"]
        if self.random.random() < 0.4:
            lines += [f"{space}    {line}" for line in (
                "if total > 90 or len(people) > 12:", "    break", "total += 1")]
            lines += self.block(0, True, indent + 1)
        lines += [f"{space}    if {found}{self.age(each)} % 5 > {self.age(name)} % 5:",
                  f"{space}        {name} = {each}"]
        if self.random.random() < 0.3:
            self.records.append(name)
            lines += self.block(depth, True, indent + 2)
            self.records.remove(name)
        self.records.remove(each)
        self.records.append(name)
        if start == "None":
            lines += [f"{space}if {name} is not None:", *self.block(depth, False, indent + 1)]
            self.records.remove(name)
        return lines

    def simple(self) -> str:
        kind = self.random.random()
        if kind < 0.1:
            return self.assigned(self.names, "a", self.pick(self.place(), self.row()))
        if kind < 0.15:
            return self.assigned(self.records, "b", self.record())
        if kind < 0.3:
            return self.pick(
                f"{self.age()} += {self.number()}", f"{self.age()} = {self.number()}",
                f"{self.marks()} = {self.row()}", f"people.append({self.new(self.number())})",
                f"people[{self.index()}] = {self.record()}", f"table[{self.key()}] = copy.copy({self.record()})",
                f"people.append({self.record()})", f"table.pop({self.key()}, None)",
                f"total += sum({self.age('p')} for p in people) + sum({self.age('p')} for p in table.values())",
                f"people = sorted(people, key=lambda p: {self.age('p')} % 4)",
                f"people = [p for p in people if {self.age('p')} != k] + [{self.new('4')}]",
                f"people = people[{self.pick('1:', ':2', '::-1')}] + [{self.new('k')}, {self.new('3')}]",
                f"total += {self.record()} is {self.record()}", f"people.sort(key=lambda p: {self.age('p')} % 5)",
                f"{self.marks('OLDEST')}.append({self.number()})".replace(
                    "OLDEST", f"max(people, key=lambda p: {self.age('p')} % 7)"))
        place, row, word, index = self.place(), self.row(), self.word(), self.index()
        return self.pick(
            f"{place}.append({self.number()})", f"{place}.append({self.number()})", f"{place}.extend(({row})[:2])",
            f"{place}.insert(0, {self.number()})", f"{place}.reverse()", f"{place}.clear()", f"{place}.sort()",
            f"rows.append({row})", f"rows.append([{self.number()}])", f"rows[{index}] = {row}",
            f"rows[{index}] = ({row} + {row})[:5]",
            f"rows[{index}], rows[{self.index()}] = rows[{self.index()}], {row}",
            f"rows = sorted(rows, key=len) + [[{self.number()}], [k], [1]]", "rows = rows[:2] + [[2, k], [1], [0]]",
            f"groups[{self.key()}] = {row}", f"groups[{self.key()}] = [{self.number()}]",
            f"groups.pop({self.key()}, None)", f"words.append({word})", f"words[{index}] = ({word} + {word})[:6]",
            "words.sort()", f"words.insert(1, '-'.join([{word}, {word}])[:7])", f"names[{self.key()}] = {word}",
            f"gaps.append({self.pick('None', self.number())})", f"gaps[{index}] = {self.pick('None', self.number())}",
            f"pairs.append(({self.number()}, {row}))", f"pairs[{index}] = ({self.number()}, [k])",
            f"edges.setdefault({self.key()}, []).append(({self.number()}, {self.number()}))",
            f"net[{index}].append(({self.number()}, {word}))", f"net[{index}] = (net[{index}] + net[0])[:3]",
            f"net[{index}].insert(0, ({self.number()}, {word}))", f"edges[{self.key()}] = [(k, {self.number()})]",
            f"total += len(net[{index}]) + len(edges.get({self.key()}, []))", "net.append([])",
            f"deep.append([{row}, []])", f"deep[{index}].append({row})", f"some = {row}", f"some = [{self.number()}]",
            f"links[{index}][{self.key()}] = {self.number()}", f"links[{index}].pop({self.key()}, None)",
            f"links[{index}] = dict(links[{self.index()}])",
            f"bags.setdefault({self.key()}, set()).add({self.number()})",
            f"bags[{self.key()}] = {{k, {self.number()}}}", f"bags.get({self.key()}, set()).discard({self.key()})",
            f"total += len(links[{index}]) + len(bags.get({self.key()}, set()))",
            f"total += sum(links[{index}].values()) + sum(bags.setdefault({self.key()}, set()))",
            f"total += {self.number()}", f"total += sum(x for x in gaps if x is not None) + {self.number()}",
            f"total += ' '.join(words).count('w') + len(names) + {self.number()}".replace(".count('w')", " != ''"))


def in_order(x: Any) -> Any:
    """`x` with sorted lists in place of sets, whose `repr` depends on how they were made."""
    if isinstance(x, set):
        return ["set", *sorted(x)]
    if isinstance(x, dict):
        return {key: in_order(value) for key, value in x.items()}
    return type(x)(map(in_order, x)) if isinstance(x, (list, tuple)) else x


def outcome(program: Program, seed: int, executor: str) -> str:
    """`right`, `refused`, or what is wrong."""
    namespace: dict[str, Any] = {"Person": Person, "copy": copy, "record": record}
    exec(compile(program.text, name := f"<elements {seed}>", "exec"), namespace)
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    function, found = namespace["f"], "right"
    traced = rt.function(function, executor=executor)
    for n, k in ARGUMENTS:
        try:
            expected: Any = plain(function(n, k))
        except Exception as error:
            expected = type(error)
        try:
            result: Any = plain(traced(rt.constant(n), rt.constant(k)))
        except REFUSED as error:
            if name not in str(error):
                return f"no line: {type(error).__name__}: {error}"
            return "refused"
        except Exception as error:
            if not (isinstance(expected, type) and isinstance(error, expected)):
                return f"error: {type(error).__name__}: {error}"
            continue
        if isinstance(expected, type) or repr(in_order(result)) != repr(in_order(expected)):
            found = f"wrong for n={n}, k={k}: {result}\n  expected {expected}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--native", action="store_true", help="compile the graphs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        program = Program(seed)
        got = outcome(program, seed, "native" if options.native else "numpy")
        found[got.split(":")[0].split(" for ")[0]] += 1
        if got not in ("right", "refused"):
            print(f"seed {seed}: {got}\n{program.text}", flush=True)
    print(dict(found))


if __name__ == "__main__":
    main()
