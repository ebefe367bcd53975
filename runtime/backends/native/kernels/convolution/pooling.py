"""Lowerings of max pooling: one loop over windows, with channels in lanes.

Where a window reaches beyond the image, the nearest element inside is used again: it is in the window, too.
"""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context
from runtime.backends.native.codegen.scalar_ops import lower
from runtime.backends.native.kernels.convolution.windows import Windows, any_of, element, lines
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import int64

__all__: list[str] = []


@lowers("max_pool", "max_pool_argmax")
def max_pool(w: Lowering, node: Node, x: Value) -> Value:
    assert isinstance(x, Array)
    b = w.b
    window = node.params["window"]
    ones = (1,) * len(window)
    s = Windows(w, x.dims[0], x.dims[1:-1], x.dims[-1], window, node.params["strides"], ones, node.params["padding"])
    w.fail_if(any_of(b, s.bad), node, [x])
    s.counts = [_none_of_nothing(b, size, count) for size, count in zip(s.sizes, s.counts, strict=True)]
    source = w.leaf(x)
    places = node.op.name == "max_pool_argmax"
    target = w.memory(int64 if places else x.dtype, [s.images, *s.counts, s.channels])

    def one(k: Index, place: list[Index]) -> None:
        b = w.b

        def line(channel: Index, lanes: int) -> None:
            def tap(t: Index, inner: list[Index], values: Sequence[Val]) -> Sequence[Val]:
                at = b.iadd(b.imul(_pixel(b, s, place, inner), s.channels), channel)
                image = b.imul(b.product(s.sizes), s.channels)
                new = element(b, source, b.iadd(b.imul(place[0], image), at), lanes)
                if not places:
                    return [lower(b, "maximum", x.dtype, values[0], new) if values else new]
                where = Context(b, lanes).counted(at)
                if not values:
                    return [new, where]
                better = _better(b, x, new, values[0])
                return [b.select(better, new, values[0]), b.select(better, where, values[1])]

            first: list[Index] = [0] * len(window)
            found = s.folded(tap(0, first, []), tap)[-1]
            b.store(found, target.address(b, [b.iadd(b.imul(k, s.channels), channel)]), target.dtype.size)

        lines(b, w.module.vector_bits, x.dtype, s.channels, line)

    s.divide(s.lines, [s.lines, s.counts[-1], s.places, s.channels], lambda start, stop: s.each(start, stop, one))
    return target


def _none_of_nothing(b: Builder, size: Index, count: Index) -> Index:
    """The number of windows along an axis: 0 if the axis has no elements."""
    if isinstance(size, int):
        return count if size else 0
    return b.select(b.icmp("eq", size, const("i64", 0)), const("i64", 0), b.i64(count))


def _pixel(b: Builder, s: Windows, place: Sequence[Index], inner: Sequence[Index]) -> Index:
    """The number, within an image and channel, of the element at a position in a window."""
    number: Index = 0
    for axis, (size, stride, low, high) in enumerate(zip(s.sizes, s.strides, s.before, s.after, strict=True)):
        index = b.iadd(b.isub(b.imul(place[axis + 1], stride), low), inner[axis])
        if not (isinstance(low, int) and low == 0):
            index = b.intrinsic("smax", b.i64(index), const("i64", 0))
        if not (isinstance(high, int) and high == 0):
            index = b.intrinsic("smin", b.i64(index), b.i64(b.isub(size, 1)))
        number = b.iadd(b.imul(number, size), index)
    return number


def _better(b: Builder, x: Array, new: Val, best: Val) -> Val:
    """Whether a later element replaces the maximum so far: if it is greater, or the first NaN."""
    if x.dtype.is_floating:
        return b.and_(b.fcmp("ugt", new, best), b.fcmp("ord", best, best))
    return b.icmp("ugt" if x.dtype.is_unsigned else "sgt", new, best)
