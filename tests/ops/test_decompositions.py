"""Decompositions of matrices, and what is made of them: against NumPy, eagerly and staged."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import InvalidArgumentError, ShapeError

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1)]


def matrices(shape: tuple[int, ...], complex: bool = False) -> Any:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if complex else x


def both(function: Any, *arrays: Any) -> Any:
    """The results, eagerly and staged, which are the same."""
    eager = function(*map(rt.constant, arrays))
    staged = rt.function(function)(*map(rt.constant, arrays))
    for a, b in zip(rt.nest.flatten(eager), rt.nest.flatten(staged), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-12)
    return [x.numpy() for x in rt.nest.flatten(eager)]


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0)])
def test_eigh(shape: tuple[int, ...], complex: bool) -> None:
    x = matrices(shape, complex)
    x = x + adjoint(x)
    values, vectors = both(rt.linalg.eigh, x)
    np.testing.assert_allclose((vectors * values[..., None, :]) @ adjoint(vectors), x, atol=1e-12)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_array_equal(both(rt.linalg.eigvalsh, x)[0], values)
    np.testing.assert_array_equal(both(rt.linalg.eigh, np.tril(x))[0], values)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape: tuple[int, ...], full: bool, complex: bool) -> None:
    x = matrices(shape, complex)
    s, u, v = both(lambda x: rt.linalg.svd(x, full_matrices=full), x)
    k = s.shape[-1]
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ adjoint(v[..., :k]), x, atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False))
    assert u.shape[-1] == (shape[-2] if full else k)
    assert v.shape[-1] == (shape[-1] if full else k)
    np.testing.assert_array_equal(both(lambda x: rt.linalg.svd(x, compute_uv=False), x)[0], s)


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape: tuple[int, ...], full: bool, complex: bool) -> None:
    x = matrices(shape, complex)
    q, r = both(lambda x: rt.linalg.qr(x, full), x)
    k = shape[-2] if full else min(shape[-2:])
    assert q.shape[-1] == r.shape[-2] == k
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_allclose(adjoint(q) @ q, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)), atol=1e-12)
    np.testing.assert_allclose(r, np.triu(r), atol=1e-12)


@pytest.mark.parametrize("complex", [False, True])
def test_logarithms_of_determinants(complex: bool) -> None:
    x = matrices((2, 3, 3), complex)
    sign, logarithm = both(rt.linalg.slogdet, x)
    np.testing.assert_allclose(sign * np.exp(logarithm), np.linalg.det(x))
    assert logarithm.dtype == np.float64
    positive = x @ adjoint(x) + np.eye(3)
    (found,) = both(rt.linalg.logdet, positive)
    np.testing.assert_allclose(found, np.linalg.slogdet(positive)[1])
    assert found.dtype == np.float64


def test_a_singular_matrix_has_the_logarithm_of_nothing() -> None:
    sign, logarithm = rt.linalg.slogdet(np.zeros((2, 2)))
    assert (sign.numpy(), logarithm.numpy()) == (0, -np.inf)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_triangular_solve(lower: bool, turned: bool) -> None:
    x, b = matrices((2, 3, 3), True) + 3 * np.eye(3), matrices((2, 3, 2), True)
    (found,) = both(lambda x, b: rt.linalg.triangular_solve(x, b, lower=lower, adjoint=turned), x, b)
    triangle = np.tril(x) if lower else np.triu(x)
    np.testing.assert_allclose((adjoint(triangle) if turned else triangle) @ found, b, atol=1e-12)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3)])
def test_least_squares(shape: tuple[int, int], fast: bool) -> None:
    x, b = matrices(shape), matrices((shape[0], 2))
    (found,) = both(lambda x, b: rt.linalg.lstsq(x, b, fast=fast), x, b)
    np.testing.assert_allclose(found, np.linalg.lstsq(x, b, rcond=None)[0], atol=1e-10)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_regular_least_squares(shape: tuple[int, int]) -> None:
    x, b = matrices(shape), matrices((shape[0], 2))
    (found,) = both(lambda x, b: rt.linalg.lstsq(x, b, l2_regularizer=0.5), x, b)
    np.testing.assert_allclose(found, np.linalg.solve(x.T @ x + 0.5 * np.eye(shape[1]), x.T @ b))


def test_inverse_is_inv() -> None:
    x = matrices((3, 3))
    np.testing.assert_allclose(both(rt.linalg.inverse, x)[0], np.linalg.inv(x))


@pytest.mark.parametrize("function", [rt.linalg.eigh, rt.linalg.slogdet])
def test_matrices_must_be_square(function: Any) -> None:
    with pytest.raises(ShapeError, match="takes square matrices, not float64"):
        function(np.ones((2, 3)))


@pytest.mark.parametrize("function", [rt.linalg.svd, rt.linalg.qr])
def test_matrices_have_two_dimensions(function: Any) -> None:
    with pytest.raises(ShapeError, match=r"takes matrices, not float64\[3\]"):
        function(np.ones(3))


@pytest.mark.parametrize("function", [rt.linalg.eigh, rt.linalg.svd])
def test_no_convergence_is_an_error(function: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="did not converge"):
        function(np.full((3, 3), np.nan))


def test_dependent_columns_are_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="Singular matrix"):
        rt.linalg.lstsq(np.ones((3, 2)), np.ones((3, 1)))
