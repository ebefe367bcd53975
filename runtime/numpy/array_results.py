"""Results of functions and operators of NumPy in a traced function, as arrays that are objects."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from runtime.core.array_methods import ArrayMethods, is_tensor_with_axes
from runtime.core.array_mode import are_objects, existed_before, note_array
from runtime.core.array_promotion import mark_as_array
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import GraphTensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.numpy import array_layouts
from runtime.numpy.array_indexing import as_tensor
from runtime.numpy.array_objects import ArrayCell, StagedArray

__all__ = ["as_object", "from_numpy", "has_objects", "has_tensors", "made_of", "new_array"]


def as_object(result: Any, operands: Iterable[Any] = (), is_usual: bool = True) -> Any:
    """The tensors of a graph that a function made of operands, as arrays; scalars stay tensors. The function returns
    new arrays, also where an operand is the result. `is_usual`: these have the order of the operands in memory."""
    if isinstance(result, StagedArray):
        return result.copy("K") if any(result is x for x in operands) else result
    if type(result) is GraphTensor and result.type.shape:
        is_known = len(result.type.shape) < 2 or (is_usual and all(
            x.is_in_order for x in operands if isinstance(x, StagedArray) and x.ndim > 1))
        return ArrayCell(result, layout="C" if is_known else None)
    if isinstance(result, (tuple, list)) and has_tensors(result):
        parts = [as_object(part, operands, is_usual) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def has_tensors(values: Iterable[Any]) -> bool:
    """Whether one of the values, or of those in tuples and lists among them, is a tensor of the graph."""
    return any(isinstance(x, GraphTensor) or (isinstance(x, (tuple, list)) and has_tensors(x)) for x in values)


def has_objects(values: Iterable[Any]) -> bool:
    """Whether one of the values is an array of a traced function."""
    return any(isinstance(value, StagedArray) for value in values)


def from_numpy(value: Any) -> Any:
    """The result of a NumPy function called while a function is traced whose arrays are objects: an array becomes an
    object, unless it is pre-existing or a view of a pre-existing one; so do arrays in tuples and lists. Any other value
    is unchanged."""
    if type(value) in (tuple, list) and any(type(part) is np.ndarray for part in value):
        return type(value)(map(from_numpy, value))
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc":
        return value
    if not are_objects():
        note_array()
        return value
    base: Any = value
    while isinstance(base, np.ndarray):
        if existed_before(base):
            return value
        base = base.base
    if current_graph() is None:
        return value
    return ArrayCell(as_tensor(convert_to_tensor(value)), layout=array_layouts.described(value))


def made_of(result: Any, operands: Iterable[Any], is_usual: bool = True) -> Any:
    """The result of a NumPy function for operands that include tensors: an array if only scalars among them are
    tensors, and others arrays. `is_usual`: as for `as_object`."""
    operands = [*operands]
    if any(map(is_tensor_with_axes, operands)):
        return result
    if not has_objects(operands):
        if any(isinstance(x, ArrayMethods) and getattr(x, "ndim", 0) for x in operands):
            return result
        if not are_objects():
            note_array()
            return result
    return _adapting(as_object(result, operands, is_usual))


def new_array(result: Any, operands: Iterable[Any] = (), is_usual: bool = True) -> Any:
    """`as_object` for the new result of a function that returns an array, never a scalar; its dtype adapts to that of
    a tensor."""
    made = as_object(result, operands, is_usual)
    return _adapting(ArrayCell(made) if type(made) is GraphTensor else made)


def _adapting(made: Any) -> Any:
    if type(made) is ArrayCell and made.value.node is not None:
        mark_as_array(made)
    return made


OPERATIONS.define(as_object=as_object)
