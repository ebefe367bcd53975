"""Dtypes of what traced functions make of NumPy arrays: as outside of graphs, arrays adapt to tensors, and are promoted
among themselves as in NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

INTS, FLOATS, SMALL = np.array([3, 1, 2]), np.array([1.5, 2.5, 0.5]), np.array([1, 0, 1], np.int8)
SINGLE, COMPLEX, BOOLS = np.float32([0.5, 1.5, 2.0]), np.array([1j, 2, 3 - 1j]), np.array([True, False, True])
T32, I32, ONE = rt.constant([1.0, 2.0, 4.0]), rt.constant([5, 6, 7]), rt.constant(1)


def sums(x: Any, y: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] * y[k]
    return total


def nearest(x: Any, y: Any) -> Any:
    best, at = y[0], 0
    for k in range(len(x)):
        if x[k] * 1.5 > best:
            best = x[k] + y[k]
            at = k
    return best, at


def in_lists(x: Any, y: Any) -> Any:
    best = [np.inf] * 3
    for k in range(len(x)):
        if y[k] < best[k]:
            best[k] = y[k] + x[k]
    return best[0], best[1], best[2]


def made(x: Any, y: Any) -> Any:
    found = np.zeros(3)
    found[0] = y[1]
    return found * y, found + x, found


def in_place(x: Any, y: Any) -> Any:
    found = np.ones(3)
    found += y
    found[1:] *= x[1:]
    return found


def helper(x: Any, k: Any) -> Any:
    return x[k] if x[k] > 1 else x[0]


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y, lambda x, y: x[0] * y, lambda x, y: x * y[1], lambda x, y: x > y, lambda x, y: x[1] / y[1],
    lambda x, y: np.maximum(x, y), lambda x, y: np.sum(x) + y, lambda x, y: (x * 3) @ y, lambda x, y: x.T[::-1] - y,
    lambda x, y: np.where(x > 1, x, 0) * y, lambda x, y: helper(x, 1) + helper(y, 2)]
PAIRS = [(INTS, FLOATS), (FLOATS, INTS), (INTS, SINGLE), (SMALL, FLOATS), (BOOLS, INTS), (FLOATS, T32), (T32, FLOATS),
         (INTS, T32), (SINGLE, T32), (FLOATS, I32)]


def check(f: Callable[..., Any], *arguments: Any) -> None:
    want, got = (g(*[x.copy() if isinstance(x, np.ndarray) else x for x in arguments]) for g in (f, rt.function(f)))
    for one, other in zip(rt.nest.flatten(want), rt.nest.flatten(got), strict=True):
        if not isinstance(one, (int, float)):
            assert other.dtype == one.dtype, (one, other)
        np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=1e-6)


@pytest.mark.parametrize(("f", "pair"), [
    (f, pair) for f in range(len(BINARY)) for pair in range(len(PAIRS))
    if (f, pair) not in [(8, 4), (7, 9)]])  # bools are not subtracted, floats do not become ints
def test_operators(f: int, pair: int) -> None:
    check(BINARY[f], *PAIRS[pair])


@pytest.mark.parametrize("f", [f for k, f in enumerate(BINARY) if k not in (3, 5, 9, 10)])
def test_complex_numbers(f: Callable[[Any, Any], Any]) -> None:
    check(f, COMPLEX, FLOATS)


@pytest.mark.parametrize("pair", [(INTS, FLOATS), (FLOATS, T32), (SINGLE, INTS)], ids=["arrays", "tensor", "single"])
@pytest.mark.parametrize("f", [sums, nearest, in_lists, made, in_place], ids=lambda f: f.__name__)
def test_programs(f: Callable[..., Any], pair: tuple[Any, Any]) -> None:
    x, y = pair
    staged = rt.function(f)(x.copy(), y.copy() if isinstance(y, np.ndarray) else y)
    for one, other in zip(rt.nest.flatten(f(x.copy(), np.array(y))), rt.nest.flatten(staged), strict=True):
        np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=1e-6)


def test_ints_of_a_tensor_and_of_an_array_lose_nothing() -> None:
    found = rt.function(lambda x, i: x[0] + i)(np.array([2**40]), ONE)
    assert found.dtype is rt.int64 and int(found) == 2**40 + 1


def test_a_global_array_that_a_tensor_indexes() -> None:
    f = rt.function(lambda x, i: FLOATS[i] * x)
    assert f(T32, ONE).numpy().tolist() == [2.5, 5.0, 10.0] and f(T32, ONE).dtype is rt.float32


def test_tensors_do_not_mix_though_arrays_do() -> None:
    f = rt.function(lambda x, y: x * y)
    assert f(FLOATS, T32).dtype is rt.float32
    with pytest.raises(rt.errors.DTypeError, match="float64 and float32"):
        f(rt.constant(FLOATS), T32)
    assert f(FLOATS, T32).dtype is rt.float32
    with pytest.raises(rt.errors.DTypeError, match="float32 and int32"):
        rt.function(lambda x, y, a: x * y + a)(T32, I32, FLOATS)


def test_an_array_on_one_path_and_a_tensor_on_the_other() -> None:
    def power(a: Any, n: Any) -> Any:
        found = np.eye(2, dtype=int)
        while n > 0:
            if n % 2 == 1:
                found = found @ a
            a = a @ a
            n //= 2
        return found

    def solved(a: Any, b: Any) -> Any:
        x = np.zeros(2)
        for _ in range(60):
            new = (b - (a - np.diag(np.diag(a))) @ x) / np.diag(a)
            if np.abs(new - x).max() < 1e-6:
                break
            x = new
        return x

    ints, floats = rt.constant([[1, 2], [3, 4]]), rt.constant([[4.0, 1.0], [2.0, 3.0]])
    assert rt.function(power)(ints, rt.constant(5)).numpy().tolist() == [[1069, 1558], [2337, 3406]]
    found = rt.function(solved)(floats, rt.constant([1.0, 2.0]))
    np.testing.assert_allclose(found.numpy(), [0.1, 0.6], rtol=1e-4)


def test_an_array_like_an_array() -> None:
    def smoothed(x: Any, a: Any) -> Any:
        out = np.empty_like(x)
        out[0] = x[0]
        for t in range(1, len(x)):
            out[t] = a * x[t] + (1 - a) * out[t - 1]
        return out

    found = rt.function(smoothed)(FLOATS, rt.constant(0.5))
    np.testing.assert_allclose(found.numpy(), smoothed(FLOATS, 0.5), rtol=1e-6)


def test_derivatives_and_batches() -> None:
    def loss(w: Any, x: Any, y: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(w)
            error = rt.reduce_sum((w * x - y) ** 2)
        return tape.gradient(error, w)

    found = rt.function(loss)(T32, FLOATS, INTS)
    np.testing.assert_allclose(found.numpy(), 2 * FLOATS * (T32.numpy() * FLOATS - INTS), rtol=1e-6)
    rows = rt.function(lambda x, a: rt.vectorized_map(lambda row: row * a[1], x))(rt.stack([T32, T32]), FLOATS)
    assert rows.numpy().tolist() == [[2.5, 5.0, 10.0]] * 2
