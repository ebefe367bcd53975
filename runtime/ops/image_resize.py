"""Images in another size: each pixel of the result is a weighted mean of pixels, along one axis, then the other."""
from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, init_scope
from runtime.core.types import float32, int32
from runtime.ops.creation import range as range_of
from runtime.ops.gather import gather
from runtime.ops.gather_nd import gather_nd
from runtime.ops.image import image_of, in_size, pad_to_bounding_box, sizes_of
from runtime.ops.logic import greater, greater_equal, less_equal, logical_and, where
from runtime.ops.math import abs, cast, ceil, clip_by_value, exp, floor, maximum, minimum, round, sin
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import broadcast_to, dims, expand_dims, numbers, reshape, stack

__all__ = ["ResizeMethod", "crop_and_resize", "resize", "resize_with_pad"]


class ResizeMethod:
    """Methods of `resize` (`tf.image.ResizeMethod`)."""

    BILINEAR: Final = "bilinear"
    NEAREST_NEIGHBOR: Final = "nearest"
    BICUBIC: Final = "bicubic"
    AREA: Final = "area"
    LANCZOS3: Final = "lanczos3"
    LANCZOS5: Final = "lanczos5"
    GAUSSIAN: Final = "gaussian"
    MITCHELLCUBIC: Final = "mitchellcubic"


class _Kernel(NamedTuple):
    """The weight by the distance from the middle of an output pixel, which is 0 from `radius` on."""

    radius: float
    weight: Callable[[Tensor], Tensor]


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> _Kernel:
    """A cubic polynomial up to 1, and another up to 2; the coefficients of the highest power first."""
    def polynomial(coefficients: tuple[float, ...], x: Tensor) -> Any:
        total: Any = coefficients[0]
        for coefficient in coefficients[1:]:
            total = total * x + coefficient
        return total

    return _Kernel(2.0, lambda x: where(
        greater_equal(x, 2.0), 0.0, where(greater_equal(x, 1.0), polynomial(far, x), polynomial(near, x))))


def _lanczos(radius: float) -> _Kernel:
    def weight(x: Tensor) -> Tensor:
        is_near = less_equal(x, 1e-3)
        y = python_math.pi * where(is_near, 1.0, x)
        found = radius * sin(y) * sin(y / radius) / (y * y)
        return where(greater(x, radius), 0.0, where(is_near, 1.0, found))

    return _Kernel(radius, weight)


_KERNELS: Final = {
    "bilinear": _Kernel(1.0, lambda x: maximum(0.0, 1.0 - x)),
    "bicubic": _cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0)),
    "mitchellcubic": _cubic((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)),
    "gaussian": _Kernel(1.5, lambda x: where(greater_equal(x, 1.5), 0.0, exp(x * x * -2.0))),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}
_METHODS: Final = ("nearest", "area", *_KERNELS)


def resize(
    images: Any, size: Any, method: str = ResizeMethod.BILINEAR, preserve_aspect_ratio: bool = False,
    antialias: bool = False, name: str | None = None,
) -> Tensor:
    """Images [..., height, width, channels] in another `size`, (height, width) (`tf.image.resize`).

    `method`: one of `ResizeMethod`. The result is float32, by "nearest" of the dtype of the images. Pixels are squares,
    whose middles are compared; by "area" an output pixel is the mean of what it covers. `antialias` widens the kernels
    of smaller results by the ratio (not of "nearest" and "area"). `preserve_aspect_ratio`: the largest size of the same
    ratio within `size`. As in TF, without `antialias` the weights of "bicubic" are those of 1024 places between two
    pixels. ValueError for another method, ShapeError for a size below 1 and for images without pixels.
    """
    x = image_of(images, "resize")
    if method not in _METHODS:
        raise located(ValueError(f"resize has the methods {', '.join(_METHODS)}, not {method!r}"))
    height, width = _pair("the size of resize", size)
    if 0 in x.type.shape[-3:-1]:
        raise located(ShapeError(f"resize takes images with pixels, not {x.type}"))
    if preserve_aspect_ratio:
        rows, columns = sizes_of(x)
        height, width = _within(rows, columns, height, width)
    if method == "nearest":
        for axis, count in ((-3, height), (-2, width)):
            middles, last = _middles(dims(x)[axis], count)
            x = gather(x, cast(minimum(floor(middles), last), int32), axis=x.ndim + axis)
        return named(x, name)
    x = cast(x, float32)
    for axis, count in ((-3, height), (-2, width)):
        if method == "area":
            x = _weighted(x, axis, count, _area)
        elif method == "bilinear" and not antialias:
            x = _by_neighbours(x, axis, count)
        else:
            places = 1024 if method == "bicubic" and not antialias else None
            x = _by_kernel(x, axis, count, _KERNELS[method], antialias, places)
    return named(x, name)


