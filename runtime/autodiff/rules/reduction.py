"""Rules for reductions and cumulative sums. Equal extrema share a cotangent equally."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import broadcast_like
from runtime.autodiff.rules.elementwise import adjoint, total
from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.trace import apply
from runtime.ops.concat_split import PAD
from runtime.ops.indexing import getitem
from runtime.ops.logic import equal, where
from runtime.ops.math import cast, divide, maximum, multiply
from runtime.ops.reduction import CUMSUM, LINEAR_RECURRENCE, cumprod, reduce_sum
from runtime.ops.shape import EXPAND_DIMS, along, dims, product, reshape, transpose

constant("its result is a bool", "reduce_all", "reduce_any")
constant("its result is an index", "argmax", "argmin")


def _kept(x: Any, node: Applied) -> Any:
    """A result, or a tensor of its shape, with the reduced dimensions kept, of size 1."""
    axis = node.params["axis"]
    return x if node.params["keepdims"] or not axis else apply(EXPAND_DIMS, x, axis=axis)


@vjp("reduce_sum")
def _sum(node: Applied, ct: Any) -> Sequence[Any]:
    return [broadcast_like(_kept(ct, node), node.inputs[0])]


@jvp("reduce_sum")
def _sum_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [_summed(t, node)]


def _summed(x: Any, node: Applied) -> Any:
    return reduce_sum(x, list(node.params["axis"]), node.params["keepdims"])


# Maximum and minimum.

@vjp("reduce_max", "reduce_min")
def _extreme(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]
    chosen = equal(x, _kept(node.outputs[0], node))
    return [where(chosen, _kept(divide(ct, _count(chosen, ct, node)), node), 0)]


@jvp("reduce_max", "reduce_min")
def _extreme_tangent(node: Applied, t: Any) -> Sequence[Any]:
    chosen = equal(node.inputs[0], _kept(node.outputs[0], node))
    return [divide(_summed(where(chosen, t, 0), node), _count(chosen, t, node))]


def _count(chosen: Any, t: Any, node: Applied) -> Any:
    """The number of equal extrema, at least 1."""
    return maximum(_summed(cast(chosen, t.dtype), node), 1)


# Products.

@vjp("reduce_prod")
def _product(node: Applied, ct: Any) -> Sequence[Any]:
    return [adjoint(lambda t: _kept(t, node) * _others(node.inputs[0], node.params["axis"]), ct)]


@jvp("reduce_prod")
def _product_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [_summed(t * _others(node.inputs[0], node.params["axis"]), node)]


def _others(x: Any, axes: Sequence[int]) -> Any:
    """For each element the product of the others along the axes, valid even if there are zeros."""
    if len(axes) == 1:
        return multiply(cumprod(x, axes[0], exclusive=True), cumprod(x, axes[0], exclusive=True, reverse=True))
    if not axes:
        return 1
    order = [*[a for a in range(x.ndim) if a not in axes], *axes]
    turned = transpose(x, order)
    sizes = dims(turned)
    kept = x.ndim - len(axes)
    rows = reshape(turned, [*sizes[:kept], product(sizes[kept:])])
    return transpose(reshape(_others(rows, [kept]), sizes), [order.index(a) for a in range(x.ndim)])


# Cumulative.

@vjp("cumsum")
def _cumsum(node: Applied, ct: Any) -> Sequence[Any]:
    return [apply(CUMSUM, ct, **{**node.params, "reverse": not node.params["reverse"]})]


@jvp("cumsum")
def _cumsum_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [apply(CUMSUM, t, **node.params)]


@vjp("cumprod")
def _cumprod(node: Applied, ct: Any) -> Sequence[Any]:
    """The elements before one form a product; from it on, the cotangents are accumulated by a linear recurrence whose
    factors are the elements."""
    x, (axis, exclusive, reverse) = node.inputs[0], _direction(node)

    def linear(t: Any) -> Any:
        after = _shifted(t, axis, not reverse) if exclusive else t
        return cumprod(x, axis, True, reverse) * _recurrence(_shifted(x, axis, not reverse), after, axis, not reverse)

    return [adjoint(linear, ct)]


@jvp("cumprod")
def _cumprod_tangent(node: Applied, t: Any) -> Sequence[Any]:
    x, (axis, exclusive, reverse) = node.inputs[0], _direction(node)
    terms = t * cumprod(x, axis, True, reverse)
    if exclusive:
        x, terms = _shifted(x, axis, reverse), _shifted(terms, axis, reverse)
    return [_recurrence(x, terms, axis, reverse)]


def _direction(node: Applied) -> tuple[int, bool, bool]:
    return node.params["axis"], node.params["exclusive"], node.params["reverse"]


def _recurrence(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    return apply(LINEAR_RECURRENCE, a, b, axis=axis, reverse=reverse)


def _shifted(x: Any, axis: int, reverse: bool) -> Any:
    """For each element the previous one or, with `reverse`, the next; 0 where there is none."""
    pairs = [(0, 0)] * x.ndim
    pairs[axis] = (0, 1) if reverse else (1, 0)
    part = slice(1, None) if reverse else slice(0, -1)
    return getitem(apply(PAD, x, 0, pairs=tuple(pairs), mode="CONSTANT"), along(axis, part))


@vjp("linear_recurrence")
def _linear_recurrence(node: Applied, ct: Any) -> Sequence[Any]:
    a, x, axis, reverse = node.inputs[0], node.outputs[0], node.params["axis"], node.params["reverse"]
    of_terms = adjoint(lambda t: _recurrence(_shifted(a, axis, not reverse), t, axis, not reverse), ct)
    of_factors = adjoint(lambda t: t * _shifted(x, axis, reverse), of_terms) if node.wanted[0] else None
    return [of_factors, of_terms]


@jvp("linear_recurrence")
def _linear_recurrence_tangent(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    a, x, axis, reverse = node.inputs[0], node.outputs[0], node.params["axis"], node.params["reverse"]
    return [_recurrence(a, total([None if t is None else t * _shifted(x, axis, reverse), u]), axis, reverse)]
