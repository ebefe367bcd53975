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
    """A growable list outside of graphs: the value of a ListType, which `apply` accepts and returns."""

    __slots__ = ("items", "type")

    def __init__(self, items: Sequence[Array], type: ListType) -> None:
        self.items = items
        self.type = type


class GraphList:
    """A growable list inside a graph: stands for a `value` of a ListType."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def type(self) -> ListType:
        type = self.value.type
        assert isinstance(type, ListType), "a tensor is a GraphTensor"
        return type
