"""Execution lane by lane, in a staged loop, of ops without a batching rule and of effects."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.batching.rules.registry import Unbatched
from runtime.core.graph import Graph, Node, Value, shape_of
from runtime.core.inline_graph import copied_node
from runtime.core.op import REGISTRY
from runtime.core.trace import (
    add_input,
    apply,
    capture,
    convert_to_tensor,
    current_graph,
    set_outputs,
    tracing,
    wrap,
)
from runtime.core.types import ListType, TensorType, int32
from runtime.ops.control import COND, LANE_BY_LANE, REDUCE, UNDEFINED
from runtime.ops.indexing import getitem
from runtime.ops.lists import list_stack
from runtime.ops.shape_refinement import assume_shape

__all__ = ["each_lane", "node_by_lane", "one_of"]


def each_lane(size: Any, types: Sequence[Any], what: str, body: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """The results, of `types`, of `body(lane)` for each lane, stacked. `what`: the op, and why, for the loop's name."""
    if any(isinstance(type, ListType) for type in types):
        raise Unbatched("lists that differ from lane to lane")
    here = current_graph()
    length = convert_to_tensor(size, int32)
    starts = [apply(REGISTRY["list_new"], element=type) for type in types]
    graph = Graph(LANE_BY_LANE + what, here)
    with tracing(graph):
        lane = add_input(graph, TensorType(int32), "lane")
        lists = [add_input(graph, ListType(type)) for type in types]
        results = body(lane)
        set_outputs(graph, [apply(REGISTRY["list_append"], items, x) for items, x in zip(lists, results, strict=True)])
    found = apply(REDUCE, length, *starts, body=graph)
    columns = []
    for type_, items in zip(types, found, strict=True):
        x = list_stack(items, lanes=True)
        assume_shape(x, [size if type(size) is int else None, *type_.shape])
        columns.append(x)
    return columns


def one_of(x: Any, lane: Any) -> Any:
    """The value of a batched one in a lane."""
    return getitem(x, lane)


def node_by_lane(
    node: Node, inputs: Sequence[Any], batched: Sequence[bool], size: Any, mask: Any, why: str
) -> list[Any]:
    """The results of a node for each lane in `mask`; those of other lanes are never used."""
    if any(b and isinstance(value.type, ListType) for value, b in zip(node.inputs, batched, strict=True)):
        raise Unbatched("lists that differ from lane to lane")
    types = [value.type for value in node.outputs]
    if any(None in shape_of(type) for type in types):
        raise Unbatched(f"{node.op.name} gives what may have another size in each lane")

    def run(lane: Any) -> Sequence[Any]:
        if mask is None:
            return once(lane)
        here = current_graph()
        taken, other = Graph("true", here), Graph("false", here)
        with tracing(taken):
            set_outputs(taken, once(lane))
        with tracing(other):
            set_outputs(other, [apply(UNDEFINED, type=type) for type in types])
        found: Sequence[Any] = apply(COND, one_of(mask, lane), true=taken, false=other)
        return found

    def once(lane: Any) -> Sequence[Any]:
        here = current_graph()
        assert here is not None
        outside: dict[Value, Value] = {}
        for value, x, b in zip(node.inputs, inputs, batched, strict=True):
            outside[value] = capture(here, one_of(x, lane) if b else x)
        return [wrap(value) for value in copied_node(node, here, outside).outputs]

    return each_lane(size, types, f"{node.op.name}: {why}", run)
