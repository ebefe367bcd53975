"""Cotangents of lists: lists of the same length and element type."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.graph import Graph
from runtime.core.trace import add_input, apply, convert_to_tensor, current_graph, set_outputs, tracing
from runtime.core.types import ListType
from runtime.ops.control import REDUCE
from runtime.ops.creation import zeros_like
from runtime.ops.lists import list_append, list_get, list_length, list_reserve, list_set
from runtime.ops.math import add

__all__ = ["add_lists", "for_each", "zero_list"]


def zero_list(list: Any) -> Any:
    """The zero cotangent of a list: as many elements, unwritten, or zeros where shapes are unknown."""
    type: ListType = list.type
    if not type.known or None not in type.element.shape:
        return list_reserve(list_length(list), type.element, type.known)

    def step(i: Any, made: Any) -> Any:
        return list_append(made, zeros_like(list_get(list, i)))

    return for_each(list_length(list), step, list_reserve(0, type.element), type)


def add_lists(a: Any, b: Any) -> Any:
    """The element-wise sums of two lists of the same length."""
    if not a.type.known or not b.type.known:
        return a if a.type.known else b

    def step(i: Any, total: Any) -> Any:
        return list_set(total, i, add(list_get(total, i), list_get(b, i)))

    return for_each(list_length(a), step, a, a.type)


def for_each(count: Any, step: Callable[[Any, Any], Any], state: Any, type: ListType) -> Any:
    """The list after `state = step(i, state)` for each i below `count`, an int or a scalar."""
    graph = current_graph()
    if graph is None:
        for i in range(int(count)):
            state = step(i, state)
        return state
    count = convert_to_tensor(count)
    body = Graph("body", graph)
    with tracing(body):
        i = add_input(body, count.type, "i")
        set_outputs(body, [step(i, add_input(body, type))])
    (result,) = apply(REDUCE, count, state, body=body)
    return result
