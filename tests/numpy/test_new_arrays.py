"""Arrays that a traced function makes, however it makes them, change as in Python."""
from __future__ import annotations

import heapq
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import full
from traced_once import on

import runtime as rt

GRID, INTS = np.arange(12.0).reshape(3, 4), np.arange(12)

MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda n: np.zeros((3, 4)), "zeros(n)": lambda n: np.zeros((n, n)), "bools": lambda n: np.zeros(n, bool),
    "empty": lambda n: np.zeros_like(np.empty(3)), "ones": lambda n: np.ones(3),
    "ones(n)": lambda n: np.ones(n, np.int16),
    "full": lambda n: np.full((3, 4), 10**9), "full(n)": lambda n: np.full(n, 7),
    "full of bools": lambda n: full(3, True), "arange": lambda n: np.arange(5),
    "array": lambda n: np.array([[1.0, 2], [3, 4], [5, 6]]), "eye": lambda n: np.eye(3),
    "eye(n)": lambda n: np.eye(n), "identity": lambda n: np.identity(n), "linspace": lambda n: np.linspace(0, 1, 4),
    "zeros_like": lambda n: np.zeros_like(GRID), "full_like": lambda n: np.full_like(GRID, 3),
    "full_like(n)": lambda n: np.full_like(GRID, n), "ones_like": lambda n: np.ones_like(INTS),
    "copy": lambda n: GRID.copy(), "np.copy": lambda n: np.copy(GRID), "tile": lambda n: np.tile(INTS[:2], 3),
    "tile(n)": lambda n: np.tile([1.5, 2], n), "tile of two": lambda n: np.tile(np.zeros(3), (n, 1)),
    "repeat": lambda n: np.repeat(INTS[:2], 2), "repeat(n)": lambda n: np.repeat(0.0, n),
    "method repeat(n)": lambda n: INTS.repeat(n), "concatenate": lambda n: np.concatenate([INTS, INTS]),
    "concatenate(n)": lambda n: np.concatenate([np.zeros(3), np.zeros(n)]),
    "stack": lambda n: np.stack([INTS, INTS, INTS]), "append": lambda n: np.append(INTS, 3),
    "pad": lambda n: np.pad(INTS, 1), "roll": lambda n: np.roll(INTS, n), "astype": lambda n: INTS.astype(float),
    "reshape": lambda n: np.arange(6).reshape(3, 2), "reshape(n)": lambda n: np.zeros(n * 2).reshape(n, 2),
    "slice": lambda n: GRID[:].copy(), "product": lambda n: INTS * 2, "negative": lambda n: -GRID,
    "comparison": lambda n: INTS > 3, "matrix product": lambda n: GRID @ GRID.T, "several": lambda n: INTS[[0, 1, 2]],
    "masked": lambda n: INTS[INTS > 2], "sum": lambda n: INTS.cumsum(),
    "meshgrid": lambda n: np.meshgrid(INTS[:3], INTS[:3])[0], "histogram": lambda n: np.histogram(INTS, 3)[0],
    "random": lambda n: np.random.RandomState(0).rand(4)}


def written(make: Callable[[Any], Any], i: Any, n: Any) -> Any:
    a = make(n)
    other = a
    a[i] = 1
    a[i - 1] *= False
    return other


def in_a_branch(make: Callable[[Any], Any], i: Any, n: Any) -> Any:
    a = make(n)
    other = a
    if n > 2:
        a[i] = 1
    return other


def in_a_loop(make: Callable[[Any], Any], i: Any, n: Any) -> Any:
    a = make(n)
    other = a
    for k in range(n):
        a[k] = 0
    return other


@pytest.mark.parametrize("use", [written, in_a_branch, in_a_loop])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_new_array_changes(make: Callable[[Any], Any], use: Callable[..., Any]) -> None:
    want = use(make, 1, 3)
    got = rt.function(lambda i, n: use(make, i, n))(rt.constant(1), rt.constant(3)).numpy()
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def placed(i: Any, n: Any) -> Any:
    a = np.zeros((3, 3))
    a[i, 1] = 1
    a[i][i] = 2
    a[i, :] += 3
    a[i:, 2] = 4
    a[:, i] = [5, n, 7]
    return a


def in_containers(i: Any, n: Any) -> Any:
    lists, names = [np.zeros(3), INTS + 1], {"x": np.full(3, 2.5)}
    for row in lists:
        row[i] = 7
    names["x"][i] = 3
    return lists[0], lists[1], names["x"]


def filled(i: Any, n: Any) -> Any:
    a = INTS * 2
    b = a
    a.fill(n)
    return b


def of_scalars(i: Any, n: Any) -> Any:
    a = GRID * 2.0
    b = np.where(INTS > 2, 1, INTS)
    other = b
    b[i] = 5
    c = a[1:]
    c[0, i] = 9
    return a, other


def edit_distance(i: Any, n: Any) -> Any:
    table = np.full((n + 1, 5), np.inf)
    table[0, 0] = 0
    for r in range(1, n + 1):
        for c in range(1, 5):
            table[r, c] = min(table[r - 1, c] + 1, table[r, c - 1] + 2, table[r - 1, c - 1])
    return table


def shortest(i: Any, n: Any) -> Any:
    best = np.full((4, 4), 10**9, np.int32)
    best[i, i] = 0
    closed = np.zeros((4, 4), bool)
    heap = [(best[i, i], i, i)]
    while heap:
        cost, row, column = heapq.heappop(heap)
        if closed[row, column]:
            continue
        closed[row, column] = True
        for down, right in (0, 1), (1, 0), (0, -1), (-1, 0):
            r, c = row + down, column + right
            if 0 <= r < 4 and 0 <= c < 4 and cost + 1 < best[r, c]:
                best[r, c] = cost + 1
                heapq.heappush(heap, (best[r, c], r, c))
    return best, closed


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [placed, in_containers, filled, of_scalars, edit_distance, shortest])
def test_programs(fn: Callable[..., Any], executor: str) -> None:
    want = fn(1, 3)
    got = on(executor, fn)(rt.constant(1), rt.constant(3))
    for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        assert a.numpy().dtype == b.dtype
        np.testing.assert_array_equal(a.numpy(), b)


def test_what_is_computed_from_an_array_from_outside_shows_it_at_each_call() -> None:
    @rt.function
    def doubled(i: Any) -> Any:
        a = INTS * 2
        a[i] = 0
        return a

    np.testing.assert_array_equal(doubled(rt.constant(1)).numpy()[:3], [0, 0, 4])
    INTS[0] = 50
    try:
        np.testing.assert_array_equal(doubled(rt.constant(1)).numpy()[:3], [100, 0, 4])
        assert INTS[1] == 1
    finally:
        INTS[0] = 0


def test_arrays_that_other_code_makes_are_objects() -> None:
    def joined(i: Any) -> Any:
        a = np.r_[1, 2, 3]
        a[i] = 0
        return a

    def loaded(i: Any) -> Any:
        a = pickle.loads(pickle.dumps(INTS[:3]))
        a[i] = 7
        return a

    def copied(i: Any) -> Any:
        a = operator.methodcaller("copy")(INTS)
        a[i] = 7
        return a

    for fn in (joined, loaded, copied):
        np.testing.assert_array_equal(rt.function(fn)(rt.constant(1)).numpy(), fn(1))