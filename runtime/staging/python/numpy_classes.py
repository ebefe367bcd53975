"""Classes of NumPy that are called with values of the graph: scalars, `vectorize`, `ndenumerate`, `ndindex` and
`nditer`; and elements as Python's numbers, by `item` and `tolist`."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import operators
from runtime.core import types as t
from runtime.core.array_mode import need_objects
from runtime.core.errors import StagingError, UnimplementedError
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, current_graph
from runtime.numpy.arrays import ravel
from runtime.numpy.dispatch import scalar_of
from runtime.numpy.rearranging import broadcast_arrays
from runtime.ops.shape import dims
from runtime.staging.python.elementwise import along_axis, nested_lists, piecewise, vectorized
from runtime.staging.python.introspection import is_scalar
from runtime.staging.values.generators import listed
from runtime.staging.values.iterables import EagerRows, StagedRange
from runtime.staging.values.lazy_iterables import StagedProduct, StagedZip
from runtime.staging.values.list import unview

__all__ = ["instead_of"]

Function = Callable[..., Any]


def instead_of(fn: Any, values: Sequence[Any]) -> Function | None:
    """What to call in place of a class of NumPy, or the call of a `vectorize`, for some arguments; None for others."""
    if fn is np.ndindex:
        return _index
    if fn is np.fromiter and current_graph() is not None:
        return _from_items
    if not any(isinstance(value, GraphTensor) for value in values):
        return None
    if isinstance(fn, type) and issubclass(fn, np.generic) and issubclass(fn, (np.number, np.bool_)):
        return functools.partial(scalar_of, fn)
    if fn is np.isscalar:
        return is_scalar
    if fn is np.ndenumerate:
        return _enumerated
    if fn is np.nditer:
        return _in_memory_order
    if fn in _IN_PYTHON:
        return operators.call(_IN_PYTHON[fn])  # type: ignore[no-any-return]
    return _vectorized if fn is np.vectorize.__call__ else None


_IN_PYTHON: Final = {np.apply_along_axis: along_axis, np.piecewise: piecewise}
"""Functions of NumPy that call the user's, as Python code that converts."""


def _index(*shape: Any) -> Any:
    """`numpy.ndindex`, as the product of ranges, which is rolled in a loop."""
    sizes = shape[0] if len(shape) == 1 and not _is_size(shape[0]) else shape
    return _places([*sizes])


def _is_size(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) or (isinstance(x, GraphTensor) and not x.ndim)


def _places(sizes: Sequence[Any]) -> Any:
    if any(isinstance(size, Tensor) for size in sizes):
        return StagedProduct(*map(StagedRange, sizes))
    return itertools.product(*map(range, sizes))


def _enumerated(arr: Any) -> Any:
    """`numpy.ndenumerate`, as a zip of places and elements."""
    places, elements = _places([*arr.shape]), arr.ravel()
    if isinstance(places, StagedProduct):
        return StagedZip(places, elements)
    rows: Any = EagerRows(elements)
    return zip(places, rows, strict=True)


def _in_memory_order(op: Any, *options: Any, **named: Any) -> Any:
    """`numpy.nditer` of one array, as the array of its elements."""
    need_objects(StagingError("the order of the elements of an array in memory is asked for"))
    model = getattr(op, "model", None)
    if model is not None:  # the order in memory is also that of a reversed view
        op = op[tuple([slice(None, None, -1 if step < 0 else 1) for step in model.strides])]
        model = op.model
    if options or named or not isinstance(op, GraphTensor) or not (model is None or model.flags.forc):
        raise located(UnimplementedError(
            "numpy.nditer takes one contiguous array in a graph, and no options",
            remedy="Loop over a.flat, zip(a.flat, b.flat) or np.ndindex(a.shape)."))
    return op.ravel("K")


def _from_items(iter: Any, dtype: Any, count: int = -1) -> Any:
    """`numpy.fromiter`: the array of a list of the items."""
    items = operators.call(list)(iter)
    return operators.call(np.array)(items if count < 0 else operators.item(items, slice(count)), dtype)


def _vectorized(fn: Any, /, *args: Any, **keywords: Any) -> Any:
    if keywords or fn.signature is not None or not 1 <= len(args) <= 3:
        raise located(UnimplementedError(
            "numpy.vectorize takes one to three arrays in a graph, by position, and no signature",
            remedy="Write a loop over the elements, or use rt.vectorized_map."))
    columns = broadcast_arrays(*args)
    dtype = None if fn.otypes is None or len(fn.otypes) != 1 else np.dtype(fn.otypes[0])
    return operators.call(vectorized)(fn.pyfunc, dtype, tuple(dims(columns[0])), *map(ravel, columns))


# Elements as Python's numbers.

def _as_pythons(x: Tensor) -> Tensor:
    """Elements that adapt to the dtype of what they meet, of 64 bits if these have as many."""
    level = x.dtype.level
    if level < 1 or x.type.weak:
        return x
    is_wide = x.dtype in (t.int64, t.uint64, t.uint32, t.float64, t.complex128)
    kinds = (t.int64, t.float64, t.complex128) if is_wide else (t.int32, t.float32, t.complex64)
    made: Tensor = apply(CAST, x, dtype=kinds[level - 1], weak=True)
    return made


def _item(x: Tensor, *index: Any) -> Any:
    """`x.item()`."""
    index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    return _as_pythons(x[index] if len(index) > 1 else x.ravel()[index] if index else x.reshape(()))


def _nested_list(x: Tensor) -> Any:
    """`x.tolist()`: a list of the graph where only that knows how many elements there are."""
    numbers = _as_pythons(x)
    return numbers if not x.ndim else unview(listed(numbers)) if x.ndim == 1 else operators.call(nested_lists)(numbers)


OPERATIONS.define(item=_item, nested_list=_nested_list)
