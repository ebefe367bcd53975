"""The data of a profile: regions, which are timed as a whole, their totals, and the spans of single runs.

At most one session is active in a process; without one, nothing is measured.
"""
from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from runtime.core.positions import Position

__all__ = ["KINDS", "Region", "Session", "Span", "Totals", "active", "now", "ops_text", "phase", "setting_up"]

_MOST: Final = 200_000
"""The maximal number of spans of a session: later ones only count in the totals."""
_CLOCK: Final = getattr(time, "CLOCK_MONOTONIC", None)


def now() -> int:
    """Nanoseconds, of the same clock that native code reads."""
    return time.monotonic_ns() if _CLOCK is None else time.clock_gettime_ns(_CLOCK)


def ops_text(names: Sequence[str], most: int = 6) -> str:
    """Names with their counts: `2 multiply, tanh`."""
    texts = [name if n == 1 else f"{n} {name}" for name, n in Counter(names).items()]
    return ", ".join(texts if len(texts) <= most else [*texts[:most - 1], "..."])


KINDS: Final[Mapping[str, str]] = {"while_loop": "loop", "reduce": "loop", "cond": "branch", "try_": "branch"}
"""The kinds of the regions of control flow, by op."""


class Region:
    """Work that is timed as a whole.

    kind    "call" (of a traced function), "op", "fused" (ops that share loops of native code), "loop", "branch",
            "python" (a callback from native code), "eager" (an op outside of graphs), "compile", "step", or "profiler"
            (overhead of the profile)
    ops     the names of the ops that it computes itself
    places  the positions of these in the user's source
    scopes  the name scopes there, such as those of layers
    parent  the region that it is part of
    note    how native code runs it, if in a special way
    """

    __slots__ = ("kind", "name", "note", "ops", "parent", "places", "scopes")

    def __init__(self, kind: str, name: str, parent: Region | None = None, ops: Sequence[str] = (),
                 places: Sequence[Position | None] = (), note: str = "") -> None:
        self.kind, self.name, self.parent, self.note = kind, name, parent, note
        self.ops = tuple(ops)
        self.places = tuple(sorted({(p.filename, p.lineno) for p in places if p is not None}))
        self.scopes = tuple(sorted({p.scope for p in places if p is not None and p.scope}))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Totals:
    """Sums over the runs of a region: their number, nanoseconds (None: not timed), iterations (None: not a loop, or not
    counted), and the maximal number of bytes that one run allocates."""

    __slots__ = ("bytes", "iterations", "runs", "time")

    def __init__(self) -> None:
        self.runs = self.bytes = 0
        self.time: int | None = None
        self.iterations: int | None = None

    def add(self, runs: int, time: int | None, iterations: int | None = None, bytes: int = 0) -> None:
        self.runs += runs
        self.bytes = max(self.bytes, bytes)
        if time is not None:
            self.time = (self.time or 0) + time
        if iterations is not None:
            self.iterations = (self.iterations or 0) + iterations


class Span(NamedTuple):
    """One run of a region, in nanoseconds of `now`."""

    region: Region
    start: int
    end: int
    thread: int
    args: Mapping[str, Any] = {}


class Session:
    """The measurements from its creation until it is stopped."""

    def __init__(self) -> None:
        self.start, self.end = now(), 0
        self.spans: list[Span] = []
        self.dropped = 0
        self.totals: dict[Region, Totals] = {}
        self.memory: list[tuple[int, int]] = []
        """Times, and the bytes that native code held at each."""
        self.clock_reads = 0
        """The number of clock reads by native code."""
        self.setting_up: set[int] = set()
        """The threads that are preparing the profile itself, which is not measured."""
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, Any], Region] = {}

    def region(self, kind: str, name: str, position: Position | None = None) -> Region:
        """The region of this kind and name on this line, without a parent."""
        key = kind, name, None if position is None else (position.filename, position.lineno, position.scope)
        with self._lock:
            known = self._known.get(key)
            if known is None:
                ops = (name,) if kind == "eager" else ()
                known = self._known[key] = Region(kind, name, None, ops, (position,))
            return known

    def span(self, region: Region, start: int, end: int, args: Mapping[str, Any] = {}) -> None:
        """Record a run as a span, without adding it to the totals."""
        if len(self.spans) < _MOST:
            self.spans.append(Span(region, start, end, threading.get_native_id(), args))
        else:
            self.dropped += 1

    def add(self, region: Region, runs: int, time: int | None, iterations: int | None = None, bytes: int = 0) -> None:
        """Add to the totals of a region."""
        with self._lock:
            totals = self.totals.get(region)
            if totals is None:
                totals = self.totals[region] = Totals()
            totals.add(runs, time, iterations, bytes)

    def ran(self, region: Region, start: int, end: int, bytes: int = 0, args: Mapping[str, Any] = {}) -> None:
        """Record a run as a span, and add it to the totals."""
        self.span(region, start, end, args)
        self.add(region, 1, end - start, None, bytes)


class _Active:
    session: Session | None = None


active: Final = _Active()
"""The session of this process, if any."""


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Time the body as a region of this name, if a session is active."""
    session = active.session
    if session is None or threading.get_ident() in session.setting_up:
        yield
        return
    start = now()
    try:
        yield
    finally:
        session.ran(session.region("compile", name), start, now())


@contextmanager
def setting_up(session: Session, name: str) -> Iterator[None]:
    """The body is overhead of the profile: it is shown in the trace, and counted in no total."""
    thread, start = threading.get_ident(), now()
    session.setting_up.add(thread)
    try:
        yield
    finally:
        session.setting_up.discard(thread)
        session.span(session.region("profiler", name), start, now())
