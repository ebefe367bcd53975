"""Activations, element by element or along an axis."""
from __future__ import annotations

from typing import Any

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, floating, in_dtype, result, tensor
from runtime.ops import concat_split, creation, logic, math, nn, reduction, sorting
from runtime.ops import shape as shapes

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu", "log_sigmoid",
    "log_softmax", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink", "softmax", "softplus", "softsign",
    "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus", "tanh", "tanh_shrink", "threshold",
]


def relu(x: Any) -> Tensor:
    x = tensor(x)
    return x if x.dtype.is_bool else nn.relu(x)


def relu6(x: Any) -> Tensor:
    return nn.relu6(tensor(x))


def sigmoid(x: Any) -> Tensor:
    x = floating(x)
    found = math.sigmoid(x)
    found._keras_logits = x
    return found


def sparse_sigmoid(x: Any) -> Tensor:
    x = floating(x)
    return logic.where(x <= -1, rnp.zeros_like(x), logic.where(x >= 1, rnp.ones_like(x), (x + 1) * 0.5))


def tanh(x: Any) -> Tensor:
    return math.tanh(floating(x))


def tanh_shrink(x: Any) -> Tensor:
    x = floating(x)
    return x - math.tanh(x)  # type: ignore[no-any-return]


def softplus(x: Any) -> Tensor:
    return math.softplus(floating(x))


def softsign(x: Any) -> Tensor:
    return nn.softsign(floating(x))


def soft_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    x = floating(x)
    zero = rnp.zeros_like(x)
    return logic.where(x > threshold, x - threshold, logic.where(x < -threshold, x + threshold, zero))


def hard_shrink(x: Any, threshold: float = 0.5) -> Tensor:
    x = floating(x)
    return logic.where(math.abs(x) > threshold, x, rnp.zeros_like(x))


def sparse_plus(x: Any) -> Tensor:
    x = floating(x)
    return logic.where(x <= -1, rnp.zeros_like(x), logic.where(x < 1, math.square(x + 1) * 0.25, x))


def silu(x: Any) -> Tensor:
    return nn.silu(floating(x))


def squareplus(x: Any, b: Any = 4) -> Tensor:
    x = floating(x)
    return (x + math.sqrt(math.square(x) + in_dtype(b, x.dtype.name))) / 2  # type: ignore[no-any-return]


def log_sigmoid(x: Any) -> Tensor:
    return -math.softplus(-floating(x))


def leaky_relu(x: Any, negative_slope: Any = 0.2) -> Tensor:
    return nn.leaky_relu(floating(x), negative_slope)


def hard_sigmoid(x: Any) -> Tensor:
    return nn.relu6(floating(x) + 3) / 6


def hard_silu(x: Any) -> Tensor:
    x = floating(x)
    return x * hard_sigmoid(x)  # type: ignore[no-any-return]


def elu(x: Any, alpha: Any = 1.0) -> Tensor:
    return nn.elu(floating(x), alpha=alpha)


def selu(x: Any) -> Tensor:
    return nn.selu(floating(x))


def gelu(x: Any, approximate: bool = True) -> Tensor:
    return nn.gelu(floating(x), approximate)


def celu(x: Any, alpha: Any = 1.0) -> Tensor:
    x = floating(x)
    return math.maximum(x, 0.0) + alpha * math.expm1(math.minimum(x, 0.0) / alpha)  # type: ignore[no-any-return]


def glu(x: Any, axis: int = -1) -> Tensor:
    x = floating(x)
    size = x.type.shape[axis]
    if size is not None and size % 2:
        raise ValueError(f"`x` must have an even size along the axis {axis}, not {size}")
    left, right = concat_split.split(x, 2, axis)
    return left * math.sigmoid(right)


def hard_tanh(x: Any) -> Tensor:
    x = floating(x)
    return math.minimum(math.maximum(x, -1.0), 1.0)


def threshold(x: Any, threshold: Any, default_value: Any) -> Tensor:
    x, other = agreed(tensor(x), default_value)
    return logic.where(x > threshold, x, other)


def softmax(x: Any, axis: Any = -1) -> Tensor:
    x = floating(x)
    found = _along(nn.softmax, x, axis)
    found._keras_logits = x
    return found


def log_softmax(x: Any, axis: Any = -1) -> Tensor:
    return _along(nn.log_softmax, floating(x), axis)


def _along(function: Any, x: Tensor, axis: Any) -> Tensor:
    """A function applied along one axis, along several together, or (None) along all."""
    if isinstance(axis, int):
        return function(x, axis)  # type: ignore[no-any-return]
    axes = [*range(x.ndim)] if axis is None else [each % x.ndim for each in axis]
    others = [i for i in range(x.ndim) if i not in axes]
    order = [*others, *axes]
    moved = shapes.transpose(x, order)
    sizes = shapes.dims(moved)
    flat = function(shapes.reshape(moved, [*sizes[:len(others)], -1]), len(others))
    return shapes.transpose(shapes.reshape(flat, sizes), [order.index(i) for i in range(x.ndim)])


def sparsemax(x: Any, axis: int = -1) -> Tensor:
    """The Euclidean projection on the simplex (A. Martins and R. Astudillo, "From Softmax to Sparsemax", 2016)."""
    x = floating(x)
    wide = shapes.moveaxis(in_dtype(x, result(x.dtype.name, "float32")), axis, -1)
    ordered = sorting.sort(wide, -1, "DESCENDING")
    total = reduction.cumsum(ordered, -1)
    rank = in_dtype(creation.range(shapes.dim(wide, wide.ndim - 1)) + 1, wide.dtype.name)
    kept = in_dtype(rank * ordered + 1 > total, wide.dtype.name)
    count = reduction.reduce_sum(kept, -1, True)
    level = (reduction.reduce_sum(ordered * kept, -1, True) - 1) / count
    return in_dtype(shapes.moveaxis(math.maximum(wide - level, 0.0), -1, axis), x.dtype.name)


