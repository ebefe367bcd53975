"""The single-entry single-exit regions of a function's text.

They are the regions of Johnson, Pearson and Pingali, "The program structure tree" (1994): two places that the same set
of branches passes over delimit a part that no branch enters or leaves. A place is a line before which the function can
be cut: any instruction but a phi.
"""
from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Final, NamedTuple

__all__ = ["TARGET", "TOKEN", "Chain", "Region", "Separated", "is_phi", "is_place", "renamed", "separated", "structure"]

TOKEN: Final = re.compile(r"%[\w.]+|!\d+")
TARGET: Final = re.compile(r"label (%[\w.]+)")


@dataclass
class Region:
    """Lines with branches, from a block's terminator to behind the phis of the block where all paths merge again."""

    start: int
    stop: int
    is_loop: bool
    """Whether it contains a back edge."""
    chains: list[Chain]


@dataclass
class Chain:
    """Code that runs from its first place to its last in order, apart from the branches within its regions."""

    start: int
    stop: int
    regions: list[Region] = field(default_factory=list)


def is_place(line: str) -> bool:
    return line[-1] != ":" and not is_phi(line)


def is_phi(line: str) -> bool:
    return " = phi " in line


def renamed(line: str, names: Mapping[str, str]) -> str:
    return TOKEN.sub(lambda match: names.get(match.group(), match.group()), line)


def structure(lines: Sequence[str]) -> Chain:
    """The outermost chain. Branches to labels that are not among the lines leave the function."""
    starts = _starts(lines)
    labels = {f"%{lines[k][:-1]}": k for k in starts[:-1] if lines[k][-1] == ":"}
    over: dict[int, int] = defaultdict(int)  # by place, changes of the hash of the set of branches that pass over it
    loops = [0]  # by block, the number of blocks before it that end in a back edge
    numbers = random.Random(0)
    for start, stop in pairwise(starts):
        to = [labels[target] for target in TARGET.findall(lines[stop - 1]) if target in labels]
        for target in to:
            number = numbers.getrandbits(62)
            over[stop] ^= number
            over[target] ^= number
        loops.append(loops[-1] + any(target <= start for target in to))
    open_: list[_Open] = []
    depths: dict[int, int] = {}
    key = 0
    for block, (start, stop) in enumerate(pairwise(starts)):
        key ^= over[start]
        place = start + (lines[start][-1] == ":")
        while is_phi(lines[place]):
            place += 1
        if key not in depths:
            depths[key] = len(open_)
            open_.append(_Open(key, Chain(place, stop - 1), block, []))
            continue
        while len(open_) > depths[key] + 1:
            closed = open_.pop()
            del depths[closed.key]
            open_[-1].inside += [closed.chain, *closed.inside]  # a loop whose test comes first has both
        now = open_[-1]
        now.chain.regions.append(Region(now.chain.stop, place, loops[block] > loops[now.block], now.inside))
        now.chain.stop, now.block, now.inside = stop - 1, block, []
    return open_[0].chain


@dataclass
class _Open:
    """A chain whose last place is not yet known."""

    key: int
    chain: Chain
    block: int
    """Its last block so far."""
    inside: list[Chain]
    """The chains since that block."""


class Separated(NamedTuple):
    lines: list[str]
    ends: list[str]
    """The blocks that only lead to returns, and to which several places branch."""
    cells: dict[str, str]
    """The allocas for values that these blocks use: names, and types of the content."""


def separated(lines: Sequence[str], types: Mapping[str, str]) -> Separated:
    """A function's lines, without shared blocks that only lead to returns: their branches would pass over everything
    between the places that use them. These blocks get values of other blocks through memory."""
    blocks = [lines[start:stop] for start, stop in pairwise(_starts(lines))]
    ends = _shared_ends(blocks)
    tail = [block for block, is_end in zip(blocks, ends, strict=True) if is_end]
    made = {name for block, is_end in zip(blocks, ends, strict=True) if not is_end for name in _made(block)}
    used = dict.fromkeys(token for block in tail for line in block for token in TOKEN.findall(line) if token in made)
    phis = {token for block in tail for line in block if is_phi(line) for token in TOKEN.findall(line)}
    if not tail or not all(token in types for token in used) or not phis.isdisjoint(made):
        return Separated([*lines], [], {})
    cells = {token: f"%kept.{token[1:]}" for token in used}
    result = Separated([], [], {cells[token]: types[token] for token in used})
    for block, is_end in zip(blocks, ends, strict=True):
        if is_end:
            result.ends.extend(_loading(block, cells, types))
        else:
            result.lines.extend(_storing(block, cells, types) if used else block)
    return result


def _starts(lines: Sequence[str]) -> list[int]:
    """The first lines of the blocks, and the end of the last one."""
    return [0, *(k for k, line in enumerate(lines) if line[-1] == ":" and k), len(lines)]


def _shared_ends(blocks: Sequence[Sequence[str]]) -> list[bool]:
    """For each block, whether it cannot reach the last return, and a block branches to it that is not adjacent to it
    (blocks that cannot reach the last return are not counted)."""
    number = {f"%{block[0][:-1]}": k for k, block in enumerate(blocks) if block[0][-1] == ":"}
    targets = [[number[label] for label in TARGET.findall(block[-1])] for block in blocks]
    sources: list[list[int]] = [[] for _ in blocks]
    for k, following in enumerate(targets):
        for to in following:
            sources[to].append(k)
    reaching = {max((k for k, block in enumerate(blocks) if block[-1].startswith("  ret ")), default=0)}
    pending = [*reaching]
    for to in pending:  # grows during the iteration
        new = [k for k in sources[to] if k not in reaching]
        reaching.update(new)
        pending += new
    places = [*accumulate(k in reaching for k in range(len(blocks)))]
    found = [k not in reaching and any(places[source] != places[k] for source in sources[k])
             for k in range(len(blocks))]
    pending = [k for k, is_found in enumerate(found) if is_found]
    for k in pending:
        new = [to for to in dict.fromkeys(targets[k]) if not found[to]]
        for to in new:
            found[to] = True
        pending += new
    return found


def _made(block: Sequence[str]) -> list[str]:
    """The names that a block defines: its label, and those of its values."""
    own = [f"%{block[0][:-1]}"] if block[0][-1] == ":" else []
    return own + [line[2:line.index(" ", 2)] for line in block if line.startswith("  %")]


def _storing(block: Sequence[str], cells: Mapping[str, str], types: Mapping[str, str]) -> list[str]:
    result: list[str] = []
    pending: list[str] = []  # stores of phis' values, to be written after the phis
    for line in block:
        if pending and is_place(line):
            result += pending
            pending = []
        result.append(line)
        name = line[2:line.index(" ", 2)] if line.startswith("  %") else ""
        if name in cells:
            (pending if is_phi(line) else result).append(f"  store {types[name]} {name}, ptr {cells[name]}")
    return result


def _loading(block: Sequence[str], cells: Mapping[str, str], types: Mapping[str, str]) -> list[str]:
    used = [token for token in dict.fromkeys(chain.from_iterable(map(TOKEN.findall, block))) if token in cells]
    label = block[0][:-1]
    names = {token: f"%{label}.{token[1:]}" for token in used}
    first = next(k for k, line in enumerate(block) if is_place(line))
    return [*block[:first], *(f"  {names[token]} = load {types[token]}, ptr {cells[token]}" for token in used),
            *(renamed(line, names) for line in block[first:])]
