"""Reductions: sums, extrema, statistics, and their variants that ignore NaN; cumulative sums and products."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.core.types import int32
from runtime.keras.backend.promotion import (
    accumulated,
    agreed,
    by_numbers,
    floating,
    floats,
    in_dtype,
    name_of,
    result,
    tensor,
    with_float32,
)
from runtime.ops import logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.static_arguments import axes_of

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum", "max", "mean",
    "median", "min", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "prod", "ptp", "quantile",
    "std", "sum", "trapezoid", "var",
]

Axis = Any  # None, an int, or a sequence of ints


# Sums and extrema.

def sum(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_sum(accumulated(tensor(x)), axis, keepdims)


def prod(x: Any, axis: Axis = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    x = accumulated(tensor(x)) if dtype is None else tensor(x, dtype)
    return reduction.reduce_prod(x, axis, keepdims)


def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return with_float32(lambda x: reduction.reduce_mean(x, axis, keepdims), tensor(x))


def var(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    if not x.dtype.is_complex:
        return with_float32(lambda x: reduction.reduce_variance(x, axis, keepdims), x)
    return reduction.reduce_variance(x, axis, keepdims)


def std(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return math.sqrt(var(floating(x), axis, keepdims))


def average(x: Any, axis: Axis = None, weights: Any = None) -> Tensor:
    if weights is None:
        return mean(floating(x), axis)
    x, w = floats(x, weights)
    if x.ndim != w.ndim:
        if not isinstance(axis, int):
            raise ValueError("average takes weights of the shape of x, or of rank 1 along one axis")
        w = shapes.reshape(w, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return reduction.reduce_sum(x * w, axis) / reduction.reduce_sum(w * rnp.ones_like(x), axis)


def _extreme(reduce: Callable[..., Tensor], meet: Callable[..., Tensor], x: Any, axis: Axis, keepdims: bool,
             initial: Any) -> Tensor:
    x = tensor(x)
    if initial is None and any_empty(x, axis):
        raise ValueError("the greatest or least of no elements needs an initial value")
    found = by_numbers(lambda x: reduce(x, axis, keepdims), x)
    return found if initial is None else by_numbers(meet, found, in_dtype(initial, x.dtype.name))  # type: ignore[no-any-return]


def any_empty(x: Tensor, axis: Axis) -> bool:
    """Whether a reduction along `axis` is statically one of no elements."""
    return 0 in [x.type.shape[i] for i in (range(x.ndim) if axis is None else axes_of("a reduction", axis, x.ndim))]


def max(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    return _extreme(reduction.reduce_max, math.maximum, x, axis, keepdims, initial)


def min(x: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    return _extreme(reduction.reduce_min, math.minimum, x, axis, keepdims, initial)


def amax(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return max(x, axis, keepdims)


def amin(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return min(x, axis, keepdims)


def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def all(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_all(in_dtype(tensor(x), "bool"), axis, keepdims)


def any(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_any(in_dtype(tensor(x), "bool"), axis, keepdims)


def count_nonzero(x: Any, axis: Axis = None) -> Tensor:
    return reduction.reduce_sum(in_dtype(in_dtype(tensor(x), "bool"), "int32"), axis)


def argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _place(reduction.argmax, tensor(x), axis, keepdims)


def argmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _place(reduction.argmin, tensor(x), axis, keepdims)


def _place(find: Callable[..., Tensor], x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if axis is None:
        found = find(shapes.reshape(x, [-1]), 0, int32)
        return shapes.reshape(found, [1] * x.ndim) if keepdims else found
    found = find(x, axis, int32)
    return shapes.expand_dims(found, axis if axis >= 0 else axis + x.ndim) if keepdims else found


# Cumulative.

def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumsum, tensor(x), axis, dtype)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return _cumulative(reduction.cumprod, tensor(x), axis, dtype)


def _cumulative(function: Callable[..., Tensor], x: Tensor, axis: int | None, dtype: Any) -> Tensor:
    x = in_dtype(x, name_of(tensor(0, dtype)) if dtype is not None else "int32" if x.dtype.is_bool else x.dtype.name)
    return function(shapes.reshape(x, [-1]), 0) if axis is None else function(x, axis)


# Quantiles.

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), q, axis, method, keepdims, ignore_nan=False)


def percentile(x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), math.divide(tensor(q, "float32"), 100.0), axis, method, keepdims, ignore_nan=False)


def median(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), 0.5, axis, "linear", keepdims, ignore_nan=False)


def nanquantile(x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), q, axis, method, keepdims, ignore_nan=True)


def nanpercentile(x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), math.divide(tensor(q, "float32"), 100.0), axis, method, keepdims, ignore_nan=True)


def nanmedian(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return _quantile(floating(x), 0.5, axis, "linear", keepdims, ignore_nan=True)


def _quantile(x: Tensor, q: Any, axis: Axis, method: str, keepdims: bool, ignore_nan: bool) -> Tensor:
    """Quantiles, whose axes come first in the result. NaN elements, unless ignored, make the result NaN."""
    if method not in _METHODS:
        raise ValueError(f"a quantile's method is one of {', '.join(_METHODS)}, not {method!r}")
    axes = [*range(x.ndim)] if axis is None else [*axes_of("quantile", axis, x.ndim)]
    others = [i for i in range(x.ndim) if i not in axes]
    wide = in_dtype(x, result(x.dtype.name, "float32"))
    sizes = shapes.dims(wide)
    rows = shapes.reshape(shapes.transpose(wide, [*others, *axes]),
                          [*[sizes[i] for i in others], shapes.product([sizes[i] for i in axes])])
    missing = math.is_nan(rows)
    ordered = sorting.sort(logic.where(missing, np.inf, rows))
    whole = reduction.reduce_sum(in_dtype(logic.logical_not(missing), "int32"), -1)
    size = shapes.dim(rows, rows.ndim - 1)
    count = whole if ignore_nan else rnp.full_like(whole, size)
    shares = in_dtype(tensor(q), wide.dtype.name)
    flat = shapes.reshape(shares, [-1])
    place = flat * in_dtype(math.maximum(count - 1, 0), wide.dtype.name)[..., None]  # [..., quantiles]
    found = _between(ordered, place, method)
    broken = logic.equal(whole, 0) if ignore_nan else logic.less(whole, size)
    found = logic.where(broken[..., None], np.nan, found)
    found = shapes.moveaxis(found, -1, 0)
    kept = [1 if i in axes else sizes[i] for i in range(x.ndim)] if keepdims else [sizes[i] for i in others]
    return in_dtype(shapes.reshape(found, [*shapes.dims(shares), *kept]), x.dtype.name)


def _between(ordered: Tensor, place: Tensor, method: str) -> Tensor:
    low, high = math.floor(place), math.ceil(place)
    if method == "nearest":
        return _at(ordered, math.rint(place))
    if method in ("lower", "higher"):
        return _at(ordered, low if method == "lower" else high)
    share = (place - low) if method == "linear" else logic.where(logic.equal(low, high), 0 * place, 0 * place + 0.5)
    below, above = _at(ordered, low), _at(ordered, high)
    return logic.where(logic.equal(share, 0), below, below * (1 - share) + above * share)


def _at(ordered: Tensor, place: Tensor) -> Tensor:
    return rnp.take_along_axis(ordered, in_dtype(place, "int32"), -1)


# Without NaN.

def _replaced(x: Any, instead: float) -> Tensor:
    x = tensor(x)
    return logic.where(math.is_nan(x), in_dtype(instead, x.dtype.name), x) if x.dtype.is_floating else x


def nansum(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return sum(_replaced(x, 0.0), axis, keepdims)


def nanprod(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return prod(_replaced(x, 1.0), axis, keepdims)


def nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return cumsum(_replaced(x, 0.0), axis, dtype)


def nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    return cumprod(_replaced(x, 1.0), axis, dtype)


def _nan_where_none(found: Tensor, x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    if not x.dtype.is_floating:
        return found
    return logic.where(reduction.reduce_all(math.is_nan(x), axis, keepdims), in_dtype(np.nan, x.dtype.name), found)


def nanmax(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    return _nan_where_none(max(_replaced(x, -np.inf), axis, keepdims), x, axis, keepdims)


def nanmin(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    return _nan_where_none(min(_replaced(x, np.inf), axis, keepdims), x, axis, keepdims)


def nanmean(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    if not x.dtype.is_floating:
        return mean(x, axis, keepdims)

    def of(x: Tensor) -> Tensor:
        count = reduction.reduce_sum(math.cast(logic.logical_not(math.is_nan(x)), x.dtype), axis, keepdims)
        return reduction.reduce_sum(_replaced(x, 0.0), axis, keepdims) / count

    return with_float32(of, x)


def nanvar(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x = tensor(x)
    if not x.dtype.is_floating:
        return var(x, axis, keepdims)
    return with_float32(lambda x: nanmean(math.square(x - nanmean(x, axis, True)), axis, keepdims), x)


def nanstd(x: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return math.sqrt(nanvar(floating(x), axis, keepdims))


def nanargmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _nan_place(reduction.argmax, -np.inf, tensor(x), axis, keepdims)


def nanargmin(x: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return _nan_place(reduction.argmin, np.inf, tensor(x), axis, keepdims)


def _nan_place(find: Callable[..., Tensor], instead: float, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    """The position of an extreme; -1 where all elements are NaN."""
    found = _place(find, _replaced(x, instead), axis, keepdims)
    if not x.dtype.is_floating:
        return found
    return logic.where(reduction.reduce_all(math.is_nan(x), axis, keepdims), -1, found)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    y = floating(y)
    ahead, behind = (y[shapes.along(axis % y.ndim, part)] for part in (slice(1, None), slice(None, -1)))
    if x is None:
        width: Any = in_dtype(dx, y.dtype.name)
    else:
        points = in_dtype(tensor(x), y.dtype.name)
        width = rnp.diff(points, 1, -1 if points.ndim == 1 else axis)
        if points.ndim == 1:
            width = shapes.reshape(width, [-1 if i == axis % y.ndim else 1 for i in range(y.ndim)])
    ahead, behind, width = agreed(ahead, behind, width)
    return reduction.reduce_sum((ahead + behind) * width / 2, axis)


