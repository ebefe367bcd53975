"""Ops on lists that are elements of lists, which store them as tensors: as ops on these tensors. So `rows[i][j]` and
`rows[i][j] = x` take one element each, though `rows[i]` is a list.

For other lists these are `list_get`, `list_set` and `list_stack`.
"""
from __future__ import annotations

from typing import Any

from runtime.core.tensor import GraphList, GraphTensor
from runtime.ops.indexing import getitem, setitem
from runtime.ops.lists import list_from_tensor, list_get, list_set, list_stack

__all__ = ["element_at", "stacked", "with_element"]


def element_at(list: Any, index: Any) -> Any:
    """The element at an index of the list. IndexOutOfRangeError at run time."""
    rows = _rows_of(list)
    return list_get(list, index) if rows is None else getitem(rows, index)


def with_element(list: Any, index: Any, x: Any) -> Any:
    """The list with `x`, a tensor, at an index. IndexOutOfRangeError at run time."""
    rows = _rows_of(list)
    if rows is None or x.type.dtype is not rows.dtype or x.type.shape != rows.type.shape[1:]:
        return list_set(list, index, x)
    return list_from_tensor(setitem(rows, (index,), x))


def stacked(list: Any) -> Any:
    """The tensor of the elements."""
    rows = _rows_of(list)
    return list_stack(list) if rows is None else rows


def _rows_of(list: Any) -> GraphTensor | None:
    """The tensor of whose rows the list was made, if it is an element of another list."""
    node = list.value.node if isinstance(list, GraphList) else None
    if node is None or node.op.name != "list_from_tensor" or len(node.inputs) > 1:
        return None
    rows = made = node.inputs[0]
    while made.node is not None and made.node.op.name == "setitem":
        made = made.node.inputs[0]
    is_element = made.node is not None and made.node.op.name in ("list_get", "list_pop")
    return GraphTensor(rows) if is_element else None
