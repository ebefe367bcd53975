"""Sums and counts by segment, bin or index, and partitions, composed of ops."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, float64, int32
from runtime.ops.checks import message, require, same
from runtime.ops.concat_split import concat
from runtime.ops.creation import fill, ones, ones_like, zeros
from runtime.ops.creation import range as range_of
from runtime.ops.gather import (
    boolean_mask,
    gather,
    scatter_nd,
    segment_totals,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_update,
)
from runtime.ops.logic import equal, greater, greater_equal, less, less_equal, logical_and, where
from runtime.ops.math import abs, cast, floor, is_inf, log, maximum, minimum, sin, sqrt, truediv, truncatediv
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_all, reduce_max, reduce_prod, reduce_sum
from runtime.ops.shape import dim, dims, product, reshape, size, stack
from runtime.ops.sorting import argsort, searchsorted
from runtime.ops.static_arguments import folded

__all__ = [
    "bincount", "confusion_matrix", "dynamic_partition", "dynamic_stitch", "histogram_fixed_width",
    "histogram_fixed_width_bins", "invert_permutation", "lgamma", "polyval", "segment_max", "segment_mean",
    "segment_min", "segment_prod", "segment_products", "segment_sum", "sparse_segment_mean",
    "sparse_segment_sqrt_n", "sparse_segment_sum", "unravel_index", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
    "zero_fraction",
]


def bincount(
    arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = int32,
    name: str | None = None, axis: int | None = None, binary_output: bool = False,
) -> Tensor:
    """The number of occurrences of each int from 0 on, or the sums of their `weights` (`tf.math.bincount`).

    The result has as many elements as the largest value needs, at least `minlength` and at most `maxlength`; larger
    values are ignored. `axis`: None or 0 counts all elements, -1 those of each row of [rows, n], with a result [rows,
    values] (else ValueError). `binary_output`: 1 instead of a count; weights are not given then.
    """
    if axis not in (None, 0, -1):
        raise located(ValueError(f"the axis of bincount is None, 0 or -1, not {axis}"))
    if binary_output and weights is not None:
        raise located(ValueError("bincount takes either weights or binary_output"))
    x = convert_to_tensor(arr, dtype_hint=int32)
    values = reshape(x, [-1])
    amounts = ones([size(values)], dtype) if weights is None else reshape(convert_to_tensor(weights), [-1])
    count = reduce_max(concat([values, [-1]], 0)) + 1
    if minlength is not None:
        count = maximum(count, minlength)
    if maxlength is not None:
        count = minimum(count, maxlength)
    places = values
    if axis == -1 and x.ndim > 1:
        if x.ndim > 2:
            raise located(ShapeError(f"bincount along an axis takes ints [rows, n], not {x.type}"))
        numbers = reshape(range_of(cast(dim(x, 0), x.dtype)), [-1, 1]) * ones_like(x)
        places = stack([reshape(numbers, [-1]), values], -1)
    if maxlength is not None:
        inside = less(values, maxlength)
        places, amounts = boolean_mask(places, inside), boolean_mask(amounts, inside)
    total = (segment_totals(amounts, places, count) if places.ndim == 1
             else scatter_nd(places, amounts, [dim(x, 0), count]))
    return named(minimum(total, ones_like(total)) if binary_output else total, name)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """The index of each value's bin, of `nbins` equal bins between the two ends of `value_range`; values outside are in
    the first or the last bin (`tf.histogram_fixed_width_bins`). InvalidArgumentError unless the first end is less than
    the second, and there are bins."""
    x = convert_to_tensor(values)
    ends = convert_to_tensor(value_range, dtype=x.dtype)
    require(less(ends[0], ends[1]), InvalidArgumentError(message(
        "a histogram takes a value_range whose first end is less than the second, not ", ends)))
    require(greater(nbins, 0), InvalidArgumentError(message("a histogram takes 1 bin or more, not ", nbins)))
    low, high = cast(ends[0], float64), cast(ends[1], float64)
    place = floor((cast(x, float64) - low) / (high - low) * nbins)
    last = cast(convert_to_tensor(nbins), float64) - 1
    return named(cast(minimum(maximum(place, 0.0), last), dtype), name)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """The number of values in each of `nbins` bins (`tf.histogram_fixed_width`); see `histogram_fixed_width_bins`."""
    bins = histogram_fixed_width_bins(values, value_range, nbins)
    return named(bincount(bins, minlength=nbins, maxlength=nbins, dtype=dtype), name)


def _all_within(x: Tensor, size: Any) -> Tensor:
    return reduce_all(logical_and(greater_equal(x, 0), less(x, size)))


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The coordinates, in the first axis, of flat indices into an array of the sizes `dims` (`tf.unravel_index`).
    InvalidArgumentError for an index outside of it."""
    rest = convert_to_tensor(indices)
    sizes = convert_to_tensor(dims, dtype_hint=rest.dtype)
    require(_all_within(rest, reduce_prod(sizes)), InvalidArgumentError(
        message("unravel_index takes indices, from 0, into an array of the shape ", sizes, ", not ", rest)))
    found: list[Any] = []
    for axis in reversed(range(len(sizes))):
        found.append(rest % sizes[axis])
        rest = rest // sizes[axis]
    return named(stack(found[::-1]), name)


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """The slices of `data` grouped by their number in `partitions`: a list of `num_partitions` tensors
    (`tf.dynamic_partition`). InvalidArgumentError for other numbers."""
    x, numbers = convert_to_tensor(data, strings=True), convert_to_tensor(partitions, dtype_hint=int32)
    require(_all_within(numbers, num_partitions), InvalidArgumentError(
        message("dynamic_partition takes numbers from 0 to ", num_partitions - 1, ", not ", numbers)))
    return [boolean_mask(x, equal(numbers, k)) for k in range(num_partitions)]


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """The rows of several tensors at the positions `indices`; of several for one position the last
    (`tf.dynamic_stitch`)."""
    places = [convert_to_tensor(index, dtype_hint=int32) for index in indices]
    parts = [convert_to_tensor(x, strings=True) for x in data]
    rows = concat([reshape(x, [-1, *dims(x)[index.ndim:]]) for x, index in zip(parts, places, strict=True)], 0)
    flat = concat([reshape(index, [-1]) for index in places], 0)
    start = zeros([reduce_max(concat([flat, [-1]], 0)) + 1, *dims(rows)[1:]], rows.dtype)
    return named(tensor_scatter_nd_update(start, flat[:, None], rows), name)


