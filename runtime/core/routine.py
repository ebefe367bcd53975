"""Graphs that are called by name: by nodes of other graphs and, if recursive, of their own."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from autograph.backend import lower_limit, raise_limit
from runtime.core.errors import locate
from runtime.core.graph import Graph
from runtime.core.positions import Position
from runtime.core.types import Type

__all__ = ["Routine", "too_deep"]

_FRAMES: Final = 8000  # allowed for a recursion beyond Python's limit; each call takes several frames

Runner = Callable[..., Sequence[Any]]
"""A function from arrays to arrays."""


class _Depth(threading.local):
    calls = 0


_depth: Final = _Depth()


def too_deep(name: str) -> str:
    """The text of the error if the calls of a routine nest too deeply."""
    return f"maximum recursion depth exceeded: {name!r} calls itself too often"


class Routine:
    """A graph that is called by name.

    types  the types of its results
    graph  closed: values from outside are among its inputs; it may call the routine
    wide   the routine that runs instead, whose inputs and results made by Python have 64 bits, once a graph calls it
    optimized  the optimised graph, once an executor has made it
    runs   by name of the executor, the function that runs it
    """

    executor: str | None = None  # for its derivatives, as for a traced function
    fast_math = False

    def __init__(self, name: str, types: tuple[Type, ...], position: Position | None = None) -> None:
        self.name, self.types, self.position = name, types, position
        self.graph = Graph(name)
        self.wide: Routine | None = None
        self.optimized: Graph | None = None
        self.runs: dict[str, Runner] = {}

    def call(self, executor: str, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The results for arrays. RecursionError if calls nest too deeply."""
        run = self.runs[executor]
        if _depth.calls:
            return self._nested(run, arrays)
        token = raise_limit(_FRAMES)
        try:
            return self._nested(run, arrays)
        except RecursionError:
            error = RecursionError(too_deep(self.name))
            locate(error, self.position)
            raise error from None
        finally:
            lower_limit(token)

    def _nested(self, run: Runner, arrays: Sequence[Any]) -> tuple[Any, ...]:
        _depth.calls += 1
        try:
            return tuple(run(*arrays))
        finally:
            _depth.calls -= 1

    def __repr__(self) -> str:
        return self.name
