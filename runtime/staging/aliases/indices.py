"""Which indices are equal, and which are others in each iteration of a loop."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import of_trace
from runtime.core.graph import Graph, Value
from runtime.core.tensor import GraphTensor
from runtime.core.trace import apply, current_graph, wrap
from runtime.staging.aliases.open_bodies import is_same
from runtime.staging.values.index_signs import is_from_start, note_not_negative, source_of

__all__ = ["differ_by_iteration", "hoisted", "is_index", "note_counter"]

_DEPTH: Final = 4  # of the expressions that are looked at
_PURE: Final = frozenset((
    "add", "subtract", "multiply", "maximum", "minimum", "floordiv", "mod", "cast", "list_length"))


class _Known(threading.local):
    def __init__(self) -> None:
        self.counters: dict[int, weakref.ref[Value]] = {}


_known: Final = of_trace(_Known())


def note_counter(value: Value) -> None:
    """Record that a scalar counts the iterations of a loop, from 0 on."""
    note_not_negative(value)
    _known.counters[id(value)] = weakref.ref(value)


def differ_by_iteration(indices: Sequence[Any], body: Graph | None) -> bool:
    """Whether these indices are equal in each iteration of a loop, whose body that graph is, and others in the next."""
    return all(isinstance(index, GraphTensor) and is_from_start(index) for index in indices) and all(
        is_index(indices[0], index) for index in indices) and _counts(indices[0].value, body, _DEPTH)


def _counts(value: Value, body: Graph | None, depth: int) -> bool:
    value = source_of(value)
    known = _known.counters.get(id(value))
    if known is not None and known() is value:
        return value.graph is body
    node = value.node
    if node is None or not depth or node.op.name not in ("cast", "add", "subtract"):
        return False
    varying = [each for each in node.inputs if not _is_from_outside(each, body, depth - 1)]
    return len(varying) == 1 and _counts(varying[0], body, depth - 1)


def _is_from_outside(value: Value, body: Graph | None, depth: int) -> bool:
    """Whether a value is the same in all iterations of a loop."""
    graph, value = body, source_of(value)
    while graph is not None and graph.parent is not value.graph:
        graph = graph.parent
    node = value.node
    return graph is not None or value.constant is not None or (
        node is not None and depth > 0 and node.op.name in _PURE and all(
            _is_from_outside(each, body, depth - 1) for each in node.inputs))


def is_index(a: Any, b: Any) -> bool:
    """Whether two indices are the same: `i + 1` is, each time."""
    if a is None or b is None:
        return False
    if type(a) is int and type(b) is int:
        return a == b
    if isinstance(a, tuple) and isinstance(b, tuple):  # keys of a dict
        return len(a) == len(b) and all(map(is_index, a, b))
    return is_same(a, b) or (isinstance(a, GraphTensor) and isinstance(b, GraphTensor) and _are_equal(a.value, b.value))


def hoisted(index: Any) -> Any:
    """An index that a nested body computed, as a value of the graph being traced; None if it depends on others of that
    body."""
    if isinstance(index, tuple):
        parts = [*map(hoisted, index)]
        return None if None in parts else type(index)(*parts) if hasattr(index, "_fields") else tuple(parts)
    if not isinstance(index, GraphTensor):
        return index
    return _hoisted(index.value, 4)


def _hoisted(value: Value, depth: int) -> Any:
    value, graph = source_of(value), current_graph()
    while graph is not None and graph is not value.graph:
        graph = graph.parent
    if graph is not None:
        return wrap(value)
    node = value.node
    if node is None or not depth or node.subgraphs or node.op.effect or not node.single:
        return None
    inputs = [_hoisted(each, depth - 1) for each in node.inputs]
    return None if any(each is None for each in inputs) else apply(node.op, *inputs, **node.params)


def _are_equal(a: Value, b: Value, depth: int = 4) -> bool:
    """Whether two values of the graph are computed in the same way."""
    a, b = source_of(a), source_of(b)
    if a is b:
        return True
    one, other = a.node, b.node
    if one is None or other is None or not depth or one.op is not other.op or one.subgraphs or one.op.effect:
        return a.constant is not None and b.constant is not None and a.type == b.type and bool(
            np.array_equal(a.constant, b.constant))
    return len(one.inputs) == len(other.inputs) and one.params == other.params and all(
        _are_equal(x, y, depth - 1) for x, y in zip(one.inputs, other.inputs, strict=True))
