"""Sorting, searching and unique elements."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import DType, TensorType
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.indexing import getitem
from runtime.ops.logic import greater, greater_equal, less, logical_and, where
from runtime.ops.math import cast, is_finite, negative
from runtime.ops.op_makers import ALL, BOOL, INTS, REAL, apply_one, check_dtype, named, random_array
from runtime.ops.reduction import reduce_all, reduce_sum
from runtime.ops.shape import dim, moveaxis, transpose
from runtime.ops.shape_refinement import assume_shape
from runtime.ops.static_arguments import axis_of, merge_shapes

# Sorting, along the last axis.


def _argsort_kernel(x: Any, *, descending: bool) -> Any:
    if not descending:
        return np.argsort(x, -1, "stable").astype(np.int32)
    last = x.shape[-1] - 1  # equal elements keep their order: sort the reversed input, and reverse the result
    return (last - np.argsort(x[..., ::-1], -1, "stable")[..., ::-1]).astype(np.int32)


def _argsort_rule(x: TensorType, *, descending: bool) -> TensorType:
    check_dtype("argsort", x.dtype, BOOL + REAL)
    if not x.ndim:
        raise ShapeError("a scalar cannot be sorted")
    return TensorType(t.int32, x.shape)


def _argsort_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in BOOL + REAL:
        for shape in ((4,), (2, 3), (0,), (2, 0)):
            for descending in (False, True):
                yield (random_array(rng, dtype, shape),), {"descending": descending}


ARGSORT: Final = Op("argsort", _argsort_kernel, _argsort_rule, samples=_argsort_samples,
                    doc="The indices that sort the last axis; equal elements keep their order.")


def _compared_order_kernel(x: Any, *, descending: bool) -> Any:
    size = x.shape[-1]
    if not x.size:
        return np.zeros(x.shape, np.int32)
    lines = [sorted(range(size), key=line.__getitem__, reverse=descending) for line in x.reshape(-1, size).tolist()]
    return np.array(lines, np.int32).reshape(x.shape)


COMPARED_ORDER: Final = Op(
    "compared_order", _compared_order_kernel, _argsort_rule, samples=_argsort_samples,
    doc="The indices that sort the last axis as Python's sorted() does, also where nan makes items incomparable.")


def argsort(values: Any, axis: Any = -1, direction: str = "ASCENDING", stable: bool = False,
            name: str | None = None) -> Tensor:
    """The indices, int32, that sort along `axis` (`tf.argsort`); equal elements keep their order."""
    x = convert_to_tensor(values)
    order = _to_last(x, axis)
    return _back(apply(ARGSORT, transpose(x, order), descending=_descending(direction)), order)


def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """The elements sorted along `axis` (`tf.sort`). `direction`: ASCENDING or DESCENDING."""
    x = convert_to_tensor(values)
    order = _to_last(x, axis)
    x = transpose(x, order)
    return _back(_along_last(x, apply(ARGSORT, x, descending=_descending(direction))), order)


def _along_last(x: Tensor, indices: Tensor) -> Tensor:
    return gather(x, indices, axis=x.ndim - 1, batch_dims=x.ndim - 1)


def _descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"the direction of a sort is 'ASCENDING' or 'DESCENDING', not {direction!r}")
    return direction == "DESCENDING"


def _to_last(x: Tensor, axis: Any) -> list[int]:
    """The permutation that swaps `axis` with the last axis."""
    if not x.ndim:
        raise ShapeError("a scalar cannot be sorted")
    order = list(range(x.ndim))
    place = axis_of("sort", axis, x.ndim)
    order[place], order[-1] = order[-1], order[place]
    return order


def _back(x: Tensor, order: list[int]) -> Tensor:
    return transpose(x, order)


class TopK(NamedTuple):
    """The results of `top_k`."""

    values: Tensor
    indices: Tensor


def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = t.int32, name: str | None = None) -> TopK:
    """The k greatest elements of the last axis, greatest first, and their indices (`tf.math.top_k`).

    InvalidArgumentError if the axis has fewer elements.
    """
    x = convert_to_tensor(input)
    if not x.ndim:
        raise ShapeError("top_k takes a tensor of rank 1 or more, not a scalar")
    size = dim(x, x.ndim - 1)
    if type(k) is int and type(size) is int:
        if not 0 <= k <= size:
            raise InvalidArgumentError(f"top_k cannot give {k} of {size} elements")
    else:
        asked = cast(k, t.int64)
        raise_unless(logical_and(greater_equal(asked, 0), greater_equal(cast(size, t.int64), asked)),
                     InvalidArgumentError("top_k cannot give as many elements as it is asked for"))
    order = getitem(apply(ARGSORT, x, descending=True), (..., slice(0, k)))
    if type(k) is int:
        assume_shape(order, [None] * (x.ndim - 1) + [k])  # holds by the check above
    return TopK(_along_last(x, order), cast(order, index_type))


def approx_max_k(
    operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k greatest elements along an axis, greatest first, and their indices (`tf.math.approx_max_k`). They are
    exact, as in TF on CPUs, so the three arguments that say how exact they are have no effect."""
    x = convert_to_tensor(operand)
    axis = axis_of("approx_max_k", reduction_dimension, x.ndim)
    values, indices = top_k(moveaxis(x, axis, -1), k)
    return moveaxis(values, -1, axis), moveaxis(indices, -1, axis)


