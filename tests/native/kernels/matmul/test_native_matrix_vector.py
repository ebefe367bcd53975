"""Products of a matrix and a vector of all sizes and orders, known and unknown."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

ROWS = (1, 3, 4, 64, 129, 1037)
INNER = (1, 7, 16, 33, 200, 1001)


def along(a: Any, x: Any, z: Any) -> Any:
    return rt.linalg.matvec(a, x)


def across(a: Any, x: Any, z: Any) -> Any:
    return rt.linalg.matvec(a, z, transpose_a=True)


def from_the_left(a: Any, x: Any, z: Any) -> Any:
    return rt.matmul(z[None], a)[0]


def strided(a: Any, x: Any, z: Any) -> Any:
    return rt.linalg.matvec(a, rt.stack([z[0] + x, x], 1)[:, 1])


def in_a_loop(a: Any, x: Any, z: Any) -> Any:
    total = rt.zeros_like(z)
    for i in range(3):
        total += rt.linalg.matvec(a, x) * i
    return total


WANTED: dict[Callable[..., Any], Callable[..., Any]] = {
    along: lambda a, x, z: a @ x, across: lambda a, x, z: a.T @ z, from_the_left: lambda a, x, z: z @ a,
    strided: lambda a, x, z: a @ x, in_a_loop: lambda a, x, z: 3 * (a @ x)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fn", WANTED)
def test_products(fn: Callable[..., Any], dtype: Any) -> None:
    random = np.random.default_rng(0)
    specs = [rt.TensorSpec([None, None], dtype), rt.TensorSpec([None], dtype), rt.TensorSpec([None], dtype)]
    unknown = rt.function(fn, executor="native").get_concrete_function(*specs)
    for k, rows in enumerate(ROWS):
        for inner in INNER if rows > 64 else INNER[k % 2::2]:
            args = [random.standard_normal(shape).astype(dtype) for shape in ((rows, inner), inner, rows)]
            wanted = WANTED[fn](*args)
            functions = [unknown] if (rows + inner) % 3 else [unknown, rt.function(fn, executor="native")]
            for function in functions:
                found = np.asarray(function(*map(rt.constant, args)))
                np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4 if dtype is np.float32 else 1e-10)


def test_special_values_reach_their_rows_only() -> None:
    a = np.ones((300, 257))
    a[3, 5], a[7, 256], a[299, 0] = np.nan, np.inf, -np.inf
    found = np.asarray(rt.function(along, executor="native")(rt.constant(a), rt.ones([257], rt.float64), rt.zeros([])))
    assert np.isnan(found[3]) and found[7] == np.inf and found[299] == -np.inf
    assert (np.delete(found, [3, 7, 299]) == 257).all()
