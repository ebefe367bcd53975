"""The dtypes of results of NumPy's functions for arrays, and what these are beside other arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt

RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "bincount": lambda i, x: np.bincount(i, weights=x), "histogram": lambda i, x: np.histogram(x, bins=3)[1],
    "histogram in a range": lambda i, x: np.histogram(x, bins=3, range=(0.0, 3.0))[1],
    "histogram of edges": lambda i, x: np.histogram(x, bins=[0, 1, 5])[1],
    "cov": lambda i, x: np.cov(x), "corrcoef": lambda i, x: np.corrcoef(x, x),
    "polyfit": lambda i, x: np.polyfit(x, x, 1), "polyint": lambda i, x: np.polyint(x),
    "polyder": lambda i, x: np.polyder(x), "vander": lambda i, x: np.vander(x, 3),
    "interp": lambda i, x: np.interp(x, x, x), "linspace": lambda i, x: np.linspace(0, x[1], 3),
    "logspace": lambda i, x: np.logspace(x[0], x[1], 3), "sinc": lambda i, x: np.sinc(x),
    "fft": lambda i, x: np.fft.fft(x), "norm": lambda i, x: np.linalg.norm(x),
    "inv": lambda i, x: np.linalg.inv(np.diag(x + 1)), "solve": lambda i, x: np.linalg.solve(np.diag(x + 1), x),
    "det": lambda i, x: np.linalg.det(np.diag(x + 1)), "svd": lambda i, x: np.linalg.svd(np.outer(x, x))[1],
    "where": lambda i, x: np.where(x > 1, np.int32(3), np.float32(2.5)),
    "where with a number": lambda i, x: np.where(x > 1, np.int16(3), 2),
    "where of lists": lambda i, x: np.where(x > 1, [1, 2, 3, 4], np.float32(2.5)),
    "abs of bools": lambda i, x: np.abs(x > 1), "square of bools": lambda i, x: np.square(x > 1),
    "norm 2 of a matrix": lambda i, x: np.linalg.norm(np.outer(x, i + 1), 2),
    "norm -2": lambda i, x: np.linalg.norm(np.diag(x + 1), -2),
    "norm nuc": lambda i, x: np.linalg.norm(np.outer(x, i + 1), "nuc"),
    "norm -1": lambda i, x: np.linalg.norm(np.outer(x, i + 1), -1),
    "norm -inf": lambda i, x: np.linalg.norm(np.outer(x, i + 1), -np.inf),
    "norm of axes": lambda i, x: np.linalg.norm(np.ones((2, 3, 4)) * (x + 1), 2, axis=(0, 2), keepdims=True),
    "norm -inf of a vector": lambda i, x: np.linalg.norm(x, -np.inf), "norm 0": lambda i, x: np.linalg.norm(x, 0),
    "norm -3": lambda i, x: np.linalg.norm(x + 1, -3),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("program", RESULTS.values(), ids=RESULTS)
def test_as_in_numpy(program: Callable[[Any, Any], Any], dtype: str, executor: str) -> None:
    given = np.array([0, 1, 1, 2]), np.arange(4).astype(dtype)
    want, got = np.asarray(program(*given)), on(executor, program)(*given)
    assert np.asarray(got).dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


COUNTS: dict[str, Callable[[Any, Any], Any]] = {
    "bincount": lambda i, x: np.bincount(i), "histogram": lambda i, x: np.histogram(x, bins=3)[0],
    "counts": lambda i, x: np.unique(i, return_counts=True)[1],
    "index": lambda i, x: np.unique(i, return_index=True)[1],
    "inverse": lambda i, x: np.unique(i, return_inverse=True)[1], "polyder": lambda i, x: np.polyder(i),
    "vander": lambda i, x: np.vander(i, 2)[0], "polyval": lambda i, x: np.polyval([1, 2], i),
    "flatnonzero": lambda i, x: np.flatnonzero(i), "argwhere": lambda i, x: np.argwhere(i)[:, 0],
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", COUNTS.values(), ids=COUNTS)
def test_results_are_arrays(program: Callable[[Any, Any], Any], executor: str) -> None:
    def f(i, x):
        found = program(i, x)
        total, mean, product = 0.0, 0.0, found * x[0]
        for k in range(len(found)):
            total += k * found[k]
            mean += found[k] * 0.5 * x[k % 2]
        return total, mean, product, found / 2, np.polyval(found, 0.5)

    given = np.array([0, 1, 1, 3]), np.array([1.5, 0.25, 2.0, 3.0])
    for want, got in zip(f(*given), on(executor, f)(*given), strict=True):
        np.testing.assert_allclose(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype


def test_tensors_keep_their_dtype() -> None:
    @rt.function
    def f(x, i):
        return np.bincount(i, weights=x), np.cov(x), np.interp(x, x, x), np.polyint(x), np.vander(x), np.bincount(i)

    x, i = rt.constant([0.5, 1.0, 2.0]), rt.constant([0, 1, 1])
    assert [y.dtype.name for y in f(x, i)] == ["float32"] * 5 + ["int64"]
    with pytest.raises(rt.errors.DTypeError, match="different dtypes"):
        rt.function(lambda x, i: np.bincount(i) + x)(x, i)


FLOATS, ROWS = np.array([0.5, 2.0]), np.array([[0.5, 2.0], [1.0, 3.0]], np.float32)
BESIDE_INTS: dict[str, Callable[[Any], Any]] = {
    "hstack": lambda k: np.hstack([FLOATS, k]), "vstack": lambda k: np.vstack([ROWS[:, :1], k]),
    "stack": lambda k: np.stack([np.array(1.5), k]), "append": lambda k: np.append(ROWS, k),
    "append whole floats": lambda k: np.append(np.array([1.0, 2.0]), k), "block": lambda k: np.block([FLOATS, k]),
    "select": lambda k: np.select([FLOATS > 1], [FLOATS], k), "polyval": lambda k: np.polyval(FLOATS, k),
    "searchsorted": lambda k: np.searchsorted(FLOATS, k), "digitize": lambda k: np.digitize(k, FLOATS),
    "isin": lambda k: np.isin(FLOATS, k), "dot": lambda k: np.dot(FLOATS, k), "outer": lambda k: np.outer(k, FLOATS),
    "matmul": lambda k: (ROWS @ np.stack([k, k])), "matmul, left": lambda k: np.stack([k, k]) @ FLOATS,
    "divmod": lambda k: divmod(FLOATS, k)[0], "rdivmod": lambda k: divmod(k, FLOATS)[1],
    "complex": lambda k: np.append(FLOATS * 1j, k),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", BESIDE_INTS.values(), ids=BESIDE_INTS)
def test_ints_of_a_tensor_beside_floats(program: Callable[[Any], Any], executor: str) -> None:
    k = rt.constant(2, rt.int64)
    want = program(np.int64(2))
    for got in (on(executor, program)(k), np.asarray(program(k))):
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == want.dtype


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_counters_beside_floats(executor: str) -> None:
    def f(n):
        x = y = FLOATS
        for i in range(n):
            x, y = np.hstack([FLOATS, i])[1:], np.append(np.ones(1), i)
        return x, y, np.append(np.array([1], np.int8), n)

    for want, got in zip(f(3), on(executor, f)(rt.constant(3, rt.int64)), strict=True):
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == want.dtype
