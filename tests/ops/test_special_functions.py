"""digamma and its derivatives: against identities of theirs."""
from __future__ import annotations

import math

import numpy as np
import pytest

import runtime as rt
from runtime.core.op import REGISTRY
from runtime.errors import InvalidArgumentError

EULER = 0.5772156649015329
X = np.array([1e-3, 0.1, 0.5, 1.0, 1.4616321449683623, 3.7, 15.9, 16.1, 1e3, -0.5, -2.3, -7.9])


def polygamma(order: int, x: object) -> np.ndarray:
    return np.asarray(REGISTRY["polygamma"].kernel(np.asarray(x, np.float64), order=order))


def test_known_values() -> None:
    found = rt.math.digamma(np.array([1.0, 0.5, 2.0])).numpy()
    np.testing.assert_allclose(found, [-EULER, -EULER - 2 * math.log(2), 1 - EULER], rtol=1e-14)
    np.testing.assert_allclose(polygamma(1, [1.0, 0.5]), [math.pi ** 2 / 6, math.pi ** 2 / 2], rtol=1e-14)
    np.testing.assert_allclose(polygamma(3, 1.0), math.pi ** 4 / 15, rtol=1e-13)
    assert abs(rt.math.digamma(1.4616321449683623).numpy()) < 1e-6


@pytest.mark.parametrize("order", range(5))
def test_recurrence(order: int) -> None:
    rest = (-1) ** order * math.factorial(order) / X ** (order + 1)
    np.testing.assert_allclose(polygamma(order, X + 1) - polygamma(order, X), rest, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", range(4))
def test_each_is_the_derivative_of_the_one_before(order: int) -> None:
    step = 1e-5
    slope = (polygamma(order, X[1:] + step) - polygamma(order, X[1:] - step)) / (2 * step)
    np.testing.assert_allclose(polygamma(order + 1, X[1:]), slope, rtol=1e-4)


def test_it_is_the_derivative_of_lgamma() -> None:
    for x in (0.3, 2.0, 30.0, -0.4):
        slope = (math.lgamma(x + 1e-6) - math.lgamma(x - 1e-6)) / 2e-6
        assert math.isclose(float(rt.math.digamma(rt.constant(x, rt.float64))), slope, rel_tol=1e-7)


def test_poles_are_nan() -> None:
    assert np.isnan(rt.math.digamma(np.array([0.0, -1.0, -20.0, np.nan])).numpy()).all()


def test_it_takes_floats() -> None:
    with pytest.raises(TypeError, match="polygamma does not take int32"):
        rt.math.digamma(rt.constant(3))
    with pytest.raises(InvalidArgumentError, match="an order of at least 0"):
        REGISTRY["polygamma"].rule(rt.constant(1.0).type, order=-1)
