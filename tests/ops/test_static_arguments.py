"""Sizes that are known when a function is traced, although they come from tensors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on


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


@pytest.mark.parametrize(("make", "want"), [
    (lambda x: rt.zeros([rt.shape(x)[rt.rank(x) - 1], 16]), [4, 16]),
    (lambda x: rt.zeros([rt.constant([[3, 4], [5, 6]])[0][1]]), [4]),
    (lambda x: rt.zeros([rt.shape(x)[1] // 2 + rt.shape(x)[0] * 5 - 1]), [16]),
    (lambda x: rt.zeros([-rt.shape(x)[1] + 8, rt.shape(x)[1] % 3, rt.cast(rt.shape(x)[1], rt.int64)]), [4, 1, 4]),
    (lambda x: rt.zeros([rt.maximum(rt.shape(x)[0], 5), rt.reduce_prod(rt.shape(x)), max(rt.shape(x)[1], 2)]),
     [5, 12, 4]),
    (lambda x: rt.zeros(rt.shape(x)[1:] + 1), [5]),
    (lambda x: rt.zeros(rt.shape(x)[::-1]), [4, 3]),
    (lambda x: rt.zeros(rt.concat([rt.shape(x)[:1], [7]], 0)), [3, 7]),
    (lambda x: rt.zeros([rt.multiply(*rt.unstack(rt.shape(x)))]), [12]),
    (lambda x: rt.zeros([rt.where(rt.shape(x)[0] > 1, 2, 9)]), [2]),
    (lambda x: rt.range(rt.shape(x)[1]), [4]),
    (lambda x: rt.range(0, rt.shape(x)[1] * 2, 2)[None], [1, 4]),
    (lambda x: rt.eye(rt.shape(x)[0]), [3, 3]),
    (lambda x: rt.linspace(0.0, 1.0, rt.shape(x)[1]), [4]),
    (lambda x: rt.one_hot([0, 1], rt.shape(x)[1]), [2, 4]),
    (lambda x: rt.sequence_mask([0, 1], rt.shape(x)[1]), [2, 4]),
    (lambda x: x[:, :rt.shape(x)[1] - 1], [3, 3]),
    (lambda x: rt.gather(x, rt.range(rt.shape(x)[0] - 1)), [2, 4]),
    (lambda x: rt.cond(x[0, 0] > 0, lambda: rt.zeros([rt.shape(x)[0] + 1]), lambda: rt.ones([4])), [4]),
])
def test_sizes_computed_of_known_sizes_are_known(make: Any, want: list[int]) -> None:
    assert _shape(make, 3, 4) == want
    x = rt.ones([3, 4])
    for executor in ("numpy", "native"):
        assert (on(executor, make)(x).numpy() == make(x).numpy()).all()


def test_sizes_beyond_their_dtype_are_left_to_the_run() -> None:
    assert _shape(lambda x: rt.zeros([rt.shape(x)[0] // (rt.shape(x)[0] - 3)]), 3) == [None]

    def many(x: Any) -> Any:
        n = rt.shape(x)[0]
        for _ in range(100):
            n = n + 1
        return rt.zeros([n])

    assert _shape(many, 3) == [None]
    assert rt.function(many)(rt.ones([3])).shape == [103]


def test_the_shape_of_a_tensor_is_a_tensor_shape() -> None:
    """Also of one whose size is that of another; only an array of NumPy has sizes of the graph."""
    found: list[Any] = []

    @rt.function
    def program(x: Any, n: Any) -> None:
        found.extend([rt.range(rt.shape(x)[1]).shape, rt.eye(rt.size(x) - rt.size(x)).shape, rt.zeros([n]).shape])
        assert isinstance(np.zeros(n + 1).shape[0], rt.Tensor)

    program.get_concrete_function(rt.TensorSpec([None, None], rt.float32), rt.TensorSpec([], rt.int32))
    assert all(isinstance(shape, rt.TensorShape) for shape in found)
    assert [shape.as_list() for shape in found] == [[None], [None, None], [None]]


def test_items_that_only_a_run_knows() -> None:
    assert _shape(lambda x: rt.zeros([rt.shape(x)[1], 16]), 3, None) == [None, 16]
    assert _shape(lambda x: rt.zeros([rt.shape(x)[0] * rt.shape(x)[1], 16]), 3, None) == [None, 16]
    assert _shape(lambda x: rt.zeros(rt.shape(x)[::-1]), 3, None) == [None, 3]


def test_an_item_of_floats_is_no_size() -> None:
    with pytest.raises(rt.errors.ShapeError, match="as an int tensor of rank 1, not float32"):
        _shape(lambda x: rt.zeros([rt.constant([3.0, 4.0])[0]]), 3)


@pytest.mark.parametrize(("function", "what"), [
    (lambda x: rt.reduce_sum(x, axis="a"), "the axis of reduce_sum"),
    (lambda x: np.sum(x, "a"), "the axis of reduce_sum"), (lambda x: rt.concat([x, x], "a"), "the axis of concat"),
    (lambda x: rt.expand_dims(x, 0.5), "the axis of expand_dims"),
    (lambda x: rt.transpose(x, "ab"), "the perm of transpose"), (lambda x: rt.argmax(x, "a"), "the axis of argmax"),
    (lambda x: rt.split(x, "a"), "the number of parts of split"), (lambda x: rt.stack([x], "a"), "the axis of stack"),
])
def test_what_is_no_int(function: Any, what: str) -> None:
    with pytest.raises(TypeError, match=rf"test_static_arguments.py:\d+: {what} is an int or several ints, not (.|\n)*"
                                        r"Give ints of Python's, such as 0"):
        rt.function(function)(rt.ones([2, 2]))


def test_a_shape_that_is_no_int() -> None:
    with pytest.raises(TypeError, match=r"test_static_arguments.py:\d+: reshape takes a shape of ints, not 'a'(.|\n)*"
                                        "Give a list of ints"):
        rt.function(lambda x: rt.reshape(x, "a"))(rt.ones([2, 2]))
