"""Reverse mode through `cond` and `try_`: a cond on the path taken, whose branches compute its cotangents.

The forward node also returns the residuals of its sub-graphs, which are undefined for those not taken; a `try_` also
returns which one was taken.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import until_gone
from runtime.autodiff.activity import Activity, variables_read
from runtime.autodiff.backward import handles, sweep
from runtime.autodiff.cotangents import Cotangents, fit, zero_for
from runtime.autodiff.errors_as_data import as_cond, depends_on_body
from runtime.autodiff.saving import drop_dead, plan_saved, undefined
from runtime.core.graph import Graph, Node, Value
from runtime.core.tensor import GraphList, GraphTensor
from runtime.core.trace import apply, capture, current_graph, set_outputs, tracing, wrap
from runtime.core.types import TensorType, Type, int32
from runtime.ops.control import COND, UNDEFINED
from runtime.ops.logic import equal

__all__ = ["STACKS", "Targets", "attach", "gathered", "inner_keys", "note_stack"]

Tensor = GraphTensor | GraphList
STACKS: Final[dict[int, object]] = {}
"""By the ids of values, for their lifetime: results of loops or conds that are lists of a loop's residuals."""


def note_stack(value: Value) -> None:
    STACKS[id(value)] = until_gone(value, STACKS, id(value))


