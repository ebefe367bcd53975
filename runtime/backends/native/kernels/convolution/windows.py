"""Windows that slide over arrays in memory: their positions, and loops over them.

A line is all windows at one position along the first axes; lines are numbered through all images.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen import fusion
from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.index_expressions import Leaf
from runtime.backends.native.codegen.parallel import WORTH, region
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.types import DType
from runtime.ops import sliding_windows

__all__ = ["Windows", "any_of", "differs", "element", "lines"]

_WRITTEN: Final = 16  # windows of up to so many elements are unrolled
_LONG: Final = 1 << 16  # an amount of work for which the GIL should be released


def differs(b: Builder, x: Index, y: Index) -> Val | None:
    """Whether two sizes differ; None if they are statically equal."""
    if isinstance(x, int) and isinstance(y, int):
        return None if x == y else const("i1", 1)
    return b.icmp("ne", b.i64(x), b.i64(y))


def any_of(b: Builder, tests: Sequence[Val | None]) -> Val | None:
    """Whether any of the tests is true; None if there are no tests."""
    result: Val | None = None
    for test in tests:
        if test is not None:
            result = test if result is None else b.or_(result, test)
    return result


class Windows:
    """The windows over images [n, *sizes, c].

    window, strides, dilations, before, after, counts: one for each spatial axis, as in `runtime.ops.sliding_windows`.
    bad: tests whether the arguments do not fit, so that the kernel has to raise.
    """

    def __init__(self, w: Lowering, images: Index, sizes: Sequence[Index], channels: Index, window: Sequence[Index],
                 strides: Sequence[int], dilations: Sequence[int], padding: sliding_windows.Padding) -> None:
        self.w = w
        self.images, self.sizes, self.channels = images, sizes, channels
        self.window, self.strides, self.dilations = window, strides, dilations
        self.before: list[Index] = []
        self.after: list[Index] = []
        self.counts: list[Index] = []
        self.bad: list[Val | None] = []
        for axis in range(len(sizes)):
            self._axis(axis, padding)

    def _axis(self, axis: int, padding: sliding_windows.Padding) -> None:
        b = self.w.b
        size, window, stride, dilation = self.sizes[axis], self.window[axis], self.strides[axis], self.dilations[axis]
        span = b.iadd(b.imul(b.isub(window, 1), dilation), 1)
        if not isinstance(window, int):
            self.bad.append(b.icmp("slt", window, const("i64", 1)))
        low: Index
        high: Index
        if padding == "SAME" and stride == 1:
            count = size
            low = b.idiv(b.isub(span, 1), 2)
            high = b.isub(b.isub(span, 1), low)
        elif padding == "SAME":
            count = b.idiv(b.iadd(size, stride - 1), stride)
            total = self._least(b.isub(b.iadd(b.imul(b.isub(count, 1), stride), span), size))
            low = b.idiv(total, 2)
            high = b.isub(total, low)
        else:
            low, high = (0, 0) if isinstance(padding, str) else padding[axis]
            room = b.iadd(b.isub(b.iadd(size, low + high), span), stride)
            if isinstance(room, Val):
                self.bad.append(b.icmp("sle", room, const("i64", -stride)))
            count = b.idiv(self._least(room), stride)
        self.counts.append(count)
        self.before.append(low)
        self.after.append(high)

    def _least(self, x: Index) -> Index:
        """The value, at least 0."""
        return max(x, 0) if isinstance(x, int) else self.w.b.intrinsic("smax", x, const("i64", 0))

    @property
    def padded(self) -> bool:
        return any(not isinstance(n, int) or n != 0 for n in (*self.before, *self.after))

    @property
    def padded_dims(self) -> list[Index]:
        b = self.w.b
        sizes = [b.iadd(b.iadd(size, low), high) for size, low, high in zip(
            self.sizes, self.before, self.after, strict=True)]
        return [self.images, *sizes, self.channels]

    @property
    def lines(self) -> Index:
        return self.w.b.product([self.images, *self.counts[:-1]])

    @property
    def places(self) -> Index:
        """The elements of a window in one channel."""
        return self.w.b.product(self.window)

    def pad(self, x: Leaf) -> Leaf:
        """The images, padded with zeros."""
        if not self.padded:
            return x
        b = self.w.b
        result = self.zeros(x)
        inner = self.within(result)
        row = b.i64(b.imul(b.imul(self.sizes[-1], self.channels), x.dtype.size))

        def copy(place: Sequence[Index]) -> None:
            b.call("void", "llvm.memcpy.p0.p0.i64", inner.address(b, [*place, 0, 0]), x.address(b, [*place, 0, 0]), row,
                   Val("i1", "false"))

        fusion.nest(b, [self.images, *self.sizes[:-1]], copy, parallel=False)
        return result

    def zeros(self, like: Leaf) -> Leaf:
        """Zero-filled memory for images and their padding."""
        b = self.w.b
        result = self.w.memory(like.dtype, self.padded_dims)
        b.call("void", "llvm.memset.p0.i64", result.pointer, const("i8", 0),
               b.i64(b.imul(b.product(result.dims), like.dtype.size)), Val("i1", "false"))
        return result

    def within(self, padded: Leaf) -> Leaf:
        """The images in padded memory, as a view."""
        if not self.padded:
            return padded
        b = self.w.b
        return Leaf(padded.dtype, [self.images, *self.sizes, self.channels],
                    padded.address(b, [0, *self.before, 0]), padded.steps(b), bases=padded.bases)

    @property
    def run(self) -> Index:
        """How many elements of a window are contiguous; there may be more."""
        return self.w.b.imul(self.window[-1], self.channels) if self.dilations[-1] == 1 else self.channels

    @property
    def run_axes(self) -> list[Index]:
        """The sizes of the axes of a window that determine where a run begins."""
        return list(self.window[:-1] if self.dilations[-1] == 1 else self.window)

    # Loops.

    def each_line(self, start: Index, stop: Index, body: Callable[[Index, list[Index]], None]) -> None:
        """Call `body(first, [image, *place])` for lines: the number of a line's first window, and its position."""
        with self.w.b.loop(start, stop) as line:
            body(self.w.b.imul(line, self.counts[-1]), self.place(line))

    def each(self, start: Index, stop: Index, body: Callable[[Index, list[Index]], None]) -> None:
        """Call `body(k, [image, *place])` for the windows of lines; window k of all windows."""
        def line(first: Index, place: list[Index]) -> None:
            b = self.w.b
            with b.loop(0, self.counts[-1]) as last:
                body(b.iadd(first, last), [*place[:-1], last])

        self.each_line(start, stop, line)

    def divide(self, size: Index, work: Sequence[Index], part: Callable[[Index, Index], None]) -> None:
        """Call `part(start, stop)` for parts of `range(size)`, on several threads if the work, a product, is worth
        it."""
        w = self.w
        amount = w.b.product(work)
        if isinstance(amount, int):
            w.long |= amount >= _LONG
            if w.divide(size, amount, 1, lambda _, start, stop: part(start, stop)):
                return
        else:
            w.long = True
            worth = w.b.icmp("sge", amount, const("i64", WORTH))
            if not w.inside and region(w, size, part, 1, worth):
                return
        part(0, size)

    def place(self, line: Index) -> list[Index]:
        """The image and the position of the first window of a line."""
        return [*_split(self.w.b, line, [self.images, *self.counts[:-1]]), 0]

    def origin(self, x: Leaf, place: Sequence[Index]) -> Index:
        """The offset of a window's first element in padded images."""
        b = self.w.b
        steps = x.steps(b)
        offset = b.imul(place[0], steps[0])
        for index, step, stride in zip(place[1:], steps[1:-1], self.strides, strict=True):
            offset = b.iadd(offset, b.imul(b.imul(index, stride), step))
        return offset

    def offset(self, x: Leaf, tap: Sequence[Index]) -> Index:
        """The offset of a position in a window from its first element; missing indices at the end of `tap` are 0."""
        b = self.w.b
        offset: Index = 0
        for index, step, dilation in zip(tap, x.steps(b)[1:-1], self.dilations, strict=False):
            offset = b.iadd(offset, b.imul(b.imul(index, dilation), step))
        return offset

    def folded(self, first: Sequence[Val], step: Callable[[Index, list[Index], Sequence[Val]], Sequence[Val]]
               ) -> list[Val]:
        """Loop with `values = step(k, place, values)` over the positions of a window, starting with `first`; returns
        the last values."""
        places = self.places
        if isinstance(places, int) and places <= _WRITTEN:  # unrolled
            values = list(first)
            for k, tap in enumerate(itertools.product(*[range(n) for n in self.window if isinstance(n, int)])):
                values = list(step(k, list(tap), values))
            return values
        return self._nested(self.window, first, step)

    def runs(self, first: Sequence[Val], step: Callable[[Index, Index, Sequence[Val]], Sequence[Val]], x: Leaf
             ) -> list[Val]:
        """Loop with `values = step(k, offset, values)` over the runs of a window of `x`, starting with `first`; returns
        the last values."""
        return self._nested(self.run_axes, first, lambda k, tap, values: step(k, self.offset(x, tap), values))

    def _nested(self, sizes: Sequence[Index], first: Sequence[Val],
                step: Callable[[Index, list[Index], Sequence[Val]], Sequence[Val]]) -> list[Val]:
        b = self.w.b

        def level(k: Index, place: list[Index], values: Sequence[Val]) -> Sequence[Val]:
            if len(place) == len(sizes):
                return step(k, place, values)
            size = sizes[len(place)]
            return b.folded(0, size, values, lambda i, values: level(
                b.iadd(b.imul(k, size), i), [*place, i], values))

        return list(level(0, [], first))

    def run_offset(self, x: Leaf, run: Index) -> Index:
        """The offset of a run from a window's first element."""
        return self.offset(x, _split(self.w.b, run, self.run_axes))


def _split(b: Builder, k: Index, sizes: Sequence[Index]) -> list[Index]:
    """The position with number `k` in C order. The first size is not needed."""
    place: list[Index] = []
    for size in reversed(sizes[1:]):
        place.insert(0, b.imod(k, size))
        k = b.idiv(k, size)
    return [k, *place] if sizes else []


def lines(b: Builder, bits: int, dtype: DType, count: Index, body: Callable[[Index, int], None]) -> None:
    """Call `body(first, lanes)` for vectors of `bits` that cover `range(count)`, and for the remainder; one by one if
    `count` is unknown."""
    if not isinstance(count, int):
        with b.loop(0, count, parallel=True) as k:
            body(k, 1)
        return
    wide = bits // (8 * dtype.size)
    with b.loop(0, count // wide * wide, wide) as k:
        body(k, wide)
    if count % wide:
        body(count - count % wide, count % wide)


def element(b: Builder, x: Leaf, offset: Index, lanes: int = 1) -> Val:
    """Load the element at an offset, or `lanes` elements from there on."""
    ty = llvm_type(x.dtype)
    return b.load(ty if lanes == 1 else f"<{lanes} x {ty}>", b.offset(x.pointer, offset, ty), x.dtype.size)
