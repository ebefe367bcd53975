"""Loops that save the state of every k-th iteration, and recompute the others in the backward pass.

A loop becomes two nested ones: the outer loop goes from segment to segment, the inner one, marked `again`, through a
segment. The backward pass of a segment first runs a copy of the inner loop, which saves the residuals.
"""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.autodiff.activity import Activity, state_of
from runtime.autodiff.cotangents import Cotangents, fit
from runtime.autodiff.saving import add_state, define, inserted, recaptured
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied_node, copied_subgraph
from runtime.core.op import CAST
from runtime.core.trace import add_input, apply, capture, current_graph, set_outputs, tracing, wrap
from runtime.core.types import TensorType, float64, int64
from runtime.ops.control import REDUCE
from runtime.ops.lists import list_append, list_get, list_length, list_new
from runtime.ops.math import add as plus
from runtime.ops.math import cast, ceil, floordiv, maximum, minimum, multiply, sqrt, subtract

__all__ = ["copied_here", "prepare", "segmented"]

_CHANGING: Final = {
    **dict.fromkeys(("philox_skip", "random", "random_int"), "draws random numbers"),
    **dict.fromkeys(("accumulate_variable", "assign_variable"), "assigns a variable"),
    **dict.fromkeys(("numpy_function", "py_function"), "calls a Python function"),
    **dict.fromkeys(("iterator_next", "iterator_next_or_none"), "takes elements of a dataset"),
}


def prepare(loop: Node, activity: Activity) -> dict[int, Value]:
    """Make iterations of a loop with the param `checkpoint` repeatable, in place: it reads variables before it, and
    elements of a dataset from lists. Returns the values read from variables that have a cotangent, by id of the
    variable. UnimplementedError for other effects."""
    nodes = [node for sub in loop.subgraphs.values() for node in sub.walk()]
    for node in nodes:
        if node.op.name in _CHANGING:
            error = UnimplementedError(
                f"a loop with `checkpoint` runs iterations again for its derivative, but this one "
                f"{_CHANGING[node.op.name]}",
                remedy="Draw with rt.random.stateless_uniform or stateless_normal, assign after the loop, or leave "
                       "`checkpoint` away.")
            locate(error, node.position or loop.position)
            raise error
    reads = _read_before(loop) if any(node.op.name == "read_variable" for node in nodes) else {}
    active = {key: value for key, value in reads.items() if key in activity.variables}
    for value in active.values():
        activity.add(value)
    if loop.params.get("stream") is not None:
        _over_lists(loop)
    activity.visit([loop])
    return active


def _read_before(loop: Node) -> dict[int, Value]:
    graph: Graph | None = loop.params["body"].parent
    assert graph is not None
    reads: dict[int, Value] = {}

    def replace(holder: Node) -> None:
        operands = holder.operands
        for sub in holder.subgraphs.values():
            for node in sub.nodes:
                if node.op.name == "read_variable":
                    value = reads.get(id(node.params["variable"]))
                    if value is None:
                        with inserted(graph, loop):
                            made = graph.add_node(node.op, (), node.params, node.outputs[0].type, node.position)
                        value = made.outputs[0]
                        reads[id(node.params["variable"])] = value
                    node.inputs = [capture(sub, wrap(value))]
                    node.op, node.params = CAST, {"dtype": node.params["variable"].dtype}
                elif node.subgraphs:
                    replace(node)
        recaptured(holder, operands)

    replace(loop)
    return reads


