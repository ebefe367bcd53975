"""Functions of the values of sparse tensors (`tf.sparse`), and the edit distance of sequences that they hold."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec
from runtime.ops import creation, logic, math, reduction, shape, sorting
from runtime.ops.concat_split import concat
from runtime.ops.gather import boolean_mask, gather, segment_totals
from runtime.ops.host_functions import numpy_function
from runtime.ops.op_makers import FLOATS, check_dtype, named
from runtime.ops.segments import unsorted_segment_max
from runtime.ops.sparse import (
    SparseTensor,
    dense_of,
    is_sparse,
    numbered,
    reduced,
    sizes_of,
    text_of,
    without_duplicates,
)
from runtime.ops.static_arguments import axes_of

__all__ = ["bincount", "edit_distance", "eye", "reduce_max", "softmax", "to_indicator"]


def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """exp(x) / sum(exp(x)) along the last axis, of the values that are there (`tf.sparse.softmax`). ShapeError for a
    rank below 2."""
    x = sp_input.values
    check_dtype("softmax", x.dtype, FLOATS)
    if sp_input.ndim < 2:
        raise located(ShapeError(f"softmax takes a sparse tensor of rank 2 or more, not of rank {sp_input.ndim}"))
    rows = numbered(sp_input.indices[:, :-1], sp_input.sizes[:-1])
    distinct, place = sorting.unique(rows, out_idx=t.int64)
    count = shape.size(distinct)
    exponent = math.exp(x - gather(math.stop_gradient(unsorted_segment_max(x, place, count)), place))
    return sp_input.with_values(exponent / gather(segment_totals(exponent, place, count), place))


def to_indicator(sp_input: SparseTensor, vocab_size: Any, name: str | None = None) -> Tensor:
    """Which ids there are: the values, ints from 0 on, become places of a last axis of `vocab_size`, which replaces the
    last one; bool [..., vocab_size] (`tf.sparse.to_indicator`). IndexOutOfRangeError for a value that is not below
    `vocab_size`."""
    if not sp_input.dtype.is_integer:
        raise located(DTypeError(f"to_indicator takes a sparse tensor of ints, not of {sp_input.dtype.name}"))
    ids = math.cast(sp_input.values, t.int64)
    places = concat([sp_input.indices[:, :-1], ids[:, None]], 1)
    present = SparseTensor(places, creation.ones_like(ids, dtype=t.bool_), [*sp_input.sizes[:-1], vocab_size])
    return named(dense_of(present), name)


def bincount(
    values: Any, weights: Any = None, axis: int | None = 0, minlength: Any = None, maxlength: Any = None,
    binary_output: bool = False, name: str | None = None,
) -> SparseTensor:
    """The number of occurrences of the ints that occur, in their dtype, or the sums of their `weights`
    (`tf.sparse.bincount`).

    `values`: dense or sparse ints, from 0 on; `weights` likewise. `axis`: 0 or None counts all elements, with a result
    of rank 1; -1 those of each row of [rows, n] (or all of a vector). The result has as many columns as the largest
    value needs, at least `minlength`, and at most `maxlength`: larger values are left out. `binary_output`: 1 instead
    of a count.
    """
    if axis not in (None, 0, -1):
        raise located(ValueError(f"Unsupported axis={axis}: it is None, 0 or -1"))
    if binary_output and weights is not None:
        raise located(ValueError("bincount takes either weights or binary_output"))
    x: Any = values if is_sparse(values) else convert_to_tensor(values, dtype_hint=t.int64)
    by_row = axis == -1 and x.ndim > 1
    if by_row and x.ndim > 2:
        raise located(ShapeError(f"bincount along an axis takes ints [rows, n], not of the shape {text_of(x.shape)}"))
    ids = math.cast(x.values if is_sparse(x) else shape.reshape(x, [-1]), t.int64)
    amounts = _amounts(weights, x)
    sizes = sizes_of(x)
    rows = (x.indices[:, 0] if is_sparse(x) else math.floordiv(
        creation.range(math.cast(shape.size(ids), t.int64)), sizes[1])) if by_row else creation.zeros_like(ids)
    count: Any = reduction.reduce_max(concat([ids, [-1]], 0)) + 1
    if minlength is not None:
        count = math.maximum(count, math.cast(minlength, t.int64))
    if maxlength is not None:
        count = math.minimum(count, math.cast(maxlength, t.int64))
        kept = logic.less(ids, count)
        ids, rows, amounts = (boolean_mask(each, kept) for each in (ids, rows, amounts))
    found: SparseTensor = without_duplicates(SparseTensor(
        shape.stack([rows, ids], 1), amounts, [sizes[0] if by_row else 1, count]))
    result = found if by_row else SparseTensor(found.indices[:, 1:], found.values, [count])
    return result.with_values(creation.ones_like(result.values)) if binary_output else result


def eye(num_rows: Any, num_columns: Any = None, dtype: Any = t.float32, name: str | None = None) -> SparseTensor:
    """The identity matrix (`tf.sparse.eye`)."""
    columns = num_rows if num_columns is None else num_columns
    line = creation.range(math.cast(math.minimum(num_rows, columns), t.int64))
    return SparseTensor(shape.stack([line, line], 1), creation.ones_like(line, dtype), [num_rows, columns])


def reduce_max(
    sp_input: SparseTensor, axis: Any = None, keepdims: bool | None = None, output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The greatest of the values that are there, along axes (None: all): dense, with 0 where there is none, or sparse
    with `output_is_sparse` (`tf.sparse.reduce_max`)."""
    found = reduced(sp_input, axes_of("reduce_max", axis, sp_input.ndim), bool(keepdims), unsorted_segment_max)
    return found if output_is_sparse else named(dense_of(found), name)


