"""Lowerings of ops that join arrays, split them, or generate them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import (
    Array,
    Context,
    Formula,
    Leaf,
    Map,
    Place,
    Scalar,
    remap,
    same,
)
from runtime.backends.native.codegen.piecewise_arrays import Axis, join
from runtime.backends.native.kernels.indexing import viewed
from runtime.backends.native.kernels.padding import mirrored, widths
from runtime.backends.native.kernels.shapes import as_array, result_type, splat
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Node
from runtime.core.types import MAX_BYTES, DType, float16

__all__: list[str] = []


@lowers("stack")
def stack(w: Lowering, node: Node, *values: Value) -> Value:
    axis = node.params["axis"]
    b = w.b
    first = values[0]
    assert isinstance(first, (Scalar, Array))
    if all(isinstance(x, Scalar) for x in values):
        if len(values) == 1:
            return splat(first, [1]) if isinstance(first, Scalar) else first
        target = w.memory(first.dtype, [len(values)])
        for k, x in enumerate(values):
            target.store(b, [k], w.element(x))
        return target
    arrays = [as_array(x) for x in values]
    dims = list(arrays[0].dims)
    for x in arrays[1:]:
        for k, (a, d) in enumerate(zip(x.dims, dims, strict=True)):
            if not same(a, d):
                w.fail_if(b.icmp("ne", b.i64(a), b.i64(d)), node, values)
                dims[k] = a if isinstance(a, int) else d
    target = w.memory(arrays[0].dtype, [*dims[:axis], len(arrays), *dims[axis:]])
    parts = []
    for k, x in enumerate(arrays):
        chosen: list[Axis | None] = [Axis(0, 1, size) for size in target.dims]
        chosen[axis] = Axis(k, 1, None)
        part = viewed(w, target, chosen)
        assert isinstance(part, Leaf)
        source = as_dims(x, dims)
        parts.append((source, part))
    w.store_all(parts)
    return target


def as_dims(x: Array, dims: Sequence[Index]) -> Array:
    """`x` with the dimensions `dims`, which are equal to its own at run time."""
    if all(map(same, x.dims, dims)):
        return x
    if x.flat:
        return x.reshaped(dims)
    assert isinstance(x, (Leaf, Map, Formula))
    if isinstance(x, Leaf):
        return Leaf(x.dtype, dims, x.pointer, x.strides, bases=x.bases)
    return remap(x, dims, lambda b, place: place, lambda leaf: Leaf(
        leaf.dtype, dims, leaf.pointer, leaf.strides, bases=leaf.bases))


@lowers("concat")
def concat(w: Lowering, node: Node, *values: Value) -> Value:
    axis = node.params["axis"]
    b = w.b
    arrays = [as_array(x) for x in values]
    if len(arrays) == 1:
        return arrays[0]
    dims = list(arrays[0].dims)
    for x in arrays[1:]:
        for k, (a, d) in enumerate(zip(x.dims, dims, strict=True)):
            if k != axis and not same(a, d):
                w.fail_if(b.icmp("ne", b.i64(a), b.i64(d)), node, values)
                dims[k] = a if isinstance(a, int) else d
    joined = join(axis, arrays)
    if joined is not None:
        return joined
    arrays = [w.leaf(x) if x.pieces else x for x in arrays]
    total: Index = 0
    for x in arrays:
        total = b.iadd(total, x.dims[axis])
    known = result_type(node).shape[axis]
    dims[axis] = total if known is None else known
    target = w.memory(arrays[0].dtype, dims)
    start: Index = 0
    for x in arrays:
        chosen: list[Axis | None] = [Axis(0, 1, size) for size in dims]
        chosen[axis] = Axis(start, 1, x.dims[axis])
        part = viewed(w, target, chosen)
        assert isinstance(part, Leaf)
        inner = [*dims[:axis], x.dims[axis], *dims[axis + 1:]]
        w.store_all([(as_dims(x, inner), part)])
        start = b.iadd(start, x.dims[axis])
    return target


@lowers("split")
def split(w: Lowering, node: Node, x: Value) -> list[Value]:
    assert isinstance(x, Array)
    b = w.b
    sections, axis = node.params["sections"], node.params["axis"]
    size = x.dims[axis]
    if not isinstance(x, Leaf) and x.weight > 3:
        x = w.leaf(x)
    sizes: list[Index]
    if isinstance(sections, int):
        if isinstance(size, Val):
            w.fail_if(b.icmp("ne", b.op("i64", f"urem {size}, {sections}"), const("i64", 0)), node, [x])
        sizes = [b.idiv(size, sections)] * sections
    else:
        if isinstance(size, Val):
            w.fail_if(b.icmp("ne", size, const("i64", sum(sections))), node, [x])
        sizes = list(sections)
    parts: list[Value] = []
    start: Index = 0
    for count in sizes:
        chosen: list[Axis | None] = [Axis(0, 1, d) for d in x.dims]
        chosen[axis] = Axis(start, 1, count)
        parts.append(viewed(w, x, chosen))
        start = b.iadd(start, count)
    return parts


@lowers("pad")
def pad(w: Lowering, node: Node, x: Value, value: Value, *paddings: Value) -> Value:
    if isinstance(x, Scalar):
        return x
    assert isinstance(x, Array)
    known = node.params["pairs"]
    if known is not None and not all(0 <= size <= MAX_BYTES for pair in known for size in pair):
        raise NotNative("a size that no padding has")
    b = w.b
    values = [x, value, *paddings]
    pairs = widths(w, node, x, values) if known is None else known
    if node.params["mode"] != "CONSTANT":
        return mirrored(w, node, x, pairs, values)
    dims = [b.iadd(size, b.iadd(*pair)) for size, pair in zip(x.dims, pairs, strict=True)]
    joined = None if known is None else _padded(
        w, x, Scalar(x.dtype, w.element(value)), node.inputs[1].constant, known, dims)
    if joined is not None:
        return joined
    if x.pieces:
        x = w.leaf(x)
    target = w.memory(x.dtype, dims)
    w.store_all([(splat(Scalar(x.dtype, w.element(value)), dims), target)])
    chosen: list[Axis | None] = [Axis(pair[0], 1, size) for pair, size in zip(pairs, x.dims, strict=True)]
    part = viewed(w, target, chosen)
    assert isinstance(part, Leaf)
    w.store_all([(x, part)])
    return target


def _padded(w: Lowering, x: Array, value: Scalar, constant: Any, pairs: Sequence[Sequence[int]], dims: Sequence[Index]
            ) -> Array | None:
    """`x` between constant borders, as concatenations; None where copying is better."""
    width = dims[-1]
    if not all(isinstance(d, int) for d in dims) or not isinstance(width, int):
        return None
    known = constant is not None and width > 1
    fill = w.constant(np.full(width, constant, x.dtype.np)) if known else w.leaf(splat(value, [width]))
    assert isinstance(fill, Leaf)
    for axis in reversed(range(len(dims))):
        around = []
        for size in pairs[axis]:
            shape = [*x.dims[:axis], size, *x.dims[axis + 1:]]
            around.append(Leaf(x.dtype, shape, fill.pointer, [*[0] * (len(dims) - 1), 1], bases=fill.bases))
        if any(pairs[axis]):
            joined = join(axis, [around[0], x, around[1]])
            if joined is None:
                return None
            x = joined
    return x


def _count(b: Builder, dtype: DType, first: Val, last: Val, step: Val) -> Val:
    """The length of a `range` of integers; arbitrary for a step of 0."""
    one, order = const("i64", 1), "u" if dtype.is_unsigned else "s"
    up = const("i1", 1) if dtype.is_unsigned else b.icmp("sgt", step, const("i64", 0))
    low, high = b.select(up, first, last), b.select(up, last, first)
    size = b.select(up, step, b.sub(const("i64", 0), step))
    steps = b.op("i64", f"udiv {b.sub(b.sub(high, low), one)}, {b.intrinsic('umax', size, one).ref}")
    return b.select(b.icmp(order + "lt", low, high), b.add(steps, one), const("i64", 0))


@lowers("range")
def range_(w: Lowering, node: Node, start: Value, limit: Value, delta: Value) -> Value:
    b = w.b
    first, last, step = w.element(start), w.element(limit), w.element(delta)
    type = result_type(node)
    dtype = type.dtype
    size: Index
    zero = const(step.ty, 0)
    bad = b.fcmp("oeq", step, zero) if dtype.is_floating else b.icmp("eq", step, zero)
    known = node.inputs[2].constant
    if known is None:
        w.fail_if(bad, node, [start, limit, delta])
    elif not known:
        w.fail_if(const("i1", 1), node, [start, limit, delta])
    if type.shape[0] is not None:
        size = type.shape[0]
    elif dtype.is_floating:
        quotient = b.op(first.ty, f"fdiv {b.op(first.ty, f'fsub {last}, {first.ref}')}, {step.ref}")
        steps = b.intrinsic("ceil", b.convert("fpext", quotient, "double"))
        w.fail_if(b.fcmp("ugt", steps, const("double", MAX_BYTES)), node, [start, limit, delta])
        steps = b.intrinsic("maxnum", steps, const("double", 0))
        size = b.op("i64", f"fptosi {steps} to i64")
    else:
        size = _count(b, dtype, *(b.extend(v, dtype.is_unsigned) for v in (first, last, step)))
        w.fail_if(b.icmp("ugt", size, const("i64", MAX_BYTES)), node, [start, limit, delta])
    half = dtype is float16  # counted in float32, from two float16 numbers
    if dtype.is_floating:
        second = b.op(first.ty, f"fadd {first}, {step.ref}")
        if half:
            first, second = (b.convert("fpext", v, "float") for v in (first, second))
        step = b.op(first.ty, f"fsub {second}, {first.ref}")

    def function(c: Context, place: Place) -> Val:
        index = c.counted(place[-1])
        base, by = c.b.splat(first, c.lanes), c.b.splat(step, c.lanes)
        if dtype.is_floating:
            k = c.b.convert("sitofp", index, first.ty)
            value = c.b.op(k.ty, f"fadd {base}, {c.b.op(k.ty, f'fmul {k}, {by.ref}').ref}")
            return c.b.convert("fptrunc", value, "half") if half else value
        narrow = c.b.convert("trunc", index, first.ty) if first.ty != "i64" else index
        return c.b.add(base, c.b.mul(narrow, by))

    return Formula(dtype, [size], function, lined=True, cost=2)