def _over_lists(loop: Node) -> None:
    """Make a loop over a dataset a loop over lists of its elements, which another loop before it collects; if a test
    ends it, that is a copy of the loop, since only this determines how many elements it takes."""
    body: Graph = loop.params["body"]
    graph = body.parent
    assert graph is not None
    state = state_of(loop, body)
    elements = body.inputs[:len(body.inputs) - len(state)]
    with tracing(graph), inserted(graph, loop):
        starts = [list_new([], value.type) for value in elements]  # type: ignore[arg-type]  # no lists
        if loop.params.get("test") is None:
            collecting = Graph("body", graph)
            with tracing(collecting):
                inputs = [add_input(collecting, value.type) for value in elements]
                lists = [add_input(collecting, start.type) for start in starts]
                set_outputs(collecting, [list_append(items, x) for items, x in zip(lists, inputs, strict=True)])
            params = {name: param for name, param in loop.params.items() if name not in ("checkpoint", "body")}
            sources = loop.operands[:len(loop.operands) - len(state)]
            found = list(apply(REDUCE, *map(wrap, sources), *starts, body=collecting, **params))
        else:
            copy = copied_node(loop, graph, {value: value for value in loop.inputs})
            copy.params.pop("checkpoint")
            found = [wrap(_collected(copy, k, start.value)) for k, start in enumerate(starts)]
        length = capture(graph, cast(list_length(found[0]), int64))
    loop.inputs = [length, *loop.inputs[len(loop.operands) - len(state):]]
    for name in ("stream", "sources", "test"):
        loop.params.pop(name, None)
    index = Value(body, length.type, hint="i")
    body.inputs = [index, *state]
    operands = loop.operands
    with tracing(body), inserted(body):
        for items, value in zip(found, elements, strict=True):
            define(value, fit(list_get(items, wrap(index)), value.type).value)
    body.executable = None
    recaptured(loop, operands)


def _collected(loop: Node, k: int, start: Value) -> Value:
    """The list of the values that the element with number `k` takes in a loop over a dataset."""
    body: Graph = loop.params["body"]
    with tracing(body):
        items = wrap(body.add_input(start.type, "elements"))
        after = list_append(items, wrap(body.inputs[k]))
    return add_state(loop, start, after.value)


def segmented(loop: Node, activity: Activity) -> None:
    """Split a loop with the param `checkpoint` into two nested ones, in place."""
    every = loop.params.pop("checkpoint")
    limited = loop.params.get("limited", False)
    body: Graph = loop.params["body"]
    graph = body.parent
    assert graph is not None
    counted = loop.op.name == "reduce"
    operands = loop.operands
    state = body.inputs[1:] if counted else body.inputs
    with tracing(graph), inserted(graph, loop):
        if counted or limited:
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
        elif limited:
            done = add_input(outer, TensorType(int64), "done")
            lead = [capture(outer, minimum(size, subtract(length, done)))]
        else:
            lead = [capture(outer, size)]
        inputs = [outer.add_input(value.type, value.hint) for value in state]
        for sub in loop.subgraphs.values():
            _move(sub, outer)
        if counted:
            _count_from(body, first)
        inner_params = {**loop.params, "again": True, **({} if counted else {"limited": True})}
        captures = [value for sub in loop.subgraphs.values() for value, _ in sub.captures]
        inner = outer.add_node(loop.op, [*lead, *inputs, *captures], inner_params,
                               tuple([value.type for value in state]), loop.position)
    outer.outputs = list(inner.outputs)
    loop.params = params
    starts = operands[len(operands) - len(state):]
    recaptured(loop, [*([capture(graph, segments)] if counted or limited else []), *starts])
    if limited:
        outer.inputs.append(outer.inputs.pop(0))
        with tracing(graph), inserted(graph, loop):
            zero = capture(graph, np.int64(0))
        with tracing(outer):
            add_state(loop, zero, capture(outer, plus(done, size)))
    activity.visit([loop])


def _size(every: int | str, length: Any) -> Any:
    """The number of iterations of a segment."""
    if every != "sqrt":
        return np.int64(every)
    return maximum(cast(ceil(sqrt(cast(length, float64))), int64), np.int64(1))


def _move(graph: Graph, outer: Graph) -> None:
    """Make a sub-graph one of `outer`, which is between it and its former parent."""
    graph.parent = outer
    graph.captures = [(outer.capture(value, value.type), inner) for value, inner in graph.captures]
    graph._captured = {id(value): (value, inner) for value, inner in graph.captures}


def _count_from(body: Graph, first: Any) -> None:
    """Add an offset to the index of a loop's body, which now counts from 0."""
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
    """A copy of a loop in the current graph, the cotangents so far of the values that it uses, and its activity; and a
    map from the values that the loop uses to those of this graph."""
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
