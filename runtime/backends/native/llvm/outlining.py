"""Outlining: parts of a large function become functions that it calls.

LLVM's time grows with the size of its input, and superlinearly with that of one function. So loops that occur several
times in a function become one function: unrolled programs, such as 2,000 products in a row or a network of equal
layers, repeat loops that differ only in their arrays. Loops that LLVM is to vectorise become functions, too, as that
takes more passes than the rest is worth. If the rest is still long, it is cut into sections, each of which becomes a
function.

A part is a single-entry region with a single successor (`regions.py`), except for early exits: returns, and branches to
blocks that only lead to returns. The function of a part returns the number of the exit, 0 for the successor. Two parts
are equal if their texts are, with all names and metadata numbers replaced by the order in which they first occur.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final, NamedTuple

from runtime.backends.native.llvm.regions import (
    TARGET,
    TOKEN,
    Chain,
    Region,
    is_phi,
    renamed,
    separated,
    structure,
)

__all__ = ["ACCESSES", "Outlined", "normal_form", "outlined"]

_TOKEN_OR_END: Final = re.compile(rf"{TOKEN.pattern}|\n")
LARGE: Final = 1_000
"""Lines from which on a function's equal loops are outlined."""
LONG: Final = 4_000
"""Lines from which on code is cut into sections."""
SECTION: Final = 600
"""Lines of a section, at least."""
ACCESSES: Final = "!llvm.access.group"
"""The metadata of memory accesses in loops that LLVM is to vectorise."""
_NEST: Final = 300
"""Lines up to which a whole nest of loops with such a loop becomes one function."""
_ROOM: Final = 16
"""Bytes of a live-out in memory, at most."""
_SHORT: Final = 8
"""Lines from which on a loop is worth a call."""
_REPEATED: Final = 2
"""Number of equal loops from which on they are outlined: fewer stay inline, where LLVM knows their operands."""


class Outlined(NamedTuple):
    entry: Sequence[str]
    """The first lines of the function, without the allocas that only outlined parts use."""
    lines: Sequence[str]
    """The other lines, with calls in place of outlined parts."""
    functions: Sequence[str]
    """The text of the outlined functions."""


def outlined(entry: Sequence[str], lines: Sequence[str], types: Mapping[str, str], metadata: Sequence[str],
             known: dict[Hashable, str]) -> Outlined:
    """Outline from a function's lines, given the types of its values and the module's metadata. `known`: the names of
    outlined functions by the key of their part; new ones are added."""
    if len(lines) < LARGE:
        return Outlined(entry, lines, [])
    function = _Function(entry, lines, types, metadata, known)
    top = structure(function.lines)
    function.find_repeated(top.regions)
    function.find_parallel(top.regions)
    written = [*function.lines[:top.start], *function.chain(top), *function.lines[top.stop:], *function.ends]
    kept = [line for line in function.entry if line not in function.moved]
    return Outlined([*function.rooms.values(), *kept], written, function.functions)


def normal_form(lines: Sequence[str], metadata: Sequence[str]) -> Hashable:
    """A key that is equal for functions whose lines are equal except for names and metadata numbers."""
    texts = [f"{'%' if line[-1] == ':' else ''}{line}" for line in lines]
    tokens = TOKEN.findall("\n".join(texts))
    nodes = dict.fromkeys(token for token in tokens if token[0] == "!")
    pending = [*nodes]
    for node in pending:  # grows during the iteration
        content = metadata[int(node[1:])]
        texts.append(content)
        tokens += (more := TOKEN.findall(content))
        pending += [other for other in dict.fromkeys(more) if other not in nodes]
        nodes |= dict.fromkeys(more)
    order = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
    return TOKEN.sub("%", "\n".join(texts)), tuple([order[token] for token in tokens])


@dataclass
class _Part:
    start: int
    stop: int
    before: str
    """The label of the block that contains its start."""
    after: str
    """The label of the block that contains its end."""
    takes: list[str]
    """Live-ins."""
    gives: list[str]
    """Live-outs."""
    own: list[str]
    """Allocas that only this part uses."""
    exits: list[str]
    """Early exits: returns, and labels of blocks outside that lead to returns."""
    key: Hashable = None
    """Equal for equal parts."""


