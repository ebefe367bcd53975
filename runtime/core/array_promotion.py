"""The dtypes of values made from NumPy arrays: among themselves they are promoted as in NumPy, and beside a tensor they
adapt to it."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from runtime.core.array_mode import need_objects
from runtime.core.errors import DTypeError
from runtime.core.op import Op
from runtime.core.types import (
    DType,
    ListType,
    TensorType,
    Type,
    as_dtype,
    bool_,
    complex128,
    float64,
    int64,
    join_shapes,
)

__all__ = [
    "OF_64_BITS", "array_types", "common_dtype", "is_of_arrays", "join_arrays", "made_of_arrays", "mark_as_array",
    "of_arrays"]


def is_of_arrays(type: Type) -> bool:
    """Whether a value was made from NumPy arrays, or from these and Python numbers."""
    return type.element.of_arrays if isinstance(type, ListType) else type.of_arrays


def made_of_arrays(
    op: Op, operands: Sequence[Any], types: Type | tuple[Type, ...], is_widened: bool
) -> Type | tuple[Type, ...]:
    """The types of the results of an op, marked as made from arrays if the operands that must agree (or else the first)
    all are; an array stays one when its items are set, or if it gives a tensor its dtype (`is_widened`). `operands`:
    types, or None for constants of Python's and NumPy's."""
    deciding = operands[:1] if op.agree is None or op.name == "setitem" else operands[op.agree]
    found = [type for type in deciding if type is not None and not (isinstance(type, TensorType) and type.weak)]
    if not (is_widened or (found and all(map(is_of_arrays, found)))):
        return types
    return tuple(map(_unless_weak, types)) if isinstance(types, tuple) else _unless_weak(types)


def _unless_weak(type: Type) -> Type:
    return type if isinstance(type, TensorType) and type.weak else of_arrays(type)


def of_arrays(type: Type) -> Type:
    """The type of a value with `type` that is made from arrays."""
    if isinstance(type, ListType):
        return replace(type, element=replace(type.element, of_arrays=True))
    return replace(type, of_arrays=True)


def mark_as_array(made: Any) -> None:
    """Mark a tensor that has just been made as made from arrays."""
    made.value.type = of_arrays(made.value.type)


def common_dtype(types: Iterable[TensorType]) -> DType | None:
    """The common dtype of operands of which some were made from arrays; None if there is none.

    Float and complex dtypes of a tensor are kept, and arrays of the same or a lesser kind adapt to them, as they do
    outside of graphs. Otherwise no number may lose precision: the dtype is NumPy's for two arrays, beside which
    Python's numbers adapt (NEP 50).
    """
    types = list(types)
    tensors = {type.dtype for type in types if not (type.weak or type.of_arrays)}
    dtypes = tensors.union(type.dtype for type in types if type.of_arrays)
    if len(tensors) > 1 or not all(dtype.is_numeric or dtype.is_bool for dtype in dtypes):
        return None
    kind = max(dtype.level for dtype in dtypes)
    for dtype in tensors:
        if dtype.level >= 2 and kind <= dtype.level:
            return dtype
        if dtype.is_bool:
            return None
    if any(dtype.is_narrow for dtype in dtypes):
        return None
    weak = {_PYTHON[type.dtype.level] for type in types if type.weak}
    return as_dtype(np.result_type(*[dtype.np for dtype in dtypes], *weak))


def array_types(types: Sequence[TensorType], constants: Sequence[Any], joins: bool) -> list[TensorType] | None:
    """The types of operands of an op as NumPy sees them; None if one is a tensor, or none an array. `constants`: the
    values of those that are constants, else None. Those of NumPy are arrays like those of the graph, and so are lists
    and, if the op `joins` elements, Python's numbers."""
    found = []
    for type, x in zip(types, constants, strict=True):
        is_number = type.weak or isinstance(x, bool)
        if is_number and (joins or isinstance(x, (list, tuple, range))):
            type = TensorType(OF_64_BITS[type.dtype.level], type.shape, of_arrays=True)
        elif is_number:
            type = TensorType(type.dtype, type.shape, weak=True)
        elif x is not None:
            type = TensorType(type.dtype, type.shape, of_arrays=True)
        elif not type.of_arrays:
            return None
        found.append(type)
    return found if any(type.of_arrays for type in found) else None


def join_arrays(a: Type, b: Type) -> TensorType | None:
    """The joined type of two paths, made from arrays on at least one, whose dtypes differ: an int of an array, or a
    float of a tensor. None if there is none. The function has to be traced with arrays as objects."""
    if not (isinstance(a, TensorType) and isinstance(b, TensorType) and (a.of_arrays or b.of_arrays)):
        return None
    dtype, shape = common_dtype((a, b)), join_shapes(a.shape, b.shape)
    if dtype is None or shape is None:
        return None
    need_objects(DTypeError(f"an array's {a.dtype.name} becomes {b.dtype.name}"))
    return TensorType(dtype, shape, of_arrays=True)


_PYTHON: Final = False, 0, 0.0, 0j
"""By the kind of a Python number: one that `np.result_type` knows as such."""
OF_64_BITS: Final = bool_, int64, float64, complex128
"""By the kind of a Python number: the dtype of an array of such."""
