"""The values that a scalar takes in the iterations of the traced loops, if it depends only on their indices."""
from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import of_trace
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import kernel_for

__all__ = ["Undecided", "all_values", "note_index"]

_MOST: Final = 100_000
"""The greatest number of iterations that are evaluated."""


class Undecided(Exception):
    """The values depend on loop-carried state."""


class _Indices(threading.local):
    def __init__(self) -> None:
        self.counts: dict[int, tuple[Value, int | Value]] = {}


_indices: Final = of_trace(_Indices())


def note_index(index: Value, count: int | Value) -> None:
    """Record that a value is the index of a loop, from 0 to `count - 1`; a value of the graph around it may be the
    count."""
    _indices.counts[id(index)] = index, count


def all_values(value: Value, outside: Graph) -> Iterator[Any]:
    """The values that a scalar takes in the iterations of the loops inside the graph `outside`; none if it depends on a
    value of `outside`. Undecided if it depends on loop-carried state, or is not a simple expression."""
    found = _Expression(outside)
    found.add(value)
    if not found.is_from_outside and found.is_open:
        raise Undecided
    return iter(()) if found.is_from_outside else found.evaluate(value)


class _Expression:
    """The backward slice of a value: indices, constants, and nodes in topological order."""

    def __init__(self, outside: Graph) -> None:
        self.outside, self.is_from_outside = outside, False
        self.is_open = False
        """Whether there is an index of a loop whose count is computed inside."""
        self.known: dict[Value, Any] = {}
        """By value: the array of a constant, the value that a capture passes in, or the node that computes it."""
        self.indices: dict[Value, int] = {}
        self.order: list[Value] = []

    def add(self, value: Value) -> None:
        pending = [(value, False)]
        while pending:
            each, is_ready = pending.pop()
            if is_ready:
                self.order.append(each)
            elif each not in self.known and each not in self.indices:
                parts = self._parts(each)
                pending += [(each, True), *((part, False) for part in parts)]

    def _parts(self, value: Value) -> Sequence[Value]:
        index = _indices.counts.get(id(value))
        if index is not None:
            if isinstance(index[1], Value):
                self.is_open = True
                self.known[value] = index[1]
                return (index[1],)
            self.indices[value] = index[1]
            return ()
        node = value.node
        if node is None:
            outer = next((outer for outer, inner in value.graph.captures if inner is value), None)
            self.known[value] = outer
            if isinstance(outer, Value) and not outer.graph.contains(self.outside):
                return (outer,)
            if outer is None and not value.graph.contains(self.outside):
                raise Undecided
            constant = outer.constant if isinstance(outer, Value) else None
            self.is_from_outside |= constant is None
            self.known[value] = constant
            return ()
        self.known[value] = node
        if node.subgraphs or node.effect or node.op.foreign or not node.single:
            raise Undecided
        return node.inputs

    def evaluate(self, value: Value) -> Iterator[Any]:
        if math.prod(self.indices.values()) > _MOST:
            raise Undecided
        values: dict[Value, Any] = {}
        for numbers in itertools.product(*map(range, self.indices.values())):
            values.update(zip(self.indices, map(np.int64, numbers), strict=True))
            for each in self.order:
                if each not in self.indices:
                    known = self.known[each]
                    values[each] = values[known] if isinstance(known, Value) else (
                        _result(known, values) if isinstance(known, Node) else known)
            yield values[value]


def _result(node: Node, values: dict[Value, Any]) -> Any:
    if node.op.name == "const":
        return node.params["value"]
    kernel = kernel_for(node.op, [value.type for value in node.inputs], [value.type for value in node.outputs])
    try:
        with np.errstate(all="ignore"):
            return kernel(*[values[value] for value in node.inputs], **node.params)
    except Exception:
        raise Undecided from None
