"""NumPy arrays of the caller that a graph may update in place, item by item, as Python does."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.core.array_updates import updated
from runtime.core.graph import Graph

__all__ = ["are_few", "overwritten_inputs"]

_FEW: Final = 8


def overwritten_inputs(graph: Graph, donated: Mapping[int, int]) -> frozenset[int]:
    """The inputs whose memory the graph may overwrite as it runs: all that are `donated`, or none.

    Each of them must be updated by item assignments alone, also in loops and branches, each of which is the last use of
    the array before it. So if an error occurs in between, they have the content that Python would leave.
    """
    found = all(updated(graph, graph.outputs[output], in_place=True) is graph.inputs[number]
                for output, number in donated.items())
    return frozenset(donated.values()) if found else frozenset()


def are_few(graph: Graph, donated: Mapping[int, int]) -> bool:
    """Whether the assignments to overwritten inputs are outside of loops and branches, and so few that each check after
    them may have code that undoes them."""
    left = _FEW
    for output, number in donated.items():
        value = graph.outputs[output]
        while value is not graph.inputs[number]:
            left -= 1
            if left < 0 or value.node is None or value.node.op.name != "setitem":
                return False
            value = value.node.inputs[0]
    return True
