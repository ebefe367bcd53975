"""Loops that save the state of every k-th iteration, and recompute the others in the backward pass.

A loop becomes two nested ones: the outer one goes from segment to segment, and the inner one, which is marked `again`,
through a segment. The backward pass first runs a copy of the inner loop, which saves what is needed of the segment.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.autodiff.activity import Activity
from runtime.autodiff.cotangents import Cotangents
from runtime.autodiff.saving import define, inserted
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied_node, copied_subgraph
from runtime.core.op import CAST
from runtime.core.trace import add_input, apply, capture, current_graph, tracing, wrap
from runtime.core.types import TensorType, float64, int64
from runtime.ops.math import add as plus
from runtime.ops.math import cast, ceil, floordiv, maximum, minimum, multiply, sqrt, subtract

__all__ = ["copied_here", "segmented"]


def segmented(loop: Node, activity: Activity) -> None:
    """Split a loop with the param `checkpoint` into two, in place. A loop over a stream, or with a limited number of
    iterations, is not changed."""
    every = loop.params.pop("checkpoint")
    if loop.params.get("stream") is not None or loop.params.get("limited"):
        return
    body: Graph = loop.params["body"]
    graph = body.parent
    assert graph is not None
    counted = loop.op.name == "reduce"
    operands = loop.operands
    state = body.inputs[1:] if counted else body.inputs
    with tracing(graph), inserted(graph, loop):
        if counted:
            length = cast(wrap(operands[0]), int64)
            size = _size(every, length)
            segments = floordiv(subtract(plus(length, size), np.int64(1)), size)
        else:
            size = np.int64(every)
    outer = Graph("body", graph)
    params: dict[str, Any] = {name: outer if param is body else copied_subgraph(param) if name == "test" else param
                              for name, param in loop.params.items()}
    with tracing(outer):
        if counted:
            first = multiply(add_input(outer, TensorType(int64), "segment"), size)
            lead = [capture(outer, minimum(size, subtract(length, first)))]
        else:
            lead = [capture(outer, size)]
        given = [outer.add_input(value.type, value.hint) for value in state]
        for sub in loop.subgraphs.values():
            _move(sub, outer)
        if counted:
            _count_from(body, first)
        inner_params = {**loop.params, "again": True, **({} if counted else {"limited": True})}
        captures = [value for sub in loop.subgraphs.values() for value, _ in sub.captures]
        inner = outer.add_node(loop.op, [*lead, *given, *captures], inner_params,
                               tuple([value.type for value in state]), loop.position)
    outer.outputs = list(inner.outputs)
    loop.params = params
    starts = operands[len(operands) - len(state):]
    loop.inputs = [*([capture(graph, segments)] if counted else []), *starts,
                   *(value for sub in loop.subgraphs.values() for value, _ in sub.captures)]
    activity.visit([loop])


def _size(every: int | str, length: Any) -> Any:
    """The number of iterations of a segment."""
    if every != "sqrt":
        return np.int64(every)
    return maximum(cast(ceil(sqrt(cast(length, float64))), int64), np.int64(1))


def _move(graph: Graph, outer: Graph) -> None:
    """Make a sub-graph one of `outer`, which lies between it and its parent."""
    graph.parent = outer
    graph.captures = [(outer.capture(value, value.type), inner) for value, inner in graph.captures]
    graph._captured = {id(value): (value, inner) for value, inner in graph.captures}


def _count_from(body: Graph, first: Any) -> None:
    """Add the offset to the index of a loop's body, which counts from 0 now."""
    old = body.inputs[0]
    new = Value(body, TensorType(int64), hint=old.hint)
    body.inputs[0] = new
    type = old.type
    assert isinstance(type, TensorType)
    with tracing(body), inserted(body):
        index = plus(first, wrap(new))
        weak = {"weak": True} if type.weak else {}
        define(old, capture(body, index if type == index.type else apply(CAST, index, dtype=type.dtype, **weak)))


def copied_here(
    loop: Node, cts: Cotangents, activity: Activity
) -> tuple[Node, Cotangents, Activity, dict[Value, Value]]:
    """A copy of a loop in the current graph, with the cotangents so far of what it uses, and its activity; and the
    values of this graph for those that the loop uses."""
    here = current_graph()
    assert here is not None
    places = {value: capture(here, wrap(value)) for value in loop.inputs}
    copy = copied_node(loop, here, places)
    copy.params.pop("again")
    own = Activity([place for value, place in places.items() if value in activity], activity.variables)
    own.visit([copy])
    inner = Cotangents()
    for value, place in places.items():
        inner.put(place, cts.get(value))
    for key in activity.variables:
        inner.put(key, cts.get(key))
    return copy, inner, own, places
