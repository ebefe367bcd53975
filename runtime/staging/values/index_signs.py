"""Which indices certainly count from the beginning of a list."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Final

import numpy as np

from autograph.backend import of_trace
from runtime.core.graph import Value
from runtime.core.tensor import GraphTensor
from runtime.ops.logic import less, where

__all__ = ["from_start", "is_from_start", "note_not_negative", "source_of"]

_DEPTH: Final = 4  # of the expressions that are looked at
_SUMS: Final = frozenset(("add", "multiply", "maximum", "floordiv", "mod", "minimum", "cast"))
"""Ops that give no negative number if no operand is negative."""


class _Known(threading.local):
    def __init__(self) -> None:
        self.values: dict[int, weakref.ref[Value]] = {}


_known: Final = of_trace(_Known())


def note_not_negative(value: Value) -> None:
    """Record that a scalar is never negative, such as the index of a loop."""
    _known.values[id(value)] = weakref.ref(value)


def is_from_start(index: Any) -> bool:
    """Whether an index is certainly not negative, or is a place in a dict."""
    if isinstance(index, GraphTensor):
        return _is_not_negative(index.value, _DEPTH)
    return isinstance(index, tuple) or (type(index) is int and index >= 0)


def from_start(index: Any, owner: list[Any]) -> Any:
    """The index of an element of a staged list, counted from the beginning."""
    if is_from_start(index):
        return index
    made: Any = where(less(index, 0), index + owner[0].view(owner).length, index)
    if isinstance(made, GraphTensor):
        note_not_negative(made.value)
    return made


def _is_not_negative(value: Value, depth: int) -> bool:
    value = source_of(value)
    known = _known.values.get(id(value))
    if known is not None and known() is value:
        return True
    if value.constant is not None:
        return bool(np.all(value.constant >= 0))
    node = value.node
    if node is None or not depth:
        return False
    if node.op.name in _SUMS:
        return all(_is_not_negative(each, depth - 1) for each in node.inputs)
    return node.op.name == "list_length" or (
        node.op.name == "where" and all(_is_not_negative(each, depth - 1) for each in node.inputs[1:]))


def source_of(value: Any) -> Any:
    """The value of an enclosing graph that a value captures; else itself."""
    while value.node is None:
        outer = next((outer for outer, inner in value.graph.captures if inner is value), None)
        if not isinstance(outer, Value):
            break
        value = outer
    return value
