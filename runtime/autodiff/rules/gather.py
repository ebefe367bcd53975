"""Rules for gather and scatter, which are adjoint to each other."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import filled
from runtime.autodiff.rules.registry import Applied, Update, jvp, vjp
from runtime.core.trace import apply
from runtime.core.types import int64
from runtime.ops.concat_split import concat
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros, zeros_like
from runtime.ops.gather import GATHER, scatter
from runtime.ops.gather_nd import GATHER_ND, gather_nd
from runtime.ops.logic import equal, where
from runtime.ops.math import cast, divide
from runtime.ops.shape import broadcast_to, dims, expand_dims, product, reshape, transpose

# Gather.


@jvp("gather", "gather_nd")
def _picked_of_tangent(node: Applied, t: Any, _: Any) -> Sequence[Any]:
    return [apply(GATHER if node.name == "gather" else GATHER_ND, t, node.inputs[1], **node.params)]


@vjp("gather")
def _gather(node: Applied, ct: Any) -> Sequence[Any]:
    indices, axis, batch = node.inputs[1], node.params["axis"], node.params["batch_dims"]
    if axis == 0 and node.params.get("slices"):
        return [of_rows(ct, indices, node.inputs[0]), None]
    return [Update(lambda sum: add_at(sum, ct, indices, axis, batch)), None]


def of_rows(values: Any, indices: Any, x: Any) -> Update:
    """The cotangent of `x` from those of its slices along the first axis."""
    return Update(lambda sum: add_at(sum, values, indices, 0),
                  lambda: (reshape(values, [product(dims(indices)), *dims(x)[1:]]), reshape(indices, [-1])))


def add_at(sum: Any, ct: Any, indices: Any, axis: int, batch: int = 0) -> Any:
    """`sum` with the slices of `ct` added to the slices that gather reads."""
    inward = [*range(batch), axis, *range(batch, axis), *range(axis + 1, sum.ndim)]
    after = axis + indices.ndim - batch  # the first axis of `ct` after those of the indices
    of_ct = [*range(batch), *range(axis, after), *range(batch, axis), *range(after, ct.ndim)]
    rows = _rows(indices, batch)
    if axis == batch:
        return scatter(sum, rows, ct, "add")
    turned = scatter(transpose(sum, inward), rows, transpose(ct, of_ct), "add")
    return transpose(turned, [inward.index(a) for a in range(sum.ndim)])


def _rows(indices: Any, batch: int) -> Any:
    """The indices in the form for scatter, preceded by those of the batch."""
    if not batch:
        return expand_dims(indices, -1)
    sizes = dims(indices)
    columns = []
    for axis in range(batch):
        line: list[Any] = [1] * (indices.ndim + 1)
        line[axis] = -1
        columns.append(broadcast_to(reshape(cast(range_(sizes[axis]), indices.dtype), line), [*sizes, 1]))
    return concat([*columns, expand_dims(indices, -1)], -1)


@vjp("gather_nd")
def _gather_nd(node: Applied, ct: Any) -> Sequence[Any]:
    indices = node.inputs[1]
    return [Update(lambda sum: scatter(sum, indices, ct, "add")), None]


# Scatter.

@vjp("scatter")
def _scatter(node: Applied, ct: Any) -> Sequence[Any]:
    x, indices, updates = node.inputs
    mode = node.params["mode"]
    if mode == "add":
        return [ct, None, gather_nd(ct, indices) if node.wanted[2] else None]
    if mode == "update":
        rest = scatter(ct, indices, zeros_like(updates)) if node.wanted[0] else None
        shape = dims(x)[:indices.type.shape[-1]]
        return [rest, None, last_written(gather_nd(ct, indices), shape, indices) if node.wanted[2] else None]
    share = divide(ct, _count(node))
    return [where(equal(x, node.outputs[0]), share, 0), None,
            where(equal(updates, gather_nd(node.outputs[0], indices)), gather_nd(share, indices), 0)]


@jvp("scatter")
def _scatter_tangents(node: Applied, t: Any, _: Any, u: Any) -> Sequence[Any]:
    x, indices, updates = node.inputs
    mode = node.params["mode"]
    if mode == "add":
        return [t if u is None else scatter(filled(t, x), indices, u, "add")]
    if mode == "update":
        return [scatter(filled(t, x), indices, filled(u, updates))]
    kept = None if t is None else where(equal(x, node.outputs[0]), t, 0)
    if u is not None:
        chosen = where(equal(updates, gather_nd(node.outputs[0], indices)), u, 0)
        kept = scatter(filled(kept, x), indices, chosen, "add")
    return [divide(kept, _count(node))]


def _count(node: Applied) -> Any:
    """For each element, how many of it and its updates are extremal: these share its cotangent."""
    x, indices, updates = node.inputs
    out = node.outputs[0]
    return scatter(cast(equal(x, out), x.dtype), indices,
                   cast(equal(updates, gather_nd(out, indices)), x.dtype), "add")


def last_written(ct: Any, shape: Sequence[Any], indices: Any) -> Any:
    """The cotangent of updates at rows of indices into a tensor of this shape: zero for those overwritten later."""
    if all(size == 1 for size in indices.type.shape[:-1]):
        return ct
    sizes = dims(indices)[:-1]
    order = reshape(range_(cast(product(sizes), int64)), sizes)
    wins = equal(gather_nd(scatter(zeros(shape, int64), indices, order), indices), order)
    return where(reshape(wins, [*sizes, *[1] * (ct.ndim - len(sizes))]), ct, 0)
