"""NumPy's statistics: quantiles, histograms, covariance; and differences, integrals and convolutions of samples."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float64, int64
from runtime.numpy.arrays import (
    asarray,
    astype,
    concatenate,
    elements,
    expand_dims,
    floats,
    larger,
    moveaxis,
    operands,
    ravel,
    result_type,
    smaller,
    spaced,
    together,
)
from runtime.numpy.functions import diff, one_axis, searchsorted
from runtime.numpy.reductions import averaged, cumsum, doubles, is_array, is_bool_array, mean, sum
from runtime.ops import complex_numbers, concat_split, creation, linalg, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.checks import all_of, message, require
from runtime.ops.gather import gather, scatter_nd
from runtime.ops.static_arguments import axes_of

__all__ = [
    "convolve", "corrcoef", "correlate", "cov", "digitize", "gradient", "histogram", "histogram_bin_edges", "median",
    "nanmedian", "nanpercentile", "nanquantile", "nanstd", "nanvar", "percentile", "quantile", "trapezoid", "trapz",
    "unwrap",
]

Axis = Any


# Quantiles.

def _last(x: Tensor, axis: Axis) -> tuple[Tensor, list[int]]:
    """The tensor with some axes as one, the last; and these axes."""
    axes = sorted(builtins.range(x.ndim) if axis is None else axes_of("a reduction", axis, x.ndim))
    if len(axes) == x.ndim:
        return ravel(x), axes
    moved = moveaxis(x, axes, [*builtins.range(-len(axes), 0)])
    sizes, first = shapes.dims(moved), x.ndim - len(axes)
    return shapes.reshape(moved, [*sizes[:first], shapes.product(sizes[first:])]), axes


def _kept(found: Tensor, axes: list[int], keepdims: bool, first: int = 0) -> Tensor:
    return expand_dims(found, [first + axis for axis in axes]) if keepdims else found


def _or_nan(x: Tensor) -> Tensor:
    """`x`; if it may be empty along the last axis, with NaN behind, of which the quantiles of nothing are made."""
    if x.type.shape[-1]:
        return x
    return concatenate([x, creation.fill([*shapes.dims(x)[:-1], 1], astype(np.nan, x.dtype))], -1)


def median(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    x, axes = _last(averaged(a), axis)
    ordered = sorting.sort(x)
    count, padded = shapes.dim(ordered, -1), _or_nan(ordered)
    found = (padded[..., (count - 1) // 2] + padded[..., count // 2]) / 2
    if x.dtype.level == 2:
        found = logic.where(reduction.reduce_any(math.is_nan(ordered), -1), np.nan, found)
    return _kept(found, axes, keepdims)


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(a, q, 1.0, axis, method, keepdims, False)


def percentile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(a, q, 100.0, axis, method, keepdims, False)


def nanquantile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(a, q, 1.0, axis, method, keepdims, True)


def nanpercentile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _quantile(a, q, 100.0, axis, method, keepdims, True)


def nanmedian(a: Any, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return _quantile(averaged(a), 0.5, 1.0, axis, "linear", keepdims, True)


def _quantile(a: Any, q: Any, whole: float, axis: Axis, method: str, keepdims: bool, skips_nan: bool) -> Tensor:
    if method not in _METHODS:
        raise NotImplementedError(f"quantile and percentile take the methods {', '.join(_METHODS)}, not {method!r}")
    if method in ("linear", "midpoint"):
        _refuse_bools("quantile", a)
    if convert_to_tensor(a).dtype.is_complex:
        raise located(TypeError("quantile and percentile take real numbers, which have an order, not complex ones"))
    tensor = averaged(a)
    if is_array(a) and not isinstance(q, (int, float)):
        tensor = astype(tensor, float64)
    x, axes = _last(tensor, axis)
    ordered, shares = sorting.sort(_or_nan(x) if skips_nan else x), astype(q, float64) / whole
    require(reduction.reduce_all(logic.logical_and(shares >= 0, shares <= 1)), ValueError(
        "Quantiles must be in the range [0, 1]" if whole == 1 else "Percentiles must be in the range [0, 100]"))
    flat = ravel(shares)
    is_nan = math.is_nan(ordered)
    if skips_nan:
        count = reduction.reduce_sum(astype(logic.logical_not(is_nan), int64), -1)[..., None]
    else:
        count = astype(shapes.dim(ordered, -1, int64), int64)
    at = flat * astype(count - 1, float64)
    low = math.rint(at) if method == "nearest" else math.floor(at)
    high = math.ceil(at) if method in ("higher", "linear", "midpoint") else low
    if method == "higher":
        low = high
    share = 0.5 * astype(logic.not_equal(high, low), float64) if method == "midpoint" else at - low
    found = _between(ordered, low, high, astype(share, x.dtype), skips_nan)
    if not skips_nan:
        found = logic.where(reduction.reduce_any(is_nan, -1)[..., None], np.nan, found)
    found = moveaxis(found, -1, 0)
    found = shapes.reshape(found, [*shapes.dims(shares), *shapes.dims(found)[1:]])
    return _kept(found, axes, keepdims, shares.ndim)


def _between(ordered: Tensor, low: Tensor, high: Tensor, share: Tensor, per_row: bool) -> Tensor:
    places = [math.maximum(astype(place, int64), 0) for place in (low, high)]
    if per_row:
        first, last = [gather(ordered, place, batch_dims=ordered.ndim - 1, axis=ordered.ndim - 1) for place in places]
    else:
        first, last = [gather(ordered, place, axis=ordered.ndim - 1) for place in places]
    step = last - first
    inside = logic.where(share >= 0.5, last - step * (1 - share), first + step * share)
    return logic.where(logic.equal(first, last), first, inside)


def _refuse_bools(name: str, a: Any) -> None:
    """TypeError for an array of bools, which have no differences."""
    if is_bool_array(a):
        raise located(TypeError(
            f"numpy.{name} takes numbers, not bools, which cannot be subtracted: give it a.astype(int)"))


def nanvar(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    x = averaged(a if dtype is None else astype(a, dtype))
    is_number = logic.logical_not(math.is_nan(x))
    count = reduction.reduce_sum(astype(is_number, x.dtype), axis, True)
    average = reduction.reduce_sum(logic.where(is_number, x, 0), axis, True) / count
    deviation = logic.where(is_number, x - average, 0)
    total = reduction.reduce_sum(deviation * deviation, axis, True) / (count - astype(ddof, x.dtype))
    return total if keepdims else shapes.squeeze(total, [*builtins.range(x.ndim)] if axis is None else axis)


def nanstd(a: Any, axis: Axis = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False) -> Tensor:
    return math.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


# Histograms.

def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    if isinstance(bins, str):
        raise NotImplementedError("histogram takes bins as a number or as edges, not the name of an estimator")
    edges = elements(bins)
    if edges.ndim:
        require(reduction.reduce_all(edges[:-1] <= edges[1:]),
                ValueError("`bins` must increase monotonically, when an array"))
        return edges
    require(edges >= 1, ValueError("`bins` must be positive, when an integer"))
    x = ravel(averaged(a))
    found: Tensor = spaced(*_outer_edges(x, range), bins + 1, True, x.dtype)[0]
    require(reduction.reduce_all(found[:-1] < found[1:]), ValueError(message(
        "Too many bins for data range. Cannot create ", bins, " finite-sized bins.")))
    return found


def _outer_edges(x: Tensor, range: Any) -> tuple[Tensor, Tensor]:
    """The first and the last edge of bins for a vector."""
    if range is not None:
        low, high = (astype(bound, x.dtype) for bound in range)
        require(logic.logical_not(low > high), ValueError("max must be larger than min in range parameter."))
    else:
        is_empty = logic.equal(shapes.dim(x, 0), 0)
        low = logic.where(is_empty, 0.0, reduction.reduce_min(x))
        high = logic.where(is_empty, 1.0, reduction.reduce_max(x))
    require(logic.logical_and(math.is_finite(low), math.is_finite(high)), ValueError(message(
        "autodetected" if range is None else "supplied", " range of ", [*(range or (low, high))], " is not finite")))
    is_one = logic.equal(low, high)
    return logic.where(is_one, low - 0.5, low), logic.where(is_one, high + 0.5, high)


def _of_equal_width(x: Tensor, borders: Tensor, inside: Tensor, count: Any) -> Tensor:
    """The bins of the elements that are inside, found by division, which may miss by one."""
    first, width = borders[0], (borders[-1] - borders[0]) / astype(count, borders.dtype)
    last = astype(count - 1, int64)
    guess = astype(logic.where(inside, (x - first) / width, 0), int64)
    place = math.minimum(math.maximum(guess, 0), last)
    place = place - astype(x < gather(borders, place), int64)
    place = math.maximum(place, 0)
    return math.minimum(place + astype(x >= gather(borders, place + 1), int64), last)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
              ) -> tuple[Tensor, Tensor]:
    edges = histogram_bin_edges(a, bins, range)
    x, borders = together(ravel(averaged(a)), edges) if edges.dtype.level >= 2 else (ravel(asarray(a)), edges)
    if x.dtype is not borders.dtype:
        x, borders = astype(x, float64), astype(borders, float64)
    count = shapes.dim(borders, 0, int64) - 1
    inside = logic.logical_and(x >= borders[0], x <= borders[-1])
    if elements(bins).ndim:
        place = math.minimum(searchsorted(borders, x, "right") - 1, astype(count, int64))
        place = logic.where(logic.equal(x, borders[-1]), count - 1, place)
    else:
        place = _of_equal_width(x, borders, inside, count)
    place = logic.where(inside, place, astype(count, int64))
    updates = creation.ones_like(place) if weights is None else ravel(elements(weights))
    found = scatter_nd(place[:, None], updates, [count + 1])[:-1]
    if not density:
        return found, edges
    widths = astype(edges[1:] - edges[:-1], float64)
    return astype(found, float64) / widths / astype(reduction.reduce_sum(found), float64), edges


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Tensor:
    """The elements, of which each differs from the one before it by the least that a multiple of `period` allows."""
    x = p if is_array(p) else operands(p, period)[0]
    axis %= x.ndim
    step = diff(x, 1, axis)
    dtype = result_type(step, period)
    most = period // 2 if dtype.is_integer else period / 2
    low = -most
    least = (step - low) % period + low
    if not (dtype.is_integer and period % 2):
        least = logic.where(logic.logical_and(logic.equal(least, low), step > 0), most, least)
    change = logic.where(abs(step) < (period / 2 if discont is None else discont), 0, least - step)
    ahead = x[shapes.along(axis, slice(1, None))] + cumsum(change, axis)
    return concatenate([astype(x[shapes.along(axis, slice(None, 1))], dtype), astype(ahead, dtype)], axis)


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    values, edges = together(x, bins)
    ups, downs = [reduction.reduce_all(found) for found in (edges[:-1] <= edges[1:], edges[:-1] >= edges[1:])]
    require(logic.logical_or(ups, downs), ValueError("bins must be monotonically increasing or decreasing"))
    side = "left" if right else "right"
    up = searchsorted(edges, values, side)
    if isinstance(bins, (np.ndarray, list, tuple)) and not hasattr(type(bins), "__tensor__"):
        plain = np.asarray(bins) if all(not isinstance(b, Tensor) for b in bins) else None
        if plain is not None and (plain.size < 2 or plain[0] <= plain[-1]):
            return up
    return logic.where(ups, up, shapes.dim(edges, 0, int64) - searchsorted(edges[::-1], values, side))


# Covariance.

def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Tensor:
    x = _observations(m, y, rowvar)
    ddof = (0 if bias else 1) if ddof is None else ddof
    deviation = x - mean(x, 1, keepdims=True)
    count = astype(larger(shapes.dim(x, 1, int64) - ddof, 0), x.dtype.real_dtype)
    found = linalg.matmul(deviation, complex_numbers.conj(shapes.transpose(deviation))) / astype(count, x.dtype)
    return found[0, 0] if found.type.shape[0] == 1 else found


def _observations(m: Any, y: Any, rowvar: bool) -> Tensor:
    """The variables in rows, of floats."""
    def rows(values: Any) -> Tensor:
        x = doubles(values)
        return x[None] if x.ndim < 2 else x if rowvar else shapes.transpose(x)

    return rows(m) if y is None else concatenate([*floats(rows(m), rows(y))])


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Tensor:
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    scale = math.sqrt(complex_numbers.real(linalg.diag_part(found)))
    found = found / astype(scale[:, None], found.dtype) / astype(scale, found.dtype)
    return found if found.dtype.is_complex else math.minimum(math.maximum(found, -1), 1)


# Samples of functions.

def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    x = averaged(f)
    _refuse_bools("gradient", f)
    axes = [*builtins.range(x.ndim)] if axis is None else axes_of("gradient", axis, x.ndim)
    for each in axes:
        require(shapes.dim(x, each) > edge_order, ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."))
    spaces = [1.0] * len(axes) if not varargs else [*varargs] * (len(axes) if len(varargs) == 1 else 1)
    if len(spaces) != len(axes):
        raise TypeError("gradient takes one distance, or one for each axis")
    found = [moveaxis(_slopes(moveaxis(x, each, 0), space, edge_order), 0, each)
             for each, space in zip(axes, spaces, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(x: Tensor, space: Any, edge_order: int) -> Tensor:
    places = elements(space)
    if not places.ndim:
        step = astype(places, x.dtype)
        inner = (x[2:] - x[:-2]) / (2 * step)
        if edge_order == 1:
            ends = (x[1:2] - x[:1]) / step, (x[-1:] - x[-2:-1]) / step
        else:
            ends = ((-1.5 * x[:1] + 2 * x[1:2] - 0.5 * x[2:3]) / step,
                    (1.5 * x[-1:] - 2 * x[-2:-1] + 0.5 * x[-3:-2]) / step)
        return concatenate([ends[0], inner, ends[1]])
    steps = shapes.reshape(astype(places[1:] - places[:-1], x.dtype), [-1] + [1] * (x.ndim - 1))
    before, after = steps[:-1], steps[1:]
    inner = (-after / (before * (before + after)) * x[:-2] + (after - before) / (before * after) * x[1:-1]
             + before / (after * (before + after)) * x[2:])
    if edge_order == 1:
        return concatenate([(x[1:2] - x[:1]) / steps[:1], inner, (x[-1:] - x[-2:-1]) / steps[-1:]])
    one, two = steps[:1], steps[1:2]
    first = (-(2 * one + two) / (one * (one + two)) * x[:1] + (one + two) / (one * two) * x[1:2]
             - one / (two * (one + two)) * x[2:3])
    one, two = steps[-2:-1], steps[-1:]
    last = (two / (one * (one + two)) * x[-3:-2] - (two + one) / (one * two) * x[-2:-1]
            + (2 * two + one) / (two * (one + two)) * x[-1:])
    return concatenate([first, inner, last])


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    sampled = elements if is_array(y) or is_array(x) else averaged
    values = moveaxis(sampled(y), axis, -1)
    pairs, steps = values[..., 1:] + values[..., :-1], dx
    if x is not None:
        places = sampled(x)
        pairs, steps = together(pairs, diff(places if places.ndim == 1 else moveaxis(places, axis, -1)))
    return sum(steps * pairs / 2.0, -1)


trapz = trapezoid


_SHORT = 32
"""Up to this length, a convolution is a sum of shifted vectors."""


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    x, kernel = [one_axis("an operand of np.convolve", part) if part.ndim else ravel(part) for part in together(a, v)]
    sizes = x.type.shape[0], kernel.type.shape[0]
    if None not in sizes and sizes[0] < sizes[1]:  # type: ignore[operator]
        x, kernel = kernel, x
    n, m = shapes.dim(x, 0, int64), shapes.dim(kernel, 0, int64)
    require(all_of(n > 0, m > 0), ValueError("convolve and correlate take arrays that are not empty"))
    if x.dtype.is_bool:
        return astype(convolve(astype(x, int64), astype(kernel, int64), mode), bool)
    if type(m) is int and 0 < m <= _SHORT:
        padded, is_inside = [concat_split.pad(part, [[m - 1, m - 1]]) for part in (
            x, creation.ones_like(x, x.dtype.real_dtype))]
        found = creation.zeros([n + m - 1], x.dtype)
        for k in builtins.range(m):
            here = slice(m - 1 - k, n + 2 * (m - 1) - k)
            found = found + logic.where(is_inside[here] > 0, kernel[k] * padded[here], 0)  # not 0 times infinity
    else:
        places = creation.range(1 - m, n)[:, None] + creation.range(m)
        is_inside = logic.logical_and(places >= 0, places < n)
        rows = gather(x, logic.where(is_inside, places, 0))
        found = sum(logic.where(is_inside, rows * kernel[::-1], 0), 1, x.dtype)
    if mode == "full":
        return found
    small, large = smaller(n, m), larger(n, m)
    if mode == "same":
        return found[(small - 1) // 2:(small - 1) // 2 + large]
    if mode != "valid":
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return found[small - 1:large]


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    x, kernel = [one_axis("an operand of np.correlate", part) for part in together(a, v)]
    sizes = x.type.shape[0], kernel.type.shape[0]
    if None not in sizes and sizes[0] < sizes[1]:  # type: ignore[operator]
        return convolve(x[::-1], complex_numbers.conj(kernel), mode)[::-1]
    return convolve(x, complex_numbers.conj(kernel)[::-1], mode)
