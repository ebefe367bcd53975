"""Arrays of which only some rows are in memory, at positions computed from their indices.

A row is all elements with one index of the first axis. Code for complete arrays also reads and writes such arrays: the
position of a row is computed when the code for its elements is written.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.backends.native.codegen.index_expressions import Array, Leaf, Place
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Val
from runtime.core.types import DType

__all__ = ["Grid", "Rows", "WholeNeeded"]


class WholeNeeded(Exception):
    """The code accesses the array in other ways than by contiguous rows."""


class Grid:
    """The positions of rows: `find(b, row)` is the number of a row counted from `pointer`. Both must be set before any
    read."""

    __slots__ = ("find", "name", "pointer")

    def __init__(self, name: str) -> None:
        self.name = name  # of the memory
        self.pointer: Val | None = None
        self.find: Callable[[Builder, Index], Index] = lambda b, row: row


class Rows(Leaf):
    """A slice of an array of rows: its row k is row `shift + k` of the array, from element `first` on."""

    __slots__ = ("first", "grid", "shift")

    def __init__(self, dtype: DType, dims: Sequence[Index], strides: Sequence[Index], grid: Grid, shift: int = 0,
                 first: Index = 0) -> None:
        Array.__init__(self, dtype, dims, False, True, 1)
        self.bases = frozenset([grid.name])
        self.strides = strides
        self.scratch = False
        self.grid = grid
        self.shift = shift
        self.first = first

    @property
    def pointer(self) -> Val:  # type: ignore[override]
        raise WholeNeeded

    def part(self, b: Builder, starts: Sequence[Index], dims: Sequence[Index], strides: Sequence[Index]) -> Rows:
        """The slice whose first element is at `starts`; axes other than the first may differ."""
        steps = self.steps(b)
        first = self.first
        for start, step in zip(starts[1:], steps[1:], strict=True):
            first = b.iadd(first, b.imul(start, step))
        if not isinstance(starts[0], int):
            raise WholeNeeded
        return Rows(self.dtype, dims, strides, self.grid, self.shift + starts[0], first)

    def address(self, b: Builder, place: Place) -> Val:
        if self.grid.pointer is None:
            raise WholeNeeded
        steps = self.steps(b)
        offset = b.imul(self.grid.find(b, b.iadd(place[0], self.shift)), steps[0])
        for index, step in zip(place[1:], steps[1:], strict=True):
            offset = b.iadd(offset, b.imul(index, step))
        return b.offset(self.grid.pointer, b.iadd(offset, self.first), llvm_type(self.dtype))

    def reshaped(self, dims: Sequence[Index]) -> Leaf:
        raise WholeNeeded

    def moved(self, dims: Sequence[Index], back: Callable[[Builder, Place], Place], leaf: Any, done: dict[int, Array]
              ) -> Array:
        if getattr(leaf, "keeps_rows", False):
            return super().moved(dims, back, leaf, done)
        raise WholeNeeded
