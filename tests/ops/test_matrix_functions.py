"""Functions of matrices that are composed of ops: against NumPy, eagerly and staged."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import DTypeError, InvalidArgumentError, ShapeError

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def random(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def both(function: Any, *arrays: Any) -> Any:
    """The result, which is the same eagerly and staged, with known and unknown sizes."""
    found = rt.nest.map_structure(lambda x: x.numpy(), function(*map(rt.constant, arrays)))
    unknown = [rt.TensorSpec([None] * x.ndim, x.dtype) for x in map(np.asarray, arrays)]
    for traced in (rt.function(function, executor="numpy"), rt.function(function),
                   rt.function(function, input_signature=unknown)):
        for x, y in zip(rt.nest.flatten(traced(*map(rt.constant, arrays))), rt.nest.flatten(found), strict=True):
            assert x.numpy().dtype == y.dtype
            np.testing.assert_allclose(x.numpy(), y, rtol=1e-5 if y.dtype in (np.float32, np.complex64) else 1e-11,
                                       atol=1e-6 if y.dtype in (np.float32, np.complex64) else 1e-12)
    return found


def tolerance(dtype: Any) -> dict[str, float]:
    limit = 2e-5 if np.dtype(dtype) in (np.float32, np.complex64) else 1e-11
    return {"rtol": limit, "atol": limit}


def by_series(x: Any) -> Any:
    """The exponential of matrices by halving 20 times and the Taylor series."""
    x = x.astype(np.complex128) / 2.0 ** 20
    term = total = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(np.complex128)
    for k in range(1, 10):
        term = term @ x / k
        total = total + term
    for _ in range(20):
        total = total @ total
    return total


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0.01, 1.0, 8.0])
def test_expm(dtype: Any, scale: float) -> None:
    x = random((2, 4, 4), dtype) * dtype(scale)
    x[1] *= dtype(0.1)
    want = by_series(x)
    np.testing.assert_allclose(both(rt.linalg.expm, x) / abs(want).max(), want / abs(want).max(), rtol=1e-4, atol=(
        3e-6 if np.dtype(dtype) in (np.float32, np.complex64) else 1e-8))


def test_expm_of_special_matrices() -> None:
    np.testing.assert_allclose(rt.linalg.expm([[0.0, 3.0], [0.0, 0.0]]), [[1, 3], [0, 1]], rtol=1e-6)
    np.testing.assert_allclose(rt.linalg.expm(np.diag([1.0, -200.0])), np.diag(np.exp([1.0, -200.0])), rtol=1e-11)
    assert rt.linalg.expm(rt.zeros([0, 3, 3])).shape == (0, 3, 3) and np.isnan(rt.linalg.expm([[np.nan]]).numpy()).all()
    gradient = rt.function(rt.grad(lambda x: rt.linalg.trace(rt.linalg.expm(x))))(rt.constant(np.diag([3.0, 9.0])))
    np.testing.assert_allclose(gradient, np.diag(np.exp([3.0, 9.0])), rtol=1e-11)
    with pytest.raises(ShapeError, match=r"expm takes square matrices, not float32\[2,3\]"):
        rt.linalg.expm(rt.zeros([2, 3]))
    with pytest.raises(DTypeError, match="not int32"):
        rt.linalg.expm(rt.constant([[1]]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_pinv_and_matrix_rank(shape: tuple[int, ...], dtype: Any) -> None:
    x = random(shape, dtype)
    np.testing.assert_allclose(both(rt.linalg.pinv, x), np.linalg.pinv(x), **tolerance(dtype))
    low = x[..., :1] * x[..., :1, :]
    np.testing.assert_allclose(both(rt.linalg.pinv, low), np.linalg.pinv(low, 1e-5), **tolerance(dtype))
    for each in (x, low, low * 0):
        found = both(rt.linalg.matrix_rank, each)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, np.linalg.matrix_rank(each))
    np.testing.assert_array_equal(rt.linalg.matrix_rank(rt.linalg.diag([3.0, 0.5]), tol=1.0), 1)
    np.testing.assert_allclose(rt.linalg.pinv(rt.linalg.diag([4.0, 1.0]), rcond=0.3), np.diag([0.25, 0.0]), atol=1e-7)


def test_cross() -> None:
    x, y = random((2, 5, 3)), random((2, 5, 3))[::-1].copy()
    np.testing.assert_allclose(both(rt.linalg.cross, x, y), np.cross(x, y))
    assert both(rt.linalg.cross, np.array([1, 2, 3]), np.array([0, 1, 0])).tolist() == [-3, 0, 1]
    for wrong in ([1.0, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ShapeError, match="two tensors of one shape"):
            rt.linalg.cross(wrong, [1.0, 2.0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_solve(dtype: Any) -> None:
    x, rhs = random((2, 3, 3), dtype), random((2, 3, 2), dtype)
    a = x @ np.conj(np.swapaxes(x, -1, -2)) + 3 * np.eye(3, dtype=dtype)
    np.testing.assert_allclose(both(rt.linalg.cholesky_solve, np.linalg.cholesky(a), rhs), np.linalg.solve(a, rhs),
                               **tolerance(dtype))
    with pytest.raises(InvalidArgumentError):
        rt.linalg.cholesky_solve(rt.zeros([2, 2]), rt.ones([2, 1]))


def test_normalize() -> None:
    x = random((2, 3))
    unit, length = both(lambda x: rt.linalg.normalize(x, axis=1), x)
    np.testing.assert_allclose(length, np.linalg.norm(x, axis=1, keepdims=True))
    np.testing.assert_allclose(unit, x / length)
    unit, length = both(lambda x: rt.linalg.normalize(x, 1), x)
    np.testing.assert_allclose(unit, x / abs(x).sum())
    assert length.shape == (1, 1)


def test_diagonals_of_tensors() -> None:
    x = random((2, 3))
    found = both(rt.linalg.tensor_diag, x)
    want = np.zeros((2, 3, 2, 3))
    for place in np.ndindex(2, 3):
        want[place + place] = x[place]
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(both(rt.linalg.tensor_diag_part, np.where(want == 0, 1, want)), x)
    with pytest.raises(ShapeError, match=r"takes a tensor of shape \[\*s, \*s\], not float32\[2,3\]"):
        rt.linalg.tensor_diag_part(rt.zeros([2, 3]))