def _pair(what: str, size: Any) -> list[Any]:
    pair = numbers(what, size)
    if len(pair) != 2:
        raise located(ShapeError(f"{what} is (height, width), not {len(pair)} numbers"))
    for n in pair:
        if isinstance(n, int) and n < 1:
            raise located(ShapeError(f"{what} has to be at least 1, not {n}"))
    return pair


def _within(rows: Any, columns: Any, height: Any, width: Any) -> list[Any]:
    """The largest size of the ratio of rows and columns that is within a size, computed in float32."""
    if all(isinstance(n, int) for n in (rows, columns, height, width)):
        scale = min(np.float32(height) / np.float32(rows), np.float32(width) / np.float32(columns))
        return [int(np.round(scale * np.float32(n))) for n in (rows, columns)]
    least = minimum(cast(height, float32) / cast(rows, float32), cast(width, float32) / cast(columns, float32))
    return [cast(round(least * cast(n, float32)), int32) for n in (rows, columns)]


def _middles(size: Any, count: Any) -> tuple[Tensor, Tensor]:
    """Where the middles of `count` pixels are among those of an axis of `size`, and the number of its last pixel."""
    length = cast(size, float32)
    return (cast(range_of(count), float32) + 0.5) * (length / cast(count, float32)), length - 1.0


def _by_neighbours(x: Tensor, axis: int, count: Any) -> Tensor:
    """Between the two pixels whose middles are nearest."""
    middles, last = _middles(dims(x)[axis], count)
    low = floor(middles - 0.5)
    weight = reshape(middles - 0.5 - low, [-1, *[1] * (-axis - 1)])
    first, second = (gather(x, cast(clip_by_value(place, 0.0, last), int32), axis=x.ndim + axis)
                     for place in (low, low + 1.0))
    return first + (second - first) * weight


Find = Callable[[Any, Any], tuple[Tensor, Tensor]]
"""From the sizes of an axis and of the result, the pixels and weights of each pixel of the result: [count, pixels]."""


def _weighted(x: Tensor, axis: int, count: Any, find: Find) -> Tensor:
    """The weighted sums of pixels along an axis. What follows from known sizes alone is computed here, and the sum of a
    few pixels is added up without an array of all of them."""
    size = dims(x)[axis]
    ones = [1] * (-axis - 1)
    if not isinstance(size, int) or not isinstance(count, int):
        places, weights = find(size, count)
        found = gather(x, cast(places, int32), axis=x.ndim + axis)
        return reduce_sum(found * reshape(weights, [*dims(weights), *ones]), axis=axis)
    with init_scope():
        known, amounts = (np.asarray(each) for each in find(size, count))
    if known.shape[1] > 24:
        found = gather(x, known.astype(np.int32), axis=x.ndim + axis)
        return reduce_sum(found * convert_to_tensor(amounts.reshape([*amounts.shape, *ones]), dtype=float32), axis=axis)
    total: Any = None
    for place, amount in zip(known.astype(np.int32).T, amounts.T, strict=True):
        if amount.any():
            part = gather(x, convert_to_tensor(place, dtype=int32), axis=x.ndim + axis) * convert_to_tensor(
                amount.reshape([-1, *ones]), dtype=float32)
            total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


def _by_kernel(
    x: Tensor, axis: int, count: Any, kernel: _Kernel, antialias: bool, rounded: int | None = None
) -> Tensor:
    """The means by a kernel. `rounded`: the middles of output pixels are rounded to one of so many places between the
    middles of two pixels."""

    def find(size: Any, count: Any) -> tuple[Tensor, Tensor]:
        middles, last = _middles(size, count)
        ratio = (last + 1.0) / cast(count, float32)
        scale = maximum(ratio, 1.0) if antialias else cast(1.0, float32)
        reach = kernel.radius * scale
        span = minimum(2.0 * ceil(reach) + 1.0, last + 1.0)
        start = clip_by_value(ceil(middles - reach - 0.5), 0.0, last)
        end = expand_dims(clip_by_value(floor(middles + reach - 0.5), 0.0, last), 1)
        places = expand_dims(start, 1) + range_of(span)
        if rounded is not None:
            before = floor(middles - 0.5)
            middles = before + 0.5 + round((middles - 0.5 - before) * rounded) / rounded
        weights = kernel.weight(abs(places + 0.5 - expand_dims(middles, 1)) / scale)
        weights = where(less_equal(places, end), weights, 0.0)
        total = reduce_sum(weights, 1, keepdims=True)
        is_some = greater_equal(abs(total), 1000 * float(np.finfo(np.float32).tiny))
        return minimum(places, end), weights / where(is_some, total, 1.0)

    return _weighted(x, axis, count, find)


