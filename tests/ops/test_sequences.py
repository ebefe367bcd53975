"""Orders, reversals, blocks and shapes that are composed of ops: against NumPy, eagerly and staged."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from test_matrix_functions import both

import runtime as rt
from runtime.errors import InvalidArgumentError, ShapeError


@pytest.mark.parametrize(("values", "increasing", "not_decreasing"), [
    ([1, 2, 5], True, True), ([1, 1, 5], False, True), ([3, 2], False, False), ([7], True, True),
    ([[1, 2], [3, 4]], True, True), (np.zeros(0, np.int32), True, True)])
def test_orders(values: Any, increasing: bool, not_decreasing: bool) -> None:
    x = np.array(values, np.int32)
    assert both(rt.math.is_strictly_increasing, x) == increasing
    assert both(rt.math.is_non_decreasing, x) == not_decreasing


def test_reverse_sequence() -> None:
    x = np.arange(24).reshape(2, 4, 3)
    lengths = np.array([3, 0], np.int32)
    want = x.copy()
    want[0, :3] = x[0, 2::-1]
    np.testing.assert_array_equal(both(lambda x, n: rt.reverse_sequence(x, n, seq_axis=1), x, lengths), want)
    turned = both(lambda x, n: rt.reverse_sequence(x, n, seq_axis=0, batch_axis=2), x.transpose(1, 2, 0), lengths)
    np.testing.assert_array_equal(turned, want.transpose(1, 2, 0))
    assert rt.reverse_sequence([["a", "b"]], [2], 1).numpy().tolist() == [[b"b", b"a"]]
    with pytest.raises(rt.errors.IndexOutOfRangeError):
        rt.reverse_sequence(x, [5, 0], 1)
    with pytest.raises(ShapeError, match="two axes"):
        rt.reverse_sequence(x, [1, 0], 0)


@pytest.mark.parametrize(("x", "y", "out", "idx"), [
    ([1, 2, 3, 4, 2, 6, 3], [1, 3, 5, 1], [2, 4, 2, 6], [1, 3, 4, 5]), ([1, 2], [], [1, 2], [0, 1]), ([], [1], [], []),
    ([1.5, 0.5], [0.5, 7.0], [1.5], [0])])
def test_difference(x: Any, y: Any, out: Any, idx: Any) -> None:
    dtype = np.float32 if 0.5 in x else np.int64
    found = both(rt.compat.v1.setdiff1d, np.array(x, dtype), np.array(y, dtype))
    assert (found.out.tolist(), found.idx.tolist(), found.idx.dtype) == (out, idx, np.int32)
    words = rt.compat.v1.setdiff1d(["a", "b"], ["a"], rt.int64)
    assert words.out.numpy().tolist() == [b"b"] and words.idx.dtype is rt.int64


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_blocks(data_format: str) -> None:
    x = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)
    want = np.concatenate([x[:, i::2, j::2] for i in range(2) for j in range(2)], -1)
    if data_format == "NCHW":
        x, want = x.transpose(0, 3, 1, 2), want.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(both(lambda x: rt.nn.space_to_depth(x, 2, data_format), x), want)
    np.testing.assert_array_equal(both(lambda x: rt.nn.depth_to_space(x, 2, data_format), want), x)
    for call, text in (
        (lambda: rt.nn.space_to_depth(rt.zeros([1, 3, 4, 1]), 2), "does not divide the size 3"),
        (lambda: rt.nn.depth_to_space(rt.zeros([1, 3, 4, 2]), 2), "2² does not divide the depth 2"),
        (lambda: rt.nn.space_to_depth(rt.zeros([3, 4]), 2), "images of rank 4"),
        (lambda: rt.nn.space_to_depth(rt.zeros([1, 3, 4, 1]), 1), "at least 2"),
        (lambda: rt.nn.space_to_depth(rt.zeros([1, 3, 4, 1]), 2, "HW"), "NHWC or NCHW"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            call()


def test_broadcast_dynamic_shape() -> None:
    for x, y in (((2, 1, 3), (4, 1)), ((), (2,)), ((), ()), ((1,), (0,)), ((5,), (5,))):
        a, b = np.zeros(x, np.float32), np.zeros(y, np.float32)
        found = both(lambda a, b: rt.broadcast_dynamic_shape(rt.shape(a), rt.shape(b)), a, b)
        assert found.dtype == np.int32 and tuple(found) == np.broadcast_shapes(x, y)
    assert rt.broadcast_dynamic_shape([1, 2], [3, 1]).numpy().tolist() == [3, 2]
    traced = rt.function(lambda a, b: rt.broadcast_dynamic_shape(rt.shape(a), rt.shape(b)), input_signature=[
        rt.TensorSpec([None]), rt.TensorSpec([None])])
    for call in (lambda: rt.broadcast_dynamic_shape([2], [3]), lambda: traced(rt.zeros([2]), rt.zeros([3]))):
        with pytest.raises(ShapeError, match="broadcast"):
            call()


def test_timestamps() -> None:
    before = time.time()
    traced = rt.function(rt.timestamp)
    found = [float(rt.timestamp()), float(traced()), float(traced())]
    assert rt.timestamp().dtype is rt.float64
    assert before <= found[0] <= found[1] < found[2] <= time.time()


@pytest.mark.parametrize(("shape", "block", "paddings"), [
    ((2, 4, 6, 3), [2, 3], [[0, 0], [0, 0]]), ((1, 3, 4), [2], [[1, 0]]),
    ((2, 2, 3, 5, 2), [1, 2, 3], [[0, 0], [1, 0], [0, 1]])])
def test_blocks_as_images_of_the_batch(shape: Any, block: Any, paddings: Any) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    padded = np.pad(x, [(0, 0), *map(tuple, paddings), *[(0, 0)] * (len(shape) - 1 - len(block))])
    wanted = [padded[(slice(None), *[slice(first, None, step) for first, step in zip(place, block, strict=True)])]
              for place in np.ndindex(*block)]
    for way in (lambda f: f), rt.function:
        found = way(lambda x: rt.space_to_batch(x, block, paddings))(x)
        np.testing.assert_array_equal(found, np.concatenate(wanted))
        np.testing.assert_array_equal(way(lambda y: rt.batch_to_space(y, block, paddings))(found), x)


def test_blocks_that_do_not_divide() -> None:
    for call in (lambda: rt.space_to_batch(rt.ones([1, 3]), [2], [[0, 0]]),
                 lambda: rt.batch_to_space(rt.ones([3, 3]), [2], [[0, 0]])):
        with pytest.raises(rt.errors.ShapeError, match="does not divide"):
            call()
    with pytest.raises(rt.errors.ShapeError, match="a batch of at least 2 axes"):
        rt.space_to_batch(rt.ones([1, 3]), [2, 2], [[0, 0], [0, 0]])
