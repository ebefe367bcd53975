"""NumPy arrays of the caller that a graph may update in place, item by item, as Python does."""
from __future__ import annotations

from collections.abc import Mapping

from runtime.core.array_updates import updated
from runtime.core.graph import Graph

__all__ = ["are_in_sequence", "overwritten_inputs"]


def overwritten_inputs(graph: Graph, donated: Mapping[int, int]) -> frozenset[int]:
    """The inputs whose memory the graph may overwrite as it runs: all that are `donated`, or none.

    Each of them must be updated by item assignments alone, also in loops and branches, each of which is the last use of
    the array before it. So if an error occurs in between, they have the content that Python would leave.
    """
    found = all(updated(graph, graph.outputs[output], in_place=True) is graph.inputs[number]
                for output, number in donated.items())
    return frozenset(donated.values()) if found else frozenset()


def are_in_sequence(graph: Graph, donated: Mapping[int, int]) -> bool:
    """Whether all assignments to overwritten inputs are outside of loops and branches."""
    for output, number in donated.items():
        value = graph.outputs[output]
        while value is not graph.inputs[number]:
            if value.node is None or value.node.op.name != "setitem":
                return False
            value = value.node.inputs[0]
    return True
