"""Dtypes of what traced functions make of NumPy arrays: as outside of graphs, arrays adapt to tensors, and are promoted
among themselves as in NumPy."""
from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

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


BYTES, ROWS = np.array([100, 200, 250], np.uint8), np.array([[100, 200, 250], [1, 2, 3]], np.uint8)
BIG, HALVES = np.array([77, 150, 29]), np.array([0.5, 0.5, 1.0])
MATRIX = np.array([[0.5, 1.0, 2.0], [1.0, 0.0, 0.5], [0.25, 0.5, 1.0]])


def sum_of_products(x: Any) -> Any:
    total = 0
    for item in x:
        total = total + item * np.int64(3)
    return total


def weighted(x: Any, weights: Any = BIG) -> Any:
    return (x * weights).sum()


WIDER: list[Callable[[Any], Any]] = [
    lambda x: np.dot(x, np.array([77, 150, 29])) >> 8, lambda x: x @ BIG, lambda x: np.einsum("i,i", x, BIG), weighted,
    lambda x: x + np.arange(256)[:3], lambda x: x * np.int64(100000), lambda x: np.int64(100000) * x, sum_of_products,
    lambda x: np.diff(x, prepend=0), lambda x: x + [1, 2, 300], lambda x: np.dot(x, [77, 150, 29]),
    lambda x: np.dot(x, 3), lambda x: np.clip(x, 10, 200), lambda x: x + 1, lambda x: x * 0.5, lambda x: x / 2,
    lambda x: x / x, lambda x: x / BIG, lambda x: x // BIG, lambda x: x > np.array([90, 300, 260]),
    lambda x: np.where(x > 100, x, BIG), lambda x: np.where(x > 100, x, 3), lambda x: np.minimum(x, np.int64(300)),
    lambda x: x[0] * BIG[1], lambda x: x[0] + np.int64(300), lambda x: np.concatenate([x, [300]]),
    lambda x: np.array([x, BIG]), lambda x: np.array([x[0], 300]), lambda x: np.array([x[0], 0.5]),
    lambda x: np.array([[x[0], 1], [2, 0.25]]), lambda x: np.stack([x[0], 0.5]), lambda x: np.hstack([x, 300]),
    lambda x: x * np.uint16(3), lambda x: x + np.int8(-1), lambda x: x.astype(np.uint64) + BIG,
    lambda x: x ** np.array([2, 2, 2]), lambda x: x | np.array([256, 1, 2]), lambda x: x - np.array([101, 0, 0]),
    lambda x: np.add.outer(x, BIG), lambda x: np.isin(x, np.array([356, 200])), lambda x: x * HALVES,
    lambda x: np.setdiff1d(x, np.array([356, 100])), lambda x: np.append(x, 16777217.0), lambda x: np.pad(x > 150, 1)]


@pytest.mark.parametrize("x", [BYTES, np.array([100000, 2, 3], np.int32), SINGLE])
@pytest.mark.parametrize("f", range(len(WIDER)))
def test_constant_arrays_beside_arrays(f: int, x: Any) -> None:
    if x is SINGLE and f in (0, 36):
        return  # floats have no bits
    check(WIDER[f], x)


FLOATING: list[Callable[[Any], Any]] = [
    lambda x: MATRIX @ x, lambda x: x @ MATRIX, lambda x: np.dot(HALVES, x), lambda x: np.matmul(MATRIX, x),
    lambda x: np.inner(HALVES, x), lambda x: np.vdot(HALVES, x), lambda x: np.outer(x, HALVES),
    lambda x: np.kron(HALVES, x), lambda x: np.cross(HALVES, x), lambda x: np.einsum("i,i", HALVES, x),
    lambda x: np.tensordot(MATRIX, x, 1), lambda x: np.convolve(x, HALVES), lambda x: np.correlate(x, HALVES),
    lambda x: np.polyval(HALVES, x), lambda x: np.polyval(x, HALVES), lambda x: np.fmod(x, HALVES),
    lambda x: np.fmod(x, 1.5), lambda x: np.select([x > 2, x > 1], [HALVES, x], -1.5),
    lambda x: np.select([x > 2, x > 1], [x, x * 2], 0.5), lambda x: np.searchsorted(HALVES, x),
    lambda x: np.searchsorted(x, HALVES), lambda x: np.digitize(x, HALVES), lambda x: np.append(x, HALVES),
    lambda x: np.hstack([x, HALVES]), lambda x: np.vstack([x, HALVES]), lambda x: np.dstack([x, HALVES]),
    lambda x: np.column_stack([x, HALVES]), lambda x: np.multiply.outer(x, HALVES), lambda x: np.fmax(x, HALVES),
    lambda x: np.polymul(x, HALVES), lambda x: np.polyadd(x, HALVES), lambda x: np.identity(3) @ x,
    lambda x: np.choose([0, 1, 2], [HALVES, INTS, x]), lambda x: np.hypot(x, HALVES), lambda x: x * BOOLS]


