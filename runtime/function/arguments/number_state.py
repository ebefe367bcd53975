"""Python numbers among the attributes, items and variables that calls of a traced function change.

A number that each call changes, such as `self.step += 1`, is an input of the graph. In the graph it adapts to the
tensors that it meets, as a Python number does. It is passed in and out as int64 or float64.
"""
from __future__ import annotations

import operator
from array import array
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.core.op import CAST
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import ListType, TensorType, float32, float64, int32, int64, type_of_array
from runtime.numpy.array_objects import ArrayCell
from runtime.ops.lists import list_cast

__all__ = [
    "NumberColumn", "StagedNumber", "StateContainer", "are_numbers", "array_of_numbers", "as_argument", "as_number",
    "can_be_staged", "column_of_numbers", "is_number", "is_of_numpy", "number_of", "numbers_in", "tensor_of", "widened",
    "widened_list"]


class StagedNumber:
    """An int64 or float64 scalar that represents a Python number."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def of(cls, x: int | float) -> StagedNumber:
        return cls(EagerTensor(np.array(x, np.float64 if isinstance(x, float) else np.int64)))

    def __leaves__(self) -> Sequence[Any]:
        return [self.tensor]

    def __rebuild__(self, leaves: Sequence[Any]) -> StagedNumber:
        return StagedNumber(leaves[0])

    def __repr__(self) -> str:
        return "a number"


class StateContainer:
    """A list or dict that is state itself, as the content of an attribute or variable."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StateContainer) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


_OF_NUMPY: Final = (np.float64, np.int64)
"""NumPy's numbers that are treated as Python numbers; after a call they are Python's."""


def can_be_staged(x: Any) -> bool:
    """Whether `x` is a number that can be an input of a graph."""
    return type(x) is float or (type(x) is int and -2**63 <= x < 2**63) or type(x) in _OF_NUMPY


def as_argument(x: Any, stages: bool) -> Any:
    """A number as a StagedNumber, if it is a graph's Python number, or NumPy's, or if it is Python's and `stages`; else
    `x`."""
    if (stages and can_be_staged(x)) or type(x) in _OF_NUMPY:
        return StagedNumber.of(x)
    return StagedNumber(widened(x)) if is_number(x) else x


def is_number(x: Any) -> bool:
    """Whether a value of a graph stands for a Python number."""
    return type(x) is GraphTensor and x.type.weak and not x.type.shape and x.dtype.level in (1, 2)


def is_of_numpy(x: Any) -> bool:
    """Whether a value of a graph is an array in NumPy, with memory of its own."""
    return isinstance(x, ArrayCell) or (type(x) is GraphTensor and x.type.of_arrays and bool(x.type.shape))


def widened(x: GraphTensor) -> Any:
    """The Python number `x` with 64 bits."""
    return apply(CAST, x, dtype=float64 if x.dtype.level == 2 else int64)


def number_of(x: Tensor) -> Any:
    """The inverse of `widened`; outside of graphs, the Python number itself."""
    if isinstance(x, EagerTensor):
        return x.numpy().item()
    return apply(CAST, x, dtype=float32 if x.dtype is float64 else int32, weak=True)


def tensor_of(x: Tensor) -> Any:
    """The tensor for a Python int returned by `widened`: of int32 if it fits; in a graph, `number_of` it."""
    return convert_to_tensor(x.numpy().item()) if isinstance(x, EagerTensor) else number_of(x)


def are_numbers(x: Any) -> bool:
    """Whether the elements of a list of the graph, or of a vector, represent Python numbers."""
    kind = type(x)
    element = x.type.element if kind is GraphList else x.type if kind is GraphTensor else None
    rank = 0 if kind is GraphList else 1
    return element is not None and element.weak and len(element.shape) == rank and element.dtype.level in (1, 2)


def widened_list(x: GraphList) -> Any:
    """The list of Python numbers `x` with 64 bits."""
    return list_cast(x, TensorType(float64 if x.type.element.dtype.level == 2 else int64, ()))


def numbers_in(x: GraphList) -> Any:
    """The inverse of `widened_list`."""
    return list_cast(x, TensorType(float32 if x.type.element.dtype is float64 else int32, (), True))


class NumberColumn(EagerList):
    """A list of 64-bit numbers that represents a list of Python numbers."""

    __slots__ = ()


def array_of_numbers(items: Sequence[Any]) -> Any:
    """Python floats as an array of float64, or 64-bit ints as one of int64; None for other items."""
    kind = type(items[0]) if items else None
    if (kind is not float and kind is not int) or operator.countOf(map(type, items), kind) != len(items):
        return None
    if kind is float:
        return np.frombuffer(array("d", items))
    try:
        return np.frombuffer(array("q", items), np.int64)
    except OverflowError:
        return None


def column_of_numbers(items: Sequence[Any]) -> NumberColumn | None:
    """Python floats or 64-bit ints as a list of a graph; None for other items."""
    numbers = array_of_numbers(items)
    return None if numbers is None else NumberColumn(numbers, ListType(type_of_array(numbers[0])))


def as_number(x: Any) -> Any:
    """The content of a StagedNumber or StateContainer; any other `x` itself."""
    if type(x) is StateContainer:
        return x.value
    return number_of(x.tensor) if type(x) is StagedNumber else x
