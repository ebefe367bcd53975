"""Lowerings of convolutions.

Most are computed directly (`direct`). If the filters exceed the cache, windows are copied to the rows of a matrix,
block by block (im2col), for a matrix product; the gradients by images of strided convolutions do the reverse (col2im).
Grouped convolutions, most of which have one channel per group, are loops over windows.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from runtime.backends.native.codegen import folds, fusion
from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Map
from runtime.backends.native.codegen.scalar_ops import cast, llvm_type
from runtime.backends.native.kernels.convolution.direct import convolve, filter_gradients, fits, packed
from runtime.backends.native.kernels.convolution.windows import Windows, any_of, differs, element, lines
from runtime.backends.native.kernels.matmul import gemm
from runtime.backends.native.kernels.matmul.products import multiply
from runtime.backends.native.kernels.shapes import asked, check_sizes
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import DType, bool_, float16, float32
from runtime.ops.sliding_windows import bounds

__all__: list[str] = []

_BLOCK: Final = 1 << 21  # bytes of rows that are copied per block
_RUN: Final = 64  # elements that are accumulated in registers


@lowers("conv")
def conv(w: Lowering, node: Node, x: Value, filters: Value) -> Value:
    assert isinstance(x, Array) and isinstance(filters, Array)
    dtype, sums, b = x.dtype, _sums(x), w.b
    *rows, features = filters.dims
    single = _single(x.dims[-1], filters)
    direct = single and fits(w, sums, rows, features)
    if single and not direct:
        gemm.need(w, sums)
    s = Windows(w, x.dims[0], x.dims[1:-1], x.dims[-1], filters.dims[:-2], **_params(node))
    _check(w, node, s, [x, filters], filters)
    x, filters = _wide(w, x), _wide(w, filters)
    target = w.memory(sums, [s.images, *s.counts, features])
    if not single:
        _grouped(w, s, x, filters, target)
    elif direct:
        assert isinstance(features, int)
        count = features
        weights = packed(w, sums, b.product(rows), count, lambda b, k, f: b.iadd(b.imul(k, count), f), filters,
                         in_order=True)
        convolve(w, s, s.pad(x), weights, target)
    else:
        matrix = _matrix(w, filters)
        out = target.reshaped([b.imul(s.lines, s.counts[-1]), features])

        def block(first: Index, part: Leaf) -> None:
            multiply(w, part, matrix, Leaf(sums, [part.dims[0], features], out.address(w.b, [first, 0])))

        _by_rows(w, s, x, block)
    return _narrow(target, dtype)


@lowers("conv_input")
def conv_input(w: Lowering, node: Node, filters: Value, y: Value, *sizes: Value) -> Value:
    assert isinstance(y, Array) and isinstance(filters, Array)
    dtype, sums, b = y.dtype, _sums(y), w.b
    single = _single(node.params["dims"][-1], filters)
    window, (channels, features) = filters.dims[:-2], filters.dims[-2:]
    turned = _turned(node, window) if single and fits(w, sums, [*window, features], channels) else None
    if single and turned is None:
        gemm.need(w, sums)
    dims = _dims(w, node, sizes, [filters, y, *sizes])
    s = Windows(w, dims[0], dims[1:-1], dims[-1], window, **_params(node))
    _check(w, node, s, [filters, y, *sizes], filters, y)
    y, filters = _wide(w, y), _wide(w, filters)
    if turned is not None:
        assert isinstance(channels, int)
        backwards = Windows(w, s.images, s.counts, features, window, s.strides, s.dilations, turned)
        target = w.memory(sums, dims)
        last, width = b.isub(b.product(window), 1), channels

        def place(b: Builder, k: Index, channel: Index) -> Index:
            tap = b.isub(last, b.idiv(k, features))
            return b.iadd(b.imul(b.iadd(b.imul(tap, width), channel), features), b.imod(k, features))

        def convolved() -> list[Val]:
            rows = b.imul(b.product(window), features)
            weights = packed(w, sums, rows, channels, place, filters, in_order=False)
            convolve(w, backwards, backwards.pad(y), weights, target)
            return []

        if backwards.padded and not w.flags:  # the zeros around y are not its elements, and 0 * inf is NaN
            b.either(_finite(w, filters), convolved, lambda: _one_by_one(w, s, filters, y, target))
        else:
            convolved()
        return _narrow(target, dtype)
    padded = s.zeros(y)
    if not single:
        _grouped_input(w, s, padded, filters, y)
        return _narrow(s.within(padded), dtype)
    matrix = _matrix(w, filters)
    across = Leaf(sums, matrix.dims[::-1], matrix.pointer, [1, matrix.dims[1]])
    flat = y.reshaped([b.imul(s.lines, s.counts[-1]), features])

    def block(start: Index, stop: Index, rows: Leaf) -> None:
        b = w.b
        part = Leaf(sums, [rows.dims[0], features], flat.address(b, [b.imul(start, s.counts[-1]), 0]))
        multiply(w, part, across, rows)
        _add(w, s, padded, rows, start, stop)

    _blocks(w, s, y, block)
    return _narrow(s.within(padded), dtype)


def _one_by_one(w: Lowering, s: Windows, filters: Leaf, y: Leaf, target: Leaf) -> list[Val]:
    """The gradient by images without strides, reading only elements of `y`: small code for a rare case."""
    b = w.b

    def element(place: Sequence[Index]) -> None:
        def axis(at: list[Index], tap: list[Index], sums: Sequence[Val]) -> list[Val]:
            """Accumulate over the remaining axes of the windows that contain the element; `at` is its position so
            far."""
            k = len(tap)
            if k == len(s.window):
                return b.folded(0, y.dims[-1], sums, lambda f, sums: [b.fma(
                    filters.at(Context(b), [*tap, place[-1], f]), y.at(Context(b), [*at, f]), sums[0])], unroll=False)

            def step(i: Val, sums: Sequence[Val]) -> list[Val]:
                window = b.i64(b.isub(b.iadd(place[k + 1], s.before[k]), b.imul(i, s.dilations[k])))
                some = b.icmp("ult", window, b.i64(s.counts[k]))  # a negative one is large as unsigned
                return b.either(some, lambda: axis([*at, window], [*tap, i], sums), lambda: sums)

            return b.folded(0, s.window[k], sums, step, unroll=False)

        (total,) = axis([place[0]], [], [const(llvm_type(target.dtype), 0)])
        target.store(b, place, total)

    def line(outer: Sequence[Index]) -> None:
        rest = target.dims[2:]
        fusion.nest(b, rest, lambda inner: element([*outer, *inner]), parallel=False)
        w.poll(b.product([*rest, s.places, y.dims[-1]]))

    fusion.nest(b, target.dims[:2], line, parallel=False)
    return []


def _turned(node: Node, window: Sequence[Index]) -> tuple[tuple[int, int], ...] | None:
    """The padding with which the gradient by images is a convolution with the flipped filters; None if no padding
    does."""
    if any(n != 1 for n in node.params["strides"]):
        return None
    padding, pairs = node.params["padding"], []
    for axis, (size, dilation) in enumerate(zip(window, node.params["dilations"], strict=True)):
        if not isinstance(size, int):
            return None
        low, high = bounds(1, size, 1, dilation, padding, axis)  # of any size: "SAME" always adds the same on each side
        pairs.append(((size - 1) * dilation - low, (size - 1) * dilation - high))
    return tuple(pairs) if all(n >= 0 for pair in pairs for n in pair) else None


@lowers("conv_filters")
def conv_filters(w: Lowering, node: Node, x: Value, y: Value, *sizes: Value) -> Value:
    assert isinstance(x, Array) and isinstance(y, Array)
    dtype, sums = x.dtype, _sums(x)
    dims = _dims(w, node, sizes, [x, y, *sizes])
    s = Windows(w, x.dims[0], x.dims[1:-1], x.dims[-1], dims[:-2], **_params(node))
    _check(w, node, s, [x, y, *sizes], Leaf(sums, dims, Val("ptr", "null")), y)
    target = w.memory(sums, [*dims[:-1], y.dims[-1] if isinstance(dims[-1], Val) else dims[-1]])
    x, y = _wide(w, x), _wide(w, y)
    if _single(x.dims[-1], target) and isinstance(target.dims[-1], int):
        filter_gradients(w, s, s.pad(x), y, target)
    else:
        _grouped_filters(w, s, x, target, y)
    return _narrow(target, dtype)


# Operands.

def _params(node: Node) -> dict[str, Any]:
    return {name: node.params[name] for name in ("strides", "dilations", "padding")}


def _single(channels: Index | None, filters: Array) -> bool:
    """Whether there is statically one group of channels."""
    return isinstance(channels, int) and channels == filters.dims[-2]


def _dims(w: Lowering, node: Node, sizes: Sequence[Value], values: Sequence[Value]) -> list[Index]:
    """The shape of the result."""
    found = asked(w, node, sizes, 2)
    check_sizes(w, node, found, values)
    return found


def _sums(x: Array) -> DType:
    """The dtype of the accumulators."""
    return float32 if x.dtype is float16 else x.dtype


def _wide(w: Lowering, x: Array) -> Leaf:
    """The array in memory, float16 as float32."""
    if x.dtype is float16:
        return w.leaf(Map("cast", float32, x.dims, lambda b, v: cast(b, v, float16, float32), [x]))
    return w.leaf(x)


def _finite(w: Lowering, x: Leaf) -> Val:
    """Whether no element is inf or NaN."""
    def test(b: Builder, v: Val) -> Val:
        rest = b.fsub(v, v)  # 0 or NaN
        return b.fcmp("ord", rest, rest)

    found = folds.reduce(w.b, w.memory, "reduce_all", Map("finite", bool_, x.dims, test, [x]),
                         tuple(range(len(x.dims))), False, w.divide)
    return w.element(found)


def _narrow(x: Leaf, dtype: object) -> Array:
    if dtype is float16:
        return Map("cast", float16, x.dims, lambda b, v: cast(b, v, float32, float16), [x])
    return x


def _check(w: Lowering, node: Node, s: Windows, values: Sequence[Value], filters: Array, y: Array | None = None
           ) -> None:
    """Write a check that the shapes fit; if not, the kernel raises."""
    b = w.b
    taken, features = filters.dims[-2:]
    groups = _groups(b, s.channels, taken)
    tests = [*s.bad, differs(b, s.channels, b.imul(taken, groups)), differs(b, b.imod(features, groups), 0)]
    if y is not None:
        tests += [differs(b, a, c) for a, c in zip([s.images, *s.counts, features], y.dims, strict=True)]
    for size in (*s.sizes, *filters.dims[:-2]) if y is not None else ():
        if isinstance(size, Val):
            tests.append(b.icmp("slt", size, const("i64", 0)))
    w.fail_if(any_of(b, tests), node, values)


def _positive(b: Builder, x: Index) -> Index:
    """The value, at least 1."""
    return max(x, 1) if isinstance(x, int) else b.intrinsic("smax", x, const("i64", 1))


def _groups(b: Builder, channels: Index, taken: Index) -> Index:
    """The number of groups of channels, given the number of channels per filter."""
    return _positive(b, b.idiv(channels, _positive(b, taken)))


def _matrix(w: Lowering, filters: Leaf) -> Leaf:
    """Filters [*window, c, f] as a matrix with a row for each element of a window."""
    return filters.reshaped([w.b.product(filters.dims[:-1]), filters.dims[-1]])


# Rows.

def _blocks(w: Lowering, s: Windows, like: Leaf, body: Callable[[Index, Index, Leaf], None]) -> None:
    """Call `body(start, stop, rows)` for blocks of lines; `rows` is memory with a row for each of their windows."""
    b, lines, columns = w.b, s.lines, w.b.imul(s.places, s.channels)
    taken = b.imul(b.imul(s.counts[-1], columns), like.dtype.size)
    step: Index
    if isinstance(taken, int):
        step = max(_BLOCK // max(taken, 1), 1)
    else:
        step = _positive(b, b.idiv(_BLOCK, _positive(b, taken)))
    if isinstance(lines, int) and isinstance(step, int) and lines <= step:
        body(0, lines, w.memory(like.dtype, [b.imul(lines, s.counts[-1]), columns]))
        return
    memory = w.memory(like.dtype, [b.imul(step, s.counts[-1]), columns])
    with b.loop(0, b.idiv(b.isub(b.iadd(lines, step), 1), step)) as k:
        start = b.imul(k, step)
        stop = b.intrinsic("smin", b.i64(b.iadd(start, step)), b.i64(lines))
        body(start, stop, Leaf(like.dtype, [b.imul(b.isub(stop, start), s.counts[-1]), columns], memory.pointer))


def _by_rows(w: Lowering, s: Windows, x: Leaf, body: Callable[[Index, Leaf], None]) -> None:
    """Call `body(first, rows)` for blocks of windows of `x`, copied to rows; `first` is the number of the first
    window."""
    b = w.b
    if not s.padded and all(isinstance(n, int) and n == 1 for n in (*s.window, *s.strides)):
        body(0, x.reshaped([b.product(x.dims[:-1]), x.dims[-1]]))
        return
    padded = s.pad(x)

    def block(start: Index, stop: Index, rows: Leaf) -> None:
        _lay_out(w, s, padded, rows, start, stop)
        body(b.imul(start, s.counts[-1]), rows)

    _blocks(w, s, x, block)


def _each_run(w: Lowering, s: Windows, x: Leaf, rows: Leaf, base: Index, start: Index, stop: Index,
              body: Callable[[Val, Val], None]) -> None:
    """Call `body(in_x, in_rows)` with the addresses of each run of the lines' windows; `rows` begins at line `base`."""
    def window(k: Index, place: list[Index]) -> None:
        b, ty = w.b, llvm_type(x.dtype)
        origin = s.origin(x, place)
        row = b.imul(b.isub(k, b.imul(base, s.counts[-1])), rows.dims[1])

        def run(number: Index, offset: Index, values: Sequence[Val]) -> Sequence[Val]:
            body(b.offset(x.pointer, b.iadd(origin, offset), ty),
                 b.offset(rows.pointer, b.iadd(row, b.imul(number, s.run)), ty))
            return []

        s.runs([], run, x)

    if not isinstance(s.run, int) or s.run:
        s.each(start, stop, window)


