"""Products of a matrix and a vector, which read each element of the matrix once: sums along its lines, or of its lines.

A BLAS divides such products among threads of its own, which then compete with the code that follows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.index_expressions import Leaf
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Val, const

__all__ = ["multiply"]

_ROWS: Final = 4  # rows at once, each of which uses the same part of the vector
_VECTORS: Final = 2  # accumulators for each of them: together they hide the latency of an addition
_COLUMNS: Final = 4  # registers of sums at once, where a column is the sum of lines


def multiply(w: Lowering, x: Leaf, y: Leaf, out: Leaf) -> None:
    """Write the product of a matrix, in row or column order, and a vector, both of float32 or float64, into `out`. It
    overlaps neither, and is contiguous like the vector."""
    b = w.b
    along = isinstance(step := x.steps(b)[1], int) and step == 1
    rows, inner = x.dims[0], x.dims[1]
    kernel = _Kernel(w, x, y, out)
    part, step = (kernel.rows, _ROWS) if along else (kernel.columns, _COLUMNS * kernel.lanes)
    work = rows * inner if isinstance(rows, int) and isinstance(inner, int) else 0
    if not w.divide(rows, work, step, part, 0 if work else b.i64(inner)):
        part(b, const("i64", 0), b.i64(rows))


class _Kernel:
    """Writes the sums of one product."""

    def __init__(self, w: Lowering, x: Leaf, y: Leaf, out: Leaf) -> None:
        self.x, self.y, self.out = x, y, out
        self.ty, self.size = llvm_type(x.dtype), x.dtype.size
        self.lanes = w.module.vector_bits // (8 * self.size)
        self.wide = f"<{self.lanes} x {self.ty}>"

    def rows(self, b: Builder, start: Val, stop: Val) -> None:
        """The elements `start` to `stop`, where the lines of the matrix are its rows."""
        whole = b.add(start, b.mul(b.udiv(b.sub(stop, start), const("i64", _ROWS)), const("i64", _ROWS)))
        with b.loop(start, whole, _ROWS) as i:
            self._sums(b, i, _ROWS)
        with b.loop(whole, stop) as i:
            self._sums(b, i, 1)

    def _sums(self, b: Builder, first: Val, count: int) -> None:
        """The sums of `count` rows."""
        inner = self.x.dims[1]
        step = _VECTORS * self.lanes
        lines = [self.x.address(b, [b.iadd(first, r), 0]) for r in range(count)]

        def added(vectors: int, ty: str) -> Callable[[Val, Sequence[Val]], list[Val]]:
            def sums(k: Val, totals: Sequence[Val]) -> list[Val]:
                places = [b.iadd(k, v * self.lanes) for v in range(vectors)]
                ones = [self._load(b, self.y.pointer, place, ty) for place in places]
                return [b.fma(self._load(b, line, place, ty), one, total) for (line, place, one), total in zip(
                    [(line, place, one) for line in lines for place, one in zip(places, ones, strict=True)], totals,
                    strict=True)]

            return sums

        by_steps, by_lanes = (b.imul(b.idiv(inner, each), each) for each in (step, self.lanes))
        totals = b.folded(0, by_steps, [const(self.wide, 0)] * (count * _VECTORS), added(_VECTORS, self.wide), by=step,
                          unroll=False)
        totals = [b.fadd(*totals[r * _VECTORS:(r + 1) * _VECTORS]) for r in range(count)]
        totals = b.folded(by_steps, by_lanes, totals, added(1, self.wide), by=self.lanes, unroll=False)
        sums = b.folded(by_lanes, inner, [self._across(b, total) for total in totals], added(1, self.ty), unroll=False)
        for r, total in enumerate(sums):
            b.store(total, self.out.address(b, [b.iadd(first, r), 0]), self.size)

    def columns(self, b: Builder, start: Val, stop: Val) -> None:
        """The elements `start` to `stop`, where the lines of the matrix are its columns."""
        each, lanes = const("i64", _COLUMNS * self.lanes), const("i64", self.lanes)
        by_steps, by_lanes = (b.add(start, b.mul(b.udiv(b.sub(stop, start), size), size)) for size in (each, lanes))
        for first, last, count, ty in (
                (start, by_steps, _COLUMNS, self.wide), (by_steps, by_lanes, 1, self.wide),
                (by_lanes, stop, 1, self.ty)):
            with b.loop(first, last, count * (self.lanes if ty == self.wide else 1)) as i:
                self._sums_of_lines(b, i, count, ty)

    def _sums_of_lines(self, b: Builder, first: Val, count: int, ty: str) -> None:
        """`count` registers of sums of the columns."""
        places = [b.iadd(first, k * self.lanes) for k in range(count)]

        def added(k: Val, totals: Sequence[Val]) -> list[Val]:
            line = self.x.address(b, [0, k])
            one = b.load(self.ty, b.offset(self.y.pointer, k, self.ty), self.size)
            factor = b.splat(one, self.lanes) if ty == self.wide else one
            return [b.fma(self._load(b, line, place, ty), factor, total)
                    for place, total in zip(places, totals, strict=True)]

        for place, total in zip(places, b.folded(
                0, self.x.dims[1], [const(ty, 0)] * count, added, unroll=False), strict=True):
            b.store(total, b.offset(self.out.pointer, place, self.ty), self.size)

    def _load(self, b: Builder, line: Val, place: Index, ty: str) -> Val:
        return b.load(ty, b.offset(line, place, self.ty), self.size)

    def _across(self, b: Builder, total: Val) -> Val:
        """The sum of the lanes, by halves."""
        count = self.lanes
        while count > 1:
            count //= 2
            halves = [b.op(f"<{count} x {self.ty}>", f"shufflevector {total}, {total.ty} poison, <{count} x i32> <"
                           + ", ".join(f"i32 {k + at}" for k in range(count)) + ">") for at in (0, count)]
            total = b.fadd(*halves)
        return b.op(self.ty, f"extractelement {total}, i64 0")
