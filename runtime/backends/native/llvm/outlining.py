"""Outlining: loops that a large function has several times become one function, which it calls.

Programs that are written out, such as 2,000 products in a row or a network of equal layers, repeat their loops but for
the arrays. LLVM's time grows with the text that it gets, and for one function faster than that.

A loop is a range of blocks, from the target of a branch back to that branch. It can be outlined if one block enters it,
one branch leaves it, and it does not return from the function. Two are equal if their texts are, with all names and
numbers of metadata replaced by the order in which they first occur.
"""
from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Final, NamedTuple

__all__ = ["EQUAL", "Outlined", "normal_form", "outlined"]

_TOKEN: Final = re.compile(r"%[\w.]+|!\d+")
_TARGET: Final = re.compile(r"label (%[\w.]+)")
EQUAL: Final = "equal."
"""Names of functions that loops became begin with this."""
LARGE: Final = 2_000
"""Lines of a function whose equal loops are outlined."""
_SHORT: Final = 8
"""Lines of a loop that a call is not worth."""
_REPEATED: Final = 2
"""Equal loops that become calls: fewer stay where LLVM knows their operands."""


class Outlined(NamedTuple):
    lines: list[str]
    """Of the function, with calls in place of loops."""
    functions: list[str]
    """The text of those that it calls."""


def outlined(
    lines: Sequence[str], types: Mapping[str, str], metadata: Sequence[str], known: dict[Hashable, str]
) -> Outlined:
    """A function's lines after its allocas, the types of its values and the module's metadata. `known`: the names of
    functions by the key of their loop; new ones are added."""
    if len(lines) < LARGE:
        return Outlined([*lines], [])
    function = _Function(lines, types, metadata)
    loops = function.loops()
    found: list[_Loop] = []
    while loops:
        lengths = Counter(loop.stop - loop.start for loop in loops)
        for loop in loops:
            if lengths[loop.stop - loop.start] >= _REPEATED and function.describe(loop):
                loop.key = function.key(loop)
        counts = Counter(loop.key for loop in loops)
        repeated = [loop for loop in loops if loop.key is not None and counts[loop.key] >= _REPEATED]
        found += repeated
        chosen = set(map(id, repeated))
        loops = [inner for loop in loops if id(loop) not in chosen for inner in loop.inner]
    result = Outlined([], [])
    done = 0
    for loop in sorted(found, key=lambda loop: loop.start):
        if loop.key not in known:
            known[loop.key] = f"{EQUAL}{len(known)}"
            result.functions.append(function.text(loop, known[loop.key]))
        result.lines.extend(function.lines[done:loop.start])
        result.lines.extend(function.call(loop, known[loop.key]))
        done = loop.stop
    result.lines.extend(function.lines[done:])
    return result


def normal_form(lines: Sequence[str], metadata: Sequence[str]) -> Hashable:
    """Equal for lines of functions that are equal but for names and the numbers of metadata."""
    texts = [f"{'%' if line[-1] == ':' else ''}{line}" for line in lines]
    tokens = _TOKEN.findall("\n".join(texts))
    nodes = dict.fromkeys(token for token in tokens if token[0] == "!")
    pending = [*nodes]
    for node in pending:  # it grows meanwhile
        content = metadata[int(node[1:])]
        texts.append(content)
        tokens += (more := _TOKEN.findall(content))
        pending += [other for other in dict.fromkeys(more) if other not in nodes]
        nodes |= dict.fromkeys(more)
    order = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
    return _TOKEN.sub("%", "\n".join(texts)), tuple([order[token] for token in tokens])


@dataclass
class _Loop:
    """The lines of a loop, from the label of its first block to the branch that ends its last one."""

    start: int
    stop: int
    inner: list[_Loop] = field(default_factory=list)
    key: Hashable = None
    """Equal for equal loops; None if it cannot be outlined."""
    header: str = ""
    before: str = ""
    """The block that enters it."""
    after: str = ""
    """The block to which it leaves."""
    takes: list[str] = field(default_factory=list)
    """The values from outside that it uses."""
    gives: list[str] = field(default_factory=list)
    """Its values that are used outside."""


