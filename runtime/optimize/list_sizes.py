"""Lists whose elements all have one shape, of unknown sizes that are those of the graph's inputs.

Such a list is stored like one of known sizes. All lists that may share memory, as those before and after an update, or
the state of a loop, have one representation.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType
from runtime.optimize.symbolic_sizes import Sizes
from runtime.optimize.symbols import Shape, Symbol

__all__ = ["lists_of_one_shape"]

_KNOWN: Final = frozenset(("list_append", "list_get", "list_length", "list_new"))
"""Ops that such a list may be an operand or a result of, besides loops."""


def lists_of_one_shape(graph: Graph, sizes: Sizes) -> dict[Value, Shape]:
    """The shape of the elements, by list."""
    groups = _Groups()
    groups.add(graph)
    members: dict[Value, list[Value]] = {}
    for value in graph.values():
        if isinstance(value.type, ListType):
            members.setdefault(groups.leader(value), []).append(value)
    others = {groups.leader(value) for value in (*groups.others, *graph.inputs, *graph.outputs)}
    found: dict[Value, Shape] = {}
    for leader, values in members.items():
        shapes = {sizes.shapes.get(value, sizes.own(value)) for value in values} - {None}
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape is not None and leader not in others and _is_of_inputs(shape):
            found.update(dict.fromkeys(values, shape))
    return found


def _is_of_inputs(shape: Shape) -> bool:
    """Whether there are unknown sizes, all of them those of inputs."""
    symbols = [size for size in shape if isinstance(size, Symbol)]
    return bool(symbols) and all(size.key[0] == "input" for size in symbols)


class _Groups:
    """A partition of the lists of a graph: those of a group have one representation."""

    def __init__(self) -> None:
        self.leaders: dict[Value, Value] = {}
        self.others: list[Value] = []  # lists that have the representation of their type

    def leader(self, value: Value) -> Value:
        while value in self.leaders:
            value = self.leaders[value]
        return value

    def join(self, x: Value, y: Value) -> None:
        x, y = self.leader(x), self.leader(y)
        if x is not y:
            self.leaders[x] = y

    def add(self, graph: Graph) -> None:
        for outer, inner in graph.captures:
            if isinstance(inner.type, ListType):
                if isinstance(outer, Value):
                    self.join(inner, outer)
                else:
                    self.others.append(inner)
        for node in graph.nodes:
            for sub in node.subgraphs.values():
                self.add(sub)
            if node.op.name in ("while_loop", "reduce"):
                self.loop(node)
            elif node.op.name == "list_append":
                self.join(node.inputs[0], node.outputs[0])
            elif node.op.name not in _KNOWN:
                self.others += _lists(node)

    def loop(self, node: Node) -> None:
        body, test, count = node.params["body"], node.params.get("test"), len(node.outputs)
        states = [node.operands, body.inputs, body.outputs, *([] if test is None else [test.inputs])]
        for value, *more in zip(node.outputs, *[values[len(values) - count:] for values in states], strict=True):
            if isinstance(value.type, ListType):
                for other in more:
                    self.join(value, other)


def _lists(node: Node) -> Iterator[Value]:
    """The lists among a node's operands, its results, and what its sub-graphs take and give."""
    graphs = node.subgraphs.values()
    inner = [values for graph in graphs for values in (graph.inputs, graph.outputs)]
    for values in (node.operands, node.outputs, *inner):
        yield from [value for value in values if isinstance(value.type, ListType)]
