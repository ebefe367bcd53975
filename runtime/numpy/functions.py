"""NumPy's computing functions on tensors, with NumPy's names and arguments: reductions, selection, sorting, products.

Results are tensors with NumPy's result dtypes, except that sums of int32 stay int32. Sizes may be known only when a
graph runs; ranks and axes must be known at trace time.
"""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int64
from runtime.numpy.arrays import (
    astype,
    concatenate,
    floats,
    in_dtype,
    inexact,
    moveaxis,
    ones_like,
    ravel,
    roll,
    together,
)
from runtime.ops import complex_numbers, concat_split, creation, linalg, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.gather import boolean_mask, gather, scatter_nd
from runtime.ops.static_arguments import axes_of

__all__ = [
    "all", "allclose", "amax", "amin", "angle", "any", "argmax", "argmin", "argsort", "argwhere", "around",
    "array_equal", "average", "bincount", "clip", "compress", "count_nonzero", "cross", "cumprod", "cumsum", "diag",
    "diagonal", "diff", "dot", "einsum", "flatnonzero", "imag", "inner", "interp", "isclose", "iscomplexobj",
    "isrealobj", "kron", "max", "mean", "median", "min", "nan_to_num", "nanmax", "nanmean", "nanmin", "nansum",
    "nonzero", "outer", "prod", "ptp", "real", "round", "searchsorted", "sort", "std", "sum", "take",
    "take_along_axis", "tensordot", "trace", "tril", "triu", "unique", "unique_values", "var", "vdot", "vecdot",
    "where",
]

Axis = Any  # None, an int, or a tuple of ints


def _number(x: Any) -> Tensor:
    """Bools as int64, for sums."""
    x = convert_to_tensor(x)
    return astype(x, int64) if x.dtype.is_bool else x


# Reductions.

def sum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_sum(in_dtype(_number(a), dtype), axis, keepdims)


