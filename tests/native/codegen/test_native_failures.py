"""Checks of native code that report the same share the block that does, and memory is reserved by calls."""
from __future__ import annotations

import re

import numpy as np
import pytest

import runtime as rt

S = rt.TensorSpec


def text_of(f, *specs):  # type: ignore[no-untyped-def]
    concrete = rt.function(f, executor="native").get_concrete_function(*specs)
    return concrete, concrete.inspect_llvm(optimized=False)


def test_checks_of_a_node_share_the_call_that_raises() -> None:
    concrete, _ = text_of(lambda x, y, a, b, c: x + rt.reshape(y, [a, b, c]), S([None, None, None]), S([None]),
                             S([], rt.int32), S([], rt.int32), S([], rt.int32))
    x = rt.ones([2, 3, 4])
    number = lambda k: rt.constant(k)
    assert concrete(x, rt.ones([24]), number(2), number(3), number(4)).shape == (2, 3, 4)
    for sizes, length in (((2, 3, 5), 30), ((3, 3, 4), 36), ((2, 2, 4), 16)):
        with pytest.raises(rt.errors.ShapeError, match="broadcast"):
            concrete(x, rt.ones([length]), *map(number, sizes))
    with pytest.raises(rt.errors.ShapeError, match="reshape"):
        concrete(x, rt.ones([25]), number(2), number(3), number(4))


def test_what_is_raised_is_the_same_on_all_ways_to_a_shared_block() -> None:
    def f(x, y, z):  # type: ignore[no-untyped-def]
        return rt.concat([x, y, z], 0)

    concrete, text = text_of(f, S([None, None, None]), S([None, None, None]), S([None, None, None]))
    site = re.findall(r"call i32 @runtime_ask\(ptr %frame, i32 (\d+)", text)
    assert len(site) == len({*site}) <= 2  # of five checks
    good, wide, deep = rt.ones([1, 2, 3]), rt.ones([1, 3, 3]), rt.ones([1, 2, 4])
    assert concrete(good, good, good).shape == (3, 2, 3)
    for args in ((good, wide, good), (good, good, wide), (good, deep, good), (good, good, deep)):
        with pytest.raises(rt.errors.ShapeError, match="outside of axis 0"):
            concrete(*args)


def test_memory_is_reserved_with_the_factors_of_its_size() -> None:
    concrete, text = text_of(lambda a, b: rt.reduce_sum(rt.sort(a, axis=-1) * b, axis=(1, 2)),
                             S([None, None, None]), S([None, 1, 1]))
    assert re.search(r"call ptr @runtime_reserve\d\(", text) and "runtime_grow" not in text
    for shape in ((2, 3, 4), (5, 1, 7), (1, 1, 1), (0, 3, 2), (20, 30, 40)):
        a = np.random.default_rng(1).random(shape, np.float32)
        b = np.random.default_rng(2).random((shape[0], 1, 1), np.float32)
        np.testing.assert_allclose(concrete(rt.constant(a), rt.constant(b)).numpy(), (a * b).sum((1, 2)), 1e-5)


def test_memory_that_no_machine_has_is_an_error() -> None:
    def f(n):  # type: ignore[no-untyped-def]
        return rt.reduce_sum(rt.cumsum(rt.zeros(rt.stack([n, n, n]), rt.uint8), 0))

    concrete, _ = text_of(f, S([], rt.int64))
    assert int(concrete(rt.constant(2, rt.int64))) == 0
    with pytest.raises((MemoryError, rt.errors.OutOfMemoryError, rt.errors.ShapeError)):
        concrete(rt.constant(300_000, rt.int64))
