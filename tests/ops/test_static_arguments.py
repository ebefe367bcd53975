"""Sizes that are known when a function is traced, although they come from tensors."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt


def _shape(make: Any, *sizes: int | None) -> list[int | None]:
    """The static shape of `make(x)` for a traced `x` of these sizes."""
    traced = rt.function(make).get_concrete_function(rt.TensorSpec(list(sizes), rt.float32))
    return list(traced.graph.outputs[0].type.shape)


@pytest.mark.parametrize("make", [
    lambda x: rt.zeros([rt.shape(x)[1], 16]),
    lambda x: rt.zeros([rt.shape(x)[-1], 16]),
    lambda x: rt.fill([rt.shape(x)[1], 16], 2.0),
    lambda x: rt.reshape(rt.zeros([64]), [rt.shape(x)[1], -1]),
    lambda x: rt.zeros(rt.stack([rt.shape(x)[1], 16])),
], ids=["zeros", "negative", "fill", "reshape", "stack"])
def test_items_of_known_shapes_are_known(make: Any) -> None:
    assert _shape(make, 3, 4) == [4, 16]


def test_items_that_only_a_run_knows() -> None:
    assert _shape(lambda x: rt.zeros([rt.shape(x)[1], 16]), 3, None) == [None, 16]
    assert _shape(lambda x: rt.zeros([rt.shape(x)[rt.rank(x) - 1], 16]), 3, 4) == [None, 16]
    assert _shape(lambda x: rt.zeros([rt.constant([[3, 4], [5, 6]])[0][1], 16]), 3) == [None, 16]


def test_an_item_of_floats_is_no_size() -> None:
    with pytest.raises(rt.errors.ShapeError, match="as an int tensor of rank 1, not float32"):
        _shape(lambda x: rt.zeros([rt.constant([3.0, 4.0])[0]]), 3)
