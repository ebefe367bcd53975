"""Ops on variables. A variable is a param, not an operand; all are effects, so they run in program order."""
from __future__ import annotations

import threading
from typing import Any, Final, Protocol

import numpy as np

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import Op, unknown_shape
from runtime.core.types import DType, Shape, TensorType, compatible_shapes, shape_text

__all__ = ["ACCUMULATE", "ASSIGN", "READ", "Storage"]


class Storage(Protocol):
    """The interface of variables as used by the ops. The array is read-only: an assignment replaces it."""

    name: str
    array: Any

    @property
    def type(self) -> TensorType:
        """The type of values that the variable can hold; a dimension that may change is None."""


_lock: Final = threading.Lock()  # for updates that read and write


def _read_kernel(*, variable: Storage) -> Any:
    return variable.array


def _read_rule(*, variable: Storage) -> TensorType:
    return variable.type


def _check(x: TensorType, variable: Storage, what: str) -> None:
    type = variable.type
    if x.dtype is not type.dtype:
        raise DTypeError(f"cannot {what} {x} to variable '{variable.name}', which is {type}",
                         remedy=f"Cast it: rt.cast(x, rt.{type.dtype.name}).")
    if not compatible_shapes(type.shape, x.shape):
        raise _shape_error(x.shape, variable)


def _shape_error(shape: Shape, variable: Storage) -> ShapeError:
    if len(shape) != len(variable.type.shape):
        return ShapeError(
            f"Cannot assign value to variable '{variable.name}': Shape mismatch. The variable shape "
            f"{shape_text(variable.type.shape)}, and the assigned value shape {shape_text(shape)} are incompatible: a "
            "variable keeps the rank of its initial value, also with shape=TensorShape(None)",
            remedy="Reshape the value, or make a variable for each rank.")
    return ShapeError(
        f"Cannot assign value to variable '{variable.name}': Shape mismatch. The variable shape "
        f"{shape_text(variable.type.shape)}, and the assigned value shape {shape_text(shape)} are incompatible",
        remedy="Give the value that shape, or make the variable with shape= where None is a dimension that may change.")


def _assign_kernel(x: Any, *, variable: Storage) -> None:
    if not compatible_shapes(variable.type.shape, x.shape):
        raise _shape_error(x.shape, variable)
    array = np.asarray(x)
    array.setflags(write=False)
    variable.array = array


def _assign_rule(x: TensorType, *, variable: Storage) -> tuple[()]:
    _check(x, variable, "assign")
    return ()


def _accumulate_kernel(x: Any, *, variable: Storage, negate: bool = False) -> None:
    with _lock:
        array = np.asarray(variable.array - x if negate else variable.array + x)
        if array.shape != variable.array.shape:
            raise _shape_error(x.shape, variable)
        array.setflags(write=False)
        variable.array = array


def _accumulate_rule(x: TensorType, *, variable: Storage, negate: bool = False) -> tuple[()]:
    _check(x, variable, "add")
    dtype: DType = x.dtype
    if dtype.is_bool:
        raise DTypeError(f"cannot add to variable '{variable.name}', which is {variable.type}")
    return ()


READ: Final = Op("read_variable", _read_kernel, _read_rule, effect=True, doc="The value of a variable.")
ASSIGN: Final = Op("assign_variable", _assign_kernel, _assign_rule, effect=True, errors=unknown_shape,
                   doc="Give a variable a value.")
ACCUMULATE: Final = Op("accumulate_variable", _accumulate_kernel, _accumulate_rule, effect=True,
                       errors=(ShapeError,),
                       doc="Add to a variable, or with `negate` subtract from it, in one step.")
