"""Matrices by their structure, against the matrices."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B = RNG.normal(size=(2, 3, 3)) + 3 * np.eye(3)
P = A @ A.T
D = np.array([1.0, 2.0, 3.0])
R = RNG.normal(size=(2, 3))
C = A + 1j * A.T
L = rt.linalg
Full, Diag = L.LinearOperatorFullMatrix, L.LinearOperatorDiag


def blocks(*parts: Any) -> Any:
    size = sum(len(part) for part in parts)
    whole, at = np.zeros([size, size]), 0
    for part in parts:
        whole[at:at + len(part), at:at + len(part)] = part
        at += len(part)
    return whole


OPERATORS: dict[str, tuple[Callable[[], Any], Any]] = {
    "full": (lambda: Full(A), A), "batch": (lambda: Full(B), B), "rectangle": (lambda: Full(R), R),
    "complex": (lambda: Full(C), C),
    "positive": (lambda: Full(P, is_self_adjoint=True, is_positive_definite=True), P),
    "diagonal": (lambda: Diag(D), np.diag(D)),
    "complex diagonal": (lambda: Diag(D + 1j), np.diag(D + 1j)),
    "diagonals": (lambda: Diag(np.stack([D, D + 1])), np.stack([np.diag(D), np.diag(D + 1)])),
    "identity": (lambda: L.LinearOperatorIdentity(3, dtype=rt.float64), np.eye(3)),
    "identities": (lambda: L.LinearOperatorIdentity(3, [2], rt.float64), np.stack([np.eye(3)] * 2)),
    "multiple": (lambda: L.LinearOperatorScaledIdentity(3, rt.constant(2.0, rt.float64)), 2 * np.eye(3)),
    "triangle": (lambda: L.LinearOperatorLowerTriangular(A), np.tril(A)),
    "product": (lambda: L.LinearOperatorComposition([Full(A), Diag(D)]), A @ np.diag(D)),
    "product of rectangles": (lambda: Full(R) @ Full(A), R @ A),
    "blocks": (lambda: L.LinearOperatorBlockDiag([Full(A), Diag(D[:2])]), blocks(A, np.diag(D[:2]))),
    "batches of blocks": (lambda: L.LinearOperatorBlockDiag([Full(B), Diag(D)]),
                          np.stack([blocks(each, np.diag(D)) for each in B])),
    "Kronecker": (lambda: L.LinearOperatorKronecker([Full(A), Diag(D[:2])]), np.kron(A, np.diag(D[:2]))),
    "update": (lambda: L.LinearOperatorLowRankUpdate(Diag(D), R.T, D[:2]), np.diag(D) + R.T * D[:2] @ R),
    "zeros": (lambda: L.LinearOperatorZeros(2, 3, dtype=rt.float64), np.zeros([2, 3])),
}


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.to_dense() if isinstance(found, L.LinearOperator) else found, wanted, atol=1e-9)


@pytest.mark.parametrize("name", OPERATORS)
def test_what_operators_do(name: str) -> None:
    make, matrix = OPERATORS[name]
    operator, adjoint = make(), np.conj(np.swapaxes(matrix, -1, -2))
    rows, columns = matrix.shape[-2:]
    x, y = (RNG.normal(size=(size, 2)).astype(matrix.dtype) for size in (columns, rows))
    assert operator.shape == matrix.shape and operator.dtype.name == matrix.dtype.name
    assert (operator.range_dimension, operator.domain_dimension) == (rows, columns)
    assert operator.batch_shape == matrix.shape[:-2] and operator.is_square is (rows == columns)
    assert operator.shape_tensor().numpy().tolist() == list(matrix.shape)
    for found, wanted in (
            (operator, matrix), (operator.matmul(x), matrix @ x), (operator @ x, matrix @ x),
            (operator.matmul(y, adjoint=True), adjoint @ y),
            (operator.matmul(x.conj().T, adjoint_arg=True), matrix @ x),
            (operator.matvec(x[:, 0]), matrix @ x[:, 0]), (operator.adjoint(), adjoint), (operator.H, adjoint),
            (operator.diag_part(), np.diagonal(matrix, axis1=-2, axis2=-1)),
            (operator.trace(), np.trace(matrix, axis1=-2, axis2=-1)),
            (operator.add_to_tensor(np.ones(matrix.shape)), matrix + 1)):
        close(found, wanted)
    traced = rt.function(lambda x: make().matmul(x))
    close(traced(x), matrix @ x)
    if rows == columns:
        for found, wanted in (
                (operator.solve(x), np.linalg.solve(matrix, x)),
                (operator.solve(x, adjoint=True), np.linalg.solve(adjoint, x)),
                (operator.solvevec(x[:, 0]), np.linalg.solve(matrix, x[:, :1])[..., 0]),
                (operator.inverse(), np.linalg.inv(matrix)), (operator.determinant(), np.linalg.det(matrix)),
                (operator.log_abs_determinant(), np.linalg.slogdet(matrix)[1])):
            close(found, wanted)


@pytest.mark.parametrize("name", ["positive", "diagonal", "identity", "multiple"])
def test_operators_that_are_positive(name: str) -> None:
    make, matrix = OPERATORS[name]
    close(make().cholesky(), np.linalg.cholesky(matrix))
    close(make().cond(), np.linalg.cond(matrix))
    np.testing.assert_allclose(np.sort(make().eigvals().numpy()), np.linalg.eigvalsh(matrix))


def test_eigenvalues_of_others() -> None:
    np.testing.assert_allclose(np.sort(Full(A).eigvals().numpy()), np.sort(np.linalg.eigvals(A).astype(complex)))
    close(L.LinearOperatorLowerTriangular(A).eigvals(), np.diag(A))


def test_they_have_derivatives() -> None:
    v = rt.Variable(A)
    with rt.GradientTape() as tape:
        y = rt.reduce_sum(L.LinearOperatorLowerTriangular(v).solve(P))
    inverse = np.linalg.inv(np.tril(A))
    close(tape.gradient(y, v), np.tril(-inverse.T @ np.ones([3, 3]) @ (inverse @ P).T))


def test_what_is_refused() -> None:
    for error, text, call in (
            (rt.errors.UnimplementedError, "it is not square", lambda: Full(R).solve(R)),
            (rt.errors.UnimplementedError, "it is singular", lambda: Full(A, is_non_singular=False).solve(A)),
            (rt.errors.InvalidArgumentError, "determinant takes an operator that is square", Full(R).determinant),
            (rt.errors.ShapeError, "do not compose", lambda: Full(A) @ Full(R)),
            (TypeError, r"one dtype, not \['float32', 'float64'\]", lambda: Full(A) @ Diag(D.astype("f4"))),
            (rt.errors.ShapeError, "takes matrices", lambda: Full(D))):
        with pytest.raises(error, match=text):
            call()
