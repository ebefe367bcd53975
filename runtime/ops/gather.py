"""Selecting elements by tensors of indices, and writing them back: gather and scatter."""
from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import DTypeError, IndexOutOfRangeError, InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import element
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_beside, convert_to_tensor
from runtime.core.types import TensorType, bool_, float32, int32, int64, shape_text
from runtime.ops.creation import fill, zeros
from runtime.ops.effects import raise_unless
from runtime.ops.logic import NONZERO, equal, greater_equal, less, logical_and
from runtime.ops.math import cast, negative
from runtime.ops.op_makers import apply_one, named, random_array
from runtime.ops.shape import dims, product, reshape
from runtime.ops.static_arguments import axis_of, merge_shapes, static_ints


def _check_indices(op: str, indices: TensorType) -> None:
    if not indices.dtype.is_integer:
        raise DTypeError(f"{op} takes int indices, not {indices.dtype.name}", remedy="Cast them to rt.int32.")


def _check_bounds(indices: Any, size: int, axis: int) -> None:
    if not indices.size:
        return
    low, high = indices.min(), indices.max()
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise IndexOutOfRangeError(f"index {wrong} is out of bounds for axis {axis} with size {size}")


# Gather.

def _gather_kernel(x: Any, indices: Any, *, axis: int, batch_dims: int, slices: bool = False) -> Any:
    _check_bounds(indices, x.shape[axis], axis)
    if not batch_dims:
        return x.take(indices, axis)
    b = batch_dims
    if x.shape[:b] != indices.shape[:b]:
        raise ShapeError(f"gather takes the same {b} leading dimensions, not {shape_text(x.shape)} and "
                         f"{shape_text(indices.shape)}")
    grids = np.ogrid[tuple(slice(size) for size in indices.shape[:b])]
    batch = [grid.reshape(*grid.shape, *[1] * (indices.ndim - b)) for grid in grids]
    index = (*batch, indices)
    picked = np.moveaxis(x, axis, b)[index]
    between = axis - b  # the axes between the batch and `axis` precede those of the indices
    order = (*range(b), *range(indices.ndim, indices.ndim + between), *range(b, indices.ndim),
             *range(indices.ndim + between, picked.ndim))
    return picked.transpose(order)


def _gather_rule(x: TensorType, indices: TensorType, *, axis: int, batch_dims: int, slices: bool = False
                 ) -> TensorType:
    _check_indices("gather", indices)
    if not 0 <= batch_dims <= axis < x.ndim or batch_dims > indices.ndim:
        raise ShapeError(f"gather from {x} by {indices} takes no axis {axis} with batch_dims {batch_dims}")
    batch = merge_shapes("the leading dimensions of what gather takes",
                         x.shape[:batch_dims], indices.shape[:batch_dims])
    return x.with_shape((*batch, *x.shape[batch_dims:axis], *indices.shape[batch_dims:], *x.shape[axis + 1:]))


def _gather_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape, index_shape, axis, batch in (
        ((5,), (), 0, 0), ((5,), (3,), 0, 0), ((4, 5), (2, 3), 1, 0), ((4, 5), (0,), 0, 0), ((2, 5), (2, 3), 1, 1),
        ((2, 3, 5, 4), (2, 6), 2, 1), ((2, 3, 5), (2, 3), 2, 2), ((2, 3, 5), (2, 3, 2, 2), 2, 2),
    ):
        yield (rng.random(shape), rng.integers(0, shape[axis], index_shape)), {"axis": axis, "batch_dims": batch}


GATHER: Final = Op("gather", _gather_kernel, _gather_rule, samples=_gather_samples,
                   errors=(IndexOutOfRangeError,),
                   doc="Slices along an axis, by index; the first `batch_dims` dimensions go together. `slices`: a "
                       "tape gives their derivative as IndexedSlices.")


def gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0,
           name: str | None = None) -> Tensor:
    """The slices of `params` along `axis` at `indices` (`tf.gather`).

    The first `batch_dims` dimensions of both are matched; by default `axis` is the next one. A negative `batch_dims`
    counts from the rank of the indices. Shape: params.shape[:axis] + indices.shape[batch_dims:]
    + params.shape[axis + 1:]. IndexOutOfRangeError.
    """
    x, places, options = _gathering(params, indices, axis, batch_dims)
    return named(apply_one(GATHER, x, places, **options), name)


def _gathering(params: Any, indices: Any, axis: Any, batch_dims: int) -> tuple[Tensor, Tensor, dict[str, Any]]:
    x, places = convert_to_tensor(params, strings=True), convert_to_tensor(indices, dtype_hint=int32)
    count = batch_dims if type(batch_dims) is int else static_ints("the batch_dims of gather", batch_dims)[0]
    if not -places.ndim <= count <= places.ndim:
        raise located(ShapeError(f"gather takes batch_dims from {-places.ndim} to {places.ndim} for indices of rank "
                                 f"{places.ndim}, not {count}"))
    batch = count + places.ndim if count < 0 else count
    return x, places, {"axis": axis_of("gather", count if axis is None else axis, x.ndim), "batch_dims": batch}


