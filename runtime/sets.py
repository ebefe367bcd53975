"""Sets along the last axes of tensors (`tf.sets`): of ints and strings, dense or sparse, with sparse results."""
from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorSpec
from runtime.ops import creation
from runtime.ops.gather_nd import gather_nd
from runtime.ops.host_functions import numpy_function
from runtime.ops.logic import where
from runtime.ops.sparse import SparseTensor, is_sparse, may_be_equal, sizes_of, text_of

__all__ = ["difference", "intersection", "size", "union"]

_DTYPES: Final = (t.int8, t.int16, t.int32, t.int64, t.uint8, t.uint16, t.string)
_Join = Callable[[set[Any], set[Any]], set[Any]]


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in the set of `a` or of `b`, for each row of their last axes, sorted (`tf.sets.union`). ShapeError unless
    the other axes agree, and there is one. Positions are always checked."""
    return _joined("union", operator.or_, a, b)


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in both sets, as for `union` (`tf.sets.intersection`)."""
    return _joined("intersection", operator.and_, a, b)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """What is in the set of `a` and not in that of `b`, or without `aminusb` the reverse, as for `union`
    (`tf.sets.difference`)."""
    return _joined("difference", operator.sub, *((a, b) if aminusb else (b, a)))


def size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """How many different values each row of the last axis has, int32 (`tf.sets.size`). TypeError for a dense tensor."""
    if not is_sparse(a):
        raise located(TypeError(f"sets.size takes a SparseTensor, not {type(a).__name__}"))
    lead = TensorSpec(tuple(a.shape)[:-1], t.int32)
    return numpy_function(_sizes, [a.indices, a.values, a.dense_shape], lead)  # type: ignore[no-any-return]


def _joined(name: str, join: _Join, a: Any, b: Any) -> SparseTensor:
    x, y = _as_sparse(name, a), _as_sparse(name, b)
    if x.dtype is not y.dtype:
        raise located(DTypeError(f"sets.{name} takes tensors of one dtype, not {x.dtype.name} and {y.dtype.name}"))
    if x.ndim != y.ndim or not all(map(may_be_equal, tuple(x.shape)[:-1], tuple(y.shape)[:-1])):
        raise located(ShapeError(f"sets.{name} takes tensors that differ in their last axis only, not of the shapes "
                                 f"{text_of(x.shape)} and {text_of(y.shape)}"))
    specs = [TensorSpec([None, x.ndim], t.int64), TensorSpec([None], x.dtype), TensorSpec([], t.int64)]
    places, values, width = numpy_function(
        functools.partial(_join_rows, join, x.dtype), [x.indices, x.values, y.indices, y.values], specs)
    return SparseTensor(places, values, [*x.sizes[:-1], width])


def _as_sparse(name: str, x: Any) -> SparseTensor:
    if not is_sparse(x):
        x = convert_to_tensor(x, strings=True)
        places = where(creation.ones_like(x, dtype=t.bool_))
        x = SparseTensor(places, gather_nd(x, places), sizes_of(x))
    if x.dtype not in _DTYPES:
        raise located(DTypeError(f"sets.{name} takes ints and strings, not {x.dtype.name}"))
    if x.ndim < 2:
        raise located(ShapeError(f"sets.{name} takes tensors of rank 2 or more, not {text_of(x.shape)}"))
    found: SparseTensor = x
    return found


def _rows(places: Any, values: Any) -> dict[tuple[int, ...], set[Any]]:
    rows: dict[tuple[int, ...], set[Any]] = defaultdict(set)
    for place, value in zip(places[:, :-1].tolist(), values.tolist(), strict=True):
        rows[tuple(place)].add(value)
    return rows


def _join_rows(join: _Join, dtype: DType, places: Any, values: Any, others: Any, other_values: Any) -> Any:
    left, right = _rows(places, values), _rows(others, other_values)
    found = {row: sorted(join(left[row], right[row])) for row in sorted({*left, *right})}
    where = [(*row, i) for row, items in found.items() for i in range(len(items))]
    items = [item for row in found.values() for item in row]
    return (np.array(where, np.int64).reshape(-1, places.shape[1]), np.array(items, dtype.np),
            np.int64(max(map(len, found.values()), default=0)))


def _sizes(places: Any, values: Any, shape: Any) -> Any:
    counts = np.zeros(shape[:-1], np.int32)
    for row, items in _rows(places, values).items():
        counts[row] = len(items)
    return counts


hint_at_public_names(__name__)
