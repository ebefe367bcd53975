"""Lowerings of gather and scatter."""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen import folds, fusion
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Formula, Leaf, Map, Place, Scalar, same
from runtime.backends.native.codegen.piecewise_arrays import Axis
from runtime.backends.native.codegen.scalar_ops import combine, llvm_type
from runtime.backends.native.kernels.indexing import owned, viewed
from runtime.backends.native.kernels.shapes import as_array, wide
from runtime.backends.native.llvm.builder import Builder, Index, Val, lanes
from runtime.core.graph import Node
from runtime.core.types import bool_

__all__: list[str] = []


def _bounds(w: Lowering, node: Node, indices: Value, size: Index, values: Sequence[Value], column: int = 0) -> None:
    """Write a check that `indices`, a column of the node's, are in range for an axis of `size`; else the kernel
    raises."""
    known = node.inputs[1], column, size
    if known in w.passed:
        return
    w.passed.add(known)
    b = w.b
    assert isinstance(indices, (Scalar, Array))
    dtype = indices.dtype

    def outside(b: Builder, v: Val) -> Val:
        return b.icmp("uge", wide(b, v, dtype), b.splat(b.i64(size), lanes(v.ty)))

    if isinstance(indices, Scalar):
        w.fail_if(outside(b, indices.val), node, values)
        return
    flags = Map("outside", bool_, indices.dims, outside, [indices])
    found = folds.reduce(b, w.memory, "reduce_any", flags, range(len(indices.dims)), False, w.divide)
    assert isinstance(found, Scalar)
    w.fail_if(found.val, node, values)


def _all_bounds(w: Lowering, node: Node, rows: Leaf, sizes: Sequence[Index], values: Sequence[Value]) -> None:
    """The same for rows of indices, each with one index for each of several axes."""
    lead = rows.dims[:-1]
    for k, size in enumerate(sizes):
        column: Value = Scalar(rows.dtype, rows.at(Context(w.b), [k])) if not lead else viewed(
            w, rows, [*[Axis(0, 1, d) for d in lead], Axis(k, 1, None)])
        _bounds(w, node, column, size, values, k)


@lowers("gather")
def gather(w: Lowering, node: Node, x: Value, indices: Value) -> Value:
    axis, batch = node.params["axis"], node.params["batch_dims"]
    assert isinstance(x, Array)
    b = w.b
    if isinstance(indices, Array):
        indices = w.leaf(indices)
    _bounds(w, node, indices, x.dims[axis], [x, indices])
    x = x if isinstance(x, Leaf) else w.leaf(x)
    if isinstance(indices, Scalar):
        chosen: list[Axis | None] = [Axis(0, 1, size) for size in x.dims]
        chosen[axis] = Axis(wide(b, indices.val, indices.dtype), 1, None)
        if len(x.dims) == 1:
            return Scalar(x.dtype, x.at(Context(b), [chosen[axis].start]))
        return viewed(w, x, chosen)
    assert isinstance(indices, Leaf)
    for k in range(batch):
        if not same(x.dims[k], indices.dims[k]):
            w.fail_if(b.icmp("ne", b.i64(x.dims[k]), b.i64(indices.dims[k])), node, [x, indices])
    picked = indices.dims[batch:]
    dims = [*x.dims[:axis], *picked, *x.dims[axis + 1:]]
    source, places = x, indices

    def function(c: Context, place: Place) -> Val:
        at = places.at(Context(c.b), [*place[:batch], *place[axis:axis + len(picked)]])
        index = wide(c.b, at, places.dtype)
        return source.at(Context(c.b), [*place[:axis], index, *place[axis + len(picked):]])

    if not dims:
        return Scalar(x.dtype, function(Context(b), []))
    made = Formula(x.dtype, dims, function, cost=4)
    return w.leaf(made) if len(dims) > 1 else made


@lowers("gather_nd")
def gather_nd(w: Lowering, node: Node, x: Value, indices: Value) -> Value:
    assert isinstance(indices, Array)
    x = as_array(x)
    depth = indices.dims[-1]
    if not isinstance(depth, int):
        raise NotNative("indices of unknown depth")
    b = w.b
    indices = w.leaf(indices)
    lead = indices.dims[:-1]
    _all_bounds(w, node, indices, x.dims[:depth], [x, indices])
    source, places = w.leaf(x), indices
    dims = [*lead, *x.dims[depth:]]

    def function(c: Context, place: Place) -> Val:
        row = place[:len(lead)]
        at: list[Index] = [wide(c.b, places.at(Context(c.b), [*row, k]), places.dtype) for k in range(depth)]
        return source.at(Context(c.b), [*at, *place[len(lead):]])

    if not dims:
        return Scalar(x.dtype, function(Context(b), []))
    made = Formula(x.dtype, dims, function, cost=4)
    return w.leaf(made)


@lowers("scatter")
def scatter(w: Lowering, node: Node, x: Value, indices: Value, updates: Value) -> Value:
    assert isinstance(indices, Array)
    if isinstance(x, Scalar):
        raise NotNative("rows without indices, which all name a scalar")
    assert isinstance(x, Array)
    b, mode = w.b, node.params["mode"]
    if x.dtype.is_complex and mode in ("max", "min"):
        raise NotNative("the order of complex numbers")
    depth = indices.dims[-1]
    if not isinstance(depth, int):
        raise NotNative("indices of unknown depth")
    indices = w.leaf(indices)
    values = [x, indices, updates]
    lead = indices.dims[:-1]
    rest = x.dims[depth:]
    wanted = [*lead, *rest]
    updates = as_array(updates)
    for have, want in zip(updates.dims, wanted, strict=True):
        if not same(have, want):
            w.fail_if(b.icmp("ne", b.i64(have), b.i64(want)), node, values)
    _all_bounds(w, node, indices, x.dims[:depth], values)
    updates = w.settle(updates)
    assert isinstance(updates, Array)
    target, (source, places) = owned(w, x, [updates, indices], b.product(updates.dims))
    assert isinstance(source, Array) and isinstance(places, Array)
    dtype = x.dtype
    how = {"add": "reduce_any" if dtype is bool_ else "reduce_sum", "max": "reduce_max", "min": "reduce_min"}.get(mode)

    def row(place: Place) -> None:
        at: list[Index] = [wide(b, places.at(Context(b), [*place, k]), places.dtype) for k in range(depth)]

        def one(inner: Place) -> None:
            new = source.at(Context(b), [*place, *inner])
            where = [*at, *inner]
            if how is not None:
                new = combine(b, how, dtype, b.load(llvm_type(dtype), target.address(b, where), dtype.size), new)
            target.store(b, where, new)

        fusion.nest(b, rest, one)

    fusion.nest(b, lead, row, parallel=False, cost=b.product(rest))
    return target