@pytest.mark.parametrize("x", [np.array([1, 2, 3]), SINGLE], ids=["ints", "single"])
@pytest.mark.parametrize("f", FLOATING)
def test_float_arrays_beside_an_array(f: Callable[[Any], Any], x: Any) -> None:
    check(f, x)


def test_tensors_keep_their_dtype_beside_arrays_of_numpy() -> None:
    def products(x: Any) -> Any:
        return x * BIG, x @ BIG, np.dot(x, BIG), np.append(x, 2)

    f = rt.function(products)
    assert [part.dtype for part in f(np.array([1, 2, 3], np.int32))] == [rt.int64] * 4
    assert [part.dtype for part in f(I32)] == [rt.int32] * 4
    assert rt.function(lambda x: x / 2)(rt.constant(BYTES)).dtype is rt.float32


def in_place_or(x: Any) -> Any:
    x = x.copy()
    x += np.array([True, True, False])
    return x


SQUARE = np.array([[True, False], [True, True]])
OF_BOOLS: list[tuple[Callable[[Any], Any], Any]] = [
    *[(f, np.array([-5.0, -1, 1, 2, 5])) for f in (
        lambda x: (x > 0) * (x < 3), lambda x: (x > 0) + (x < -3), lambda x: (x[0] > 0) + (x[2] > 0))],
    *[(f, BOOLS) for f in (
        lambda x: np.outer(x, ~x), lambda x: x * 3, lambda x: x + 1, lambda x: x * 0.5, lambda x: x * BIG,
        lambda x: x * HALVES, lambda x: x * np.array([True, True, False]), lambda x: x + True, lambda x: x[0] + x[2],
        lambda x: x / np.array([True, True, True]), lambda x: np.maximum(x, ~x), lambda x: np.dot(x, x), in_place_or,
        lambda x: x // np.array([True, True, True]), lambda x: x < ~x, lambda x: (x * x).sum())],
    *[(f, SQUARE) for f in (
        lambda x: x @ x, lambda x: np.dot(x, x), lambda x: np.einsum("ij,jk->ik", x, x), lambda x: x @ x[0])]]


@pytest.mark.parametrize(("f", "x"), OF_BOOLS)
def test_bools_of_arrays(f: Callable[[Any], Any], x: Any) -> None:
    check(f, x)


@pytest.mark.parametrize("f", [lambda x: -x, lambda x: x - x, lambda x: x - np.array([True, False, True])])
def test_bools_of_arrays_are_not_subtracted(f: Callable[[Any], Any]) -> None:
    for call in (f, rt.function(f)):
        with pytest.raises(TypeError):
            call(BOOLS.copy())


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: x + x, lambda x: x @ x])
def test_bools_of_tensors_are_no_numbers(f: Callable[[Any], Any]) -> None:
    for call in (f, rt.function(f)):
        with pytest.raises(rt.errors.DTypeError, match="bool"):
            call(rt.constant(SQUARE))


def path_of(s, nexts, n):
    path = [(s, 0)]
    for i in range(n):
        s = nexts[s]
        path.append((s, i))
    return [node for node, _ in path]


def queue_of(s, nexts, n):
    queue, found = deque([s]), []
    while queue:
        node = queue.popleft()
        if node < n:
            queue.append(nexts[node])
        found.append(node)
    return found


def changed_list(s, nexts, n):
    xs = [s, s]
    for i in range(n):
        xs.extend([nexts[i % 4]] * 2)
        xs.insert(0, nexts[1])
        xs[-1] = s
    return xs


def heap_of(s, nexts, n):
    heap, found = [(0, s)], []
    while heap:
        steps, node = heapq.heappop(heap)
        found.append(node)
        if steps < n:
            heapq.heappush(heap, (steps + 1, nexts[node]))
    return found


def longer_on_a_path(s, nexts, n):
    xs = [s]
    if n > 1:
        xs.append(nexts[0])
    xs.append(s)
    return xs


def rows_of(s, nexts, n):
    rows = [[s], [s]]
    for i in range(n):
        rows[i % 2].append(nexts[i % 4])
    return rows[0] + rows[1]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [path_of, queue_of, changed_list, heap_of, longer_on_a_path, rows_of])
def test_elements_of_lists_join_as_variables_do(f: Callable[..., Any], executor: str) -> None:
    """An int32 tensor and elements of an int64 array in one list become int64."""
    nexts, staged = np.array([1, 2, 3, 0]), on(executor, f)
    for n in 0, 2, 3:
        found = staged(rt.constant(0), nexts, rt.constant(n))
        assert [*map(int, found)] == [*map(int, f(0, nexts, n))]
        assert n < 2 or {x.dtype for x in found} == {rt.int64}
