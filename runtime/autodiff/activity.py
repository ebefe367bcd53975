"""Activity analysis: the graph values that depend differentiably on given ones."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.autodiff.rules.registry import CONSTANT
from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, Type

__all__ = ["Activity", "differentiable", "error_parts", "state_of", "useful_state", "variables_read"]


def differentiable(type: Type) -> bool:
    """Whether values of the type can have a cotangent."""
    dtype = type.element.dtype if isinstance(type, ListType) else type.dtype
    return dtype.is_floating or dtype.is_complex


def state_of(loop: Node, graph: Graph) -> list[Value]:
    """The inputs of a loop's body or test that are its state."""
    return graph.inputs[len(graph.inputs) - len(loop.outputs):]


def variables_read(graph: Graph, known: frozenset[Graph] = frozenset()) -> dict[int, Any]:
    """The variables that a graph reads, by id; includes the routines that it calls, except in the graphs `known`."""
    found: dict[int, Any] = {}
    for node in graph.walk():
        if node.op.name == "read_variable":
            found[id(node.params["variable"])] = node.params["variable"]
        elif node.op.name == "call" and node.params["function"].graph not in known:
            routine = node.params["function"].graph
            found.update(variables_read(routine, known | {graph, routine}))
    return found


def error_parts(node: Node, handler: Graph) -> list[Node]:
    """The nodes in a `try_`'s handler that extract floats or complex numbers from the error."""
    return [inner for inner in handler.nodes if inner.op.name == "error_part" and differentiable(inner.outputs[0].type)
            and inner.params["region"] is node.params.get("region")]


class Activity:
    """The values, including those in sub-graphs, that depend on certain values and variables (given by id)."""

    def __init__(self, values: Iterable[Value] = (), variables: Iterable[int] = ()) -> None:
        self.values = {value for value in values if differentiable(value.type)}
        self.variables = set(variables)

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def add(self, value: Value) -> bool:
        """Mark a value as dependent. Returns whether it was not marked before."""
        if value in self.values or not differentiable(value.type):
            return False
        self.values.add(value)
        return True

    def enter(self, graph: Graph) -> None:
        """Mark a graph's captures of dependent values."""
        for outer, inner in graph.captures:
            if isinstance(outer, Value) and outer in self.values:
                self.add(inner)

    def visit(self, nodes: Iterable[Node]) -> bool:
        """Mark the dependent results of nodes, in order. Returns whether any were not marked before."""
        return any([self._node(node) for node in nodes])

    def _node(self, node: Node) -> bool:
        name = node.op.name
        if name == "read_variable":
            return id(node.params["variable"]) in self.variables and self.add(node.outputs[0])
        if node.subgraphs:
            for graph in node.subgraphs.values():
                self.enter(graph)
            return _CONTROL.get(name, Activity._alike)(self, node)
        if not any(value in self.values for value in node.inputs) and not (
                name == "call" and self.variables & variables_read(node.params["function"].graph).keys()):
            return False
        if name in CONSTANT:
            return False
        return any([self.add(value) for value in node.outputs])

    def _alike(self, node: Node) -> bool:
        """Mark the results of sub-graphs without inputs, or whose inputs come from `keep`."""
        news = False
        for graph in node.subgraphs.values():
            self._kept(node, graph)
            news = self.visit(graph.nodes) or news
            news = any([self.add(out) for out, value in zip(node.outputs, graph.outputs, strict=True)
                        if value in self.values]) or news
        return news

    def _kept(self, node: Node, handler: Graph) -> None:
        region = node.params.get("region")
        parts = error_parts(node, handler)
        if region is None or not (handler.inputs or parts):
            return
        for inner in node.params["body"].walk():
            if inner.op.name == "keep" and inner.params["region"] is region:
                for value, state in zip(inner.inputs, handler.inputs):  # the body has no inputs
                    if value in self.values:
                        self.add(state)
            elif "raised" in inner.params and any(value in self.values for value in inner.inputs):
                for part in parts:
                    self.add(part.outputs[0])

    def _loop(self, node: Node) -> bool:
        body: Graph = node.params["body"]
        state = state_of(node, body)
        operands = node.operands
        init = operands[len(operands) - len(state):]
        for value, inner in zip(init, state, strict=True):
            if value in self.values:
                self.add(inner)
        news = False
        while True:
            more = self.visit(body.nodes)
            for value, inner in zip(body.outputs, state, strict=True):
                more = (value in self.values and self.add(inner)) or more
            if not more:
                break
            news = True
        for out, inner in zip(node.outputs, state, strict=True):
            news = (inner in self.values and self.add(out)) or news
        return news

    def _custom(self, node: Node) -> bool:
        operands = node.operands[:node.params["count"]]
        return any(value in self.values for value in operands) and any([self.add(v) for v in node.outputs])


_CONTROL = {"while_loop": Activity._loop, "reduce": Activity._loop, "custom_gradient": Activity._custom}


def useful_state(loop: Node, activity: Activity, wanted: Iterable[int]) -> list[int]:
    """The states of a loop whose cotangents the backward pass carries: those `wanted`, and those they depend on."""
    body: Graph = loop.params["body"]
    state = state_of(loop, body)
    found = {k for k in wanted if state[k] in activity or body.outputs[k] in activity}
    while True:
        useful = _useful(body.nodes, [body.outputs[k] for k in found], activity)
        more = {k for k, value in enumerate(state) if value in useful and value in activity}
        if more <= found:
            return sorted(found)
        found |= more


def _useful(nodes: Sequence[Node], outputs: Iterable[Value], activity: Activity) -> set[Value]:
    """The active values on which `outputs` depend."""
    useful = {value for value in outputs if value in activity}
    for node in reversed(nodes):
        results = [k for k, value in enumerate(node.outputs) if value in useful]
        if not results:
            continue
        if node.op.name == "cond":
            for graph in node.subgraphs.values():
                _useful_outside(graph, [graph.outputs[k] for k in results], activity, useful)
        elif node.op.name in ("while_loop", "reduce"):
            body: Graph = node.params["body"]
            states = useful_state(node, activity, results)
            operands = node.operands
            useful.update(operands[len(operands) - len(node.outputs) + k] for k in states)
            _useful_outside(body, [body.outputs[k] for k in states], activity, useful)
        else:
            useful.update(value for value in node.inputs if value in activity)
    return useful


def _useful_outside(graph: Graph, outputs: Iterable[Value], activity: Activity, useful: set[Value]) -> None:
    """Add the values of the enclosing graph on which outputs of a sub-graph depend."""
    inside = _useful(graph.nodes, outputs, activity)
    useful.update(outer for outer, inner in graph.captures if inner in inside)