def _lay_out(w: Lowering, s: Windows, x: Leaf, rows: Leaf, start: Index, stop: Index) -> None:
    """Copy the windows of lines into rows."""
    size = w.b.i64(w.b.imul(s.run, x.dtype.size))

    def part(first: Index, last: Index) -> None:
        b = w.b
        _each_run(w, s, x, rows, start, b.iadd(start, first), b.iadd(start, last), lambda source, target: b.line(
            f"call void @llvm.memcpy.p0.p0.i64({target}, {source}, {size}, i1 false)"))

    w.module.declare("llvm.memcpy.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1")
    count = w.b.isub(stop, start)
    s.divide(count, [count, s.counts[-1], rows.dims[1]], part)


def _add(w: Lowering, s: Windows, x: Leaf, rows: Leaf, start: Index, stop: Index) -> None:
    """Add rows to the windows of lines."""
    length, ty = s.run, llvm_type(x.dtype)

    def run(target: Val, source: Val) -> None:
        b = w.b
        if isinstance(length, int) and length <= _RUN:
            line = f"<{length} x {ty}>"
            total = b.fadd(b.load(line, target, x.dtype.size), b.load(line, source, x.dtype.size))
            b.store(total, target, x.dtype.size)
            return
        with b.loop(0, length, parallel=True) as k:
            to = b.offset(target, k, ty)
            b.store(b.fadd(b.load(ty, to), b.load(ty, b.offset(source, k, ty))), to)

    _each_run(w, s, x, rows, start, start, stop, run)


