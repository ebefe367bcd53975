"""Checks of all results for infinities and NaN: `rt.debugging.enable_check_numerics`."""
from __future__ import annotations

from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied
from runtime.core.op import REGISTRY
from runtime.core.positions import place_of_result
from runtime.core.types import TensorType

__all__ = ["with_numeric_checks"]

_UNSEEN = frozenset(("const", "undefined", "check_numerics", "list_get", "list_pop"))
"""Ops that compute no new result."""


def with_numeric_checks(graph: Graph) -> Graph:
    """A copy of a graph that raises at the first result that is infinite or NaN."""
    made = copied(graph)
    _check(made)
    return made


def _check(graph: Graph) -> None:
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes.append(node)
        for sub in node.subgraphs.values():
            _check(sub)
        if not node.subgraphs and node.op.name not in _UNSEEN:
            nodes += [_of(graph, node, value) for value in node.outputs if _is_float(value)]
    graph.nodes = nodes


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TensorType) and (value.type.dtype.is_floating or value.type.dtype.is_complex)


def _of(graph: Graph, node: Node, value: Value) -> Node:
    params = {"message": f"{place_of_result(node.op.name, node.position)} is not finite"}
    return Node(graph, REGISTRY["check_numerics"], [value], params, value.type, node.position)
