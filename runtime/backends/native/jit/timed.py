"""Profiled native code: a graph compiled once more, with timestamps."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.backends.native.abi.clock import BYTES, HEADER, ITERATIONS, REGIONS, RUNS, TIME, WORDS
from runtime.backends.native.jit.executor import Native
from runtime.backends.native.jit.timed_lowering import TimedLowering
from runtime.core.config import allocated_memory
from runtime.core.graph import Graph
from runtime.core.profiling import Region, Session, now

__all__ = ["Timed"]

_START: Final = HEADER + WORDS * REGIONS


class Timed(Native):
    """A graph as native code with timestamps, for one call at a time."""

    lowering_of = TimedLowering
    hopes = False
    lowering: TimedLowering

    def __init__(self, graph: Graph, fast_math: bool = False) -> None:
        super().__init__(graph, fast_math)
        self._run = self.function()

    @property
    def region(self) -> Region:
        """The region of a call."""
        return self.lowering.call

    def __call__(self, session: Session, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Run on arrays; the times of the regions are added to the session, also if the call raises."""
        start = now()
        session.memory.append((start, int(allocated_memory[0])))
        try:
            results = self._run(*inputs)
        finally:
            end = now()
            session.memory.append((end, int(allocated_memory[0])))
            self._collect(session)
            session.ran(self.region, start, end)
        session.add(self.region, 0, 0, None, sum(getattr(x, "nbytes", 0) for x in results))
        return results

    def _collect(self, session: Session) -> None:
        """Move the table's records to the session."""
        table, regions = self.lowering.table, self.lowering.timed
        for number, start, end in table[_START:_START + 3 * int(table[0])].reshape(-1, 3).tolist():
            session.span(regions[number], start, end)
        words = table[HEADER:_START].reshape(-1, WORDS)
        for number in words[:, RUNS].nonzero()[0].tolist():
            row = words[number].tolist()
            counted = number in self.lowering.counted
            session.add(regions[number], row[RUNS], row[TIME] or None, row[ITERATIONS] if counted else None,
                        max(row[BYTES], self.lowering.bytes.get(number, 0)))
            session.clock_reads += 2 * row[RUNS] * bool(row[TIME])
        session.dropped += max(int(words[:, RUNS][words[:, TIME] > 0].sum()) - int(table[0]), 0)
        table[0] = 0
        words[:, :BYTES] = 0
