"""Outlining: parts of a large function become functions, which it calls.

LLVM's time grows with the text that it gets, and for one function faster than that. So loops that a function has
several times become one function: programs that are written out, such as 2,000 products in a row or a network of equal
layers, repeat their loops but for the arrays. What is long then is cut into sections, each a function.

A part has one way in and one way on (`regions.py`). There are other ways out of it, though: returns, and branches to
blocks that only lead to returns. The function of a part returns the number of the way. Two parts are equal if their
texts are, with all names and numbers of metadata replaced by the order in which they first occur.
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

__all__ = ["Outlined", "normal_form", "outlined"]

_TOKEN_OR_END: Final = re.compile(rf"{TOKEN.pattern}|\n")
LARGE: Final = 1_000
"""Lines of a function whose equal loops are outlined."""
LONG: Final = 4_000
"""Lines of code that is cut into sections."""
SECTION: Final = 600
"""Lines of a section, at least."""
_ROOM: Final = 16
"""Bytes of a value in memory, at most."""
_SHORT: Final = 8
"""Lines of a loop that a call is not worth."""
_REPEATED: Final = 2
"""Equal loops that become calls: fewer stay where LLVM knows their operands."""


class Outlined(NamedTuple):
    entry: Sequence[str]
    """The first lines of the function, without memory that only its parts use."""
    lines: Sequence[str]
    """The others, with calls in place of parts."""
    functions: Sequence[str]
    """The text of those that it calls."""


def outlined(entry: Sequence[str], lines: Sequence[str], types: Mapping[str, str], metadata: Sequence[str],
             known: dict[Hashable, str]) -> Outlined:
    """A function's lines, the types of its values and the module's metadata. `known`: the names of functions by the key
    of their part; new ones are added."""
    if len(lines) < LARGE:
        return Outlined(entry, lines, [])
    function = _Function(entry, lines, types, metadata, known)
    top = structure(function.lines)
    function.find_repeated(top.regions)
    written = [*function.lines[:top.start], *function.chain(top), *function.lines[top.stop:], *function.ends]
    kept = [line for line in function.entry if line not in function.moved]
    return Outlined([*function.rooms.values(), *kept], written, function.functions)


def normal_form(lines: Sequence[str], metadata: Sequence[str]) -> Hashable:
    """Equal for lines of functions that are equal but for names and the numbers of metadata."""
    texts = [f"{'%' if line[-1] == ':' else ''}{line}" for line in lines]
    tokens = TOKEN.findall("\n".join(texts))
    nodes = dict.fromkeys(token for token in tokens if token[0] == "!")
    pending = [*nodes]
    for node in pending:  # it grows meanwhile
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
    """The block in which it begins."""
    after: str
    """The block in which it ends."""
    takes: list[str]
    """The values from outside that it uses."""
    gives: list[str]
    """Its values that are used outside."""
    own: list[str]
    """Memory that nothing else uses."""
    exits: list[str]
    """Returns, and labels of blocks that lead to returns."""
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
        """Lines that allocate memory of parts."""
        self.rooms: dict[str, str] = {}
        """By line with a call: that which allocates memory for what the part gives."""
        self.repeated: dict[int, _Part] = {}
        """Equal loops, by where they begin."""
        self.label_lines = [k for k, line in enumerate(self.lines) if line[-1] == ":"]
        text = [f"%{line}" if line[-1] == ":" else line for line in (*self.lines, *self.ends)]
        self.labels = {line[:-1] for line in text if line[-1] == ":"}
        whole = "\n".join([*text, ""])
        tokens = _TOKEN_OR_END.findall(whole)
        self.at = [0, *(k - line for line, k in enumerate(k for k, token in enumerate(tokens) if token == "\n"))]
        """By line, the number of tokens before it."""
        self.tokens = [token for token in tokens if token != "\n"]
        self.last = {token: k for k, token in enumerate(self.tokens)}
        self.first = {token: len(self.tokens) - k for k, token in enumerate(reversed(self.tokens), 1)}
        self.shapes = TOKEN.sub("%", whole).split("\n")
        """The lines without names."""
        self.memory = self._memory()
        self.uses: dict[str, list[int]] = defaultdict(list)
        """The lines with a pointer."""
        for k, (start, stop) in enumerate(pairwise(self.at)):
            for token in self.tokens[start:stop]:
                if self.types.get(token) == "ptr":
                    self.uses[token].append(k)

    def _memory(self) -> dict[str, str]:
        """Memory on the stack that the first lines only allocate, by name."""
        counts = Counter(TOKEN.findall("\n".join(self.entry)))
        found = {line.split()[0]: line for line in self.entry if " = alloca " in line}
        return {name: line for name, line in found.items() if counts[name] == 1}

    # Parts.

    def part(self, start: int, stop: int) -> _Part | None:
        """The part between two places. None if the function would return a value that the part computes, or if what it
        takes or gives is of unknown type, or a vector, for which calls fail in LLVM 22."""
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
        """Whether only these lines use memory, and pass its address to nothing."""
        pending = [name]
        for pointer in pending:  # it grows meanwhile
            for k in self.uses[pointer]:
                line = self.lines[k] if start <= k < stop else ""
                if " = getelementptr " in line:
                    pending += [found for found in (line.split()[0],) if found != pointer]
                elif not (" = load " in line or line.startswith("  call void @llvm.mem")
                          or (line.startswith("  store ") and not line.startswith(f"  store ptr {pointer},"))):
                    return False
        return True

    def find_repeated(self, regions: Sequence[Region]) -> None:
        """Find the loops of which there are several, the outermost first."""
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
        """The lines of a chain, cut into sections if they are many."""
        pieces = [*self._pieces(code)]
        if sum(len(lines) for _, lines in pieces) <= LONG:
            return [*chain.from_iterable(lines for _, lines in pieces)]
        result: list[str] = []
        start, held = code.start, list[str]()
        for stop, lines in pieces:
            held += lines
            if len(held) >= SECTION:
                part = self.part(start, stop)
                if part is not None:
                    name = self.known[len(self.known), "section"] = f"section.{len(self.known)}"
                    self._define(name, part, held)
                    held = self._call(name, part)
                result += held
                start, held = stop, []
        return result + held

    def _pieces(self, code: Chain) -> Iterator[tuple[int, list[str]]]:
        """The lines of a chain, in pieces, each with the place where it ends."""
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
        """Add the function for a part, whose lines contain calls of others."""
        result, place = _returned(part, self.types), "%given"  # a call in it may begin where the part does
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
        """The lines in place of a part."""
        self.moved.update(self.memory[own] for own in part.own)
        result, made = _returned(part, self.types), f"%call.{part.start}"
        place = f"{made}.gives"
        arguments = ", ".join([*self._typed(part.takes), *([f"ptr {place}"] if result.kept else [])])
        call = f"call {result.type} @{name}({arguments})"
        given = f"{made}.way" if part.exits else "" if result.kept else "".join(part.gives)
        lines = [f"  {given} = {call}" if given else f"  {call}"]
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
    """What the function for a part returns: the number of the way out, or the only value that the part gives."""

    type: str
    value: str
    kept: Sequence[str]
    """The values that the part gives in memory of the caller."""


def _returned(part: _Part, types: Mapping[str, str]) -> _Returned:
    if part.exits:
        return _Returned("i32", "0", part.gives)
    if len(part.gives) == 1:
        return _Returned(types[part.gives[0]], part.gives[0], ())
    return _Returned("void", "", part.gives)


def _exits(lines: Sequence[str]) -> list[str]:
    """The returns in these lines, and the labels to which they lead that are not among them."""
    inside = {f"%{line[:-1]}" for line in lines if line[-1] == ":"}
    ways = [TARGET.findall(line) if line.startswith("  br ") else [line[2:]] if line.startswith("  ret ") else []
            for line in lines]
    return [way for way in dict.fromkeys(chain.from_iterable(ways)) if way not in inside]
