"""The shape of an array in a traced function is a tuple of sizes, as in NumPy, also where only the graph knows some."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on


def by_rows(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[j]
    return total


def unpacked(a, b):
    height, width = a.shape
    return height * width + len(a.shape), a.shape[-1] + a.ndim


def compared(a, b):
    found = 0
    if a.shape == (3, 4):
        found += 1
    if a.shape[1:] == b.shape:
        found += 10
    if a.shape != b.shape:
        found += 100
    if a.shape[0] > a.shape[1]:
        found += 1000
    return found


def as_sizes(a, b):
    made = np.zeros(a.shape) + np.ones(a.shape[:1])[:, None]
    made[0] = b
    return made, a.reshape(a.shape[1], a.shape[0]), np.empty(a.shape + (2,)).shape[2], np.full(a.shape, 2.0).sum()


def written(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + b
    return a


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", [by_rows, unpacked, compared, as_sizes, written])
def test_as_in_numpy(program: Callable[..., Any], executor: str) -> None:
    staged = on(executor, program)
    for rows in (3, 4, 5, 6, 3, 7):
        given = np.arange(4.0 * rows).reshape(rows, 4), np.arange(4.0)
        passed = given[0].copy(), given[1].copy()
        wanted, found = program(*given), staged(*passed)
        for want, got in zip(*(x if isinstance(x, tuple) else (x,) for x in (wanted, found)), strict=True):
            np.testing.assert_allclose(got, want)
        np.testing.assert_allclose(passed[0], given[0])
    assert staged.experimental_get_tracing_count() <= 4  # from the third number of rows on, one trace


def test_of_arrays_whose_size_a_tensor_gives() -> None:
    @rt.function
    def f(n):
        a = np.zeros((n + 1, 3))
        for i in range(a.shape[0]):
            a[i, 0] = i
        return a.sum(), a.shape[0], np.shape(a)[0], np.arange(n).shape

    total, rows, same, (count,) = f(rt.constant(4))
    assert (float(total), int(rows), int(same), int(count)) == (10.0, 5, 5, 4)


def test_of_a_tensor_unknown_sizes_are_none() -> None:
    @rt.function
    def f(x):
        assert x.shape[0] is None and x.shape.as_list() == [None, 3]
        return x.shape[1]

    assert int(f.get_concrete_function(rt.TensorSpec([None, 3]))(rt.ones([2, 3]))) == 3


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("image", [np.zeros((5, 4)), rt.zeros([5, 4])], ids=["array", "tensor"])
def test_a_size_of_the_graph_beside_a_shape(image: Any, executor: str) -> None:
    def made(a: Any, n: Any) -> Any:
        return (np.zeros((n,) + a.shape[1:]), np.ones((n, n) + a.shape[2:]), rt.zeros(a.shape[:1] + (n,)),
                rt.zeros([n] + a.shape[1:]), rt.fill((n,) + a.shape, 2.0))

    found = on(executor, made)(image, rt.constant(3))
    assert [tuple(x.shape) for x in found] == [(3, 4), (3, 3), (5, 3), (3, 4), (3, 5, 4)]


def in_a_loop(a: Any, n: Any) -> Any:
    shape = a.T.shape
    for i in range(n):
        shape = (3, 2) if i > 1 else a.shape
    return shape[0], np.zeros(a.shape) + a


AS_TUPLES: dict[str, Callable[[Any, Any], Any]] = {
    "isinstance": lambda a, n: (isinstance(a.shape, tuple), isinstance((a + 1).shape[1:], tuple)),
    "compared": lambda a, n: (a.shape == (2, 3), a.shape != (2, 3), a.shape == [2, 3], a.shape < (2, 4)),
    "joined": lambda a, n: ((*a.shape, 1), a.shape + (1,), (1,) + a.shape, a.shape * 2, a.shape[::-1] + (n,)),
    "a key": lambda a, n: ({a.shape: 1}[(2, 3)], {(2, 3): 5}[a.shape], hash(a.shape) == hash((2, 3)),
                           a.shape in [(2, 3)], len({a.shape, (2, 3), a.T.shape})),
    "asked": lambda a, n: (len(a.shape), a.shape.count(3), a.shape.index(3), 3 in a.shape, sum(a.shape), max(a.shape)),
    "text": lambda a, n: (f"{a.shape} {a.shape!r} {a[0].shape}" == "(2, 3) (2, 3) (3,)", str(a.shape) == "(2, 3)"),
    "of an object": lambda a, n: (
        a.fill(2.0), a.shape == (2, 3), isinstance(a.shape, tuple), np.ones(a.shape + (n,)))[1:],
    "in a loop": in_a_loop,
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", AS_TUPLES.values(), ids=AS_TUPLES)
def test_as_a_tuple(program: Callable[[Any, Any], Any], executor: str) -> None:
    for n in (3, rt.constant(3)):
        want, got = program(np.ones((2, 3)), 3), on(executor, program)(np.ones((2, 3)), n)
        for one, other in zip(rt.nest.flatten(want), rt.nest.flatten(got), strict=True):
            np.testing.assert_array_equal(one, other)


def test_as_a_tensor_shape() -> None:
    """Code written for TF may be given an array."""
    def f(x: Any) -> Any:
        return rt.zeros([4] + x.shape[1:]), x.shape.rank, x.shape.as_list(), x.shape.is_fully_defined()

    for given in (np.ones((2, 3)), rt.ones([2, 3])):
        made, rank, sizes, is_defined = rt.function(f)(given)
        assert made.shape == [4, 3] and rank == 2 and [int(n) for n in sizes] == [2, 3] and is_defined
