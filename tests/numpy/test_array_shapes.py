"""The shape of an array in a traced function is a tuple of sizes, as in NumPy, also where only the graph knows some."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt


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
    staged = rt.function(program, executor=executor)
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

    found = rt.function(made, executor=executor)(image, rt.constant(3))
    assert [tuple(x.shape) for x in found] == [(3, 4), (3, 3), (5, 3), (3, 4), (3, 5, 4)]