# Groups.

class _Groups:
    """The groups of channels, and the filters' elements for them."""

    def __init__(self, w: Lowering, channels: Index, filters: Leaf) -> None:
        self.channels, self.features = filters.dims[-2:]
        self.count = _groups(w.b, channels, self.channels)
        self.per = w.b.idiv(self.features, self.count)
        self.alone = self.channels == 1 and self.per == 1  # depthwise: each channel has one feature of its own

    def weight(self, b: Builder, tap: Index, channel: Index, feature: Index) -> Index:
        """The index of a filter's element."""
        return b.iadd(b.imul(b.iadd(b.imul(tap, self.channels), channel), self.features), feature)


def _grouped(w: Lowering, s: Windows, x: Leaf, filters: Leaf, target: Leaf) -> None:
    padded, g, ty, bits = s.pad(x), _Groups(w, s.channels, filters), llvm_type(x.dtype), w.module.vector_bits

    def window(k: Index, place: list[Index]) -> None:
        b = w.b
        origin, row = s.origin(padded, place), b.imul(k, g.features)

        def line(group: Index, first: Index, lanes: int) -> None:
            """Some features of a group; of adjacent channels if each channel is a group."""
            feature = b.iadd(b.imul(group, g.per), first)
            start = b.iadd(origin, feature if g.alone else b.imul(group, g.channels))

            def tap(t: Index, tap: list[Index], sums: Sequence[Val]) -> Sequence[Val]:
                base = b.iadd(start, s.offset(padded, tap))

                def one(c: Index, sums: Sequence[Val]) -> Sequence[Val]:
                    values = element(b, padded, b.iadd(base, c), lanes if g.alone else 1)
                    values = values if g.alone else b.splat(values, lanes)
                    return [b.fma(values, element(b, filters, g.weight(b, t, c, feature), lanes), sums[0])]

                return b.folded(0, g.channels, sums, one)

            (total,) = s.folded([const(ty if lanes == 1 else f"<{lanes} x {ty}>", 0)], tap)
            b.store(total, target.address(b, [b.iadd(row, feature)]), x.dtype.size)

        if g.alone:
            lines(b, bits, x.dtype, g.features, functools.partial(line, 0))
        else:
            with b.loop(0, g.count) as group:
                lines(b, bits, x.dtype, g.per, functools.partial(line, group))

    s.divide(s.lines, [s.lines, s.counts[-1], s.places, g.features], lambda start, stop: s.each(start, stop, window))


