"""Pooling: the maximum, or the mean, of each window.

Padding is ignored. A mean is the convolution of each channel with ones, divided by the number of elements in the window
that are not padding; for float16 it is computed in float32. NaN counts as the maximum of a window.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.op import Op, Sample, unknown_shape
from runtime.core.tensor import Tensor
from runtime.core.types import Shape, TensorType
from runtime.ops import math, sliding_windows
from runtime.ops.convolution import CONV
from runtime.ops.creation import ones
from runtime.ops.creation import range as range_
from runtime.ops.op_makers import FLOATS, REAL, apply_one, check_dtype, named, random_array
from runtime.ops.shape import dims, product, reshape
from runtime.ops.sliding_windows import Padding, Plan, located

__all__ = ["avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool", "max_pool1d", "max_pool2d",
           "max_pool3d", "max_pool_with_argmax", "pool"]

Ints = tuple[int, ...]


# The ops.

def _counts(shape: Shape, window: Ints, strides: Ints, padding: Padding) -> Shape:
    """The number of windows along each spatial axis: none along an axis without elements."""
    if len(shape) != len(window) + 2:
        raise ShapeError(f"pooling along {len(window)} axes takes a tensor of rank {len(window) + 2}, "
                         f"not {len(shape)}")
    if not isinstance(padding, str) and any(
            max(pair) >= size for pair, size in zip(padding, window, strict=True)):
        raise ShapeError(f"pooling takes a padding of less than its windows, {list(window)}, not "
                         f"{[list(pair) for pair in padding]}")
    found = sliding_windows.window_counts(shape[1:-1], window, strides, (1,) * len(window), padding)
    return tuple(0 if size == 0 else count for size, count in zip(shape[1:-1], found, strict=True))


def _taps(x: Any, window: Ints, strides: Ints, padding: Padding) -> Iterable[tuple[Any, tuple[Any, ...]]]:
    """For each position in a window: the elements there of all windows, and their indices along each spatial axis.

    A padding position repeats the nearest element along the axis, which is in the window, too.
    """
    counts = _counts(x.shape, window, strides, padding)
    axes = []  # for each axis and position, the index of each window's element
    for axis, (size, count, many, stride) in enumerate(zip(x.shape[1:-1], counts, window, strides, strict=True)):
        low, _ = sliding_windows.bounds(size, many, stride, 1, padding, axis)
        first = np.arange(count or 0, dtype=np.int64) * stride - low
        axes.append([np.clip(first + k, 0, max(size - 1, 0)) for k in range(many)])
    for place in np.ndindex(window):
        part = x
        chosen = [axes[axis][k] for axis, k in enumerate(place)]
        for axis, index in enumerate(chosen):
            part = part[(slice(None),) * (axis + 1) + (_as_slice(index),)]
        yield part, tuple(chosen)


def _as_slice(index: Any) -> Any:
    """Evenly spaced indices as a slice, which avoids a copy."""
    if len(index) < 2:
        return slice(int(index[0]), int(index[0]) + 1) if len(index) else slice(0, 0)
    step = int(index[1] - index[0])
    even = step > 0 and (np.diff(index) == step).all()
    return slice(int(index[0]), int(index[-1]) + 1, step) if even else index


def _max_kernel(x: Any, *, window: Ints, strides: Ints, padding: Padding) -> Any:
    result = None
    for part, _ in _taps(x, window, strides, padding):
        result = np.array(part, order="C") if result is None else np.maximum(result, part, out=result)
    return result


def _argmax_kernel(x: Any, *, window: Ints, strides: Ints, padding: Padding) -> Any:
    best: Any = None
    where: Any = None
    for part, place in _taps(x, window, strides, padding):
        flat = np.zeros((), np.int64)
        for size, index in zip(x.shape[1:-1], place, strict=True):
            flat = flat[..., None] * size + index
        flat = flat[..., None] * x.shape[-1] + np.arange(x.shape[-1])
        if best is None:
            best, where = np.array(part), np.array(np.broadcast_to(flat, part.shape))
            continue
        better = (part > best) | ((part != part) & (best == best))
        np.copyto(best, part, where=better)
        np.copyto(where, np.broadcast_to(flat, part.shape), where=better)
    return where


def _rule(x: TensorType, window: Ints, strides: Ints, padding: Padding) -> TensorType:
    check_dtype("max_pool", x.dtype, REAL)
    return x.with_shape((x.shape[0], *_counts(x.shape, window, strides, padding), x.shape[-1]))


def _max_rule(x: TensorType, *, window: Ints, strides: Ints, padding: Padding) -> TensorType:
    return _rule(x, window, strides, padding)


def _argmax_rule(x: TensorType, *, window: Ints, strides: Ints, padding: Padding) -> TensorType:
    return TensorType(t.int64, _rule(x, window, strides, padding).shape)


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape, window, strides, padding in (
            ((2, 5, 3), (2,), (2,), "VALID"), ((2, 5, 1), (3,), (1,), ((2, 1),)),
            ((2, 5, 6, 3), (2, 3), (2, 2), "SAME"), ((1, 6, 5, 2), (3, 2), (1, 3), ((1, 2), (1, 0))),
            ((2, 9, 9, 5), (6, 6), (1, 2), "SAME"), ((1, 4, 3, 4, 2), (2, 2, 3), (2, 1, 2), "SAME"),
            ((1, 2, 3, 2), (3, 3), (1, 1), "VALID"), ((0, 3, 3, 2), (2, 2), (1, 1), "SAME"),
            ((1, 0, 3, 2), (2, 2), (1, 1), ((1, 1), (0, 0)))):
        for dtype in REAL if shape == (2, 5, 6, 3) else (t.float32,):
            x = random_array(rng, dtype, shape)
            yield (x,), {"window": window, "strides": strides, "padding": padding}
            if dtype.is_floating and x.size and padding != "VALID":
                x = x.copy()
                x[..., :1, :1] = np.nan  # and ties, and values less than any finite padding
                x[..., 1:, :] = np.where(rng.random(x[..., 1:, :].shape) < 0.5, -np.inf, x[..., 1:, :])
                yield (x,), {"window": window, "strides": strides, "padding": padding}


MAX_POOL: Final = Op("max_pool", _max_kernel, _max_rule, errors=unknown_shape, samples=_samples,
                     doc="The greatest element of each window of [n, *sizes, c], in each channel.")
MAX_POOL_ARGMAX: Final = Op("max_pool_argmax", _argmax_kernel, _argmax_rule, errors=unknown_shape, samples=_samples,
                            doc="Where `max_pool` finds it first: the index in C order in the image [*sizes, c].")


# Pooling.

Pool = Callable[[Tensor, Ints, Plan], Tensor]


@located
def _pooled(op: str, rank: int | None, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None,
            name: str | None, how: Pool, dtypes: tuple[t.DType, ...]) -> Tensor:
    if rank is None:
        images = sliding_windows.tensor(op, "images", input, 1, dtypes, more=True)
        rank = images.ndim - 2
    else:
        images = sliding_windows.tensor(op, "images", input, rank, dtypes)
    plan = sliding_windows.plan(op, rank, strides, padding, data_format)
    window = sliding_windows.positive(op, "ksize", ksize, rank, plan.channels_first)
    x, leading = plan.inward(images)
    return named(plan.outward(how(x, window, plan), leading), name)


def _greatest(x: Tensor, window: Ints, plan: Plan) -> Tensor:
    return apply_one(MAX_POOL, x, window=window, strides=plan.strides, padding=plan.padding)


def _mean(x: Tensor, window: Ints, plan: Plan) -> Tensor:
    wide = math.cast(x, t.float32) if x.dtype is t.float16 else x
    counts: Any = float(np.prod(window))
    if plan.padding != "VALID":  # the number of elements that are not padding
        counts = _sums(ones([1, *dims(x)[1:-1], 1], wide.dtype), window, plan)
    mean = math.divide(_sums(wide, window, plan), counts)
    return math.cast(mean, x.dtype) if x.dtype is t.float16 else mean


def _sums(x: Tensor, window: Ints, plan: Plan) -> Tensor:
    return apply_one(CONV, x, ones([*window, 1, dims(x)[-1]], x.dtype), **plan.params)


def max_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
               ) -> Tensor:
    """As `max_pool2d`, along one axis (`tf.nn.max_pool1d`): [n, w, c]; data_format "NWC" or "NCW"."""
    return _pooled("max_pool1d", 1, input, ksize, strides, padding, data_format, name, _greatest, REAL)


def max_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
               ) -> Tensor:
    """The greatest element of each window of images [n, h, w, c]: [n, h', w', c] (`tf.nn.max_pool2d`).

    ksize, strides: a number, or a list of 1, 2 or 4. padding: "SAME", "VALID", or a pair (before, after) for each axis;
    padding is never the maximum. data_format: "NHWC", or "NCHW" for [n, c, h, w]. Ints and floats; NaN is greater than
    everything else. The derivative goes to the first of equal elements. ShapeError, InvalidArgumentError.
    """
    return _pooled("max_pool2d", 2, input, ksize, strides, padding, data_format, name, _greatest, REAL)


def max_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None
               ) -> Tensor:
    """As `max_pool2d`, along three axes (`tf.nn.max_pool3d`): [n, d, h, w, c]; data_format "NDHWC" or "NCDHW"."""
    return _pooled("max_pool3d", 3, input, ksize, strides, padding, data_format, name, _greatest, REAL)


def max_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
             name: str | None = None) -> Tensor:
    """`max_pool1d`, `max_pool2d` or `max_pool3d`, by the rank of `input` (`tf.nn.max_pool`)."""
    return _pooled("max_pool", None, input, ksize, strides, padding, data_format, name, _greatest, REAL)


def avg_pool1d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC", name: str | None = None
               ) -> Tensor:
    """As `avg_pool2d`, along one axis (`tf.nn.avg_pool1d`): [n, w, c]; data_format "NWC" or "NCW"."""
    return _pooled("avg_pool1d", 1, input, ksize, strides, padding, data_format, name, _mean, FLOATS)


def avg_pool2d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
               ) -> Tensor:
    """The mean of each window of images [n, h, w, c]: [n, h', w', c] (`tf.nn.avg_pool2d`).

    As `max_pool2d`, for floats. Padding is not counted.
    """
    return _pooled("avg_pool2d", 2, input, ksize, strides, padding, data_format, name, _mean, FLOATS)


def avg_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC", name: str | None = None
               ) -> Tensor:
    """As `avg_pool2d`, along three axes (`tf.nn.avg_pool3d`): [n, d, h, w, c]; data_format "NDHWC" or "NCDHW"."""
    return _pooled("avg_pool3d", 3, input, ksize, strides, padding, data_format, name, _mean, FLOATS)


def avg_pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None,
             name: str | None = None) -> Tensor:
    """`avg_pool1d`, `avg_pool2d` or `avg_pool3d`, by the rank of `input` (`tf.nn.avg_pool`)."""
    return _pooled("avg_pool", None, input, ksize, strides, padding, data_format, name, _mean, FLOATS)


@located
def pool(input: Any, window_shape: Any, pooling_type: str, strides: Any = None, padding: Any = "VALID",
         data_format: str | None = None, dilations: Any = None, name: str | None = None) -> Tensor:
    """`max_pool` or `avg_pool`, by the `pooling_type`, MAX or AVG; by default windows overlap in steps of 1
    (`tf.nn.pool`). UnimplementedError for dilated windows."""
    if dilations is not None and np.any(np.asarray(dilations) != 1):
        raise UnimplementedError("pool has no dilated windows", remedy="Leave the dilations out.")
    if pooling_type not in ("MAX", "AVG"):
        raise InvalidArgumentError(f"pool takes the pooling_type MAX or AVG, not {pooling_type!r}")
    by = max_pool if pooling_type == "MAX" else avg_pool
    return by(input, window_shape, 1 if strides is None else strides, padding, data_format, name)


@located
def max_pool_with_argmax(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
                         output_dtype: Any = t.int64, include_batch_in_index: bool = False, name: str | None = None
                         ) -> tuple[Tensor, Tensor]:
    """`max_pool2d`, and the index of the first maximum in the image [h, w, c], in C order; with
    `include_batch_in_index`, in the batch (`tf.nn.max_pool_with_argmax`). Images [n, h, w, c].

    The gradient of `max_pool2d` adds to the elements at these positions.
    """
    op = "max_pool_with_argmax"
    if data_format != "NHWC":
        raise InvalidArgumentError(f"{op} takes the data_format 'NHWC', not {data_format!r}")
    dtype = t.as_dtype(output_dtype)
    check_dtype(op, dtype, (t.int32, t.int64))
    x = sliding_windows.tensor(op, "images", input, 2, REAL)
    plan = sliding_windows.plan(op, 2, strides, padding, data_format)
    window = sliding_windows.positive(op, "ksize", ksize, 2, False)
    places = apply_one(MAX_POOL_ARGMAX, x, window=window, strides=plan.strides, padding=plan.padding)
    if include_batch_in_index:
        count, *sizes = dims(x)
        first = math.multiply(range_(math.cast(count, t.int64)), math.cast(product(sizes), t.int64))
        places = math.add(places, reshape(first, [-1, 1, 1, 1]))
    return named(_greatest(x, window, plan), name), places if dtype is t.int64 else math.cast(places, dtype)