def gather_slices(params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0,
                  name: str | None = None) -> Tensor:
    """As `gather`, for which a tape gives the derivative of `params` as `IndexedSlices`, if `axis` is 0."""
    x, places, options = _gathering(params, indices, axis, batch_dims)
    if options["axis"] == 0 and x.dtype.is_floating:
        options["slices"] = True
    return named(apply_one(GATHER, x, places, **options), name)


def columns_of(shape: tuple[int, ...], indices: Any) -> tuple[Any, ...]:
    """The index array for each axis, bounds-checked."""
    columns = tuple(indices[..., i] for i in range(indices.shape[-1]))
    for axis, column in enumerate(columns):
        _check_bounds(column, shape[axis], axis)
    return columns


def depth_of(op: str, x: TensorType, indices: TensorType) -> int:
    """The number of dimensions of `x` that each row of `indices` indexes."""
    _check_indices(op, indices)
    depth = indices.shape[-1] if indices.ndim else None
    if depth is None:
        raise ShapeError(f"{op} takes indices whose last dimension is known, not {indices}")
    if depth > x.ndim:
        raise ShapeError(f"{op} takes at most {x.ndim} indices for {x}, not {depth}",
                         remedy=f"Make the last dimension of the indices {x.ndim} or less.")
    return depth


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The slices where `mask` is true; the dimensions that it masks, from `axis` on, become one (`tf.boolean_mask`)."""
    x, keep = convert_to_tensor(tensor, strings=True), convert_to_tensor(mask)
    if not keep.dtype.is_bool:
        raise DTypeError(f"boolean_mask takes a bool mask, not {keep.type}")
    if not keep.ndim:
        raise located(ShapeError("boolean_mask takes a mask of rank 1 or more, not a scalar"))
    first = axis_of("boolean_mask", 0 if axis is None else axis, x.ndim)
    last = first + keep.ndim
    if last > x.ndim:
        raise ShapeError(f"a mask of shape {shape_text(keep.type.shape)} has too many dimensions for {x.type}")
    merge_shapes("a tensor and its mask", x.type.shape[first:last], keep.type.shape)
    sizes = dims(x)
    for size, other in zip(sizes[first:last], dims(keep), strict=True):
        if type(size) is not int or type(other) is not int:
            raise_unless(equal(size, other), ShapeError("a tensor and its mask have different shapes"))
    return masked(x, keep, first, name)


def masked(x: Tensor, keep: Tensor, axis: int, name: str | None = None) -> Tensor:
    """`boolean_mask` for a mask of the sizes that `x` has from `axis` on."""
    if keep.ndim > 1:
        sizes, last = dims(x), axis + keep.ndim
        x = reshape(x, [*sizes[:axis], product(sizes[axis:last]), *sizes[last:]])
    places = reshape(apply(NONZERO, reshape(keep, [-1])), [-1])
    return gather(x, places, axis=axis, name=name)


# Scatter.

def _scatter_kernel(x: Any, indices: Any, updates: Any, *, mode: str) -> Any:
    index = columns_of(x.shape, indices)
    if updates.shape != (*indices.shape[:-1], *x.shape[len(index):]):
        raise ShapeError(f"scatter by indices of shape {shape_text(indices.shape)} into {shape_text(x.shape)} "
                         f"takes no updates of shape {shape_text(updates.shape)}")
    out = np.array(x)
    view = out if index else out[None]  # rows without indices refer to the whole tensor
    index = index or (np.zeros(indices.shape[:-1], np.intp),)
    if mode == "update":
        view[index] = element(updates)
    else:
        _SCATTER_MODES[mode].at(view, index, updates)
    return out


_SCATTER_MODES: Final[dict[str, Any]] = {"add": np.add, "max": np.maximum, "min": np.minimum}


def _scatter_rule(x: TensorType, indices: TensorType, updates: TensorType, *, mode: str) -> TensorType:
    depth = depth_of("scatter", x, indices)
    if updates.dtype is not x.dtype:
        raise DTypeError(f"scatter takes updates of the tensor's dtype {x.dtype.name}, not {updates.dtype.name}")
    merge_shapes("the updates of scatter and the places that the indices name", updates.shape,
                 (*indices.shape[:-1], *x.shape[depth:]))
    return TensorType(x.dtype, x.shape)


def _scatter_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in (float32, int32, bool_):
        for mode in ("update", "add", "max", "min"):
            for depth, count in ((1, 3), (2, 4), (1, 0), (0, 2)):
                indices = rng.integers(0, 3, (count, depth))
                updates = random_array(rng, dtype, (count, *(5, 3)[depth:]))
                yield (random_array(rng, dtype, (5, 3)), indices, updates), {"mode": mode}
    yield (np.float64(1), np.zeros((2, 0), np.int32), np.array([2.0, 3.0])), {"mode": "add"}


SCATTER: Final = Op("scatter", _scatter_kernel, _scatter_rule, samples=_scatter_samples,
                    errors=(IndexOutOfRangeError,),
                    doc="A tensor with updates at rows of indices; `mode`: update, add, max or min.")


def scatter(x: Any, indices: Any, updates: Any, mode: str = "update") -> Tensor:
    """`x` with `updates` combined into the rows at `indices`, by `mode`: update, add, max or min."""
    x = convert_to_tensor(x, strings=True)
    values = updates if isinstance(updates, Tensor) else convert_to_tensor(updates, x.dtype)
    rows = convert_to_tensor(indices, dtype_hint=int32)
    return apply_one(SCATTER, x, rows, values, mode=mode)


POLICIES: Final = ("", "DEFAULT", "ERROR", "IGNORE")
"""What an op does with an index that is not within the tensor: the first three raise an error."""


def ignores(op: str, bad_indices_policy: str) -> bool:
    """Whether bad indices are ignored. InvalidArgumentError for what is no policy."""
    if bad_indices_policy not in POLICIES:
        known = ", ".join(map(repr, POLICIES))
        raise located(InvalidArgumentError(
            f"the bad_indices_policy of {op} is one of {known}, not {bad_indices_policy!r}"))
    return bad_indices_policy == "IGNORE"


def are_within(x: Tensor, rows: Tensor) -> Tensor:
    """Which rows of indices are within the leading dimensions of `x`: bool[rows.shape[:-1]]."""
    sizes = dims(x)[:depth_of("a bad_indices_policy", x.type, rows.type)]
    within = [logical_and(greater_equal(rows[..., i], 0), less(cast(rows[..., i], int64), size))
              for i, size in enumerate(sizes)]
    return functools.reduce(logical_and, within, fill(dims(rows)[:-1], True))


def _scattered(
    op: str, tensor: Any, indices: Any, updates: Any, mode: str, bad_indices_policy: str, name: str | None
) -> Tensor:
    if not ignores(op, bad_indices_policy):
        return named(scatter(tensor, indices, updates, mode), name)
    x, rows = convert_to_tensor(tensor, strings=True), convert_to_tensor(indices, dtype_hint=int32)
    values = updates if isinstance(updates, Tensor) else convert_to_tensor(updates, x.dtype)
    within = are_within(x, rows)
    if not within.ndim:
        rows, values, within = rows[None], values[None], reshape(within, [1])
    return named(scatter(x, boolean_mask(rows, within), boolean_mask(values, within), mode), name)


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """`tensor` with `updates` at the rows of `indices`; of repeated rows the last one wins
    (`tf.tensor_scatter_nd_update`). IndexOutOfRangeError."""
    return named(scatter(tensor, indices, updates), name)


def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with `updates` added at the rows of `indices` (`tf.tensor_scatter_nd_add`).
    `bad_indices_policy`: as for `scatter_nd`."""
    return _scattered("tensor_scatter_nd_add", tensor, indices, updates, "add", bad_indices_policy, name)


