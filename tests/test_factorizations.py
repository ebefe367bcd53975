"""LU, square roots and systems with three diagonals: results are TF's or NumPy's."""
import numpy as np
import pytest

import runtime as rt
from runtime.errors import InvalidArgumentError, UnimplementedError

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
RNG = np.random.default_rng(0)
MATRICES, RIGHT = RNG.normal(size=(2, 4, 4)), RNG.normal(size=(2, 4, 2))
linalg = rt.linalg


@pytest.mark.parametrize("way", WAYS)
def test_lu(way):
    found, order = WAYS[way](linalg.lu)(rt.constant([[1.0, 2, 3], [4, 5, 7], [7, 8, 8]]))
    np.testing.assert_allclose(found, [[7, 8, 8], [0.14285715, 0.8571428, 1.857143], [0.5714286, 0.5, 1.5]], rtol=1e-6)
    assert order.numpy().tolist() == [2, 0, 1] and order.dtype is rt.int32


@pytest.mark.parametrize("way", WAYS)
def test_what_lu_is_for(way):
    def f(x, y):
        factors = linalg.lu(x, output_idx_type=rt.int64)
        return (linalg.lu_reconstruct(*factors), linalg.lu_solve(*factors, y), linalg.lu_matrix_inverse(*factors))

    again, solution, inverse = WAYS[way](f)(MATRICES, RIGHT)
    np.testing.assert_allclose(again, MATRICES, atol=1e-12)
    np.testing.assert_allclose(solution, np.linalg.solve(MATRICES, RIGHT), atol=1e-10)
    np.testing.assert_allclose(inverse, np.linalg.inv(MATRICES), atol=1e-10)


def test_derivative_of_lu():
    def f(x):
        return rt.reduce_sum(rt.sin(linalg.lu(x)[0]))

    found, step = rt.grad(f)(rt.constant(MATRICES)).numpy(), 1e-6
    for place in (0, 1, 2), (1, 3, 0):
        moved = [MATRICES.copy(), MATRICES.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        assert (float(f(moved[0])) - float(f(moved[1]))) / (2 * step) == pytest.approx(found[place], rel=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_sqrtm(way):
    root = WAYS[way](linalg.sqrtm)
    np.testing.assert_allclose(root(rt.constant([[1.0, 2], [0, 3]])), [[1, 0.7320508], [0, 1.7320508]], atol=1e-6)
    quarter = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    np.testing.assert_allclose(root(rt.constant([[0.0, 1], [-1, 0]])), quarter, atol=1e-6)
    positive = MATRICES @ MATRICES.swapaxes(-1, -2) + np.eye(4)
    np.testing.assert_allclose(root(positive).numpy() @ root(positive).numpy(), positive, atol=1e-10)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_logm(way, scale):
    log = WAYS[way](linalg.logm)
    positive = scale * (MATRICES @ MATRICES.swapaxes(-1, -2) + np.eye(4))
    found = log(rt.constant(positive))
    np.testing.assert_allclose(linalg.expm(found), positive, rtol=1e-9, atol=1e-9 * scale)
    values, vectors = np.linalg.eigh(positive)
    np.testing.assert_allclose(found, vectors * np.log(values)[:, None] @ vectors.swapaxes(-1, -2), atol=1e-9)
    turned = linalg.expm(rt.cast(0.3 * MATRICES, rt.complex128) * 1j)
    np.testing.assert_allclose(log(turned), 0.3j * MATRICES, atol=1e-9)
    np.testing.assert_allclose(log(rt.constant([[1.0, 1], [0, 1]])), [[0, 1], [0, 0]], atol=1e-6)  # not diagonalisable


def test_the_gradient_of_logm():
    x = MATRICES[0] @ MATRICES[0].T + np.eye(4)

    def f(x):
        return rt.reduce_sum(linalg.logm(x) * MATRICES[1])

    found, step = rt.grad(f)(rt.constant(x)).numpy(), 1e-6
    for place in (0, 0), (1, 3):
        moved = [x.copy(), x.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        assert (float(f(moved[0])) - float(f(moved[1]))) / (2 * step) == pytest.approx(found[place], rel=1e-4)


DIAGONALS = [[[1.0, 2, 3, 9], [4, 5, 6, 7], [9, 1, -1, 2]]]
COLUMNS = [[[1.0, 0], [2, 1], [3, 0], [4, 1]]]
SOLVED = [[[0.1891892, -0.0567568], [0.2432432, 0.2270270], [0.2972973, -0.0391892], [0.4864865, 0.1540541]]]


@pytest.mark.parametrize("way", WAYS)
def test_three_diagonals(way):
    run = WAYS[way]
    given, right = rt.constant(DIAGONALS), rt.constant(COLUMNS)
    assert run(linalg.tridiagonal_matmul)(given, right).numpy().tolist() == [[[6, 1], [17, 5], [28, 2], [34, 7]]]
    np.testing.assert_allclose(run(linalg.tridiagonal_solve)(given, right), SOLVED, atol=1e-6)
    for found in (
        run(lambda d, b: linalg.tridiagonal_solve(d, rt.transpose(b, [0, 2, 1]), transpose_rhs=True))(given, right),
        run(lambda d, b: linalg.tridiagonal_solve([d[:, 0], d[:, 1], d[:, 2]], b, "sequence"))(given, right),
    ):
        np.testing.assert_allclose(found, SOLVED, atol=1e-6)
    vector = run(lambda d, b: linalg.tridiagonal_solve(d[0], b[0, :, 0]))(given, right)
    np.testing.assert_allclose(vector, np.array(SOLVED)[0, :, 0], atol=1e-6)
    np.testing.assert_allclose(run(linalg.eigh_tridiagonal)(rt.constant([1.0, 2, 3]), rt.constant([0.5, 0.2])),
                               [0.7902132, 2.16636, 3.043427], rtol=1e-6)


@pytest.mark.parametrize(("use", "error", "text"), [
    (lambda: linalg.lu(rt.ones([2, 2])), InvalidArgumentError, "Input matrix is not invertible"),
    (lambda: linalg.lu(rt.ones([2, 3])), ValueError, "lu takes square matrices"),
    (lambda: linalg.sqrtm(rt.constant([[-1.0, 0], [0, 1]])), InvalidArgumentError, "singular|principal square root"),
    (lambda: linalg.logm(rt.constant([[-1.0, 0], [0, 1]])), InvalidArgumentError, "singular|principal square root"),
    (lambda: linalg.tridiagonal_solve(rt.ones([2, 4]), rt.ones([4])), ValueError, r"shape \[\.\.\., 3, n\]"),
    (lambda: linalg.tridiagonal_matmul(rt.ones([3, 4]), rt.ones([4, 1]), "rows"), ValueError, "diagonals_format"),
    (lambda: linalg.tridiagonal_solve(DIAGONALS, COLUMNS, perturb_singular=True), UnimplementedError, "perturb"),
    (lambda: linalg.eigh_tridiagonal([1.0, 2.0], [1.0], select="i"), UnimplementedError, "all eigenvalues"),
])
def test_errors(use, error, text):
    with pytest.raises(error, match=text):
        use()
