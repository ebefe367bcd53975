"""Element-wise functions and losses that are composed of ops: against NumPy, eagerly and staged."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from test_matrix_functions import both

import runtime as rt
from runtime.errors import ShapeError

X = np.array([-800.0, -3.5, -1.0, 0.0, 0.25, 1.0, 40.0, 800.0])


def test_log_sigmoid_and_xlog1py() -> None:
    want = np.minimum(X, 0) - np.log1p(np.exp(-abs(X)))
    np.testing.assert_allclose(both(rt.math.log_sigmoid, X), want)
    y = np.array([-1.0, 0.5, 3.0, -1.0, 0.0, -0.5, 1e-12, 2.0])
    want = [0.0 if a == 0 else a * math.log1p(b) if b > -1 else -a * math.inf for a, b in zip(X, y, strict=True)]
    np.testing.assert_allclose(both(rt.math.xlog1py, X, y), want)
    assert rt.grad(lambda x: rt.math.xlog1py(x, -1.0))(rt.constant(0.0)).numpy() == 0


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_truncated_divisions_of_ints(dtype: Any) -> None:
    x, y = (np.array(v, dtype) for v in ([7, -7, 7, -7, 6, -6, 0], [2, 2, -2, -2, -3, 3, 5]))
    np.testing.assert_array_equal(both(rt.truncatediv, x, y), [int(a / b) for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(both(rt.truncatemod, x, y), np.fmod(x, y))
    with pytest.raises(ZeroDivisionError):
        rt.truncatediv(rt.constant(1), 0)


def test_truncated_divisions_of_floats() -> None:
    x, y = np.array([7.5, -7.5, 6.0, -0.5]), np.array([2.0, 2.0, -4.0, 3.0])
    np.testing.assert_array_equal(both(rt.truncatediv, x, y), np.trunc(x / y))
    np.testing.assert_array_equal(both(rt.truncatemod, x, y), np.fmod(x, y))


def test_scalar_mul() -> None:
    np.testing.assert_array_equal(both(lambda x: rt.scalar_mul(2.0, x), X), 2 * X)
    assert rt.math.scalar_mul(rt.constant(3), [1, 2]).numpy().tolist() == [3, 6]
    with pytest.raises(ShapeError, match="scalar_mul takes a scalar"):
        rt.scalar_mul([1.0], X)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumulative_logsumexp(exclusive: bool, reverse: bool, axis: int) -> None:
    x = np.array([[0.0, 1000.0, 3.0], [-1000.0, 5.0, -np.inf], [2.0, 2.0, 2.0], [-3.0, 700.0, 1.0], [1.0, 0.0, 9.0]])
    rows = np.moveaxis(x, axis, 0)[::-1 if reverse else 1]
    want, total = [], np.full(rows.shape[1:], -np.inf)
    for row in rows:
        before, total = total, np.logaddexp(total, row)
        want.append(before if exclusive else total)
    want = np.moveaxis(np.array(want)[::-1 if reverse else 1], 0, axis)
    found = both(lambda x: rt.math.cumulative_logsumexp(x, axis, exclusive, reverse), x)
    np.testing.assert_allclose(found, want)


def test_the_derivative_of_cumulative_logsumexp() -> None:
    x = np.array([0.5, -1.0, 2.0])
    total = rt.function(rt.grad(lambda x: rt.reduce_sum(rt.math.cumulative_logsumexp(x))))
    share = np.exp(x)[None, :] * np.tri(3) / np.cumsum(np.exp(x))[:, None]
    np.testing.assert_allclose(total(rt.constant(x)), share.sum(0), rtol=1e-12)


def test_losses() -> None:
    labels, logits = np.array([0.0, 1.0, 0.3, 1.0, 0.0]), np.array([-2.0, 3.0, 0.5, -700.0, 700.0])
    positive, negative = (np.logaddexp(0, sign * logits) for sign in (-1, 1))
    np.testing.assert_allclose(both(lambda z, x: rt.nn.weighted_cross_entropy_with_logits(z, x, 2.5), labels, logits),
                               labels * positive * 2.5 + (1 - labels) * negative)
    counts, logs = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.1, -1.0, 0.7, 2.0])
    want = np.exp(logs) - counts * logs
    np.testing.assert_allclose(both(rt.nn.log_poisson_loss, counts, logs), want)
    full = [0.0 if z <= 1 else z * math.log(z) - z + 0.5 * math.log(2 * math.pi * z) for z in counts]
    np.testing.assert_allclose(both(lambda z, c: rt.nn.log_poisson_loss(z, c, True), counts, logs), want + full)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shift", [None, 0.5])
def test_moments_of_sufficient_statistics(shift: float | None, keepdims: bool, executor: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4, 2)).astype(np.float32)
    traced = rt.function(lambda x: rt.nn.sufficient_statistics(x, [0, 2], shift, keepdims), executor=executor)
    count, total, squares, moved = traced(x)
    y = x if shift is None else x - shift
    assert count == 6 and (moved is None if shift is None else moved == shift)
    np.testing.assert_allclose(total, y.sum((0, 2), keepdims=keepdims), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(squares, (y ** 2).sum((0, 2), keepdims=keepdims), rtol=1e-4)
    mean, variance = rt.nn.normalize_moments(count, total, squares, moved)
    np.testing.assert_allclose(mean, x.mean((0, 2), keepdims=keepdims), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variance, x.var((0, 2), keepdims=keepdims), rtol=1e-3)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_the_greatest_and_least_along_an_axis(axis: int, executor: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 7, 4)).astype(np.float32)
    for function, ordered in ((rt.math.approx_max_k, np.argsort(-x, axis)),
                              (rt.math.approx_min_k, np.argsort(x, axis))):
        values, indices = rt.function(lambda x, f=function: f(x, 2, reduction_dimension=axis), executor=executor)(x)
        np.testing.assert_array_equal(indices, ordered.take([0, 1], axis))
        np.testing.assert_array_equal(values, np.take_along_axis(x, ordered.take([0, 1], axis), axis))


def test_weighted_moments() -> None:
    x, weights = np.arange(24.0).reshape(2, 3, 4), np.array([[1.0], [2.0], [0.5]])
    mean, variance = rt.nn.weighted_moments(x, [0, 1], weights)
    each = np.broadcast_to(weights, x.shape)
    expected = (each * x).sum((0, 1)) / each.sum((0, 1))
    np.testing.assert_allclose(mean, expected)
    np.testing.assert_allclose(variance, (each * (x - expected) ** 2).sum((0, 1)) / each.sum((0, 1)))
    assert rt.nn.weighted_moments(x, [2], 1.0, keepdims=True)[0].shape == [2, 3, 1]


def test_local_response_normalization() -> None:
    x = np.arange(-6.0, 8.0).reshape(2, 7)
    near = np.array([[(row[max(k - 2, 0):k + 3] ** 2).sum() for k in range(7)] for row in x])
    np.testing.assert_allclose(both(lambda x: rt.nn.local_response_normalization(x, 2, 1.5, 0.3, 0.75), x),
                               x / (1.5 + 0.3 * near) ** 0.75)
    assert rt.nn.lrn is rt.nn.local_response_normalization


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_leaky_relu_of_ints_is_of_floats(dtype: Any) -> None:
    found = both(rt.nn.leaky_relu, np.array([-5, 3]).astype(dtype))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [-1 if dtype is np.int64 else 251, 3])


def test_numbers_of_strings_that_are_not_empty() -> None:
    words = np.array([["a", ""], ["b", "c"]], object)
    for way in (lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")):
        assert way(lambda x: rt.math.count_nonzero(x, 0))(rt.constant(words)).numpy().tolist() == [2, 1]


def test_crelu_and_average_losses() -> None:
    np.testing.assert_array_equal(both(rt.nn.crelu, np.array([[1.0, -2.0]])), [[1, 0, 0, 2]])
    assert rt.nn.compute_average_loss([1.0, 2.0, 3.0], sample_weight=[1.0, 0.5, 0.0]).numpy() == np.float32(2 / 3)
    assert rt.nn.compute_average_loss([[1.0, 2.0]], [2.0], global_batch_size=4).numpy() == 1.5
    assert rt.nn.scale_regularization_loss([1.0, 2.0]).numpy() == 3.0
    assert rt.nn.zero_fraction is rt.math.zero_fraction


def test_quotients_that_are_zero_at_zero() -> None:
    x, y = np.array([0.0, 1.0, 0.0, 2.0]), np.array([0.0, 2.0, np.nan, -4.0])
    np.testing.assert_array_equal(both(rt.math.xdivy, x, y), [0, 0.5, 0, -0.5])
    np.testing.assert_array_equal(both(rt.math.reciprocal_no_nan, x), [0, 1, 0, 0.5])
    gradients = rt.grad(lambda x, y: rt.reduce_sum(rt.math.xdivy(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(gradients[1], [0, -0.25, 0, -0.125])
    assert gradients[0].numpy().tolist() == [0, 0.5, 0, -0.25]


def test_quantiles_of_the_normal_distribution() -> None:
    p = np.array([0.025, 0.5, 0.975, 0.0, 1.0])
    np.testing.assert_allclose(both(rt.math.ndtri, p), [-1.959963984540054, 0, 1.959963984540054, -np.inf, np.inf],
                               atol=1e-12)
    x = np.array([0.1, 1.0, 1.7])
    np.testing.assert_allclose(rt.math.erfc(both(rt.math.erfcinv, x)), x)


def test_colours_of_television_and_back() -> None:
    image = np.random.default_rng(0).random((2, 3, 3))
    for there, back in (rt.image.rgb_to_yuv, rt.image.yuv_to_rgb), (rt.image.rgb_to_yiq, rt.image.yiq_to_rgb):
        np.testing.assert_allclose(both(there, image)[..., 0], image @ [0.299, 0.587, 0.114])
        np.testing.assert_allclose(back(there(image)), image, atol=2e-4)