def prod(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_prod(in_dtype(_number(a), dtype), axis, keepdims)


def max(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_max(a, axis, keepdims)


def min(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_min(a, axis, keepdims)


amax, amin = max, min


def mean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_mean(inexact(in_dtype(convert_to_tensor(a), dtype)), axis, keepdims)


def var(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    x = inexact(in_dtype(convert_to_tensor(a), dtype))
    apart = math.abs(x - reduction.reduce_mean(x, axis, True))
    count = _count(x, axis)
    return reduction.reduce_sum(apart * apart, axis, keepdims) / astype(count - ddof, apart.dtype)


def std(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    return math.sqrt(var(a, axis, dtype, ddof, keepdims))


def _count(x: Tensor, axis: Axis) -> Any:
    """The number of elements per reduction."""
    axes = range(x.ndim) if axis is None else axes_of("a reduction", axis, x.ndim)
    return convert_to_tensor(shapes.product([shapes.dim(x, i, int64) for i in axes]))


def average(a: Any, axis: Axis = None, weights: Any = None, keepdims: bool = False) -> Tensor:
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    x, w = floats(a, weights)
    if x.ndim != w.ndim and isinstance(axis, int):
        w = shapes.reshape(w, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return sum(x * w, axis, keepdims=keepdims) / sum(w * ones_like(x), axis, keepdims=keepdims)


def any(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_any(astype(a, bool), axis, keepdims)


def all(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_all(astype(a, bool), axis, keepdims)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_sum(astype(astype(a, bool), int64), axis, keepdims)


def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return max(a, axis, keepdims) - min(a, axis, keepdims)


def argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg(reduction.argmax, a, axis, keepdims)


def argmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _arg(reduction.argmin, a, axis, keepdims)


def _arg(find: Callable[..., Tensor], a: Any, axis: int | None, keepdims: bool) -> Tensor:
    x = convert_to_tensor(a)
    found = find(ravel(x), 0) if axis is None else find(x, axis)
    return found if not keepdims else shapes.expand_dims(found, axis) if axis is not None else shapes.reshape(
        found, [1] * x.ndim)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumsum, a, axis, dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumprod, a, axis, dtype)


def _cumulative(function: Callable[..., Tensor], a: Any, axis: int | None, dtype: Any) -> Tensor:
    x = in_dtype(_number(a), dtype)
    return function(ravel(x), 0) if axis is None else function(x, axis)


def median(a: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    x = inexact(a)
    if axis is None:
        found = median(ravel(x), 0)
        return shapes.reshape(found, [1] * x.ndim) if keepdims else found
    ordered = moveaxis(sorting.sort(x, axis), axis, 0)
    count = shapes.dim(ordered, 0)
    found = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    found = logic.where(reduction.reduce_any(math.is_nan(ordered), 0), np.nan, found)
    return shapes.expand_dims(found, axis) if keepdims else found


def nansum(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return sum(_without_nan(a, 0), axis, dtype, keepdims)


def nanmean(a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    x = inexact(a)
    count = sum(logic.logical_not(math.is_nan(x)), axis, x.dtype, keepdims)
    return nansum(x, axis, dtype, keepdims) / count


def nanmax(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return max(_without_nan(a, -np.inf), axis, keepdims)


def nanmin(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return min(_without_nan(a, np.inf), axis, keepdims)


def _without_nan(a: Any, instead: float) -> Tensor:
    x = convert_to_tensor(a)
    return logic.where(math.is_nan(x), instead, x) if x.dtype.kind >= 2 else x


# Choice, order and sets.

def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    return logic.where(astype(condition, bool), x, y)


def nonzero(a: Any) -> tuple[Tensor, ...]:
    places = logic.where(astype(a, bool))
    return tuple(concat_split.unstack(places, num=convert_to_tensor(a).ndim, axis=1))


def argwhere(a: Any) -> Tensor:
    return logic.where(astype(a, bool))


def flatnonzero(a: Any) -> Tensor:
    return nonzero(ravel(a))[0]


def compress(condition: Any, a: Any, axis: int | None = None) -> Tensor:
    return boolean_mask(ravel(a) if axis is None else a, condition, axis)


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    low, high = a_min if min is None else min, a_max if max is None else max
    x = convert_to_tensor(a)
    x = x if low is None else math.maximum(x, low)
    return x if high is None else math.minimum(x, high)


def sort(a: Any, axis: int | None = -1, descending: bool = False) -> Tensor:
    x = ravel(a) if axis is None else a
    return sorting.sort(x, -1 if axis is None else axis, "DESCENDING" if descending else "ASCENDING")


def argsort(a: Any, axis: int | None = -1, kind: str | None = None, stable: bool = True, descending: bool = False
            ) -> Tensor:
    x = ravel(a) if axis is None else a
    return sorting.argsort(x, -1 if axis is None else axis, "DESCENDING" if descending else "ASCENDING")


def searchsorted(a: Any, v: Any, side: str = "left") -> Tensor:
    return sorting.searchsorted(a, v, side, int64)


def take(a: Any, indices: Any, axis: int | None = None) -> Tensor:
    return gather(ravel(a), _from_start(ravel(a), indices, 0)) if axis is None else gather(
        a, _from_start(convert_to_tensor(a), indices, axis), axis=axis)


def _from_start(x: Tensor, indices: Any, axis: int) -> Tensor:
    places = convert_to_tensor(indices)
    return logic.where(places < 0, places + astype(shapes.dim(x, axis), places.dtype), places)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    if axis is None:
        return take(arr, indices)
    x, places = convert_to_tensor(arr), convert_to_tensor(indices)
    moved, at = moveaxis(x, axis, -1), moveaxis(_from_start(x, places, axis), axis, -1)
    return moveaxis(gather(moved, at, axis=moved.ndim - 1, batch_dims=moved.ndim - 1), -1, axis)


def unique(ar: Any, return_counts: bool = False) -> Any:
    """The distinct elements in sorted order, and with `return_counts` their counts."""
    found = sorting.unique_with_counts(sorting.sort(ravel(ar)), int64)
    return (found.y, found.count) if return_counts else found.y


unique_values = unique


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Tensor:
    places = astype(ravel(x), int64)
    size = math.maximum(reduction.reduce_max(concatenate([places, np.array([-1])])) + 1, astype(minlength, int64))
    updates = creation.ones_like(places) if weights is None else ravel(weights)
    return scatter_nd(places[:, None], updates, [size])


def diff(a: Any, n: int = 1, axis: int = -1) -> Tensor:
    x = convert_to_tensor(a)
    for _ in builtins.range(n):
        axis %= x.ndim
        ahead, behind = x[shapes.along(axis, slice(1, None))], x[shapes.along(axis, slice(None, -1))]
        x = logic.not_equal(ahead, behind) if x.dtype.is_bool else ahead - behind
    return x


def interp(x: Any, xp: Any, fp: Any) -> Tensor:
    """Linear interpolation between points, constant outside of them (`numpy.interp`)."""
    x, xp, fp = floats(x, xp, fp)
    flat = ravel(x)
    last = shapes.dim(xp, 0, int64) - 1
    right = math.minimum(math.maximum(sorting.searchsorted(xp, flat, "right", int64), 1), last)
    low, high = gather(xp, right - 1), gather(xp, right)
    share = clip((flat - low) / (high - low), 0.0, 1.0)
    return shapes.reshape(gather(fp, right - 1) * (1 - share) + gather(fp, right) * share, shapes.shape(x))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    x, y = floats(a, b)
    near = logic.logical_and(math.abs(x - y) <= atol + rtol * math.abs(y), math.is_finite(y))
    found = logic.logical_or(near, logic.equal(x, y))
    return logic.logical_or(found, logic.logical_and(math.is_nan(x), math.is_nan(y))) if equal_nan else found


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    return reduction.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any) -> Any:
    x, y = (a if isinstance(a, Tensor) else np.asarray(a) for a in (a1, a2))
    if x.ndim != y.ndim:
        return convert_to_tensor(False)
    same = x == y
    return reduction.reduce_all(same) if isinstance(same, Tensor) else convert_to_tensor(bool(np.all(same)))


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    given = convert_to_tensor(x)
    if given.dtype.kind < 2:
        return given
    most = float(np.finfo(given.dtype.np).max)
    found = logic.where(math.is_nan(given), nan, given)
    found = logic.where(logic.equal(found, np.inf), most if posinf is None else posinf, found)
    return logic.where(logic.equal(found, -np.inf), -most if neginf is None else neginf, found)


def round(a: Any, decimals: int = 0) -> Tensor:
    x = convert_to_tensor(a)
    if x.dtype.kind < 2:
        return x
    return math.rint(x) if not decimals else math.rint(x * 10.0 ** decimals) / 10.0 ** decimals


around = round


# Products.

def dot(a: Any, b: Any) -> Tensor:
    x, y = together(a, b)
    if not (x.ndim and y.ndim):
        return x * y
    return linalg.tensordot(x, y, ([-1], [0 if y.ndim == 1 else y.ndim - 2]))


def vdot(a: Any, b: Any) -> Tensor:
    x, y = map(ravel, together(a, b))
    return reduction.reduce_sum(complex_numbers.conj(x) * y)


def inner(a: Any, b: Any) -> Tensor:
    x, y = together(a, b)
    return x * y if not (x.ndim and y.ndim) else linalg.tensordot(x, y, ([-1], [-1]))


def outer(a: Any, b: Any) -> Tensor:
    x, y = map(ravel, together(a, b))
    return x[:, None] * y


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    x, y = together(a, b)
    return linalg.tensordot(x, y, axes)


def einsum(subscripts: str, *operands: Any) -> Tensor:
    return linalg.einsum(subscripts, *together(*operands))


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Tensor:
    x, y = together(x1, x2)
    return reduction.reduce_sum(complex_numbers.conj(x) * y, axis)


def cross(a: Any, b: Any) -> Tensor:
    """The cross product of vectors of length 3 along the last axis (`numpy.cross`)."""
    x, y = together(a, b)
    return roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product of two matrices, or two vectors (`numpy.kron`)."""
    x, y = together(a, b)
    if x.ndim == y.ndim == 1:
        return ravel(outer(x, y))
    (m, n), (p, q) = shapes.dims(x), shapes.dims(y)
    return shapes.reshape(x[:, None, :, None] * y[None, :, None, :], [m * p, n * q])


def trace(a: Any) -> Tensor:
    return linalg.trace(a)


def diagonal(a: Any) -> Tensor:
    return linalg.diag_part(a)


def diag(v: Any) -> Tensor:
    x = convert_to_tensor(v)
    return linalg.diag(x) if x.ndim == 1 else linalg.diag_part(x)


def tril(m: Any, k: int = 0) -> Tensor:
    return _triangle(m, lambda row, column: column <= row + k)


def triu(m: Any, k: int = 0) -> Tensor:
    return _triangle(m, lambda row, column: column >= row + k)


def _triangle(m: Any, inside: Callable[[Any, Any], Any]) -> Tensor:
    x = convert_to_tensor(m)
    rows, columns = creation.range(shapes.dim(x, -2)), creation.range(shapes.dim(x, -1))
    return logic.where(inside(rows[:, None], columns), x, creation.zeros_like(x))


def real(val: Any) -> Tensor:
    return complex_numbers.real(val)


def imag(val: Any) -> Tensor:
    return complex_numbers.imag(val)


def angle(z: Any) -> Tensor:
    return complex_numbers.angle(z)


def iscomplexobj(x: Any) -> bool:
    return convert_to_tensor(x).dtype.is_complex


def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
