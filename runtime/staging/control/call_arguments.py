"""The arguments and results of a call of a routine: the tensors among them, and a key for everything else."""
from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from autograph.backend import LISTS, has_staged_items
from runtime.core import pytree
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import ListType, TensorType, Type
from runtime.numpy.array_objects import ArrayCell, ArrayView, StagedArray

__all__ = ["ARRAY", "TENSOR", "Argument", "Arguments", "in_place_of", "mark", "packed", "strong"]

TENSOR: Final = object()
"""Stands for a tensor in the structure of a result."""
ARRAY: Final = object()
"""Stands for an array that the call creates."""
_ATOMS: Final = (bool, int, str, bytes, complex, type(None))


@dataclass(frozen=True)
class Argument:
    """Stands for an array among the arguments."""

    number: int


_CONTAINERS: Final = (*LISTS, tuple, dict)
_LEAVES: Final = (EagerTensor, GraphTensor, EagerList, GraphList)


class Arguments:
    """The arguments of a call: tensors and graph lists, and a key for everything else.

    arrays     the distinct NumPy arrays among them: a routine takes their contents, and returns the final contents
    is_simple  there are only tensors, arrays, Python's numbers, text and None, also in tuples
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], views: bool = False) -> None:
        """`views`: vectors that are views of an array count as arrays, which must not be written."""
        self.passed, self.views, self.is_simple = (args, kwargs), views, True
        self.leaves: list[Any] = []
        self.arrays: list[StagedArray] = []
        self.key: Hashable = self._key(args), self._key(kwargs)

    def _key(self, x: Any) -> Hashable:
        kind: Any = type(x)
        if kind in _CONTAINERS and not has_staged_items(x):
            self.is_simple &= kind is tuple or x is self.passed[1]
            items = x.items() if kind is dict else enumerate(x)
            return kind, tuple([(name if kind is dict else 0, self._key(item)) for name, item in items])
        if kind in _LEAVES:
            self.leaves.append(x)
            return strong(x.type)
        if self._is_array(x):
            number = self.number_of(x)
            if number is None:
                number = len(self.arrays)
                self.arrays.append(x)
                self.leaves.append(x.__tensor__())
            return kind, number, x.type
        if kind in _ATOMS:
            return kind, x
        self.is_simple &= kind is float
        return (kind, repr(x)) if kind is float else (kind, id(x))

    def _is_array(self, x: Any) -> bool:
        return type(x) is ArrayCell or (self.views and type(x) is ArrayView and x.ndim == 1)

    def number_of(self, x: Any) -> int | None:
        """The index of an array in `arrays`; None if it is not one of them."""
        return next((k for k, known in enumerate(self.arrays) if known is x), None)

    def replaced(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any], list[Any], list[ArrayCell]]:
        """The arguments with these leaves, and the containers and arrays created for them."""
        rest, made, arrays = iter(leaves), list[Any](), list[ArrayCell]()

        def new(x: Any) -> Any:
            kind = type(x)
            if kind in _CONTAINERS and not has_staged_items(x):
                copy = {name: new(item) for name, item in x.items()} if kind is dict else (
                    deque(map(new, x), x.maxlen) if kind is deque else kind(map(new, x)))
                made.append(copy)
                return copy
            if self._is_array(x):
                number = self.number_of(x)
                if number == len(arrays):
                    arrays.append(ArrayCell(next(rest), layout=x.layout if kind is ArrayCell else "C"))
                return x if number is None else arrays[number]
            return next(rest) if kind in _LEAVES else x

        args, kwargs = self.passed
        return new(args), new(kwargs), made, arrays


def in_place_of(x: Any, tensor: Any) -> Any:
    """The number `x` as a scalar of the dtype of `tensor`, if that is a scalar tensor whose dtype can represent it."""
    if type(x) not in (int, float) or type(tensor) not in (EagerTensor, GraphTensor) or tensor.type.shape != ():
        return x
    dtype = tensor.dtype
    if dtype.is_integer and type(x) is int:
        least, most = dtype.limits
        return convert_to_tensor(x, dtype) if least <= x <= most else x
    return convert_to_tensor(x, dtype) if dtype.is_floating else x


def mark(x: Any, arrays: Sequence[ArrayCell]) -> Any:
    """The representative of a result in the structure of all results."""
    if x is None or isinstance(x, str):
        return x
    if not isinstance(x, StagedArray):
        return TENSOR
    return next((Argument(k) for k, array in enumerate(arrays) if array is x), ARRAY)


def packed(structure: Any, tensors: Iterable[Any], arrays: Sequence[StagedArray]) -> Any:
    rest = iter(tensors)

    def new(mark: Any) -> Any:
        if isinstance(mark, Argument):
            return arrays[mark.number]
        return ArrayCell(next(rest)) if mark is ARRAY else next(rest) if mark is TENSOR else mark

    return pytree.map_structure(new, structure)


def strong(type: Type) -> Type:
    """The type with a dtype that is not weak."""
    if isinstance(type, ListType):
        return ListType(strong(type.element), type.known)  # type: ignore[arg-type]
    return TensorType(type.dtype, type.shape)