def _area(size: Any, count: Any) -> tuple[Tensor, Tensor]:
    length = cast(size, float32)
    ratio = length / cast(count, float32)
    low = expand_dims(cast(range_of(count), float32) * ratio, 1)
    high = low + ratio
    places = floor(low) + range_of(ceil(ratio) + 1.0)
    weights = maximum(minimum(places + 1.0, high) - maximum(places, low), 0.0) / ratio
    return minimum(places, length - 1.0), weights


def resize_with_pad(
    image: Any, target_height: int, target_width: int, method: str = ResizeMethod.BILINEAR, antialias: bool = False
) -> Tensor:
    """Images resized with their ratio kept, with zeros on two sides (`tf.image.resize_with_pad`).

    `method` and `antialias` as for `resize`. ShapeError for a target below 1.
    """
    x = image_of(image, "resize_with_pad")
    size, target = sizes_of(x), _pair("the target of resize_with_pad", [target_height, target_width])
    inner, before = _fitted(size, target)
    resized = resize(x, inner, method, antialias=antialias)
    return in_size(x, pad_to_bounding_box(resized, *before, *target), *target)


def _fitted(size: Any, target: Any) -> tuple[list[Any], list[Any]]:
    """The largest size of the ratio of `size` within the target, and the zeros before it, computed in float32."""
    if all(isinstance(n, int) for n in (*size, *target)):
        ratio = max(np.float32(n) / np.float32(most) for n, most in zip(size, target, strict=True))
        inner = [np.float32(n) / ratio for n in size]
        before = [max(0, int((np.float32(most) - n) / np.float32(2))) for n, most in zip(inner, target, strict=True)]
        return [int(n) for n in inner], before
    sizes, limits = ([cast(n, float32) for n in numbers] for numbers in (size, target))
    largest = maximum(sizes[0] / limits[0], sizes[1] / limits[1])
    parts = [n / largest for n in sizes]
    zeros = [cast(maximum((most - n) / 2.0, 0.0), int32) for n, most in zip(parts, limits, strict=True)]
    return [cast(n, int32) for n in parts], zeros


def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops of images [batch, height, width, channels], resized to `crop_size`, (height, width), as float32 [boxes,
    height, width, channels] (`tf.image.crop_and_resize`).

    `boxes`: floats [boxes, 4], the (y1, x1, y2, x2) of the middles of the outermost pixels, 0 for the first and 1 for
    the last of the image; what is outside has the `extrapolation_value`. `box_indices`: the image of each box.
    `method`: "bilinear" or "nearest" (else ValueError). ShapeError, IndexOutOfRangeError.
    """
    x, corners = cast(image, float32), cast(boxes, float32)
    batches = convert_to_tensor(box_indices, dtype_hint=int32)
    if x.ndim != 4 or corners.ndim != 2 or corners.shape[1] not in (None, 4) or batches.ndim != 1:
        raise located(ShapeError("crop_and_resize takes images [batch, height, width, channels], boxes [boxes, 4] and "
                                 f"an index for each box, not {x.type}, {corners.type} and {batches.type}"))
    if method not in ("bilinear", "nearest"):
        raise located(ValueError(f"crop_and_resize has the methods bilinear and nearest, not {method!r}"))
    counts = _pair("the crop_size of crop_and_resize", crop_size)
    places, inside = [], []
    for axis, count in enumerate(counts):
        if not isinstance(count, int):
            raise located(InvalidArgumentError("crop_and_resize takes a crop_size that is known, not a tensor"))
        last = cast(dims(x)[1 + axis] - 1, float32)
        first, second = corners[:, axis, None], corners[:, 2 + axis, None]
        step = (second - first) * last / float(count - 1) if count > 1 else 0.0
        place = first * last + range_of(float(count)) * step if count > 1 else 0.5 * (first + second) * last
        inside.append(logical_and(greater_equal(place, 0.0), less_equal(place, last)))
        places.append(clip_by_value(place, 0.0, last))
    sizes = [dims(corners)[0], *counts]
    rows, columns = expand_dims(places[0], 2), expand_dims(places[1], 1)

    def pixels(row: Tensor, column: Tensor) -> Tensor:
        parts = [reshape(batches, [-1, 1, 1]), cast(row, batches.dtype), cast(column, batches.dtype)]
        return gather_nd(x, stack([broadcast_to(part, sizes) for part in parts], -1))

    if method == "nearest":
        found = pixels(floor(rows + 0.5), floor(columns + 0.5))
    else:
        (top, bottom), (left, right) = ((floor(place), ceil(place)) for place in (rows, columns))
        down, across = expand_dims(rows - top, -1), expand_dims(columns - left, -1)
        upper, lower = (pixels(row, left) + (pixels(row, right) - pixels(row, left)) * across for row in (top, bottom))
        found = upper + (lower - upper) * down
    is_inside = logical_and(expand_dims(inside[0], 2), expand_dims(inside[1], 1))
    return named(where(expand_dims(is_inside, -1), found, cast(extrapolation_value, float32)), name)
