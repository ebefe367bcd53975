"""Python's numbers among the attributes, items and variables that calls of a traced function change.

A number that each call changes, such as `self.step += 1`, is an input of the graph, and adapts in it to the tensors
that it meets, as a Python number does. It is read and left as int64 or float64.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.core.op import CAST
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import apply
from runtime.core.types import float32, float64, int32, int64
from runtime.numpy.array_objects import ArrayCell

__all__ = [
    "ArgumentNumber", "Held", "StagedNumber", "as_argument", "as_number", "can_be_staged", "is_number", "is_of_numpy",
    "number_of", "widened"]

class StagedNumber:
    """An int64 or float64 scalar that stands for a Python number."""

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


class ArgumentNumber(StagedNumber):
    """One among the arguments of a call, where the traced function gets the number itself."""

    __slots__ = ()

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return number_of(leaves[0])


class Held:
    """A list or dict that is state itself, where an attribute or variable holds it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


_OF_NUMPY: Final = (np.float64, np.int64)
"""NumPy's numbers that are as Python's; after a call they are Python's."""


def can_be_staged(x: Any) -> bool:
    """Whether `x` is a number that an input of a graph can stand for."""
    return type(x) is float or (type(x) is int and -2**63 <= x < 2**63) or type(x) in _OF_NUMPY


def as_argument(x: Any, stages: bool) -> Any:
    """A Python number of a graph as a StagedNumber, and if it `stages`, one outside of graphs, too; else `x`."""
    if (stages and can_be_staged(x)) or type(x) in _OF_NUMPY:
        return StagedNumber.of(x)
    return StagedNumber(widened(x)) if is_number(x) else x


def is_number(x: Any) -> bool:
    """Whether a value of a graph stands for a Python number."""
    return type(x) is GraphTensor and x.type.weak and not x.type.shape and x.dtype.kind in (1, 2)


def is_of_numpy(x: Any) -> bool:
    """Whether a value of a graph is an array in NumPy, with memory of its own."""
    return isinstance(x, ArrayCell) or (type(x) is GraphTensor and x.type.of_arrays and bool(x.type.shape))


def widened(x: GraphTensor) -> Any:
    """The Python number `x` with 64 bits."""
    return apply(CAST, x, dtype=float64 if x.dtype.kind == 2 else int64)


def number_of(x: Tensor) -> Any:
    """The inverse of `widened`; outside of graphs the number itself."""
    if isinstance(x, EagerTensor):
        return x.numpy().item()
    return apply(CAST, x, dtype=float32 if x.dtype is float64 else int32, weak=True)


def as_number(x: Any) -> Any:
    """What a StagedNumber or Held stands for; else `x`."""
    if type(x) is Held:
        return x.value
    return number_of(x.tensor) if type(x) is StagedNumber else x
