"""Systems of equations, determinants and Cholesky factors in native code: NumPy's results, and its errors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import difference

from runtime.backends.native.abi import blas

DTYPES = [rt.float32, rt.float64, rt.complex64, rt.complex128]


def positive(rng: np.random.Generator, dtype: Any, *shape: int) -> Any:
    """Hermitian matrices that are positive definite."""
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.is_complex else 0)
    return rt.constant((x @ np.swapaxes(x, -1, -2).conj() + shape[-1] * np.eye(shape[-1])).astype(dtype.as_numpy_dtype))


def every(x: Any, y: Any) -> Any:
    """Of the matrices, and of them turned and scaled, which fuses."""
    turned = rt.linalg.matrix_transpose(x) * 1.5
    return (rt.linalg.solve(x, y), rt.linalg.solve(turned, y, adjoint=True), rt.linalg.inv(turned),
            rt.linalg.det(x * 0.1), rt.linalg.det(-turned * 0.1), rt.linalg.cholesky(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("shapes", [([4, 4], [4, 2]), ([1, 1], [1, 1]), ([60, 60], [60, 3]), ([3, 1, 5, 5], [2, 5, 2]),
                                    ([0, 3, 3], [0, 3, 2]), ([0, 0], [0, 2]), ([2, 2], [2, 0])], ids=str)
def test_results(dtype: Any, relaxed: bool, shapes: Any) -> None:
    rng = np.random.default_rng(0)
    x = positive(rng, dtype, *shapes[0])
    y = rt.cast(rt.constant(rng.standard_normal(shapes[1])), dtype)
    results = []
    specs = [rt.TensorSpec([None] * a.ndim if relaxed else a.shape, dtype) for a in (x, y)]
    for f in on_both(every, input_signature=specs).values():
        results.append([r.numpy() for r in f(x, y)])
    assert "calls Python: " not in f.get_concrete_function().explain_native()
    eps = np.finfo(dtype.as_numpy_dtype).eps
    for want, got in zip(*results, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        np.testing.assert_allclose(got, want, 8 * eps)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_signs_of_zero_in_determinants(dtype: Any, size: int) -> None:
    """NumPy's determinants of small numbers, bit for bit."""
    rng = np.random.default_rng(size)
    x = rng.choice([0.0, -0.0, 1.0, -2.0, 3.0], (200, size, size)).astype(dtype.as_numpy_dtype)
    if dtype.is_complex:
        x.imag = rng.choice([0.0, -0.0, 1.0, -2.0], x.shape)
    got = rt.function(rt.linalg.det, executor="native")(rt.constant(x)).numpy()
    assert difference(got, np.linalg.det(x)) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_singular(dtype: Any) -> None:
    """One singular matrix among several: an error where it matters, and 0 as a determinant."""
    good = np.eye(2)
    x = rt.cast(rt.constant([good, [[1.0, 2.0], [2.0, 4.0]], good]), dtype)
    y = rt.cast(rt.ones([2, 1]), dtype)
    for executor in ("numpy", "native"):
        with pytest.raises(rt.errors.InvalidArgumentError) as caught:
            rt.function(lambda: rt.linalg.solve(x, y), executor=executor)()
        assert "solve: Singular matrix" in str(caught.value)
        with pytest.raises(rt.errors.InvalidArgumentError) as caught:
            rt.function(lambda: rt.linalg.cholesky(-x), executor=executor)()
        assert "cholesky: Matrix is not positive definite" in str(caught.value)
        assert rt.function(lambda: rt.linalg.det(x), executor=executor)().numpy().tolist() == [1, 0, 1]


def test_shapes_that_only_the_run_knows() -> None:
    for executor in ("numpy", "native"):
        f = rt.function(lambda x, y: rt.linalg.solve(x, y), executor=executor,
                        input_signature=[rt.TensorSpec([None, None], rt.float64)] * 2)
        with pytest.raises(rt.errors.InvalidArgumentError) as caught:
            f(np.ones((2, 3)), np.ones((2, 1)))
        assert "solve takes square matrices, not float64[2,3]" in str(caught.value)
        with pytest.raises(ValueError, match="takes a right side of shape"):
            f(np.eye(2), np.ones((3, 1)))


def test_without_lapack(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's BLAS comes without it."""
    known = {name: address for name, address in blas.blas_symbols().items() if "gemm" in name}
    monkeypatch.setattr("runtime.backends.native.kernels.matmul.linear_solve.blas_symbols", lambda: known)
    f = rt.function(rt.linalg.det, executor="native", input_signature=[rt.TensorSpec([3, 3], rt.float64)])
    assert f.get_concrete_function().explain_native().endswith("det calls Python: no LAPACK was found")
    assert f(np.diag([1.0, 2.0, 3.0])).numpy() == pytest.approx(6.0)
