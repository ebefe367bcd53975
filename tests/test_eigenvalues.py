"""Eigenvalues of matrices that are not Hermitian, and their derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

WAYS = [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")]
RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(2, 3, 3))
COMPLEX = REAL + 1j * RNG.normal(size=(2, 3, 3))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("x", [REAL, COMPLEX, REAL.astype("f4"), COMPLEX.astype("c8")])
def test_values_and_vectors(way: Callable[[Any], Any], x: Any) -> None:
    e, v = way(rt.linalg.eig)(rt.constant(x))
    assert e.dtype is v.dtype is (rt.complex64 if x.dtype.itemsize < 8 or x.dtype == "c8" else rt.complex128)
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * e.numpy()[:, None], atol=1e-5)
    np.testing.assert_allclose(np.abs(v.numpy() ** 2).sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(way(rt.linalg.eigvals)(rt.constant(x)), e)


def size(x: Any) -> Any:
    """A number that depends on no order and no phase."""
    e, v = rt.linalg.eig(x)
    values = rt.abs(e)
    return rt.reduce_sum(values ** 3) + rt.reduce_sum(rt.abs(v) ** 4 * values[:, None, :])


@pytest.mark.parametrize("way", WAYS)
def test_derivatives(way: Callable[[Any], Any]) -> None:
    def fn(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = size(x)
        return tape.gradient(y, x)

    step = 1e-6
    for x, directions in ((REAL, (1,)), (COMPLEX, (1, 1j))):
        found = way(fn)(rt.constant(x)).numpy()
        for direction in directions:
            for place in ((0, 0, 1), (1, 2, 2), (0, 2, 0)):
                moved = [x.copy(), x.copy()]
                moved[0][place] += step * direction
                moved[1][place] -= step * direction
                ratio = (size(rt.constant(moved[0])) - size(rt.constant(moved[1]))).numpy() / (2 * step)
                part = found[place].real if direction == 1 else found[place].imag
                np.testing.assert_allclose(part, ratio, rtol=1e-5, atol=1e-7)


def test_what_is_refused() -> None:
    with pytest.raises(rt.errors.ShapeError, match="eig takes square matrices"):
        rt.linalg.eig(rt.ones([2, 3]))
    with pytest.raises(TypeError, match="eig"):
        rt.linalg.eig(rt.constant([[1]]))
    with pytest.raises(rt.errors.LinearAlgebraError):
        rt.linalg.eigvals(rt.constant([[np.nan, 1.0], [1.0, 1.0]]))
