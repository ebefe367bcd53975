"""The results of a session: as a table, as a file, and as objects."""
from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from runtime.core.profiling import Region, Session, Totals, now, ops_text
from runtime.profiler import chrome

__all__ = ["Report", "Row"]

_MOST: Final = 40
"""Maximal number of rows of a table; the others are summed up."""
_HEADER: Final = ("time", "share", "runs", "iterations", "memory", "what")


class Row(NamedTuple):
    """A line of a table.

    what        the ops, or what else ran
    where       its lines in the user's source: `file:line`, sorted
    scopes      its name scopes, such as the paths of Keras' layers
    seconds     the time of all runs; None if it is measured only as part of the enclosing row
    own         `seconds` without that of the rows inside it
    runs        how often it ran
    iterations  of a loop, in all runs; None if it is no loop, or they are not counted
    bytes       what a run allocates at most
    kind, note, depth    see `runtime.core.profiling.Region`; the nesting depth of the row
    """

    what: str
    where: tuple[str, ...]
    scopes: tuple[str, ...]
    seconds: float | None
    own: float | None
    runs: int
    iterations: int | None
    bytes: int
    kind: str
    note: str
    depth: int


class Report:
    """The result of `rt.profiler.profile`: `print` it, take its `rows`, or `save` it for Perfetto.

    result     what the function returned
    seconds    the duration of the session, without the time for compiling code with timestamps
    compiling  the seconds of it for tracing and compiling
    overhead   an upper bound of the seconds for reading the clock in native code
    """

    def __init__(self, session: Session, result: Any = None) -> None:
        self._session = session
        self.result = result
        self.seconds = (session.end - session.start - _union(session, "profiler")) / 1e9
        self.compiling = _union(session, "compile") / 1e9
        self.overhead = session.clock_reads * _read() / 1e9
        self.dropped = session.dropped

    @property
    def rows(self) -> list[Row]:
        """The rows, each followed by those inside it; rows with the longest time first."""
        totals = self._session.totals
        inside: dict[Region | None, list[Region]] = {}
        for region in totals:
            inside.setdefault(_present(region.parent, totals), []).append(region)
        return list(_rows(None, 0, inside, totals))

    def trace(self) -> dict[str, Any]:
        """The document that `save` writes."""
        return chrome.trace(self._session)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a trace that https://ui.perfetto.dev and chrome://tracing open; compressed if `path` ends in `.gz`."""
        data = json.dumps(self.trace()).encode()
        path = os.fspath(path)
        with open(path, "wb") as file:
            file.write(gzip.compress(data) if path.endswith(".gz") else data)

    def table(self, by: Literal["region", "op", "line"] = "region") -> str:
        """A table of `rows`; or of own times by op or by line, where the ops of one loop stay together."""
        if by not in ("region", "op", "line"):
            raise ValueError(f"a table is by 'region', 'op' or 'line', not {by!r}")
        rows = self.rows
        if by != "region":
            rows = _grouped(rows, lambda row: (by == "line" and _place(row)) or row.what)
        lines = [tuple(_cells(row, self.seconds)) for row in rows[:_MOST]]
        if len(rows) > _MOST:
            lines.append(("", "", "", "", "", f"... and {len(rows) - _MOST} more rows"))
        widths = [max(len(line[k]) for line in (_HEADER, *lines)) for k in range(len(_HEADER) - 1)]
        return "\n".join("  ".join([*[cell.rjust(width) for cell, width in zip(line, widths)], line[-1]]).rstrip()
                         for line in (_HEADER, *lines))

    def __str__(self) -> str:
        parts = [f"{_time(self.seconds)} in all"]
        if self.compiling:
            parts.append(f"{_time(self.compiling)} of it for tracing and compiling")
        measured = sum(row.seconds or 0 for row in self.rows if not row.depth and row.kind != "step")
        if measured < self.seconds:
            parts.append(f"{_time(self.seconds - measured)} for Python and what is not measured")
        if self.overhead:
            parts.append(f"at most {_time(self.overhead)} for reading the clock in native code")
        if self.dropped:
            parts.append(f"{self.dropped:,} runs are in the table, but not in the trace")
        return f"{', '.join(parts)}\n\n{self.table()}"

    def __repr__(self) -> str:
        return f"<profile of {_time(self.seconds)}>"


def _present(region: Region | None, totals: dict[Region, Totals]) -> Region | None:
    while region is not None and region not in totals:
        region = region.parent
    return region


def _rows(parent: Region | None, depth: int, inside: dict[Region | None, list[Region]], totals: dict[Region, Totals]
          ) -> Iterator[Row]:
    for region in sorted(inside.get(parent, ()), key=lambda region: -(totals[region].time or 0)):
        own = totals[region]
        parts = sum(_known(part, inside, totals) for part in inside.get(region, ()))
        seconds = None if own.time is None else own.time / 1e9
        where = tuple([f"{os.path.basename(filename)}:{line}" for filename, line in region.places])
        alone = None if own.time is None else max(own.time - parts, 0) / 1e9
        yield Row(_what(region), where, region.scopes, seconds, alone, own.runs, own.iterations, own.bytes,
                  region.kind, region.note, depth)
        yield from _rows(region, depth + 1, inside, totals)


def _known(region: Region, inside: dict[Region | None, list[Region]], totals: dict[Region, Totals]) -> int:
    """The nanoseconds of a region; if it is not timed, the sum of those of the regions inside it."""
    time = totals[region].time
    return sum(_known(part, inside, totals) for part in inside.get(region, ())) if time is None else time


def _what(region: Region) -> str:
    if region.kind == "call":
        return f"call of {region.name}"
    if region.kind == "loop" and region.ops and region.ops != (region.name,):
        return f"{region.name} of {ops_text(region.ops)}"
    if region.kind == "python":
        return f"Python: {region.name}"
    return region.name


def _grouped(rows: Sequence[Row], key: Callable[[Row], str]) -> list[Row]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    found = []
    for name, group in groups.items():
        own = sum(row.own or 0 for row in group)
        counts = [row.iterations for row in group if row.iterations is not None]
        found.append(Row(name, (), (), own, own, sum(row.runs for row in group), sum(counts) if counts else None,
                         max(row.bytes for row in group), "", "", 0))
    return sorted(found, key=lambda row: -(row.own or 0))


def _cells(row: Row, seconds: float) -> Iterator[str]:
    yield "-" if row.seconds is None else _time(row.seconds)
    yield "-" if row.seconds is None else f"{100 * row.seconds / max(seconds, 1e-9):.1f} %"
    yield f"{row.runs:,}"
    yield "" if row.iterations is None else f"{row.iterations:,}"
    yield _bytes(row.bytes)
    where, note = f"{_place(row)}: " if row.where else "", f" ({row.note})" if row.note else ""
    yield f"{'  ' * row.depth}{where}{row.what}{note}"


def _place(row: Row) -> str:
    scopes = f" [{', '.join(row.scopes)}]" if row.scopes else ""
    return ", ".join(row.where) + scopes


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def _bytes(count: int) -> str:
    for factor, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B" if count else ""


def _union(session: Session, kind: str) -> int:
    """The nanoseconds during which regions of this kind ran in at least one thread."""
    total, last = 0, 0
    for start, end in sorted((span.start, span.end) for span in session.spans if span.region.kind == kind):
        total += max(end - max(start, last), 0)
        last = max(last, end)
    return total


def _read() -> int:
    """The nanoseconds that Python takes to read the clock, an upper bound for native code."""
    return min(-now() + now() for _ in range(100))
