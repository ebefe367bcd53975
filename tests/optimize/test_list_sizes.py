"""Which lists have elements of one shape, of the sizes of inputs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from runtime.optimize.list_sizes import lists_of_one_shape
from runtime.optimize.symbolic_sizes import Sizes

S = rt.TensorSpec


def lists_in(f: Callable[..., Any], *specs: Any) -> list[str]:
    graph = rt.function(f, input_signature=[*specs]).get_concrete_function().optimized
    found = lists_of_one_shape(graph, Sizes(graph))
    return [value.node.op.name for value in found if value.node is not None]


def derived(x: Any) -> Any:
    """The derivative of a loop, which saves residuals in lists."""
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in rt.range(3):
            y = rt.tanh(y)
        total = rt.reduce_sum(y)
    return tape.gradient(total, x)


def of_several_sizes(x: Any) -> Any:
    items = []
    for k in rt.range(3):
        items.append(x[:k])
    return items[1]


def returned(x: Any) -> Any:
    items = []
    for _ in rt.range(3):
        items.append(x)
    return items


def of_a_filter(x: Any) -> Any:
    items = []
    y = rt.boolean_mask(x, x > 0.0)
    for _ in rt.range(3):
        items.append(y)
    return items[1]


def test_residuals_of_a_loop() -> None:
    assert {"list_new", "list_append", "reduce"} <= {*lists_in(derived, S([None, 3]))}


@pytest.mark.parametrize("f", [of_several_sizes, returned, of_a_filter])
def test_other_lists(f: Callable[..., Any]) -> None:
    """Their elements have several sizes, or Python takes them, or the sizes are not those of inputs."""
    assert lists_in(f, S([None])) == []


def test_lists_of_known_sizes_are_not_among_them() -> None:
    assert lists_in(derived, S([2, 3])) == []