def _count(segment_ids: Tensor) -> Tensor:
    return reduce_max(concat([segment_ids, [-1]], 0)) + 1


def _rows_and_ids(data: Any, segment_ids: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors. InvalidArgumentError unless each row has an id, and these are sorted."""
    x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids, dtype_hint=int32)
    if not x.ndim or ids.ndim != 1:
        raise located(ShapeError(f"the ids of segments are [n], for data [n, ...], not {ids.type} for {x.type}"))
    require(same(dim(x, 0), dim(ids, 0)), ShapeError(
        message("there are ", dim(ids, 0), " ids of segments for ", dim(x, 0), " rows"),
        remedy="Give each row of the data an id."))
    require(reduce_all(less_equal(ids[:-1], ids[1:])), InvalidArgumentError(
        "the ids of segments are not increasing", remedy="Sort the rows by id, or call the unsorted_segment function."))
    return x, ids


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """For each id, the sum of the rows of `data` with this id in `segment_ids`; 0 for an id without rows
    (`tf.math.segment_sum`). InvalidArgumentError if the ids are not sorted. So do the following functions."""
    x, ids = _rows_and_ids(data, segment_ids)
    return named(segment_totals(x, ids, _count(ids)), name)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The means of the rows with each id, of ints rounded towards 0; 0 for an id without rows
    (`tf.math.segment_mean`)."""
    x, ids = _rows_and_ids(data, segment_ids)
    divide = truncatediv if x.dtype.is_integer else truediv
    count = _count(ids)
    return named(divide(segment_totals(x, ids, count), _sizes(x, ids, count)), name)


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The largest elements of the rows with each id; 0 for an id without rows (`tf.math.segment_max`)."""
    return named(_extreme(data, segment_ids, tensor_scatter_nd_max), name)


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The smallest elements of the rows with each id; 0 for an id without rows (`tf.math.segment_min`)."""
    return named(_extreme(data, segment_ids, tensor_scatter_nd_min), name)


def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The products of the rows with each id; 1 for an id without rows (`tf.math.segment_prod`)."""
    x, ids = _rows_and_ids(data, segment_ids)
    return named(segment_products(x, ids, _count(ids)), name)


def segment_products(x: Tensor, ids: Tensor, count: Any) -> Tensor:
    """The products of the rows with each id, 1 for one without. IndexOutOfRangeError for an id that is not from 0 to
    below `count`. The rows of a segment become a row, filled up with ones: memory is that of
    `count` times the largest segment."""
    rest = dims(x)[1:]
    order = argsort(ids)
    sorted_ids = gather(ids, order)
    numbers = cast(range_of(size(ids)), int32) - searchsorted(sorted_ids, sorted_ids)  # within the segment
    most = reduce_max(concat([numbers, [-1]], 0)) + 1
    places = stack([sorted_ids, cast(numbers, sorted_ids.dtype)], -1)
    table = tensor_scatter_nd_update(ones([count, most, *rest], x.dtype), places, gather(x, order))
    return reduce_prod(table, 1)


def _extreme(data: Any, segment_ids: Any, scatter: Any) -> Tensor:
    x, ids = _rows_and_ids(data, segment_ids)
    shape = [_count(ids), *dims(x)[1:]]
    have = segment_totals(ones_like(x, int32), ids, shape[0])
    found = scatter(fill(shape, _end(x.dtype, scatter is tensor_scatter_nd_min)), ids[:, None], x)
    return where(greater(have, 0), found, zeros(shape, x.dtype))


def _end(dtype: DType, high: bool) -> Tensor:
    """The largest or smallest value of a dtype."""
    low, top = dtype.limits
    return convert_to_tensor(top if high else low, dtype=dtype)


def _means(x: Tensor, ids: Tensor, count: Any) -> Tensor:
    return segment_totals(x, ids, count) / _sizes(x, ids, count)


def _sizes(x: Tensor, ids: Tensor, count: Any) -> Tensor:
    """How many rows each segment has, at least 1, for each element."""
    found = segment_totals(ones_like(x), ids, count)
    return where(equal(found, 0), ones_like(found), found)


def _by_segment(data: Any, segment_ids: Any, count: Any, combine: Callable[[Tensor, Tensor, Any], Tensor]) -> Tensor:
    """`combine(rows, ids, count)` of the slices of `data`, as rows, and their ids. Those with a negative id are left
    out: they form one more segment. IndexOutOfRangeError for an id that is not below `count`."""
    x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids, dtype_hint=int32)
    rows = reshape(x, [product(dims(ids)), *dims(x)[ids.ndim:]])
    flat = reshape(ids if ids.dtype.size >= 4 else cast(ids, int32), [-1])
    if _has_no_negatives(flat):
        return combine(rows, flat, count)
    count = cast(count, flat.dtype) if isinstance(count, Tensor) else count
    places = where(less(flat, 0), count, where(less(flat, count), flat, flat + 1))  # too large ones stay too large
    return combine(rows, places, count + 1)[:count]


def _has_no_negatives(ids: Tensor) -> bool:
    """Whether this is known."""
    known = np.asarray(ids) if isinstance(ids, EagerTensor) else folded(ids.value) if isinstance(
        ids, GraphTensor) else None
    return ids.dtype.is_unsigned or (known is not None and not (known < 0).any())


def sparse_segment_sum(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """`segment_sum` of the rows of `data` at `indices` (`tf.sparse.segment_sum`). `num_segments`: the number of
    results, by default as many as the last id asks for. `sparse_gradient` has no effect."""
    rows, segment_ids = _rows_and_ids(gather(data, indices), segment_ids)
    if num_segments is None:
        return named(segment_totals(rows, segment_ids, _count(segment_ids)), name)
    return unsorted_segment_sum(rows, segment_ids, num_segments, name)


def sparse_segment_mean(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """As `sparse_segment_sum`, divided by the number of rows (`tf.sparse.segment_mean`)."""
    return _shared(data, indices, segment_ids, num_segments, lambda count: count, name)


def sparse_segment_sqrt_n(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """As `sparse_segment_sum`, divided by the root of the number of rows (`tf.sparse.segment_sqrt_n`)."""
    return _shared(data, indices, segment_ids, num_segments, sqrt, name)


def _shared(data: Any, indices: Any, segment_ids: Any, num_segments: Any, share: Callable[[Tensor], Tensor],
            name: str | None) -> Tensor:
    total = sparse_segment_sum(data, indices, segment_ids, num_segments)
    ones_ = ones([size(segment_ids)], total.dtype)
    count = maximum(sparse_segment_sum(ones_, range_of(size(segment_ids)), segment_ids, num_segments), 1)
    return named(total / reshape(share(count), [-1, *[1] * (total.ndim - 1)]), name)


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sums of the slices of `data` with each segment id, 0 if there are none; slices with a negative id are left
    out (`tf.math.unsorted_segment_sum`). Shape: [num_segments, *data.shape[segment_ids.ndim:]]. IndexOutOfRangeError
    for an id that is not below `num_segments`. So do the following functions."""
    return named(_by_segment(data, segment_ids, num_segments, segment_totals), name)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The means of the slices of `data` with each segment id, 0 if there are none (`tf.math.unsorted_segment_mean`)."""
    return named(_by_segment(data, segment_ids, num_segments, _means), name)


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sums of the slices of `data` with each segment id, divided by the square root of their number; 0 if there are
    none (`tf.math.unsorted_segment_sqrt_n`)."""
    return named(_by_segment(data, segment_ids, num_segments, lambda x, ids, count: segment_totals(
        x, ids, count) / sqrt(_sizes(x, ids, count))), name)


def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The products of the slices of `data` with each segment id, in their order; 1 for one without
    (`tf.math.unsorted_segment_prod`)."""
    return named(_by_segment(data, segment_ids, num_segments, segment_products), name)


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The maxima of the slices with each segment id; the dtype's smallest value if there are none
    (`tf.math.unsorted_segment_max`)."""
    return named(_by_segment(data, segment_ids, num_segments, _scattered(tensor_scatter_nd_max)), name)


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The minima of the slices with each segment id; the dtype's largest value if there are none
    (`tf.math.unsorted_segment_min`)."""
    return named(_by_segment(data, segment_ids, num_segments, _scattered(tensor_scatter_nd_min)), name)


def _scattered(scatter: Any) -> Callable[[Tensor, Tensor, Any], Tensor]:
    def combine(x: Tensor, ids: Tensor, count: Any) -> Tensor:
        start = fill([count, *dims(x)[1:]], _end(x.dtype, scatter is tensor_scatter_nd_min))
        found: Tensor = scatter(start, ids[:, None], x)
        return found

    return combine


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The number of times that each label (row) was predicted as each class (column) (`tf.math.confusion_matrix`)."""
    rows = reshape(convert_to_tensor(labels, dtype_hint=int32), [-1])
    columns = reshape(convert_to_tensor(predictions, dtype_hint=int32), [-1])
    count = maximum(reduce_max(rows), reduce_max(columns)) + 1 if num_classes is None else convert_to_tensor(
        num_classes, dtype=rows.dtype)
    amounts = ones([size(rows)], dtype) if weights is None else reshape(cast(convert_to_tensor(weights), dtype), [-1])
    return named(reshape(segment_totals(amounts, rows * count + columns, count * count), [count, count]), name)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation `y` with `y[x[i]] == i` (`tf.math.invert_permutation`). InvalidArgumentError for ints that are no
    permutation."""
    order = convert_to_tensor(x, dtype_hint=int32)
    if order.ndim != 1:
        raise located(ShapeError(f"invert_permutation takes a tensor of rank 1, not {order.type}"))
    places = range_of(cast(size(order), order.dtype))
    inverse = tensor_scatter_nd_update(order, order[:, None], places)
    require(reduce_all(equal(gather(inverse, order), places)), InvalidArgumentError(message(
        "invert_permutation takes each number once, not ", order)))
    return named(inverse, name)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The value at `x` of the polynomial with these coefficients, the highest power first (`tf.math.polyval`)."""
    at = convert_to_tensor(x)
    total = at * 0
    for coefficient in coeffs:
        total = total * at + coefficient
    return named(total, name)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The fraction of elements that are 0 (`tf.math.zero_fraction`), a float32."""
    x = convert_to_tensor(value)
    zeros_in = reduce_sum(cast(equal(x, cast(0, x.dtype)), float64))
    return named(cast(zeros_in / cast(size(x), float64), "float32"), name)


def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function (`tf.math.lgamma`); inf for 0, -1, -2, ...

    By Stirling's series from 8 on, below by the recurrence, and by reflection below 1/2 (M. Abramowitz and I. Stegun,
    "Handbook of Mathematical Functions", 6.1).
    """
    tensor = convert_to_tensor(x)
    z = cast(tensor, float64)
    is_infinite, square = is_inf(z), z * z
    z = where(is_infinite, 1.0, z)
    is_small = less(z, 0.5)
    y = where(is_small, 1.0 - z, z)
    is_near = less(y, 8.0)
    near = where(is_near, y, ones_like(y))
    factors = near
    for k in range(1, 8):
        factors = factors * (near + float(k))
    far = where(is_near, y + 8.0, y)
    inverse = 1.0 / (far * far)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / far
    value = (far - 0.5) * log(far) - far + 0.5 * math.log(2 * math.pi) + series
    value = where(is_near, value - log(factors), value)
    turned = where(is_small, z - floor(z), 0.5 * ones_like(z))
    reflected = math.log(math.pi) - log(abs(sin(math.pi * turned))) - value
    found = where(is_small, reflected, value)
    return named(cast(where(is_infinite, square, found), tensor.dtype), name)
