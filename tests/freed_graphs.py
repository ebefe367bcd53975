"""Graphs that are left once the functions that were traced are gone."""
from __future__ import annotations

import gc
from collections.abc import Callable

from runtime.core.graph import Graph

__all__ = ["frees_graphs"]


def frees_graphs(program: Callable[[], None]) -> bool:
    """Whether there are no more graphs after some more runs of a program."""
    def graphs() -> int:
        program()
        gc.collect()
        return sum(type(x) is Graph for x in gc.get_objects())

    graphs()  # modules that are loaded meanwhile may keep some
    before = graphs()
    return graphs() <= before and graphs() <= before