def _grouped_input(w: Lowering, s: Windows, padded: Leaf, filters: Leaf, y: Leaf) -> None:
    g = _Groups(w, s.channels, filters)

    def window(k: Index, place: list[Index]) -> None:
        b = w.b
        origin, row = s.origin(padded, place), b.imul(k, g.features)
        with b.loop(0, s.channels, parallel=True) as channel:
            group, inner = b.idiv(channel, g.channels), b.imod(channel, g.channels)
            first = b.imul(group, g.per)

            def tap(t: Index, tap: list[Index], values: Sequence[Val]) -> Sequence[Val]:
                at = b.iadd(b.iadd(origin, s.offset(padded, tap)), channel)
                (total,) = b.folded(0, g.per, [element(b, padded, at)], lambda j, sums: [b.fma(
                    element(b, filters, g.weight(b, t, inner, b.iadd(first, j))),
                    element(b, y, b.iadd(row, b.iadd(first, j))), sums[0])])
                b.store(total, b.offset(padded.pointer, at, llvm_type(y.dtype)), y.dtype.size)
                return []

            s.folded([], tap)

    lines = w.b.product(s.counts[:-1])

    def part(start: Index, stop: Index) -> None:  # windows of different images do not overlap
        s.each(w.b.imul(start, lines), w.b.imul(stop, lines), window)

    s.divide(s.images, [s.lines, s.counts[-1], s.places, g.features], part)


def _grouped_filters(w: Lowering, s: Windows, x: Leaf, target: Leaf, y: Leaf) -> None:
    padded, g = s.pad(x), _Groups(w, s.channels, target)
    w.b.call("void", "llvm.memset.p0.i64", target.pointer, const("i8", 0),
             w.b.i64(w.b.imul(w.b.product(target.dims), x.dtype.size)), Val("i1", "false"))

    def window(k: Index, place: list[Index]) -> None:
        b = w.b
        origin, row = s.origin(padded, place), b.imul(k, g.features)

        def tap(t: Index, tap: list[Index], values: Sequence[Val]) -> Sequence[Val]:
            base = b.iadd(origin, s.offset(padded, tap))
            with b.loop(0, g.channels) as c, b.loop(0, g.features, parallel=True) as f:
                at = g.weight(b, t, c, f)
                one = element(b, padded, b.iadd(b.iadd(base, b.imul(b.idiv(f, g.per), g.channels)), c))
                total = b.fma(one, element(b, y, b.iadd(row, f)), element(b, target, at))
                b.store(total, b.offset(target.pointer, at, llvm_type(x.dtype)), x.dtype.size)
            return []

        s.folded([], tap)

    s.each(0, s.lines, window)
