"""Growable lists: the values of a ListType."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.core.graph import Value
from runtime.core.types import ListType

__all__ = ["EagerList", "GraphList"]

Array = np.ndarray[Any, np.dtype[Any]]


class EagerList:
    """A growable list outside of graphs: the value of a ListType, as `apply` accepts and returns it.

    whole  the elements as returned by an executor: a sequence of arrays, or one array with the elements as rows
    """

    __slots__ = ("type", "whole")

    def __init__(self, items: Sequence[Array] | Array, type: ListType) -> None:
        self.whole = items
        self.type = type

    @property
    def items(self) -> Sequence[Array]:
        """The elements."""
        if isinstance(self.whole, np.ndarray):
            self.whole = tuple(self.whole)
        return self.whole


class GraphList:
    """A growable list inside a graph: wraps a `value` of a ListType."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def type(self) -> ListType:
        type = self.value.type
        assert isinstance(type, ListType), "a tensor is a GraphTensor"
        return type
