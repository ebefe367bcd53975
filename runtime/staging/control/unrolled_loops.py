"""The warning for Python loops that take long to trace iteration by iteration."""
from __future__ import annotations

import time
import warnings
from types import CodeType
from typing import Final

from autograph.backend import UnrolledLoop, format_error
from runtime.core.config import settings
from runtime.core.graph import Graph, Unrolled, UnrollingWarning, loops, why_unrolled
from runtime.core.trace import current_graph
from runtime.staging.control.rolled_loops import LONG, lines_of
from runtime.staging.values.trials import note_iteration

__all__ = ["unrolling"]

clock = time.perf_counter
_NOT_TRIED: Final = ("it runs over something else than numbers of one type or rows of an array, or its body uses an "
                     "iterator from outside")


class _Watch(UnrolledLoop):
    """Called after each iteration: warns, once per trace, when unrolling the loop has exceeded its time budget."""

    def __init__(self, code: CodeType, graph: Graph) -> None:
        self.code, self.graph = code, graph
        self.nodes, self.began, self.iterations = len(graph.nodes), clock(), 0

    @property
    def budget(self) -> int:
        return settings.unroll_budget

    def __call__(self) -> None:
        self.iterations += 1
        if len(self.graph.nodes) <= self.nodes:
            note_iteration()
        seconds = clock() - self.began
        if seconds <= settings.unroll_seconds or self.iterations <= LONG or loops.has_warned:
            return
        ops = len(self.graph.nodes) - self.nodes
        if ops <= 0:
            return
        loops.has_warned = True
        filename, (first, last) = self.code.co_filename, lines_of(self.code)
        if (filename, first, last) not in {loop[:3] for loop in loops.unrolled}:
            loops.unrolled.append(Unrolled(filename, first, last, _NOT_TRIED))
        why, remedy = why_unrolled(filename, first)
        text = format_error(
            filename, first, None,
            f"this loop over Python values has taken {seconds:.1f} s for {self.iterations:,} iterations, each of which"
            f" is traced into the graph of {self.graph.name!r}, {ops:,} ops so far{why}",
            f"{remedy}; or raise the limit with rt.config.set_autograph_unroll_seconds(s).")
        warnings.warn_explicit(UnrollingWarning(text), None, filename, first)


def unrolling(code: CodeType) -> UnrolledLoop:
    """The watcher for a loop that Python runs during the trace."""
    graph = current_graph()
    return UnrolledLoop() if graph is None else _Watch(code, graph)
