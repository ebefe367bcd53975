"""NumPy's functions of polynomials, whose coefficients begin with that of the highest power."""
from __future__ import annotations

from typing import Any

from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float64, int64
from runtime.numpy.arrays import astype, concatenate, floats, larger, together
from runtime.numpy.reductions import doubles, is_array, with_ints
from runtime.numpy.statistics import convolve
from runtime.ops import creation, decompositions, math, reduction
from runtime.ops import shape as shapes
from runtime.ops.checks import require

__all__ = ["polyadd", "polyder", "polyfit", "polyint", "polymul", "polysub", "polyval", "vander"]


def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    values = with_ints(x)
    count = shapes.dim(values, 0) if N is None else N
    powers = creation.range(count)
    powers = astype(powers if increasing else powers[::-1], values.dtype)
    return math.pow(values[:, None], powers)


def polyval(p: Any, x: Any) -> Tensor:
    coefficients, values = together(p, x)
    count = coefficients.type.shape[0]
    if count is None:
        powers = astype(creation.range(shapes.dim(coefficients, 0))[::-1], values.dtype)
        return reduction.reduce_sum(coefficients * math.pow(values[..., None], powers), -1)
    found: Any = creation.zeros_like(values)
    for k in range(count):
        found = found * values + coefficients[k]
    return convert_to_tensor(found)


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None) -> Tensor:
    if full:
        raise NotImplementedError("polyfit gives the coefficients alone, not with full=True")
    values, wanted = floats(doubles(x), doubles(y))
    require(shapes.dim(values, 0) > 0, TypeError("expected non-empty vector for x"))
    matrix = vander(values, deg + 1)
    rhs = wanted if wanted.ndim == 2 else wanted[:, None]
    if w is not None:
        weights = astype(w, matrix.dtype)[:, None]
        matrix, rhs = matrix * weights, rhs * weights
    scale = math.sqrt(reduction.reduce_sum(matrix * matrix, 0))
    found = decompositions.lstsq(matrix / scale, rhs, fast=False) / scale[:, None]
    return found if wanted.ndim == 2 else found[:, 0]


def polyder(p: Any, m: int = 1) -> Tensor:
    x = with_ints(p) if m else convert_to_tensor(p)
    for _ in range(m):
        powers = creation.range(shapes.dim(x, 0, int64) - 1, 0, -1)
        x = x[:-1] * astype(powers, x.dtype)
    return x


def polyint(p: Any, m: int = 1) -> Tensor:
    x = doubles(p) if is_array(p) else convert_to_tensor(p)
    x = x if x.dtype.level >= 2 else astype(x, float64)
    for _ in range(m):
        powers = creation.range(shapes.dim(x, 0, int64), 0, -1)
        x = concatenate([x / astype(powers, x.dtype), creation.zeros([1], x.dtype)])
    return x


def _aligned(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    x, y = together(a, b)
    n, m = shapes.dim(x, 0, int64), shapes.dim(y, 0, int64)
    size = larger(n, m)
    return (concatenate([creation.zeros([size - n], x.dtype), x]),
            concatenate([creation.zeros([size - m], y.dtype), y]))


def polyadd(a1: Any, a2: Any) -> Tensor:
    x, y = _aligned(a1, a2)
    return x + y


def polysub(a1: Any, a2: Any) -> Tensor:
    x, y = _aligned(a1, a2)
    return x - y


def polymul(a1: Any, a2: Any) -> Tensor:
    return convolve(a1, a2)
