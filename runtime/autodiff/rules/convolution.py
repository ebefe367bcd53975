"""Rules for convolutions, whose derivatives are convolutions again, and for pooling."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import reshape_like
from runtime.autodiff.rules.elementwise import total
from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.op import REGISTRY
from runtime.core.types import int64
from runtime.ops.convolution import CONV, CONV_FILTERS, CONV_INPUT
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.gather import gather, scatter
from runtime.ops.math import add, cast, multiply
from runtime.ops.op_makers import apply_one
from runtime.ops.pooling import MAX_POOL_ARGMAX
from runtime.ops.shape import dims, product, reshape, shape

constant("its result is an index", "max_pool_argmax")


def _images(filters: Any, y: Any, like: Any, params: Mapping[str, Any]) -> Any:
    return apply_one(CONV_INPUT, filters, y, *_sizes(like), dims=like.type.shape, **params)


def _filters(x: Any, y: Any, like: Any, params: Mapping[str, Any]) -> Any:
    return apply_one(CONV_FILTERS, x, y, *_sizes(like), dims=like.type.shape, **params)


def _sizes(x: Any) -> Sequence[Any]:
    """The operand that gives the shape of x, if it is not known statically."""
    return [shape(x, int64)] if None in x.type.shape else []


def _windows(node: Applied) -> dict[str, Any]:
    return {name: param for name, param in node.params.items() if name != "dims"}


@vjp("conv")
def _conv(node: Applied, ct: Any) -> Sequence[Any]:
    (x, filters), params = node.inputs, node.params
    return [_images(filters, ct, x, params) if node.wanted[0] else None,
            _filters(x, ct, filters, params) if node.wanted[1] else None]


@vjp("conv_input")
def _conv_input(node: Applied, ct: Any) -> Sequence[Any]:
    (filters, y, *sizes), params = node.inputs, _windows(node)
    return [_filters(ct, y, filters, params) if node.wanted[0] else None,
            apply_one(CONV, ct, filters, **params) if node.wanted[1] else None, *[None] * len(sizes)]


@vjp("conv_filters")
def _conv_filters(node: Applied, ct: Any) -> Sequence[Any]:
    (x, y, *sizes), params = node.inputs, _windows(node)
    return [_images(ct, y, x, params) if node.wanted[0] else None,
            apply_one(CONV, x, ct, **params) if node.wanted[1] else None, *[None] * len(sizes)]


@jvp("conv", "conv_input", "conv_filters")
def _bilinear(node: Applied, t: Any, u: Any, *_: Any) -> Sequence[Any]:
    x, y, *sizes = node.inputs
    op = REGISTRY[node.name]
    return [total([None if t is None else apply_one(op, t, y, *sizes, **node.params),
                   None if u is None else apply_one(op, x, u, *sizes, **node.params)])]


# Pooling.

@vjp("max_pool")
def _max_pool(node: Applied, ct: Any) -> Sequence[Any]:
    """Cotangents go to the first maximum of each window."""
    x = node.inputs[0]
    flat = zeros([product(dims(x))], ct.dtype)
    return [reshape_like(scatter(flat, reshape(_places(node), [-1, 1]), reshape(ct, [-1]), "add"), x)]


@jvp("max_pool")
def _max_pool_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [gather(reshape(t, [-1]), _places(node))]


def _places(node: Applied) -> Any:
    """The positions of the result's elements in the images, in C order."""
    x = node.inputs[0]
    within = apply_one(MAX_POOL_ARGMAX, x, **node.params)
    count, *sizes = dims(x)
    first = multiply(range_(cast(count, int64)), cast(product(sizes), int64))
    return add(within, reshape(first, [-1] + [1] * (x.ndim - 1)))
