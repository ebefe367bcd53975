"""Forward mode: tangents computed together with the values.

`push_forward` changes a graph in place: each node is followed by the nodes of its rule, and control flow carries
tangents.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.activity import Activity, state_of
from runtime.autodiff.backward import missing, refuse_reads
from runtime.autodiff.cotangents import fit, zero_for
from runtime.autodiff.errors_as_data import as_cond, depends_on_body
from runtime.autodiff.rules.registry import CONSTANT, JVP, Applied
from runtime.autodiff.saving import recaptured
from runtime.core.errors import Place
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied
from runtime.core.tensor import GraphList, GraphTensor
from runtime.core.trace import capture, tracing, wrap
from runtime.ops.exceptions import TRY

__all__ = ["Tangents", "apply_jvp", "push_forward", "tangent_graph"]


class Tangents:
    """Tangents by value, or by id of a variable; a missing one is zero."""

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        return self._found.get(key)

    @property
    def variables(self) -> dict[int, Any]:
        """The tangents of variables."""
        return {key: tangent for key, tangent in self._found.items() if isinstance(key, int)}

    def put(self, key: Any, tangent: Any) -> None:
        if tangent is not None:
            self._found[key] = tangent


def apply_jvp(node: Applied, tangents: Sequence[Any], position: Place | None) -> Sequence[Any]:
    """The tangents of an op's results, by its rule, given those of its operands. NoGradientError if it has no rule."""
    rule = JVP.get(node.name)
    if rule is None:
        if node.name in CONSTANT:
            return [None] * len(node.outputs)
        raise missing(node.name, position, "jvp")
    results = rule(node, *tangents)
    assert len(results) == len(node.outputs), f"the rule of {node.name} gives {len(results)} tangents"
    return results


def push_forward(graph: Graph, start: int, tangents: Tangents) -> None:
    """Add the tangents of the results of `graph`'s nodes, from node `start` on, to `tangents`, which holds those of
    their operands. The nodes that compute them are inserted in between."""
    with tracing(graph):
        _push(graph, start, tangents)


def _push(graph: Graph, start: int, tangents: Tangents) -> None:
    rest = graph.nodes[start:]
    del graph.nodes[start:]
    for node in rest:
        first = len(graph.nodes)
        if node.op.name == "custom_gradient":  # its results are differentiated as computed
            graph.nodes.append(node)
            for value, made in zip(node.operands[node.params["count"]:], node.outputs, strict=True):
                tangents.put(made, tangents.get(value))
        elif node.subgraphs:
            _control(graph, node, tangents)
        else:
            graph.nodes.append(node)
            _apply(node, tangents)
        if node.position is not None:
            position = node.position.derivative(node.op.name)
            for new in graph.nodes[first:]:
                if new is not node:
                    new.position = position
    graph.executable = None


def _apply(node: Node, tangents: Tangents) -> None:
    if node.op.name == "read_variable":
        tangents.put(node.outputs[0], tangents.get(id(node.params["variable"])))
        return
    refuse_reads(node, tangents.variables)
    in_tangents = [tangents.get(value) for value in node.inputs]
    if all(x is None for x in in_tangents):
        return
    applied = Applied(node.op.name, [*map(wrap, node.inputs)], [*map(wrap, node.outputs)], node.params,
                      [x is not None for x in in_tangents])
    for value, tangent in zip(node.outputs, apply_jvp(applied, in_tangents, node.position), strict=True):
        tangents.put(value, None if tangent is None else fit(tangent, value.type))


def _control(graph: Graph, node: Node, tangents: Tangents) -> None:
    """Make a node with sub-graphs carry tangents: as additional results, and in loops also as state."""
    active = Activity([v for v in node.inputs if tangents.get(v) is not None], tangents.variables)
    active.visit([node])
    results = [k for k, value in enumerate(node.outputs) if value in active]
    if not results:
        graph.nodes.append(node)
        return
    if node.op is TRY and depends_on_body(node, active):
        as_cond(node)
    operands = node.operands
    loop = node.op.name in ("while_loop", "reduce")
    starts: list[Value] = []
    if loop:
        init = operands[len(operands) - len(node.outputs):]
        for k in results:
            found = tangents.get(init[k])
            starts.append(capture(graph, zero_for(wrap(init[k])) if found is None else found))
    for name, sub in node.subgraphs.items():
        _sub(node, name, sub, results, loop, tangents)
    recaptured(node, [*operands, *starts])
    made = [Value(graph, node.outputs[k].type, node) for k in results]
    node.outputs = (*node.outputs, *made)
    graph.nodes.append(node)
    for k, value in zip(results, made, strict=True):
        tangents.put(node.outputs[k], wrap(value))


def _sub(node: Node, name: str, sub: Graph, results: Sequence[int], loop: bool, tangents: Tangents) -> None:
    """Extend one sub-graph by the tangents of its results numbered `results`, as additional results."""
    inner = Tangents()
    for key, tangent in tangents.variables.items():
        inner.put(key, tangent)
    for outer, value in list(sub.captures):
        found = tangents.get(outer)
        if found is not None:
            inner.put(value, wrap(capture(sub, found)))
    if loop:
        state = state_of(node, sub)
        for k in results:
            inner.put(state[k], wrap(sub.add_input(state[k].type)))
        if name == "test":
            return
    push_forward(sub, 0, inner)
    with tracing(sub):
        for k in results:
            value = sub.outputs[k]
            found = inner.get(value)
            sub.outputs.append(capture(sub, fit(zero_for(wrap(value)) if found is None else found, value.type)))


def tangent_graph(
    graph: Graph, wanted: Sequence[int], variables: Sequence[Any]
) -> tuple[Graph, list[int | None]]:
    """The graph with additional inputs, the tangents of the parameters (inputs, then captures) numbered `wanted` and of
    `variables`; and with additional results, the tangents of its results. Returns for each result the number of its
    tangent; None: zero."""
    made = copied(graph)
    made.name = f"{graph.name}_tangent"
    tangents = Tangents()
    parameters = made.parameters
    for i in wanted:
        hint = parameters[i].hint
        tangents.put(parameters[i], wrap(made.add_input(parameters[i].type, f"tangent_{hint or i}")))
    for variable in variables:
        tangents.put(id(variable), wrap(made.add_input(variable.type, f"tangent_{variable.name}")))
    push_forward(made, 0, tangents)
    found: list[int | None] = []
    for value in list(made.outputs):
        tangent = tangents.get(value)
        found.append(None if tangent is None else len(made.outputs))
        if isinstance(tangent, (GraphTensor, GraphList)):
            made.outputs.append(tangent.value)
    return made, found