def _amounts(weights: Any, values: Any) -> Tensor:
    """What each of the values counts."""
    if weights is None:
        return creation.ones_like(values.values if is_sparse(values) else shape.reshape(values, [-1]))
    return weights.values if is_sparse(weights) else shape.reshape(convert_to_tensor(weights), [-1])


def edit_distance(
    hypothesis: SparseTensor, truth: SparseTensor, normalize: bool = True, name: str | None = "edit_distance",
) -> Tensor:
    """The Levenshtein distances of sequences, the last axes of two sparse tensors, of values of one dtype; with
    `normalize`, divided by the length of the truth (inf if that is 0 and the distance is not): float32 of the other
    axes, each the greater of the two (`tf.edit_distance`). ShapeError for different ranks."""
    x, y = hypothesis, truth
    if x.ndim != y.ndim:
        raise located(ShapeError(f"edit_distance takes sequences of equal rank, not {text_of(x.shape)} and "
                                 f"{text_of(y.shape)}"))
    if x.dtype is not y.dtype:
        raise located(DTypeError(f"edit_distance takes sequences of one dtype, not {x.dtype.name} and {y.dtype.name}"))
    outer = [None if m is None or n is None else max(m, n) for m, n in zip(x.shape[:-1], y.shape[:-1], strict=True)]
    parts = [part for each in (x, y) for part in (each.indices, each.values, each.dense_shape)]
    found: Tensor = numpy_function(
        lambda *parts: _distances(*parts, normalize=normalize), parts, TensorSpec(outer, t.float32))
    return named(found, name)


def _distances(
    places: Any, values: Any, sizes: Any, true_places: Any, true_values: Any, true_sizes: Any, *, normalize: bool
) -> Any:
    found = np.zeros(np.maximum(sizes, true_sizes)[:-1], np.float32)
    given, true = _sequences(places, values), _sequences(true_places, true_values)
    for key in given.keys() | true.keys():
        a, b = given.get(key, []), true.get(key, [])
        distance = np.float32(_levenshtein(a, b))
        found[key] = distance if not normalize else distance / len(b) if b else np.inf
    return found


def _sequences(places: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    """The sequences by their positions in the other axes."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for *key, _, number in sorted([*place, i] for i, place in enumerate(places.tolist())):
        found.setdefault(tuple(key), []).append(values[number])
    return found


def _levenshtein(a: list[Any], b: list[Any]) -> int:
    """By the rows of the table of distances of beginnings (R. Wagner and M. Fischer, 1974)."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]
