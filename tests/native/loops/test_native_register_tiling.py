"""Loops over arrays in native code: sizes that only the run knows, and updates under a mask."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import compare, line

import autograph as ag
import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


def counted(x, y):
    """Its body makes an array of the shape of `x`, which has that of `y` or is repeated along it."""
    i = 0
    total = rt.zeros_like(y)
    while i < 20 and rt.reduce_any(total < y):
        total = rt.where(total < y, total + x + rt.ones_like(y) * 0.5, total)
        i += 1
    return total, i


@pytest.mark.parametrize("sizes", [(0, 0), (1, 1), (1, 100), (100, 100), (100, 1), (1, 31)], ids=str)
def test_unknown_sizes_that_may_differ(sizes: tuple[int, int]) -> None:
    """Where the arrays have the same size, they run by blocks; else array by array, with the same text for both."""
    x, y = line(sizes[0], 0.1, 1), line(sizes[1], 1, 9)
    if sizes != (100, 1):
        compare(counted, x, y, blocks=True, relaxed=True)
        compare(heat_along, y, x, 5, blocks=True, relaxed=True)


def heat_along(y, x, n):
    for i in range(n):
        y = y + x * rt.cast(i, rt.float32)
    return y


def test_unknown_and_known_sizes_together() -> None:
    known = rt.constant(line(100))

    def with_known(x, n):
        for _ in range(n):
            x = x * 0.5 + known
        return x

    compare(with_known, line(100), 3, blocks=True, relaxed=True)
    fn = rt.function(with_known, input_signature=[rt.TensorSpec([None], rt.float32), rt.TensorSpec([], rt.int32)])
    assert (fn(rt.constant([1.0]), rt.constant(1)).numpy() == np.float32(0.5) + known.numpy()).all()


def limited(y, x, n):
    """Blocks leave by the limit, by the test of scalars, by their mask."""
    i, alive = 0, y < x
    while i < n and rt.reduce_any(alive):
        ag.set_loop_options(maximum_iterations=7)
        y = rt.where(alive, y + 0.5, y)
        alive = alive & (y < x)
        i += 1
    return y, alive, i


def limited_alone(y, x, n):
    i = 0
    while i < n:
        ag.set_loop_options(maximum_iterations=5)
        y = y * x + 0.25
        i += 1
    return y, i


def limited_and_changing(y, x, n):
    """Where the mask does not hold, it still changes: each loop runs array by array after all."""
    i = 0
    while rt.reduce_any(y < x):
        ag.set_loop_options(maximum_iterations=6)
        y = y + 0.5
        i += 1
    return y, i


def limited_by_what_it_computes(y, x, n):
    return rt.while_loop(lambda y: rt.reduce_any(y < x), lambda y: (rt.where(y < x, y + 1.0, y),), [y],
                         maximum_iterations=n - 2)


@pytest.mark.parametrize("fn", [limited, limited_alone, limited_and_changing, limited_by_what_it_computes],
                         ids=lambda fn: fn.__name__)
def test_limited_loops(fn: Callable[..., Any]) -> None:
    for size in (64, 100, 1000):
        for high in (-3.0, 1.0, 3.0, 50.0):
            for n in (0, 1, 3, 9):
                y, x = line(size, -2, 2), line(size, high - 2, high, seed=1)
                compare(fn, y, x, n, blocks=True)
    compare(fn, line(100), line(100, 0, 9), 9, blocks=True, relaxed=True)


# `where(mask, new, old)` over `old` itself: groups of 64 elements for which nothing holds are left out.

def masked(x, y, alive, table, n):
    for i in range(n):  # an item of `table` keeps the loop from running block by block
        x = rt.where(alive, x * table[i] + y, x)
    return x


def masked_and_ends(x, y, alive, table, n):
    for i in range(n):
        new = x * table[i] - y
        alive = alive & (rt.abs(new) > 0.5)
        x = rt.where(alive, new, x)
    return x, alive


def masked_by_another(x, y, alive, table, n):
    """What keeps an element of `x` is not what keeps one of `y`."""
    for i in range(n):
        x, y = rt.where(alive, x * table[i], x), rt.where(alive & (x > 0.0), y + x, y)
    return x, y


def masked_otherwise(x, y, alive, table, n):
    """Where the mask does not hold, `x` is not as it was."""
    for i in range(n):
        x = rt.where(alive, x * table[i], y)
    return x


def negated(x, y, alive, table, n):
    for i in range(n):
        x = rt.where(~alive, x * table[i] + y, x)
    return x


def until_done(x, y, alive, table, n):
    """The mask says what is over, and grows."""
    for i in range(n):
        new = x * table[i] - y
        over = alive | (rt.abs(new) > 1.5)
        x, alive = rt.where(over, x, new), over
    return x, alive


def negated_and_more(x, y, alive, table, n):
    for i in range(n):
        x, y = rt.where(~alive & (x < 1.0), x * table[i], x), rt.where(~(alive | (y > 0.0)), y + 1.0, y)
    return x, y


def old_and_new_the_other_way(x, y, alive, table, n):
    """`x` stays where the mask holds, and `y` where it does not."""
    for i in range(n):
        x, y = rt.where(alive, x, x * table[i]), rt.where(alive, y + x, y)
    return x, y


def mask_of_itself(x, y, alive, table, n):
    for i in range(n):
        x = rt.where(x > 0.0, x * table[i] - y, x)
    return x


MASKED = [masked, masked_and_ends, masked_by_another, masked_otherwise, negated, until_done, negated_and_more,
          old_and_new_the_other_way, mask_of_itself]


@pytest.mark.parametrize("fn", MASKED, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("size", [1, 63, 64, 65, 200, 1000])
def test_masked_updates(fn: Callable[..., Any], size: int) -> None:
    rng = np.random.default_rng(size)
    x, y = line(size), line(size, seed=1)
    x[::7], x[3::11] = -0.0, np.nan
    few = np.zeros(size, bool)
    few[size // 2] = True
    for alive in (np.zeros(size, bool), np.ones(size, bool), few, np.arange(size) % 128 < 64, rng.random(size) < 0.5):
        compare(fn, x, y, alive, line(9, seed=2), 5)


def test_masked_updates_of_matrices_and_other_dtypes() -> None:
    for dtype in (np.float64, np.int8, np.int64):
        x, y = (np.arange(k, k + 300).astype(dtype).reshape(10, 30) for k in (0, 7))
        compare(masked, x, y, np.arange(300).reshape(10, 30) % 150 < 20, np.arange(5).astype(dtype), 4)


@pytest.mark.parametrize(("fn", "size", "left_out"), [
    (masked, 1000, True), (masked_and_ends, 1000, True), (masked_by_another, 1000, True),
    (mask_of_itself, 1000, True), (masked_otherwise, 1000, False), (negated, 1000, True),
    (until_done, 1000, True), (negated_and_more, 1000, True), (old_and_new_the_other_way, 1000, False),
    (masked, 1 << 20, False),  # from memory it would be slower
])
def test_where_groups_are_left_out(fn: Callable[..., Any], size: int, left_out: bool) -> None:
    arrays = [rt.TensorSpec([size], dtype) for dtype in (rt.float32, rt.float32, rt.bool)]
    concrete = rt.function(fn, executor="native").get_concrete_function(
        *arrays, rt.TensorSpec([9], rt.float32), rt.TensorSpec([], rt.int32))
    assert ("bitcast <64 x i1>" in concrete.inspect_llvm(optimized=False)) is left_out