class Targets:
    """The values that sub-graphs of a node use from outside and for which a backward pass computes cotangents: captured
    values, and variables.

    The keys are those of `Cotangents`; `types` and `primal` are indexed by them.
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
        """The value in the current graph, or the variable."""
        return self.variables[key] if key in self.variables else wrap(key)


def inner_keys(graph: Graph, key: Any) -> list[Any]:
    """The captures of a target in a sub-graph: none, one, or, rarely, several."""
    return [key] if isinstance(key, int) else [inner for outer, inner in graph.captures if outer is key]


def gathered(cts: Cotangents, graph: Graph, key: Any) -> Any:
    """The cotangent of a target in a sub-graph, or None."""
    first, *others = inner_keys(graph, key) or [None]
    for inner in others:
        cts.add(first, cts.pop(inner), None)
    return cts.get(first)


def attach(back: Graph, captured: dict[Value, Any]) -> None:
    """Move a backward graph from the graph in which it was traced to the current one. `captured` maps its captures to
    values of the current graph."""
    here = current_graph()
    assert here is not None
    back.parent = here
    pairs = [(capture(here, x), inner) for inner, x in captured.items()]
    back.captures = []
    for outer, inner in pairs:
        if outer.constant is not None and outer.constant.ndim == 0:  # constants need no capture
            node = Node(back, outer.node.op, (), outer.node.params, inner.type)  # type: ignore[union-attr]
            node.outputs = (inner,)
            inner.node = node
            back.nodes.insert(0, node)
        else:
            back.captures.append((outer, inner))
    back._captured = {id(outer): (outer, inner) for outer, inner in back.captures}


class _Branch:
    """The reverse mode of one branch."""

    def __init__(
        self, graph: Graph, out_cts: dict[int, Any], targets: Targets, starts: dict[Any, Any],
        activity: Activity,
    ) -> None:
        self.graph = graph
        self.back = Graph("back", graph)
        self.outside: dict[Value, Any] = {}  # placeholders for values of the enclosing graph
        self.results: dict[Any, Any] = {}
        cts = Cotangents()
        with tracing(self.back):
            for key, start in starts.items():
                for inner in inner_keys(graph, key)[:1]:
                    cts.put(inner, self._placeholder(start))
            for k, ct in out_cts.items():
                value = graph.outputs[k]
                cts.add(value, self._placeholder(ct), wrap(value))
            sweep(graph.nodes, cts, activity)
            for key in targets.types:
                found = gathered(cts, graph, key)
                if found is not None:
                    self.results[key] = found

    def _placeholder(self, x: Tensor) -> Tensor:
        value = Value(self.back, x.type)
        self.outside[value] = x
        return wrap(value)

    def finish(self, node: Node, keys: Sequence[Any], targets: Targets, starts: dict[Any, Any]) -> None:
        """Complete the graph; its results are the cotangents of `keys`."""
        back, graph = self.back, self.graph
        self.back.outputs = [self.results[key].value for key in keys if key in self.results]
        drop_dead(back)
        outside = {inner: outer for outer, inner in graph.captures}
        plan_saved(back, graph, outside)
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
                results.append(fit(found, targets.types[key]))
            set_outputs(back, results)


@handles("cond")
def _cond(node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    _pull(node, [node.params["true"], node.params["false"]], out_cts, cts, activity)


@handles("try_")
def _try(node: Node, out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    """Reverse mode along the path taken: the body, or a handler."""
    if depends_on_body(node, activity):
        as_cond(node)
        activity.visit([node])
    _pull(node, [*node.subgraphs.values()], out_cts, cts, activity)


def _pull(node: Node, graphs: Sequence[Graph], out_cts: Sequence[Any], cts: Cotangents, activity: Activity) -> None:
    targets = Targets(graphs, activity)
    live = {k: ct for k, ct in enumerate(out_cts) if ct is not None and node.outputs[k] in activity}
    starts = {key: cts.get(key) for key in targets.types if key in cts}
    branches = [_Branch(graph, live, targets, starts, activity) for graph in graphs]
    keys = [key for key in targets.types if any(key in branch.results for branch in branches)]
    if not keys:
        return
    path = wrap(node.inputs[0]) if node.op is COND else wrap(_path(node, graphs))
    results = _chosen(node, branches, 0, path, lambda branch: branch.finish(node, keys, targets, starts))
    for key, result in zip(keys, results, strict=True):
        cts.put(key, result)


def _chosen(
    node: Node, branches: Sequence[_Branch], k: int, path: Any, finish: Callable[[_Branch], None]
) -> tuple[Any, ...]:
    """The results of the branch taken, among those from number `k` on."""
    here = current_graph()
    finish(branches[k])
    if k + 2 == len(branches):
        finish(branches[k + 1])
        other = branches[k + 1].back
    else:
        other = Graph("false", here)
        with tracing(other):
            set_outputs(other, _chosen(node, branches, k + 1, path, finish))
    branches[k].back.name, other.name = "true", "false"
    made: tuple[Any, ...] = apply(COND, path if node.op is COND else equal(path, k), true=branches[k].back, false=other)
    return made


def _path(node: Node, graphs: Sequence[Graph]) -> Value:
    """An additional result of a `try_`: the number of the sub-graph that was completed."""
    for k, graph in enumerate(graphs):
        with tracing(graph):
            graph.outputs.append(capture(graph, np.int32(k)))
    return _added(node, TensorType(int32))


def _added(node: Node, type: Type) -> Value:
    """An additional result of a node."""
    made = Value(next(iter(node.subgraphs.values())).parent, type, node)  # type: ignore[arg-type]
    node.outputs = (*node.outputs, made)
    return made


def _saved(node: Node, graph: Graph, value: Value) -> Value:
    """The result of a node that holds `value` if the sub-graph `graph` was taken; added if needed."""
    others = [other for other in node.subgraphs.values() if other is not graph]
    for k, mine in enumerate(graph.outputs):
        if mine is value and value.type.accepts(node.outputs[k].type):
            return node.outputs[k]
    for k, mine in enumerate(graph.outputs):
        if mine.node is not None and mine.node.op is UNDEFINED and node.outputs[k].type == value.type:
            graph.outputs[k] = value
            return _marked(node.outputs[k], value)
    graph.outputs.append(value)
    for other in others:
        other.outputs.append(undefined(other, value.type))
    return _marked(_added(node, value.type), value)


def _marked(result: Value, value: Value) -> Value:
    if id(value) in STACKS:
        note_stack(result)
    return result
