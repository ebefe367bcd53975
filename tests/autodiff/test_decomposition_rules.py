"""Derivatives through decompositions: of what does not depend on the phases of vectors, and at equal eigenvalues."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rule_checks import CHECKS, STEP, Point, close, eager, forward_mode, inner, random_like, reverse_mode, walk

import runtime as rt
from runtime.core.graph import Graph
from runtime.core.op import REGISTRY
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import type_of_array
from runtime.errors import InvalidArgumentError, UnimplementedError


def exponential(x: Any) -> Any:
    """exp of a Hermitian matrix."""
    values, vectors = rt.linalg.eigh(x)
    return rt.matmul(vectors * rt.cast(rt.exp(values)[..., None, :], vectors.dtype), vectors, adjoint_b=True)


def polar(x: Any) -> Any:
    """The nearest matrix with orthonormal columns or rows."""
    _, u, v = rt.linalg.svd(x)
    return rt.matmul(u, v, adjoint_b=True)


def squares(x: Any) -> Any:
    s, u, v = rt.linalg.svd(x)
    return rt.matmul(u * rt.cast((s * s)[..., None, :], u.dtype), v, adjoint_b=True)


def determinant(x: Any) -> Any:
    sign, logarithm = rt.linalg.slogdet(x)
    return sign * rt.cast(rt.exp(logarithm), x.dtype)


def projector(x: Any) -> Any:
    q, _ = rt.linalg.qr(x)
    return rt.matmul(q, q, adjoint_b=True)


CASES: list[tuple[Callable[[Any], Any], tuple[int, ...]]] = [
    (exponential, (3, 3)), (exponential, (2, 2, 2)), (polar, (3, 3)), (polar, (4, 2)), (polar, (2, 3)),
    (squares, (2, 4, 2)), (squares, (2, 3)), (determinant, (3, 3)), (projector, (4, 2)), (rt.linalg.inv, (3, 3)),
    (rt.linalg.logdet, (3, 3)), (lambda x: rt.linalg.lstsq(x, x[..., :1]), (4, 2)),
]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("function", "shape"), CASES)
def test_functions_of_matrices(function: Callable[[Any], Any], shape: tuple[int, ...], complex: bool) -> None:
    """Forward mode is the central difference, and reverse mode its adjoint."""
    rng = np.random.default_rng(1)
    x, t = (rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0) for _ in range(2))
    if function in (exponential, rt.linalg.logdet):
        t = t + np.conj(np.swapaxes(t, -1, -2))
        x = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])
    graph = Graph("function")
    with tracing(graph):
        set_outputs(graph, [function(add_input(graph, type_of_array(x)))])
    (tangent,) = forward_mode(graph, [eager(x)], [eager(t)])
    (out,) = graph.outputs
    ahead, behind = (walk(graph, [eager(x + step * t)])[out]._array for step in (STEP, -STEP))
    close(tangent, [(ahead - behind) / (2 * STEP)], "the tangent")
    ct = random_like(tangent, rng)
    (found,) = reverse_mode(graph, [eager(x)], [eager(ct)])
    assert np.isclose(inner(ct, tangent), inner(found, t))


@pytest.mark.parametrize("name", ["eigh", "svd"])
def test_equal_values_give_no_nan(name: str) -> None:
    x = np.diag([2.0, 2.0, 1.0])
    params = {"full_matrices": False} if name == "svd" else {}
    point = Point(REGISTRY[name], [x], params)
    outputs = point.forward([x])
    (ct,) = point.pulled([eager(x)], [eager(np.ones(out.shape)) for out in outputs])
    assert np.isfinite(ct._array).all()
    for t in point.pushed([eager(x)], [eager(np.ones((3, 3)))]):
        assert np.isfinite(t._array).all()


def test_eigenvalues_have_a_lower_triangle() -> None:
    """As in TF2."""
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    (ct,) = Point(REGISTRY["eigh"], [x], {}).pulled([eager(x)], [eager(np.array([1.0, 2.0])), None])
    vectors = np.linalg.eigh(x)[1]
    want = vectors @ np.diag([1, 2]) @ vectors.T
    np.testing.assert_allclose(ct._array, np.tril(want) + np.tril(want, -1))


@pytest.mark.parametrize(("name", "shape"), [("svd", (3, 3)), ("qr", (3, 3)), ("qr", (2, 4))])
def test_full_matrices_that_add_nothing(name: str, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    for full in (False, True):
        point = Point(REGISTRY[name], [x], {"full_matrices": full})
        for check in CHECKS:
            if not full or check.__name__ != "check_staged":  # which forgets the sizes
                check(point, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "shape"), [("svd", (4, 2)), ("svd", (2, 4)), ("qr", (4, 2))])
def test_vectors_that_are_added_have_no_derivative(name: str, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    point = Point(REGISTRY[name], [x], {"full_matrices": True})
    cts = [eager(np.ones(out.shape)) for out in point.forward([x])]
    with pytest.raises(UnimplementedError, match="with full_matrices=True has a derivative only where this adds no"):
        point.pulled([eager(x)], cts)
    with pytest.raises(UnimplementedError, match="Take full_matrices=False"):
        point.pushed([eager(x)], [eager(x)])


def test_singular_values_of_full_matrices() -> None:
    x = np.random.default_rng(0).standard_normal((4, 2))
    one = eager(np.ones(2))
    (want,) = Point(REGISTRY["svd"], [x], {"full_matrices": False}).pulled([eager(x)], [one, None, None])
    (found,) = Point(REGISTRY["svd"], [x], {"full_matrices": True}).pulled([eager(x)], [one, None, None])
    np.testing.assert_allclose(found._array, want._array)


@pytest.mark.parametrize("name", ["det", "slogdet"])
def test_a_singular_matrix_has_no_inverse(name: str) -> None:
    x = np.ones((2, 2))
    point = Point(REGISTRY[name], [x], {})
    with pytest.raises(InvalidArgumentError, match="Singular matrix"):
        point.pulled([eager(x)], [eager(np.float64(1))] * len(point.forward([x])))
