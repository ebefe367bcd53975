"""Direct convolutions, whose accumulators stay in registers.

A tile is some windows of a line by a panel of features: as many accumulators as registers hold, besides the operands.
Each element of the windows is multiplied by a row of the panel, so only padding is copied, and the products of a sum
are added in order, independent of the tile and the thread.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.index_expressions import Leaf
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.kernels.convolution.windows import Windows
from runtime.backends.native.llvm.builder import Builder, Index, Val, bits_of, const, element, lanes
from runtime.core.types import DType

__all__ = ["convolve", "filter_gradients", "fits", "packed"]

_PANEL: Final = 1 << 18  # bytes of a panel that stay in the cache
_BLOCK: Final = 1 << 16  # bytes of images and of output gradients, which stay in a lower-level cache


class Panel(NamedTuple):
    """Features `start` to `start + width` of filters, in vectors of the given types."""

    start: int
    width: int
    types: list[str]

    @property
    def places(self) -> list[int]:
        """The offset of each vector in the panel."""
        return [sum(lanes(ty) for ty in self.types[:k]) for k in range(len(self.types))]


def panels(w: Lowering, dtype: DType, features: int) -> list[Panel]:
    """All features, in panels of about the same width."""
    wide = w.module.vector_bits // (8 * dtype.size)
    vectors = -(-features // wide)
    count = -(-vectors // (4 if w.module.vector_bits >= 512 else 2))
    found, start = [], 0
    for k in range(count):
        many = vectors // count + (k < vectors % count)
        width = min(many * wide, features - start)
        sizes = [min(wide, width - at) for at in range(0, width, wide)]
        ty = llvm_type(dtype)
        found.append(Panel(start, width, [ty if size == 1 else f"<{size} x {ty}>" for size in sizes]))
        start += width
    return found


def fits(w: Lowering, dtype: DType, rows: Sequence[Index], features: Index) -> bool:
    """Whether the features are known, and a panel of filters with that number of rows stays in the cache."""
    if not isinstance(features, int) or not features:
        return False
    widest = max(panel.width for panel in panels(w, dtype, features))
    return math.prod([size for size in rows if isinstance(size, int)]) * widest * dtype.size <= _PANEL


def _tile(w: Lowering, panel: Panel, most: Index) -> int:
    """The number of windows of a tile: as many as registers allow, or fewer that divide `most` better."""
    registers = 32 if w.module.vector_bits >= 512 else 16
    many = max(min((registers - 1 - len(panel.types)) // len(panel.types), 12), 1)
    if not isinstance(most, int):
        return many
    if most <= many:
        return max(most, 1)
    return min(range(many // 2 + 1, many + 1), key=lambda n: (-(-most // n) * (2 * n + 1), -n))


def packed(w: Lowering, dtype: DType, rows: Index, features: int, place: Callable[[Builder, Index, Index], Index],
           filters: Leaf, in_order: bool) -> list[tuple[Panel, Val]]:
    """Each panel with its rows contiguous. The element of row k and feature f is `place(k, f)` of the filters;
    `in_order`: that is k * features + f."""
    found = panels(w, dtype, features)
    if in_order and len(found) == 1:
        return [(found[0], filters.pointer)]
    b, ty = w.b, llvm_type(dtype)
    memory = w.memory(dtype, [b.imul(rows, features)])
    result = []
    for panel in found:
        first = b.offset(memory.pointer, b.imul(rows, panel.start), ty)
        with b.loop(0, rows) as k, b.loop(0, panel.width, parallel=True) as f:
            value = b.load(ty, b.offset(filters.pointer, place(b, k, b.iadd(f, panel.start)), ty))
            b.store(value, b.offset(first, b.iadd(b.imul(k, panel.width), f), ty))
        result.append((panel, first))
    return result


def _tiles(b: Builder, count: Index, tile: int, body: Callable[[Index, int], None]) -> None:
    """Call `body(first, many)` for tiles that cover `range(count)`; the last tile may overlap the one before it."""
    if isinstance(count, int) and count <= tile:
        if count:
            body(0, count)
        return

    def whole() -> None:
        with b.loop(0, b.idiv(b.iadd(count, tile - 1), tile)) as k:
            body(b.intrinsic("smin", b.i64(b.imul(k, tile)), b.i64(b.isub(count, tile))), tile)

    if isinstance(count, int):
        whole()
        return
    enough = b.icmp("sge", count, const("i64", tile))
    with b.when(enough):
        whole()
    with b.when(b.not_(enough)), b.loop(0, count) as k:
        body(k, 1)


def convolve(w: Lowering, s: Windows, x: Leaf, weights: Sequence[tuple[Panel, Val]], target: Leaf) -> None:
    """Multiply each window of padded images `x` by the filters, into `target` [n, *counts, f]."""
    ty, features = llvm_type(x.dtype), target.dims[-1]

    def line(first: Index, place: list[Index]) -> None:
        b = w.b
        origin = s.origin(x, place)
        step = b.imul(s.strides[-1], s.channels)

        def tile(panel: Panel, filters: Val, start: Index, many: int) -> None:
            at = b.iadd(origin, b.imul(start, step))

            def run(k: Index, offset: Index, sums: Sequence[Val]) -> Sequence[Val]:
                source = b.offset(x.pointer, b.iadd(at, offset), ty)
                row = b.offset(filters, b.imul(b.imul(k, s.run), panel.width), ty)

                def one(j: Index, sums: Sequence[Val]) -> list[Val]:
                    factors = _line(b, b.offset(row, b.imul(j, panel.width), ty), panel)
                    return _products(b, [b.load(ty, b.offset(source, b.iadd(j, b.imul(r, step)), ty))
                                         for r in range(many)], factors, sums)

                return b.folded(0, s.run, sums, one)

            sums = s.runs([const(ty, 0) for _ in range(many) for ty in panel.types], run, x)
            for r in range(many):
                number = b.iadd(b.iadd(first, start), r)
                out = b.offset(target.pointer, b.iadd(b.imul(number, features), panel.start), ty)
                for k, lane in enumerate(panel.places):
                    b.store(sums[r * len(panel.types) + k], b.offset(out, lane, ty), x.dtype.size)

        for panel, filters in weights:
            _tiles(b, s.counts[-1], _tile(w, panel, s.counts[-1]), functools.partial(tile, panel, filters))

    s.divide(s.lines, _work(w, s, features), lambda start, stop: s.each_line(start, stop, line))


def _work(w: Lowering, s: Windows, features: Index) -> list[Index]:
    """The factors of the work; multiplications count an eighth, as vectors do several at once."""
    return [s.lines, s.counts[-1], s.places, s.channels, w.b.idiv(w.b.iadd(features, 7), 8)]


def _line(b: Builder, pointer: Val, panel: Panel) -> list[Val]:
    """Load a row of a panel into registers."""
    ty = element(panel.types[0])
    return [b.load(vector, b.offset(pointer, at, ty), bits_of(ty) // 8) for vector, at in zip(
        panel.types, panel.places, strict=True)]


def _products(b: Builder, ones: Sequence[Val], factors: Sequence[Val], sums: Sequence[Val]) -> list[Val]:
    """Add the product of each of `ones` and each vector of factors to the sums."""
    found: list[Val] = []
    for one in ones:
        for factor in factors:
            found.append(b.fma(b.splat(one, lanes(factor.ty)), factor, sums[len(found)]))
    return found


def filter_gradients(w: Lowering, s: Windows, x: Leaf, y: Leaf, target: Leaf) -> None:
    """For each element of the windows of padded images `x`, sum its products with the features of `y` [n, *counts, f]
    over all windows, into `target` [*window, c, f]."""
    features = target.dims[-1]
    assert isinstance(features, int)
    found = panels(w, x.dtype, features)
    if found:
        _FilterGradients(w, s, x, y, target, features, found).write()


class _FilterGradients:
    """Writes sums over windows, in tiles of some elements of a filter's run by a panel of features."""

    def __init__(self, w: Lowering, s: Windows, x: Leaf, y: Leaf, target: Leaf, features: int,
                 panels: Sequence[Panel]) -> None:
        self.w, self.s, self.x, self.y, self.target = w, s, x, y, target
        self.features, self.panels = features, panels
        self.ty = llvm_type(x.dtype)
        self.tile = min(_tile(w, panel, s.run) for panel in panels)
        self.tiles = w.b.idiv(w.b.iadd(s.run, self.tile - 1), self.tile)  # of a run

    def write(self) -> None:
        b, s, size = self.w.b, self.s, self.x.dtype.size
        b.call("void", "llvm.memset.p0.i64", self.target.pointer, const("i8", 0),
               b.i64(b.imul(b.product(self.target.dims), size)), Val("i1", "false"))
        lines = self.lines_of_a_block()

        def part(first: Index, last: Index) -> None:
            b = self.w.b
            with b.loop(0, b.idiv(b.isub(b.iadd(s.lines, lines), 1), lines)) as k:
                start = b.imul(k, lines)
                stop = b.intrinsic("smin", b.i64(b.iadd(start, lines)), b.i64(s.lines))
                with b.loop(first, last) as number:
                    self.one_tile(number, start, stop)

        s.divide(b.imul(b.product(s.run_axes), self.tiles), _work(self.w, s, self.features), part)

    def lines_of_a_block(self) -> Index:
        """How many lines of windows, with the gradients of their features, stay in the cache."""
        b, s = self.w.b, self.s
        line = b.imul(b.iadd(b.imul(s.strides[-1], s.channels), self.features),
                      b.imul(s.counts[-1], self.x.dtype.size))
        if isinstance(line, int):
            return max(_BLOCK // max(line, 1), 1)
        most = b.idiv(_BLOCK, b.intrinsic("smax", line, const("i64", 1)))
        return b.intrinsic("smax", b.i64(most), const("i64", 1))

    def one_tile(self, number: Index, start: Index, stop: Index) -> None:
        """Write tile `number` for the lines `start` to `stop`. The last tile of a run may be narrower."""
        b, s, tile = self.w.b, self.s, self.tile
        run, k = b.idiv(number, self.tiles), b.imod(number, self.tiles)
        offset = s.run_offset(self.x, run)
        first = b.imul(k, tile)
        if isinstance(s.run, int) and s.run % tile == 0:
            self.add(start, stop, run, offset, first, tile)
            return
        whole = b.icmp("sle", b.i64(b.iadd(first, tile)), b.i64(s.run))
        with b.when(whole):
            self.add(start, stop, run, offset, first, tile)
        with b.when(b.not_(whole)):
            if isinstance(s.run, int):
                self.add(start, stop, run, offset, first, s.run % tile)
            else:
                with b.loop(first, s.run) as j:
                    self.add(start, stop, run, offset, j, 1)

    def add(self, start: Index, stop: Index, run: Index, offset: Index, first: Index, many: int) -> None:
        """Add the contribution of some lines' windows to the elements `first` to `first + many` of a run."""
        b, size = self.w.b, self.x.dtype.size
        row = b.imul(b.iadd(b.imul(run, self.s.run), first), self.features)
        for panel in self.panels:
            at = b.offset(self.target.pointer, b.iadd(row, panel.start), self.ty)
            sums = self.sums(panel, start, stop, b.iadd(offset, first), many)
            for r in range(many):
                for k, lane in enumerate(panel.places):
                    to = b.offset(at, b.iadd(b.imul(r, self.features), lane), self.ty)
                    total = sums[r * len(panel.types) + k]
                    b.store(b.fadd(b.load(total.ty, to, size), total), to, size)

    def sums(self, panel: Panel, start: Index, stop: Index, offset: Index, many: int) -> Sequence[Val]:
        """Accumulate in registers, over the windows of some lines, the products of a panel with `many` elements from
        `offset` in the window."""
        b, s, ty = self.w.b, self.s, self.ty

        def add_line(line: Index, sums: Sequence[Val]) -> Sequence[Val]:
            source = b.offset(self.x.pointer, b.iadd(s.origin(self.x, s.place(line)), offset), ty)
            others = b.offset(self.y.pointer, b.iadd(
                b.imul(b.imul(line, s.counts[-1]), self.features), panel.start), ty)

            def one(p: Index, sums: Sequence[Val]) -> Sequence[Val]:
                pixel = b.offset(source, b.imul(p, b.imul(s.strides[-1], s.channels)), ty)
                return _products(b, [b.load(ty, b.offset(pixel, r, ty)) for r in range(many)],
                                 _line(b, b.offset(others, b.imul(p, self.features), ty), panel), sums)

            return b.folded(0, s.counts[-1], sums, one)

        return b.folded(start, stop, [const(vector, 0) for _ in range(many) for vector in panel.types], add_line)
