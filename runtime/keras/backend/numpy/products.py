"""Products of vectors, matrices and arrays, and functions based on them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src.backend.common.backend_utils import vectorize_impl

import runtime.numpy as rnp
from runtime.batching.vmap import vmap
from runtime.core.tensor import Tensor
from runtime.keras.backend.numpy.shaping import concatenate
from runtime.keras.backend.promotion import agreed, by_numbers, floating, floats, in_dtype, name_of, result, tensor
from runtime.ops import complex_numbers, decompositions, linalg, math, reduction
from runtime.ops import shape as shapes
from runtime.ops.convolution import conv1d

__all__ = [
    "corrcoef", "correlate", "cross", "dot", "einsum", "inner", "kron", "matmul", "outer", "slogdet", "tensordot",
    "vdot", "vectorize",
]


def _by_bytes(*xs: Any) -> bool:
    """Whether all operands are int8, whose products Keras sums in int32."""
    return all(name_of(x) == "int8" for x in xs)


def matmul(x1: Any, x2: Any) -> Tensor:
    x1, x2 = tensor(x1), tensor(x2)
    x, y = agreed(x1, x2, also=("int32",) if _by_bytes(x1, x2) else ())
    return by_numbers(lambda x, y: x @ y, x, y)  # type: ignore[no-any-return]


def dot(x1: Any, x2: Any) -> Tensor:
    return by_numbers(rnp.dot, *agreed(x1, x2))  # type: ignore[no-any-return]


def inner(x1: Any, x2: Any) -> Tensor:
    return by_numbers(rnp.inner, *agreed(x1, x2))  # type: ignore[no-any-return]


def outer(x1: Any, x2: Any) -> Tensor:
    return by_numbers(rnp.outer, *agreed(x1, x2))  # type: ignore[no-any-return]


def vdot(x1: Any, x2: Any) -> Tensor:
    return by_numbers(rnp.vdot, *agreed(x1, x2))  # type: ignore[no-any-return]


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Tensor:
    return by_numbers(lambda x, y: rnp.tensordot(x, y, axes), *agreed(x1, x2))  # type: ignore[no-any-return]


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Tensor:
    tensors = [tensor(x) for x in operands]
    xs = agreed(*tensors, also=("int32",) if _by_bytes(*tensors) else ())
    return by_numbers(lambda *xs: linalg.einsum(subscripts, *xs), *xs)  # type: ignore[no-any-return]


def cross(x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    x, y = agreed(x1, x2)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = shapes.moveaxis(x, axisa, -1), shapes.moveaxis(y, axisb, -1)
    lengths = x.type.shape[-1], y.type.shape[-1]
    if any(length not in (2, 3, None) for length in lengths):
        raise ValueError("`x1` and `x2` must have either 2 or 3 elements along the axis. Received: x1 has "
                         f"{lengths[0]}, x2 has {lengths[1]}")
    if lengths == (2, 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (concatenate([v, rnp.zeros_like(v[..., :1])], -1) if length == 2 else v
            for v, length in zip((x, y), lengths, strict=True))
    return shapes.moveaxis(rnp.cross(x, y), -1, axisc)


def kron(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    rank = max(x.ndim, y.ndim)
    x, y = (shapes.reshape(v, [1] * (rank - v.ndim) + shapes.dims(v)) for v in (x, y))
    left = shapes.reshape(x, [part for size in shapes.dims(x) for part in (size, 1)])
    right = shapes.reshape(y, [part for size in shapes.dims(y) for part in (1, size)])
    sizes = [shapes.product([m, n]) for m, n in zip(shapes.dims(x), shapes.dims(y), strict=True)]
    return by_numbers(lambda x, y: shapes.reshape(x * y, sizes), left, right)  # type: ignore[no-any-return]


def slogdet(x: Any) -> tuple[Tensor, Tensor]:
    sign, logarithm = decompositions.slogdet(floating(x))
    return sign, logarithm


def corrcoef(x: Any) -> Tensor:
    x = floating(x)
    rows = x[None] if x.ndim == 1 else x
    wide = in_dtype(rows, result(x.dtype.name, "float32"))
    deviation = wide - reduction.reduce_mean(wide, -1, keepdims=True)
    products = linalg.matmul(deviation, complex_numbers.conj(deviation), transpose_b=True)
    sizes = math.sqrt(linalg.diag_part(products))
    found = in_dtype(rnp.clip(products / (sizes[:, None] * sizes), -1.0, 1.0), x.dtype.name)
    return shapes.reshape(found, []) if x.ndim == 1 else found


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Tensor:
    x, y = floats(x1, x2)
    n, m = shapes.dim(x, 0), shapes.dim(y, 0)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("`x1` and `x2` must be 1-D arrays")
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"`mode` must be either `valid`, `full`, or `same`. Received: mode={mode}")
    swapped = n < m
    if swapped:
        x, y, n, m = y, x, m, n
    low = {"valid": 0, "full": m - 1, "same": m // 2 if not swapped else (m - 1) // 2}[mode]
    high = {"valid": 0, "full": m - 1, "same": m - 1 - low}[mode]
    wide = result(x.dtype.name, "float32")
    padded = rnp.pad(in_dtype(x, wide), [[low, high]])
    kernel = in_dtype(y, wide)
    found = conv1d(padded[None, :, None], kernel[:, None, None], 1, "VALID")[0, :, 0]
    if swapped:
        found = rnp.flip(found, 0)
    return in_dtype(found, x.dtype.name)


def vectorize(pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None) -> Callable[..., Any]:

    return vectorize_impl(pyfunc, vmap, excluded=excluded, signature=signature)  # type: ignore[no-any-return]


