"""Lists from before that calls make longer: from the third length on they are growing lists of the graph, so that one
trace serves all lengths."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

from runtime.core.tensor import EagerList, EagerTensor, GraphList
from runtime.core.types import ListType, type_of_array
from runtime.staging.values.list import StagedItems

__all__ = ["LENGTHS", "GrownList", "as_grown", "extend"]

LENGTHS: Final = 3
"""So many lengths have a trace each before that."""


class GrownList:
    """A list of tensors of one type, whatever its length: as an argument, and where a call has left it."""

    __slots__ = ("items",)

    def __init__(self, items: EagerList | GraphList) -> None:
        self.items = items

    def __leaves__(self) -> Sequence[Any]:
        return [self.items]

    def __rebuild__(self, leaves: Sequence[Any]) -> GrownList:
        return GrownList(leaves[0])

    def staged(self) -> list[Any]:
        """What a list holds, while a function is traced, that has these items."""
        assert isinstance(self.items, GraphList)
        return [StagedItems([self.items])]


def as_grown(items: list[Any]) -> GrownList | None:
    """The items of a list; None if they are no eager tensors of one type."""
    if not items or operator.countOf(map(type, items), EagerTensor) != len(items):
        return None
    arrays = tuple([item._array for item in items])
    dtype, shape = arrays[0].dtype, arrays[0].shape
    if any(array.dtype != dtype or array.shape != shape for array in arrays):
        return None
    return GrownList(EagerList(arrays, ListType(type_of_array(arrays[0]))))


def extend(old: list[Any], new: Sequence[Any]) -> None:
    """Make a list have the `new` items: those that are as before stay the same objects."""
    same = 0
    for before, now in zip(old, new, strict=False):
        if not (type(now) is type(before) is EagerTensor and now.type == before.type
                and now._array.tobytes() == before._array.tobytes()):
            break
        same += 1
    old[same:] = new[same:]
