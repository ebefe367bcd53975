"""Calls that return a tuple of tensors, or a number, without Python between CPython and native code."""
from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import leaks
from python_calls import frames

import runtime as rt
from runtime.backends.native.jit.tuple_results import MOST_RESULTS
from runtime.core.tensor import EagerTensor

pytestmark = pytest.mark.usefixtures("native_by_default")


def called(fn: Any, *args: Any) -> tuple[Any, list[str]]:
    """The result of a call after the first, and the Python functions that it called."""
    fn(*args)
    return frames(fn, *args)


def test_several_types_and_shapes() -> None:
    @rt.function
    def mixed(x, k):
        return x + k, x > 1.0, rt.reduce_sum(x), rt.stack([x, x]), rt.cast(x, rt.int8), rt.zeros([0, 2])

    x = rt.constant([1.0, 2.0, 3.0])
    want = mixed.python_function(x, rt.constant(2.0))
    result, seen = called(mixed, x, rt.constant(2.0))
    assert seen == [] and type(result) is tuple and len(result) == len(want) == 6
    for got, wanted in zip(result, want, strict=True):
        array = got._array
        assert type(got) is EagerTensor and type(array) is np.ndarray and not array.flags.writeable
        assert (array.dtype, array.shape, array.tolist()) == (wanted.dtype.np, wanted.shape, wanted.numpy().tolist())
        assert array.flags.owndata and gc.is_tracked(got)


def test_results_of_calls_are_different_arrays() -> None:
    f = rt.function(lambda x: (x + 1.0, x * 2.0))
    results = [f(rt.constant([float(k)])) for k in range(6)]
    assert [[t.numpy().tolist() for t in pair] for pair in results] == [[[k + 1.0], [k * 2.0]] for k in range(6)]


def test_arrays_and_numbers_of_the_caller() -> None:
    @rt.function
    def moved(x, by):
        for i in range(len(x)):
            x[i] += by
        return x[0] * 2.0, x.sum()

    x = np.zeros(4)
    for by in 1.0, 2.0, 3.0:
        moved(x, by)
    result, seen = called(moved, x, 4.0)
    assert seen == [] and x.tolist() == [14.0] * 4
    assert [t.numpy().tolist() for t in result] == [28.0, 56.0]


def test_one_result_in_a_tuple() -> None:
    result, seen = called(rt.function(lambda x: (x + 1,)), rt.constant(1))
    assert seen == [] and type(result) is tuple and [t.numpy().tolist() for t in result] == [2]


def test_what_python_makes() -> None:
    """A tensor that is there twice, an argument, a list, nested tuples, numbers, and many results."""
    def twice(x):
        y = x + 1
        return y, y

    x = rt.constant(1)
    one, other = called(rt.function(twice), x)[0]
    assert one is other and one.numpy() == 2
    given, more = called(rt.function(lambda x: (x, x + 1)), x)[0]
    assert (given.numpy(), more.numpy()) == (1, 2)
    result = called(rt.function(lambda x: [x + 1, x + 2]), x)[0]
    assert type(result) is list and [t.numpy().tolist() for t in result] == [2, 3]
    left, (right, number) = called(rt.function(lambda x: (x + 1, (x + 2, 3))), x)[0]
    assert [t.numpy().tolist() for t in (left, right, number)] == [2, 3, 3]
    for count in MOST_RESULTS, MOST_RESULTS + 1:
        result, seen = called(rt.function(lambda x, n=count: tuple([x + k for k in range(n)])), x)
        assert [t.numpy().tolist() for t in result] == [*range(1, count + 1)]
        assert (seen == []) == (count == MOST_RESULTS)


def test_a_number() -> None:
    """One that is known when a function is traced, also where it follows from the numbers passed."""
    one, seen = called(rt.function(lambda x: 1), rt.constant(2))
    assert seen == [] and type(one) is EagerTensor and (one.dtype, one.numpy()) == (rt.int32, 1)
    f = rt.function(lambda a, b: a * b + 1.0)
    for a, b in ((2.0, 3.0), (2.0, 3.0), (2.0, 4.0), (2.0, 3.0)):
        result, seen = called(f, a, b)
        assert seen == [] and type(result) is EagerTensor and (result.dtype, result.numpy()) == (rt.float32, a * b + 1)
    large, _ = called(rt.function(lambda x: 2**70), rt.constant(2))
    assert large == 2**70

    @rt.function
    def doubled(x):
        return f(2.0, 3.0) * x

    assert doubled(rt.constant(2.0)).numpy() == 14


def test_errors() -> None:
    f = rt.function(lambda x, i: (x[i], x + 1.0))
    x = rt.ones([3])
    dtype = x._array.dtype
    called(f, x, rt.constant(1))
    with pytest.raises(IndexError):
        f(x, rt.constant(5))
    gc.collect()
    before = sys.getrefcount(dtype), sys.getrefcount(f._front)
    for _ in range(100):
        with pytest.raises(IndexError):
            f(x, rt.constant(5))
    gc.collect()
    assert (sys.getrefcount(dtype), sys.getrefcount(f._front)) == before
    assert [t.numpy().tolist() for t in f(x, rt.constant(1))] == [1.0, [2.0] * 3]


@pytest.mark.skipif(not leaks.possible(), reason="memory is counted by /proc")
def test_nothing_leaks() -> None:
    f = rt.function(lambda x, y: (x + y, x * y))
    x, y = rt.ones([50]), rt.ones([50])

    def references() -> list[int]:
        return [sys.getrefcount(obj) for obj in (x, y, x._array, x._array.dtype, EagerTensor, f, f._front)]

    for _ in range(1000):
        f(x, y)
    gc.collect()
    before, memory = references(), leaks.resident()
    for _ in range(300_000):
        f(x, y)
    gc.collect()
    assert references() == before
    assert leaks.resident() - memory < leaks.ALLOWED


def test_no_memory() -> None:
    testing = pytest.importorskip("_testcapi")
    f = rt.function(lambda x: (x + 1.0, x + 2.0, x + 3.0))
    x, failed = rt.ones([400]), 0
    called(f, x)
    before = sys.getrefcount(f._front)
    for start in range(12):
        held = [f(x) for _ in range(2)]
        testing.set_nomemory(start, start + 1)
        try:
            f(x)
        except MemoryError:
            failed += 1
        finally:
            testing.remove_mem_hooks()
        assert all(float(t.numpy()[0]) == k + 2.0 for result in held for k, t in enumerate(result))
    after = sys.getrefcount(f._front)
    assert failed >= 4 and after == before
    result, seen = called(f, x)
    assert seen == [] and [t.numpy()[0] for t in result] == [2.0, 3.0, 4.0]
