"""Sizes that no tensor has: the same class of error, with the user's line, in eager mode and on both executors."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from traced_once import on, on_both
from ways import HAS_LLVM

import runtime as rt

E = rt.errors
MOST = 2**63 - 1
FIFTH = (2**64 + 4) // 5  # times 5 it is 4, in 64 bits
TWELVE, SEVEN = rt.range(12), rt.range(7)
EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def i64(value: int) -> Any:
    return rt.constant(value, rt.int64)


CASES: list[tuple[Callable[[Any], Any], Any, type[Exception]]] = [
    (lambda n: rt.reshape(TWELVE, [n, 5, -1])[1 << 40, 1, 1], i64(FIFTH), E.ShapeError),
    (lambda n: rt.reshape(TWELVE, [n, n, -1])[0, 0, 0], i64(1 << 32), E.ShapeError),
    (lambda n: rt.shape(rt.reshape(TWELVE, [n, 5, -1])), i64(FIFTH), E.ShapeError),
    (lambda n: rt.reshape(TWELVE, [n]), i64(-2**63), E.ShapeError),
    (lambda n: rt.reshape(TWELVE[:0], [n, n, 0]), i64(1 << 40), E.OutOfMemoryError),
    (lambda n: rt.slice(SEVEN, [n], [n])[0], i64(2**62 + 1), E.IndexOutOfRangeError),
    (lambda n: rt.reduce_sum(rt.slice(SEVEN, [n], [n])), i64(2**62 + 1), E.IndexOutOfRangeError),
    (lambda d: rt.slice(TWELVE, d, d), rt.constant([2**63], rt.uint64), E.IndexOutOfRangeError),
    (lambda n: rt.pad(SEVEN, [[n, n]]), i64(MOST), E.OutOfMemoryError),
    (lambda n: rt.pad(SEVEN, [[n, n - 3]]), i64(MOST), E.OutOfMemoryError),
    (lambda n: rt.pad(SEVEN, [[n, n]], "REFLECT"), i64(MOST), E.OutOfMemoryError),
    (lambda n: rt.pad(SEVEN, [[n, n]], "REFLECT"), i64(2**40), E.ShapeError),
    (lambda n: rt.concat([rt.fill([n], 1.0), rt.fill([n], 1.0), rt.ones([2])], 0)[0], i64(MOST), E.OutOfMemoryError),
    (lambda n: rt.sort(rt.range(-n - 1, n, 1))[0], i64(MOST), E.OutOfMemoryError),
    (lambda n: rt.range(n)[5], i64(MOST), E.OutOfMemoryError),
    (lambda x: rt.reduce_sum(rt.range(0.0, x, 1.0)), rt.constant(float("inf")), E.OutOfMemoryError),
    (lambda x: rt.range(0.0, x, 1.0), rt.constant(float("nan")), E.ShapeError),
    (lambda n: rt.fill([n], 1.0)[0], i64(2**62), E.OutOfMemoryError),
    (lambda n: rt.shape(rt.fill([n, n], 1.0)), i64(2**40), E.OutOfMemoryError),
    (lambda n: rt.tile(SEVEN, [n])[0], i64(2**62), E.OutOfMemoryError),
    (lambda n: rt.zeros([0, n, n]), i64(2**40), E.OutOfMemoryError),
    (lambda n: rt.repeat(SEVEN[:3], rt.stack([n, n, 1000])), i64(MOST - 1), E.OutOfMemoryError),
    (lambda n: rt.repeat(SEVEN[:3], rt.stack([1, n, 1])), i64(2**47), E.OutOfMemoryError),
    (lambda n: rt.zeros([n, 1]) + rt.zeros([1, n]), i64(2**23), E.OutOfMemoryError),
    (lambda n: rt.shape(rt.zeros([n, 0])), i64(2**31), E.ShapeError),
    (lambda n: rt.size(rt.zeros([n], rt.bool)), i64(2**31), E.ShapeError),
    (lambda n: rt.random.uniform([n, n]), i64(2**32), E.OutOfMemoryError),
    (lambda n: rt.random.uniform([n]), i64(-1), E.ShapeError),
    (lambda n: rt.TensorArray(rt.float32, size=n, element_shape=[]).stack(), i64(2**60), E.OutOfMemoryError),
    (lambda n: rt.TensorArray(rt.float32, 0, True, element_shape=[]).write(n, 1.0).stack(), i64(2**61),
     E.OutOfMemoryError),
    (lambda n: rt.TensorArray(rt.float32, 4, infer_shape=False).split(rt.ones([4]), [n, n, 2, 4]).stack(), i64(MOST),
     E.ShapeError),
    (lambda n: SEVEN[n], rt.constant(2**64 - 2, rt.uint64), E.IndexOutOfRangeError),
    (lambda n: rt.gather(SEVEN, [n]), rt.constant(2**64 - 2, rt.uint64), E.IndexOutOfRangeError),
    (lambda n: SEVEN[::n], i64(0), E.InvalidSliceError),
    (lambda n: rt.math.top_k(SEVEN, n).values, i64(8), E.InvalidArgumentError),
    (lambda n: rt.boolean_mask(SEVEN, rt.fill([n], True)), i64(6), E.ShapeError),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_same_class_with_the_line(number: int) -> None:
    fn, argument, kind = CASES[number]
    with pytest.raises(kind) as eager:
        fn(argument)
    traced = on_both(fn)
    for executor in EXECUTORS:
        staged = traced[executor]
        with pytest.raises(kind) as caught:
            staged(argument)
        assert type(caught.value) is type(eager.value)
        line = fn.__code__.co_firstlineno
        assert f"test_size_errors.py:{line}: " in str(caught.value) or any(
            entry.path == Path(__file__) and entry.lineno + 1 == line for entry in caught.traceback)


def test_no_memory_is_python_s_error_and_tf_s() -> None:
    with pytest.raises(MemoryError) as caught:
        rt.zeros([2**50])
    assert isinstance(caught.value, E.ResourceExhaustedError)
    assert str(caught.value) == (
        "the result of zeros would be float32[1125899906842624], which is more than a tensor can have: 2**47 bytes")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_large_sizes_that_are_right(executor: str) -> None:
    """Slices take any bounds, many rows of nothing are no work, and a size is asked for as int64."""
    @rt.function(executor=executor)
    def f(n):
        rows = rt.broadcast_to(SEVEN[:0], [n, 0])
        return (SEVEN[-n:n], SEVEN[::n], SEVEN[:1:-n], rt.shape(rows, rt.int64), rt.reduce_sum(rows),
                rt.reduce_prod(rt.zeros_like(rows)))

    for n in (7, 2**40):
        whole, first, last, shape, total, product = f(i64(n))
        assert whole.numpy().tolist() == list(range(7))
        assert (first.numpy().tolist(), last.numpy().tolist()) == ([0], [6])
        assert (shape.numpy().tolist(), total.numpy(), product.numpy()) == ([n, 0], 0, 1)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sizes_of_any_int_dtypes_make_a_shape(executor: str) -> None:
    @rt.function(executor=executor, input_signature=[rt.TensorSpec([None]), rt.TensorSpec([], rt.uint8)])
    def f(x, n):
        return rt.tile(x, [n]), rt.broadcast_to(x, [n, rt.shape(x)[0]]), rt.repeat(x, n)

    tiled, rows, repeated = f(rt.constant([1.0, 2.0]), rt.constant(2, rt.uint8))
    assert tiled.numpy().tolist() == [1, 2, 1, 2]
    assert rows.numpy().tolist() == [[1, 2], [1, 2]]
    assert repeated.numpy().tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ranges_of_floats_count_in_their_dtype(executor: str, dtype: Any) -> None:
    @rt.function(executor=executor)
    def count(start, limit, delta):
        return rt.shape(rt.range(start, limit, delta))[0]

    for start, limit, delta in ((-6.0, 3.0, 1.8), (-2.4, 1.6, 0.25), (-4.0, 3.6, 0.08), (5.0, 1.0, -0.1), (0, 1, 0.1)):
        bounds = dtype(start), dtype(limit), dtype(delta)
        assert count(*map(rt.constant, bounds)).numpy() == len(np.arange(*bounds, dtype=dtype))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_staged_list_is_put_together_along_any_axis(executor: str) -> None:
    @rt.function(executor=executor)
    def f(n):
        out = []
        for i in rt.range(n):
            out.append(rt.reshape(rt.range(4) + i, [2, 2]))
        return rt.concat(out, 0), rt.concat(out, 1), rt.concat(out, -1)

    parts = [np.arange(4, dtype=np.int32).reshape(2, 2) + i for i in range(3)]
    for got, axis in zip(f(rt.constant(3)), (0, 1, -1), strict=True):
        np.testing.assert_array_equal(got.numpy(), np.concatenate(parts, axis))


def test_a_stride_beyond_the_only_window() -> None:
    def f(x: Any) -> Any:
        return rt.nn.conv1d(x, rt.ones([2, 1, 1]), 2**62 + 1, "SAME")

    for run in (f, *[on(executor, f) for executor in EXECUTORS]):
        assert np.array_equal(run(rt.ones([1, 4, 1])), [[[2.0]]])


def test_roll_by_more_than_int32() -> None:
    def f(x: Any, by: Any) -> Any:
        return rt.roll(x, by, 0)

    signature = [rt.TensorSpec([None], rt.int32), rt.TensorSpec([], rt.int64)]
    for run in (f, *[rt.function(f, executor=executor, input_signature=signature) for executor in EXECUTORS]):
        assert np.array_equal(run(SEVEN, i64(2**61 + 1)), np.roll(np.arange(7), 2**61 + 1))


def test_repeat_of_more_rows_than_int32() -> None:
    def f(x: Any) -> Any:
        return rt.shape(rt.repeat(x, 2, axis=0), rt.int64)

    signature = [rt.TensorSpec([None, None], rt.float32)]
    for run in (f, *[rt.function(f, executor=executor, input_signature=signature) for executor in EXECUTORS]):
        assert run(rt.zeros([3_037_000_499, 0])).numpy().tolist() == [6_074_000_998, 0]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_as_many_of_the_greatest_as_the_program_says_are_a_known_size(executor: str) -> None:
    @rt.function(executor=executor, input_signature=[rt.TensorSpec([None, None], rt.float32)])
    def f(x: Any) -> Any:
        greatest = rt.math.top_k(x, 3).values
        assert greatest.shape.as_list() == [None, 3]
        return rt.split(greatest, [1, -1], 1)[1]

    assert f(rt.constant([[1.0, 4.0, 2.0, 3.0]])).numpy().tolist() == [[3.0, 2.0]]
    with pytest.raises(rt.errors.InvalidArgumentError, match="as many elements as it is asked for"):
        f(rt.constant([[1.0]]))
