"""What is known of sizes that only a run knows, and what the cotangents of broadcast operands cost."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import runtime as rt
from runtime.autodiff.rules.broadcasting import broadcast_like, same_size, sum_to
from runtime.autodiff.rules.registry import VJP, Applied
from runtime.core.graph import Graph
from runtime.core.trace import add_input, tracing, wrap
from runtime.core.types import TensorType, float64


def inputs(graph: Graph, *shapes: tuple[int | None, ...]) -> list[Any]:
    return [add_input(graph, TensorType(float64, shape)) for shape in shapes]


def test_what_is_element_wise_has_the_size_of_its_operand() -> None:
    graph = Graph("sizes")
    with tracing(graph):
        x, y = inputs(graph, (None, 3), (None, 3))
        chain = rt.where(x > 0, rt.exp(x) * 2, rt.cast(x, rt.float64) + rt.reduce_sum(x))
        assert same_size(chain, x, -2) and same_size(chain, x, -1)
        assert not same_size(chain, y, -2) and not same_size(x + y, x, -2) and same_size(x + y, y, -1)
        assert same_size(x + y, y + x, -2) is False  # which of them repeats, nobody knows
        assert not same_size(rt.concat([x, x], 0), x, -2)


def test_a_long_chain_is_no_deep_recursion() -> None:
    graph = Graph("chain")
    with tracing(graph):
        (x,) = inputs(graph, (None,))
        y = x
        for _ in range(3000):
            y = rt.sin(y) + y
        assert same_size(x, y, -1)


def test_values_are_freed() -> None:
    graph = Graph("freed")
    with tracing(graph):
        (x,) = inputs(graph, (None,))
        assert same_size(x, rt.exp(x), -1)
    found = weakref.ref(x.value)
    del x, graph
    gc.collect()
    assert found() is None


OPS = [lambda x: x * 2, lambda x: x * x, lambda x: x / rt.reduce_sum(x), lambda x: rt.exp(x) * rt.sin(x),
       lambda x: rt.maximum(x, 0), lambda x: rt.where(x > 0, x, rt.exp(x))]


@pytest.mark.parametrize("function", OPS)
def test_no_sums_where_nothing_was_broadcast(function: Any) -> None:
    """Of an operand of unknown size with a scalar, or with what is made of it element by element."""
    graph = Graph("sums")
    with tracing(graph):
        (x,) = inputs(graph, (None, 4))
        function(x)
        node = graph.nodes[-1]
        (ct,) = inputs(graph, (None, 4))
        before = len(graph.nodes)
        wrapped = [wrap(value) for value in node.inputs]
        wanted = [value.type.dtype is float64 and value.type.ndim == 2 for value in node.inputs]
        VJP[node.op.name](Applied(node.op.name, wrapped, [wrap(node.outputs[0])], node.params, wanted), ct)
    made = [node.op.name for node in graph.nodes[before:]]
    assert not {"reduce_sum", "reshape", "broadcast_to"} & set(made), made


def test_known_sizes_are_summed_at_once() -> None:
    graph = Graph("known")
    with tracing(graph):
        ct, x = inputs(graph, (5, 2, 3), (1, 3))
        found = sum_to(ct, x)
        assert found.type.shape == (1, 3)
        assert [node.op.name for node in graph.nodes] == ["reduce_sum", "squeeze"]
        assert sum_to(x, x) is x and broadcast_like(x, x) is x
