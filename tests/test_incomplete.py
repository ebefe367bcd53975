"""The incomplete gamma and beta functions, zeta and polygamma: results and derivatives are TF's."""
import numpy as np
import pytest

import runtime as rt

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("way", WAYS)
def test_gamma(way):
    a = np.array([0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1e4, 3.0, 3.0, -1.0, 2.0, 2.0, 1.0])
    x = np.array([0.2, 1.0, 1.0, 1.5, 5.0, 25.0, 90.0, 10010.0, 0.0, INF, 1.0, -1.0, 50.0, 1e-10])
    lower, upper = WAYS[way](lambda a, x: (rt.math.igamma(a, x), rt.math.igammac(a, x)))(a, x)
    np.testing.assert_allclose(lower, [
        0.879419627, 0.842700793, 0.632120559, 0.442174600, 0.559506715, 0.866425166, 0.158220989, 0.541137463, 0, 1,
        NAN, NAN, 1, 1e-10], rtol=1e-8)
    np.testing.assert_allclose(upper, [
        0.120580373, 0.157299207, 0.367879441, 0.557825400, 0.440493285, 0.133574834, 0.841779011, 0.458862537, 1, 0,
        NAN, NAN, 9.83662422e-21, 1], rtol=1e-8)


@pytest.mark.parametrize("way", WAYS)
def test_beta(way):
    a = np.array([0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 2.0, 2.0, 2.0, -1.0, 300.0])
    b = np.array([0.2, 0.5, 3.0, 2.0, 1.0, 30.0, 80.0, 3.0, 3.0, 3.0, 1.0, 500.0])
    x = np.array([0.3, 0.2, 0.5, 0.9, 0.99, 0.4, 0.55, 0.0, 1.0, 1.5, 0.5, 0.37])
    np.testing.assert_allclose(WAYS[way](rt.math.betainc)(a, b, x), [
        0.62284335, 0.29516724, 0.875, 0.972, 0.95099005, 0.5077002, 0.43831967, 0, 1, NAN, NAN, 0.38726047], rtol=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_zeta_polygamma_and_lbeta(way):
    x = rt.constant([0.1, 0.5, 1.5, 3.0])
    found = WAYS[way](lambda x: (rt.math.zeta(x + 1.5, x), rt.math.polygamma(1.0, x), rt.math.lbeta(x)))(x)
    np.testing.assert_allclose(found[0], [41.908463, 4.9348021, 0.41439834, 0.010513336], rtol=1e-6)
    np.testing.assert_allclose(found[1], [101.433304, 4.934802, 0.93480223, 0.39493406], rtol=1e-6)
    assert float(rt.math.lbeta([1.0, 2.0, 0.5])) == pytest.approx(-0.6286087)
    np.testing.assert_allclose(rt.math.zeta([2.0, 1.0, 0.5], [1.0, 1.0, 1.0]), [1.6449341, INF, NAN], rtol=1e-6)
    values = WAYS[way](rt.math.zeta)([2.0, 3.0, 2.0, 2.5], [-1.5, -0.25, -2.0, -1.5])  # measured in TF
    np.testing.assert_allclose(values, [9.3792467, -61.34869, INF, NAN], rtol=1e-6)
    orders = WAYS[way](rt.math.polygamma)(rt.constant([0.0, 1.0, 2.0, 1.5, -1.0]), 2)
    np.testing.assert_allclose(orders, [0.42278433, 0.64493406, -0.40411380, NAN, NAN], rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_derivatives(way):
    def f(a, b, x):
        with rt.GradientTape() as tape:
            tape.watch([a, b, x])
            total = rt.reduce_sum(rt.math.igamma(a, x * 3)) + 2 * rt.reduce_sum(rt.math.igammac(b, x))
            total += rt.reduce_sum(rt.math.betainc(2.0, 1.0, x / 5))
        return tape.gradient(total, [a, b, x])

    x = rt.constant([0.1, 0.5, 1.5, 3.0])
    for found, wanted in zip(WAYS[way](f)(x + 0.0, x + 0.5, x), (
        [-0.92198706, -0.2301946, -0.04885704, -0.00869547], [1.3369784, 0.97891504, 0.6269771, 0.45297474],
        [-2.3540869, -0.8647006, -0.46961725, -0.21206656],
    ), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6)
