"""Copying the nodes of a finished graph into the graph that calls it."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core import trace
from runtime.core.graph import Graph, Node, Value
from runtime.core.variable_bindings import NO_VARIABLES

__all__ = ["copied", "copied_node", "copied_subgraph", "inline"]


def inline(
    graph: Graph, into: Graph, inputs: Sequence[Any], variables: Mapping[int, Any] = NO_VARIABLES
) -> list[Any]:
    """Append the nodes of `graph`, whose parent, if any, is `into` or encloses it; effects keep their order.

    `inputs`: tensors and lists for the graph's inputs; `variables`: by id, replacements for variables. Returns the
    tensors and lists for its outputs. `graph` is not changed.
    """
    if trace.watchers() and (errors := graph.errors):
        trace.announce_errors(into, errors)
    made: dict[Value, Value] = {}
    for x, value in zip(inputs, graph.inputs, strict=True):
        made[value] = trace.capture(into, x)
    for outer, inner in graph.captures:
        made[inner] = trace.capture(into, trace.wrap(outer) if isinstance(outer, Value) else outer)
    for node in graph.nodes:
        _copy(node, into, made, variables)
    return [trace.wrap(made[value]) for value in graph.outputs]


def copied(graph: Graph) -> Graph:
    """A copy of a graph without a parent."""
    return _copy_graph(graph, None, {})


def copied_node(node: Node, into: Graph, outside: dict[Value, Value]) -> Node:
    """A copy of a node, appended to the graph `into`; `outside` maps its inputs to values of that graph."""
    _copy(node, into, dict(outside))
    return into.nodes[-1]


def copied_subgraph(graph: Graph) -> Graph:
    """A copy of a sub-graph, with the same parent and captures."""
    return _copy_graph(graph, graph.parent, {outer: outer for outer, _ in graph.captures})


def _copy(node: Node, into: Graph, made: dict[Value, Value], variables: Mapping[int, Any] = NO_VARIABLES) -> None:
    params = {name: _copy_graph(param, into, made, variables) if isinstance(param, Graph) else
              variables.get(id(param), param) for name, param in node.params.items()}
    types = node.outputs[0].type if node.single else tuple([value.type for value in node.outputs])
    new = into.add_node(node.op, [made[value] for value in node.inputs], params, types, node.position)
    for old_value, new_value in zip(node.outputs, new.outputs, strict=True):
        new_value.hint = old_value.hint
        made[old_value] = new_value


def _copy_graph(
    graph: Graph, parent: Graph | None, outside: dict[Value, Value], variables: Mapping[int, Any] = NO_VARIABLES
) -> Graph:
    new = Graph(graph.name, parent)
    new.is_rolled = graph.is_rolled
    made: dict[Value, Value] = {}
    for value in graph.inputs:
        made[value] = new.add_input(value.type, value.hint)
    for outer, inner in graph.captures:
        copy = Value(new, inner.type, hint=inner.hint)
        new.captures.append((outside[outer] if parent is not None else outer, copy))
        made[inner] = copy
    for node in graph.nodes:
        _copy(node, new, made, variables)
    new.outputs = [made[value] for value in graph.outputs]
    return new