class _Function:
    def __init__(self, entry: Sequence[str], lines: Sequence[str], types: Mapping[str, str], metadata: Sequence[str],
                 known: dict[Hashable, str]) -> None:
        self.lines, self.ends, cells = separated(lines, types)
        self.entry = [*entry, *(f"  {cell} = alloca {ty}" for cell, ty in cells.items())]
        self.types = {**types, **dict.fromkeys(cells, "ptr")}
        self.metadata, self.known = metadata, known
        self.functions: list[str] = []
        self.moved: set[str] = set()
        """The allocas that moved into functions of parts."""
        self.rooms: dict[str, str] = {}
        """For each call line, the line of the alloca for its live-outs."""
        self.repeated: dict[int, _Part] = {}
        """The loops with equal ones, by their first line."""
        self.label_lines = [k for k, line in enumerate(self.lines) if line[-1] == ":"]
        text = [f"%{line}" if line[-1] == ":" else line for line in (*self.lines, *self.ends)]
        self.labels = {line[:-1] for line in text if line[-1] == ":"}
        whole = "\n".join([*text, ""])
        tokens = _TOKEN_OR_END.findall(whole)
        self.at = [0, *(k - line for line, k in enumerate(k for k, token in enumerate(tokens) if token == "\n"))]
        """For each line, the number of tokens before it."""
        self.tokens = [token for token in tokens if token != "\n"]
        self.last = {token: k for k, token in enumerate(self.tokens)}
        self.first = {token: len(self.tokens) - k for k, token in enumerate(reversed(self.tokens), 1)}
        self.shapes = TOKEN.sub("%", whole).split("\n")
        """The lines with names removed."""
        self.memory = self._memory()
        self.uses: dict[str, list[int]] = defaultdict(list)
        """For each pointer, the lines that contain it."""
        for k, (start, stop) in enumerate(pairwise(self.at)):
            for token in self.tokens[start:stop]:
                if self.types.get(token) == "ptr":
                    self.uses[token].append(k)

    def _memory(self) -> dict[str, str]:
        """The lines of allocas that the other entry lines do not use, by name."""
        counts = Counter(TOKEN.findall("\n".join(self.entry)))
        found = {line.split()[0]: line for line in self.entry if " = alloca " in line}
        return {name: line for name, line in found.items() if counts[name] == 1}

    # Parts.

    def part(self, start: int, stop: int) -> _Part | None:
        """The part between two lines. None if the function would return a value that the part computes, or if a live-in
        or live-out is of unknown type, or a vector, for which calls fail in LLVM 22."""
        first, last = self.at[start], self.at[stop]
        lines = self.lines[start:stop]
        made = {line[2:line.index(" ", 2)] for line in lines if line.startswith("  %")}
        gives = [token for token in dict.fromkeys(self.tokens[first:last]) if token in made and (
            self.last[token] >= last or self.first[token] < first)]
        used = [token for token in dict.fromkeys(self.tokens[first:last])
                if token[0] == "%" and token not in made and token not in self.labels and token != "%entry"]
        own = [token for token in used if token in self.memory and self._is_own(token, start, stop)]
        takes = [token for token in used if token not in own and self.memory.get(token) not in self.moved]
        exits = _exits(lines)
        if any(self.types.get(token, "<")[0] == "<" for token in (*takes, *gives)) or not made.isdisjoint(
                token for way in exits for token in TOKEN.findall(way)):
            return None
        return _Part(start, stop, self._block(start), self._block(stop), takes, gives, own, exits)

    def _block(self, line: int) -> str:
        k = bisect_right(self.label_lines, line)
        return f"%{self.lines[self.label_lines[k - 1]][:-1]}" if k else "%entry"

    def _is_own(self, name: str, start: int, stop: int) -> bool:
        """Whether only these lines access an alloca, and its address does not escape."""
        pending = [name]
        for pointer in pending:  # grows during the iteration
            for k in self.uses[pointer]:
                line = self.lines[k] if start <= k < stop else ""
                if " = getelementptr " in line:
                    pending += [found for found in (line.split()[0],) if found != pointer]
                elif not (" = load " in line or line.startswith("  call void @llvm.mem")
                          or (line.startswith("  store ") and not line.startswith(f"  store ptr {pointer},"))):
                    return False
        return True

    def find_repeated(self, regions: Sequence[Region]) -> None:
        """Find loops that occur several times, outermost first."""
        while regions:
            loops = [region for region in regions if region.is_loop and region.stop - region.start >= _SHORT]
            shapes = [hash(tuple(self.shapes[loop.start:loop.stop])) for loop in loops]
            counts = Counter(shapes)
            parts = [part for loop, shape in zip(loops, shapes, strict=True) if counts[shape] >= _REPEATED
                     and (part := self.part(loop.start, loop.stop)) is not None]
            for part in parts:
                part.key = self._key(part)
            keys = Counter(part.key for part in parts)
            found = {part.start: part for part in parts if keys[part.key] >= _REPEATED}
            self.repeated |= found
            regions = [inner for loop in loops if loop.start not in found for one in loop.chains
                       for inner in one.regions]

    def find_parallel(self, regions: Sequence[Region]) -> None:
        """Find loops that LLVM is to vectorise, with the loops around them."""
        for region in regions:
            if region.start in self.repeated or not any(
                    ACCESSES in line for line in self.lines[region.start:region.stop]):
                continue
            short = region.is_loop and region.stop - region.start <= _NEST
            part = self.part(region.start, region.stop) if short else None
            if part is None:
                self.find_parallel([inner for one in region.chains for inner in one.regions])
            else:
                part.key = object()
                self.repeated[region.start] = part

    def _key(self, part: _Part) -> Hashable:
        lines = self.lines[part.start:part.stop]
        tokens = self.tokens[self.at[part.start]:self.at[part.stop]]
        order = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
        memory = [self.memory[name].partition(" = ")[2] for name in part.own]
        return (normal_form(lines, self.metadata), order.get(part.before, -1),
                *(order[one] for one in (*part.gives, *part.own)), *memory,
                *(self.types[one] for one in (*part.gives, *part.takes)))

    # Text.

    def chain(self, code: Chain) -> list[str]:
        """The lines of a chain, cut into sections if there are many."""
        pieces = [*self._pieces(code)]
        if sum(len(lines) for _, lines in pieces) <= LONG:
            return [*chain.from_iterable(lines for _, lines in pieces)]
        result: list[str] = []
        start, section = code.start, list[str]()
        for stop, lines in pieces:
            section += lines
            if len(section) >= SECTION:
                part = self.part(start, stop)
                if part is not None:
                    name = self.known[len(self.known), "section"] = f"section.{len(self.known)}"
                    self._define(name, part, section)
                    section = self._call(name, part)
                result += section
                start, section = stop, []
        return result + section

    def _pieces(self, code: Chain) -> Iterator[tuple[int, list[str]]]:
        """The lines of a chain in pieces, each with the line number at which it ends."""
        done = code.start
        for region in [*code.regions, Region(code.stop, code.stop, False, [])]:
            for start in range(done, region.start, SECTION):
                stop = min(start + SECTION, region.start)
                yield stop, self.lines[start:stop]
            done = region.stop
            if region.start < done:
                yield done, self._region(region)

    def _region(self, region: Region) -> list[str]:
        part = self.repeated.get(region.start)
        if part is None:
            return self._inner(region)
        if part.key not in self.known:
            self.known[part.key] = f"equal.{len(self.known)}"
            self._define(self.known[part.key], part, self._inner(region))
        return self._call(self.known[part.key], part)

    def _inner(self, region: Region) -> list[str]:
        result: list[str] = []
        done = region.start
        for code in region.chains:
            result += self.lines[done:code.start]
            result += self.chain(code)
            done = code.stop
        return result + self.lines[done:region.stop]

    def _define(self, name: str, part: _Part, lines: Sequence[str]) -> None:
        """Add the function of a part; its `lines` contain the calls of parts inside it."""
        result, place = _returned(part, self.types), "%given"  # distinct from the names of calls in it
        params = [*self._typed(part.takes), *([f"ptr {place}"] if result.kept else [])]
        memory = [self.memory[own] for own in part.own if self.memory[own] not in self.moved]
        code: list[str] = []
        for line in lines:
            if line in self.rooms:
                memory.append(self.rooms.pop(line))
            if line.startswith("  ret "):
                line = f"  ret i32 {part.exits.index(line[2:]) + 1}"
            elif is_phi(line):
                line = renamed(line, {part.before: "%entry"})
            code.append(line)
        for k, one in enumerate(result.kept):
            code += [f"  {place}.{k} = getelementptr i8, ptr {place}, i64 {_ROOM * k}",
                     f"  store {self.types[one]} {one}, ptr {place}.{k}"]
        code.append(f"  ret {result.type} {result.value}".rstrip())
        for k, way in enumerate(part.exits, 1):
            code += [f"{way[1:]}:", f"  ret i32 {k}"] if way[0] == "%" else []
        self.functions.append("\n".join([
            f"define internal {result.type} @{name}({', '.join(params)}) noinline nounwind {{", "entry:",
            *memory, *code, "}"]))

    def _call(self, name: str, part: _Part) -> list[str]:
        """The lines that replace a part: the call, the loads of its live-outs, and the branches of its exits."""
        self.moved.update(self.memory[own] for own in part.own)
        result, made = _returned(part, self.types), f"%call.{part.start}"
        place = f"{made}.gives"
        arguments = ", ".join([*self._typed(part.takes), *([f"ptr {place}"] if result.kept else [])])
        call = f"call {result.type} @{name}({arguments})"
        assigned = f"{made}.way" if part.exits else "" if result.kept else "".join(part.gives)
        lines = [f"  {assigned} = {call}" if assigned else f"  {call}"]
        if result.kept:
            self.rooms[lines[0]] = f"  {place} = alloca i8, i64 {_ROOM * len(result.kept)}, align {_ROOM}"
        for k, one in enumerate(result.kept):
            lines += [f"  {place}.{k} = getelementptr i8, ptr {place}, i64 {_ROOM * k}",
                      f"  {one} = load {self.types[one]}, ptr {place}.{k}"]
        if part.exits:
            returns = {way: f"%exit.{part.start}.{k}" for k, way in enumerate(part.exits) if way[0] != "%"}
            ways = " ".join(f"i32 {k}, label {returns.get(way, way)}" for k, way in enumerate(part.exits, 1))
            lines.append(f"  switch i32 {made}.way, label {part.after} [ {ways} ]")
            lines += [line for way, label in returns.items() for line in (f"{label[1:]}:", f"  {way}")]
        elif part.after != part.before:
            lines.append(f"  br label {part.after}")
        return lines if part.after == part.before else [*lines, f"{part.after[1:]}:"]

    def _typed(self, names: Iterable[str]) -> list[str]:
        return [f"{self.types[name]} {name}" for name in names]


class _Returned(NamedTuple):
    """The result of a part's function: the number of the exit, or the part's only live-out."""

    type: str
    value: str
    kept: Sequence[str]
    """The live-outs that are returned in memory of the caller."""


def _returned(part: _Part, types: Mapping[str, str]) -> _Returned:
    if part.exits:
        return _Returned("i32", "0", part.gives)
    if len(part.gives) == 1:
        return _Returned(types[part.gives[0]], part.gives[0], ())
    return _Returned("void", "", part.gives)


def _exits(lines: Sequence[str]) -> list[str]:
    """The returns in these lines, and the labels outside to which they branch."""
    inside = {f"%{line[:-1]}" for line in lines if line[-1] == ":"}
    ways = [TARGET.findall(line) if line.startswith("  br ") else [line[2:]] if line.startswith("  ret ") else []
            for line in lines]
    return [way for way in dict.fromkeys(chain.from_iterable(ways)) if way not in inside]