def approx_min_k(
    operand: Any, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k least elements along an axis, least first, and their indices, as `approx_max_k`
    (`tf.math.approx_min_k`)."""
    values, indices = approx_max_k(negative(operand), k, reduction_dimension)
    return negative(values), indices


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether the prediction for each row's target is among its k greatest (`tf.math.in_top_k`); False for a target
    that is no class, and where a prediction of the row is infinite or NaN."""
    classes, scores = convert_to_tensor(targets, dtype_hint=t.int32), convert_to_tensor(predictions)
    is_class = logical_and(greater_equal(classes, 0), less(classes, cast(dim(scores, 1), classes.dtype)))
    score = gather(scores, where(is_class, classes, 0), axis=1, batch_dims=1)
    better = reduce_sum(cast(greater(scores, getitem(score, (slice(None), None))), classes.dtype), axis=1)
    is_known = logical_and(is_class, reduce_all(is_finite(scores), axis=1))
    return named(logical_and(is_known, less(better, k)), name)


# Searching.

def _searchsorted_kernel(row: Any, values: Any, *, side: Any, dtype: DType) -> Any:
    if row.ndim == 1:
        return np.searchsorted(row, values, side).astype(dtype.np)
    merge_shapes("the leading dimensions of what searchsorted takes", row.shape[:-1], values.shape[:-1])
    out = np.empty(values.shape, dtype.np)
    for index in np.ndindex(row.shape[:-1]):
        out[index] = np.searchsorted(row[index], values[index], side)
    return out


def _searchsorted_rule(row: TensorType, values: TensorType, *, side: str, dtype: DType) -> TensorType:
    check_dtype("searchsorted", row.dtype, REAL)
    check_dtype("searchsorted as out_type", dtype, INTS)
    if not row.ndim or (row.ndim > 1 and row.ndim != values.ndim):
        raise ShapeError(f"searchsorted takes sequences and values of one rank, not {row} and {values}")
    if row.ndim > 1:
        merge_shapes("the leading dimensions of what searchsorted takes", row.shape[:-1], values.shape[:-1])
    return TensorType(dtype, values.shape)


def _searchsorted_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for row, values in (((5,), (3,)), ((5,), ()), ((2, 4), (2, 3)), ((0,), (2, 2))):
        for side in ("left", "right"):
            yield (np.sort(rng.random(row)), rng.random(values)), {"side": side, "dtype": t.int32}


SEARCHSORTED: Final = Op("searchsorted", _searchsorted_kernel, _searchsorted_rule, agree=slice(0, 2),
                         samples=_searchsorted_samples, doc="Where values go in sequences that are sorted.")


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = t.int32,
                 name: str | None = None) -> Tensor:
    """The insertion index of each value in a sequence sorted along its last axis (`tf.searchsorted`).

    `side`: "left" or "right" of equal elements. A sequence of rank 1 serves values of any rank.
    """
    if side not in ("left", "right"):
        raise ValueError(f"the side of searchsorted is 'left' or 'right', not {side!r}")
    return apply_one(SEARCHSORTED, sorted_sequence, values, side=side, dtype=t.as_dtype(out_type))


# Unique elements.

class Unique(NamedTuple):
    """The results of `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The results of `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


def _unique_kernel(x: Any, *, dtype: DType) -> tuple[Any, Any, Any]:
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")  # np.unique sorts; restore the order of first occurrence
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return values[order], place[inverse.reshape(-1)].astype(dtype.np), counts[order].astype(dtype.np)


def _unique_rule(x: TensorType, *, dtype: DType) -> tuple[TensorType, TensorType, TensorType]:
    if not x.dtype.is_string:
        check_dtype("unique", x.dtype, ALL)
    if x.ndim != 1:
        raise ShapeError(f"unique takes a tensor of rank 1, not {x}")
    return TensorType(x.dtype, (None,)), TensorType(dtype, x.shape), TensorType(dtype, (None,))


def _unique_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in ALL:
        for size in (0, 1, 6):
            yield (random_array(rng, dtype, (size,)),), {"dtype": t.int32}


UNIQUE: Final = Op("unique", _unique_kernel, _unique_rule, samples=_unique_samples,
                   doc="The different elements in order of appearance, where each one went, and how many there are.")


def unique(x: Any, out_idx: Any = t.int32, name: str | None = None) -> Unique:
    """The distinct elements in order of appearance, and for each element its index there (`tf.unique`).

    The derivative goes to the first of equal elements.
    """
    return Unique(*apply(UNIQUE, convert_to_tensor(x, strings=True), dtype=t.as_dtype(out_idx))[:2])


def unique_with_counts(x: Any, out_idx: Any = t.int32, name: str | None = None) -> UniqueWithCounts:
    """As `unique`, with the number of occurrences of each element (`tf.unique_with_counts`)."""
    return UniqueWithCounts(*apply(UNIQUE, convert_to_tensor(x, strings=True), dtype=t.as_dtype(out_idx)))
