"""Reverse mode through `cond`: a cond on the same predicate, whose branches pull back through those of the first.

The first cond also returns what its branches save, which is undefined where the other was taken.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final
from weakref import WeakSet

from runtime.autodiff.activity import Activity, variables_read
from runtime.autodiff.backward import handles, sweep
from runtime.autodiff.cotangents import Cotangents, zero_for
from runtime.autodiff.saving import drop_dead, settle
from runtime.core import trace
from runtime.core.graph import Graph, Node, Value
from runtime.core.tensor import GraphList, GraphTensor
from runtime.core.trace import apply, current_graph, set_outputs, tracing, wrap
from runtime.core.types import Type
from runtime.ops.control import COND, UNDEFINED

__all__ = ["STACKS", "Targets", "attach", "inner_key", "undefined"]

Tensor = GraphTensor | GraphList
STACKS: Final[WeakSet[Value]] = WeakSet()
"""The lists to which loops append what they save, where they come out of a loop or a cond."""


class Targets:
    """What sub-graphs of a node use from outside and a backward pass wants: values that are captured, and variables.

    The keys are those of `Cotangents`; `types` and `primal` are for them.
    """

    def __init__(self, graphs: Iterable[Graph], activity: Activity) -> None:
        self.types: dict[Any, Type] = {}
        self.variables: dict[int, Any] = {}
        for graph in graphs:
            for outer, inner in graph.captures:
                if inner in activity:
                    self.types[outer] = outer.type
            for key, variable in variables_read(graph).items():
                if key in activity.variables:
                    self.types[key] = variable.type
                    self.variables[key] = variable

    def primal(self, key: Any) -> Any:
        """The value, in the graph that is open, or the variable."""
        return self.variables[key] if key in self.variables else wrap(key)


def inner_key(graph: Graph, key: Any) -> Any:
    """What a target is in a sub-graph; None if it does not capture it."""
    return key if isinstance(key, int) else next((inner for outer, inner in graph.captures if outer is key), None)


def undefined(graph: Graph, type: Type) -> Value:
    """A value of a graph that nobody looks at."""
    return graph.add_node(UNDEFINED, (), {"type": type}, type).outputs[0]


def attach(back: Graph, captured: dict[Value, Any]) -> None:
    """Move a backward graph from the graph that it was traced in to the one that is open. `captured` has values of that
    for what it captures."""
    here = current_graph()
    assert here is not None
    back.parent = here
    pairs = [(trace.capture(here, x), inner) for inner, x in captured.items()]
    back.captures = []
    for outer, inner in pairs:
        if outer.constant is not None and outer.constant.ndim == 0:  # a constant is in no need of a way in
            node = Node(back, outer.node.op, (), outer.node.params, inner.type)  # type: ignore[union-attr]
            node.outputs = (inner,)
            inner.node = node
            back.nodes.insert(0, node)
        else:
            back.captures.append((outer, inner))
    back._captured = {id(outer): (outer, inner) for outer, inner in back.captures}


class _Branch:
    """One branch, pulled back."""

    def __init__(
        self, name: str, graph: Graph, given: dict[int, Any], targets: Targets, starts: dict[Any, Any],
        activity: Activity,
    ) -> None:
        self.graph = graph
        self.back = Graph(name, graph)
        self.outside: dict[Value, Any] = {}  # placeholders for what comes from the graph around
        self.results: dict[Any, Any] = {}
        cts = Cotangents()
        with tracing(self.back):
            for key, start in starts.items():
                inner = inner_key(graph, key)
                if inner is not None:
                    cts.put(inner, self._placeholder(start))
            for k, ct in given.items():
                value = graph.outputs[k]
                cts.add(value, self._placeholder(ct), wrap(value))
            sweep(graph.nodes, cts, activity)
            for key in targets.types:
                inner = inner_key(graph, key)
                found = None if inner is None else cts.get(inner)
                if found is not None:
                    self.results[key] = found

    def _placeholder(self, x: Tensor) -> Tensor:
        value = Value(self.back, x.type)
        self.outside[value] = x
        return wrap(value)

    def finish(self, node: Node, keys: Sequence[Any], targets: Targets, starts: dict[Any, Any]) -> None:
        """Close the graph; its results are the cotangents of `keys`."""
        back, graph = self.back, self.graph
        self.back.outputs = [self.results[key].value for key in keys if key in self.results]
        drop_dead(back)
        outside = {inner: outer for outer, inner in graph.captures}
        settle(back, graph, outside)
        captured = dict(self.outside)
        for value, inner in back.captures:
            captured[inner] = wrap(outside[value]) if value in outside else wrap(_saved(node, graph, value))
        attach(back, captured)
        with tracing(back):
            results = []
            for key in keys:
                found = self.results.get(key)
                if found is None:
                    found = starts[key] if key in starts else zero_for(targets.primal(key))
                results.append(found)
            set_outputs(back, results)


@handles("cond")
def _cond(node: Node, given: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    graphs = {name: node.params[name] for name in ("true", "false")}
    targets = Targets(graphs.values(), activity)
    live = {k: ct for k, ct in enumerate(given) if ct is not None and node.outputs[k] in activity}
    starts = {key: cts.get(key) for key in targets.types if key in cts}
    branches = [_Branch(name, graph, live, targets, starts, activity) for name, graph in graphs.items()]
    keys = [key for key in targets.types if any(key in branch.results for branch in branches)]
    if not keys:
        return
    for branch in branches:
        branch.finish(node, keys, targets, starts)
    results = apply(COND, wrap(node.inputs[0]), **{branch.back.name: branch.back for branch in branches})
    for key, result in zip(keys, results, strict=True):
        cts.put(key, result)


def _saved(node: Node, graph: Graph, value: Value) -> Value:
    """The result of a cond that is `value` if the branch `graph` was taken."""
    other: Graph = node.params["false" if graph is node.params["true"] else "true"]
    for k, mine in enumerate(graph.outputs):
        if mine is value and value.type.accepts(node.outputs[k].type):
            return node.outputs[k]
    for k, theirs in enumerate(other.outputs):
        unused = graph.outputs[k].node
        if theirs.type == value.type and unused is not None and unused.op is UNDEFINED:
            graph.outputs[k] = value
            if value in STACKS:
                STACKS.add(node.outputs[k])
            return node.outputs[k]
    graph.outputs.append(value)
    other.outputs.append(undefined(other, value.type))
    assert graph.parent is not None
    made = Value(graph.parent, value.type, node, value.hint)
    node.outputs = (*node.outputs, made)
    if value in STACKS:
        STACKS.add(made)
    return made