class _Function:
    def __init__(self, lines: Sequence[str], types: Mapping[str, str], metadata: Sequence[str]) -> None:
        self.lines, self.types, self.metadata = list(lines), types, metadata
        self.label_lines = [k for k, line in enumerate(self.lines) if line[-1] == ":"]
        self.labels = {f"%{self.lines[k][:-1]}": k for k in self.label_lines}
        self.branches = [k for k, line in enumerate(self.lines) if line.startswith("  br ")]
        tokens = [_TOKEN.findall(line) if line[-1] != ":" else [f"%{line[:-1]}"] for line in self.lines]
        self.at = [0, *accumulate(map(len, tokens))]
        """By line, the number of tokens before it."""
        self.tokens = list(chain.from_iterable(tokens))
        self.last = {token: k for k, token in enumerate(self.tokens)}
        self.first = {token: len(self.tokens) - k for k, token in enumerate(reversed(self.tokens), 1)}

    def loops(self) -> list[_Loop]:
        """The outermost loops, with those in them."""
        spans: dict[int, int] = {}
        for k in self.branches:
            for target in _TARGET.findall(self.lines[k]):
                if self.labels[target] <= k:
                    spans[self.labels[target]] = k + 1
        outermost: list[_Loop] = []
        around: list[_Loop] = []
        for start in sorted(spans):
            while around and around[-1].stop <= start:
                around.pop()
            loop = _Loop(start, spans[start])
            if loop.stop - start < _SHORT or (around and loop.stop > around[-1].stop):
                continue
            (around[-1].inner if around else outermost).append(loop)
            around.append(loop)
        return outermost

    def describe(self, loop: _Loop) -> bool:
        """Find the blocks next to a loop, and what it takes and gives; whether it can be outlined."""
        if not self._has_one_way(loop):
            return False
        start, stop = self.at[loop.start], self.at[loop.stop]
        made = {self.tokens[self.at[k]]: k for k in range(loop.start, loop.stop) if self.lines[k].startswith("  %")}
        loop.gives = [token for token in made if self.last[token] >= stop or self.first[token] < start]
        loop.takes = [token for token in dict.fromkeys(self.tokens[start:stop]) if token[0] == "%"
                      and token not in made and token not in self.labels and token != "%entry"]
        return all(token in self.types for token in (*loop.takes, *loop.gives))

    def _has_one_way(self, loop: _Loop) -> bool:
        """Whether a loop is entered from one block, at its header, and left to one block; finds these."""
        start, stop = self.at[loop.start], self.at[loop.stop]
        own = self.lines[loop.start:loop.stop]
        labels = [f"%{line[:-1]}" for line in own if line[-1] == ":"]
        inside = set(labels)
        exits = [target for line in own if line.startswith("  br ") for target in _TARGET.findall(line)
                 if target not in inside]
        if len(exits) != 1 or any(line.startswith(("  ret ", "  switch ")) for line in own):
            return False
        loop.header, loop.after = labels[0], exits[0]
        entry, end = self.first[loop.header], self.labels[loop.after]
        if entry >= start or loop.header in self.tokens[entry + 1:start] or end < loop.stop:
            return False
        k = bisect_right(self.label_lines, bisect_right(self.at, entry) - 1)
        loop.before = f"%{self.lines[self.label_lines[k - 1]][:-1]}" if k else "%entry"
        phis = range(self.at[end], self.at[self._end_of_phis(end)])
        return (all(self.first[label] >= start for label in labels[1:])
                and all(self.last[label] in phis for label in labels if self.last[label] >= stop))

    def _end_of_phis(self, label: int) -> int:
        k = label + 1
        while " = phi " in self.lines[k]:
            k += 1
        return k

    def key(self, loop: _Loop) -> Hashable:
        own = normal_form(self.lines[loop.start:loop.stop], self.metadata)
        tokens = self.tokens[self.at[loop.start]:self.at[loop.stop]]
        order = {token: k for k, token in enumerate(dict.fromkeys(tokens))}
        types = [self.types[one] for one in loop.takes]
        return (own, order.get(loop.before, -1), *self._typed(loop.gives, order), *types)

    def _returned(self, loop: _Loop) -> str:
        types = [self.types[one] for one in loop.gives]
        return "void" if not types else types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"

    def text(self, loop: _Loop, name: str) -> str:
        """The function for a loop."""
        names = {loop.before: "%entry", loop.after: "%out"}
        body = [_renamed(line, names) for line in self.lines[loop.start:loop.stop]]
        result, last = self._returned(loop), "poison"
        made = []
        if len(loop.gives) > 1:
            for k, one in enumerate(loop.gives):
                made.append(f"  %out.{k} = insertvalue {result} {last}, {self.types[one]} {one}, {k}")
                last = f"%out.{k}"
        elif loop.gives:
            last = loop.gives[0]
        params = ", ".join(self._typed(loop.takes))
        return "\n".join([
            f"define internal {result} @{name}({params}) noinline nounwind {{", "entry:", f"  br label {loop.header}",
            *body, "out:", *made, f"  ret {result} {last}" if loop.gives else "  ret void", "}"])

    def call(self, loop: _Loop, name: str) -> list[str]:
        """The lines in place of a loop."""
        result = self._returned(loop)
        call = f"call {result} @{name}({', '.join(self._typed(loop.takes))})"
        if len(loop.gives) > 1:
            lines = [f"  {loop.header}.out = {call}"]
            lines += [f"  {one} = extractvalue {result} {loop.header}.out, {k}" for k, one in enumerate(loop.gives)]
        else:
            lines = [f"  {loop.gives[0]} = {call}" if loop.gives else f"  {call}"]
        end = self.labels[loop.after]
        inside = {f"%{line[:-1]}": loop.header for line in self.lines[loop.start:loop.stop] if line[-1] == ":"}
        for k in range(end + 1, self._end_of_phis(end)):
            self.lines[k] = _renamed(self.lines[k], inside)
        return [f"{loop.header[1:]}:", *lines, f"  br label {loop.after}"]

    def _typed(self, names: Iterable[str], order: Mapping[str, int] = {}) -> list[str]:
        return [f"{self.types[name]} {order.get(name, name)}" for name in names]


def _renamed(line: str, names: Mapping[str, str]) -> str:
    return _TOKEN.sub(lambda match: names.get(match.group(), match.group()), line)
