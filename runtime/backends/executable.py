"""What an executor makes of a graph, and what calls of it may go through."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["Called", "Executable", "Findable"]


class Called:
    """What CPython may call by way of native code, which goes on to the `__call__` of the class right below this one
    unless `_front` tells it what to run: nothing, if that is empty. See `runtime.backends.native.jit.fast_call`."""

    __slots__ = ("_front",)

    _front: tuple[Any, ...]


class Findable(Protocol):
    """A trace that native code can find."""

    def known(
        self, front: tuple[Any, ...], calls: array[int], used: array[int], arrays: Sequence[Any],
    ) -> tuple[Any, ...]:
        """`front` with this trace for arguments such as these arrays. Their calls count in `calls`, and leave in `used`
        the number of the last one."""

    def forgotten(self, front: tuple[Any, ...]) -> tuple[Any, ...]:
        """`front` without this trace."""


class Executable(Protocol):
    """A graph, ready to run."""

    executor: str

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """From arrays for the graph's inputs to a tuple of arrays, read-only, of just the types of its outputs."""

    def findable(self, run: Callable[..., Any], single: bool) -> Findable | None:
        """What lets native code find the trace, or None. `run` is its function from arrays to its result; `single`:
        that is a tensor of the one array that `function()` gives."""

    def inspect_llvm(self, optimized: bool = True) -> str: ...

    def inspect_asm(self) -> str: ...

    def explain(self) -> str: ...