def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`tensor` with `updates` subtracted at the rows of `indices` (`tf.tensor_scatter_nd_sub`).
    `bad_indices_policy`: as for `scatter_nd`."""
    x = convert_to_tensor(tensor)
    return _scattered("tensor_scatter_nd_sub", x, indices, negative(convert_beside(updates, x.dtype)), "add",
                      bad_indices_policy, name)


def tensor_scatter_nd_max(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The greater of `tensor` and `updates` at the rows of `indices` (`tf.tensor_scatter_nd_max`).
    `bad_indices_policy`: as for `scatter_nd`."""
    return _scattered("tensor_scatter_nd_max", tensor, indices, updates, "max", bad_indices_policy, name)


def tensor_scatter_nd_min(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """The smaller of `tensor` and `updates` at the rows of `indices` (`tf.tensor_scatter_nd_min`).
    `bad_indices_policy`: as for `scatter_nd`."""
    return _scattered("tensor_scatter_nd_min", tensor, indices, updates, "min", bad_indices_policy, name)


def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """`updates` at the rows of `indices` in zeros of `shape`, added where rows repeat (`tf.scatter_nd`).

    `bad_indices_policy`: "ERROR" (the default) raises IndexOutOfRangeError for a row that is not within the shape,
    "IGNORE" leaves its update out.
    """
    values = convert_to_tensor(updates, strings=True)
    return _scattered("scatter_nd", zeros(shape, values.dtype), indices, values, "add", bad_indices_policy, name)


def segment_totals(data: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The sums of the slices of `data` with each segment id. IndexOutOfRangeError for an id that is not from 0 to below
    `num_segments`."""
    x, ids = convert_to_tensor(data), convert_to_tensor(segment_ids, dtype_hint=int32)
    rows = reshape(ids, [*dims(ids), 1])
    return scatter_nd(rows, x, [num_segments, *dims(x)[ids.ndim:]])
