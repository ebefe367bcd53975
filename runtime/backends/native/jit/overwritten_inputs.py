"""NumPy arrays of the caller that a graph may update in place, item by item, as Python does."""
from __future__ import annotations

from collections.abc import Mapping

from runtime.core.graph import Graph

__all__ = ["overwritten_inputs"]


def overwritten_inputs(graph: Graph, donated: Mapping[int, int]) -> frozenset[int]:
    """The inputs whose memory the graph may overwrite as it runs: all that are `donated`, or none.

    Each of them must be updated by a chain of item assignments, each of which is the last use of the array before it.
    So if an error occurs in between, they have the content that Python would leave.
    """
    places = {node: number for number, node in enumerate(graph.nodes)}
    last = {value: number for number, node in enumerate(graph.nodes) for value in node.inputs}
    for output, number in donated.items():
        value, outputs = graph.outputs[output], graph.outputs.count(graph.outputs[output])
        while value is not graph.inputs[number]:
            node = value.node
            if node is None or node.op.name != "setitem" or node not in places or outputs != 1:
                return frozenset()
            value, outputs = node.inputs[0], 1 + graph.outputs.count(node.inputs[0])
            if last[value] != places[node] or node.inputs.count(value) != 1:
                return frozenset()
    return frozenset(donated.values())

