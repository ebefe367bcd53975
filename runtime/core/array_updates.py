"""Arrays that a graph updates item by item: which output is the updated version of which input."""
from __future__ import annotations

from runtime.core.graph import Graph, Node, Value

__all__ = ["updated"]


def updated(graph: Graph, value: Value, in_place: bool = False) -> Value | None:
    """The parameter of a graph of which `value` is the version after item assignments, also in loops and branches, so
    that it has its size; None if there is none. `in_place`: only if each update is the last use of the version before
    it."""
    uses = _Uses(graph) if in_place else None
    while value.node is not None:
        node = value.node
        before = _before(node, node.outputs.index(value), in_place)
        if before is None or (uses is not None and not uses.ends_at(before, node)):
            return None
        value = before
    return value


class _Uses:
    """When the values of one graph are used."""

    def __init__(self, graph: Graph) -> None:
        self.outputs = graph.outputs
        self.places = {node: number for number, node in enumerate(graph.nodes)}
        self.last = {value: number for number, node in enumerate(graph.nodes) for value in node.inputs}

    def ends_at(self, value: Value, node: Node) -> bool:
        """Whether a node of the graph is the last use of a value."""
        return self.last.get(value) == self.places.get(node, -1) and value not in self.outputs


def _before(node: Node, place: int, in_place: bool) -> Value | None:
    """The array that the node updates to make its output number `place`; if `in_place`, it reads it in no other way."""
    if node.op.name == "setitem":
        before: Value | None = node.inputs[0]
        return before if not in_place or node.inputs.count(node.inputs[0]) == 1 else None
    if node.op.name == "cond":
        found = {_captured(graph, _source(graph, place, in_place)) for graph in node.subgraphs.values()}
        before = found.pop()
        return before if not found and (not in_place or before not in node.operands) else None
    if node.op.name in ("while_loop", "reduce"):
        body = node.params["body"]
        state = body.inputs[len(body.inputs) - len(body.outputs) + place]
        before = node.operands[len(node.operands) - len(node.outputs) + place]
        is_own = not in_place or node.inputs.count(before) == 1
        return before if is_own and _source(body, place, in_place) is state else None
    return None


def _source(graph: Graph, place: int, in_place: bool) -> Value | None:
    value = graph.outputs[place]
    return updated(graph, value, in_place) if not in_place or graph.outputs.count(value) == 1 else None


def _captured(graph: Graph, inner: Value | None) -> Value | None:
    """The outer value that the graph captures as `inner`."""
    return next((outer for outer, other in graph.captures if other is inner), None)
