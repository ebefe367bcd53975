"""Keras's `backend.linalg`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.autodiff import functional
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.types import TensorSpec
from runtime.keras.backend.promotion import agreed, floating, in_dtype, tensor
from runtime.ops import decompositions, logic, math, reduction
from runtime.ops import linalg as ops
from runtime.ops import shape as shapes
from runtime.ops.host_functions import numpy_function

__all__ = [
    "cholesky", "cholesky_inverse", "det", "eig", "eigh", "inv", "jvp", "lstsq", "lu_factor", "matrix_rank", "norm",
    "pinv", "qr", "solve", "solve_triangular", "svd",
]


# Factors.

def cholesky(a: Any, upper: bool = False) -> Tensor:
    a = floating(a)
    try:
        lower = ops.cholesky(a)
    except Exception as error:
        if isinstance(a, EagerTensor):
            raise ValueError(f"Cholesky decomposition failed. The input might not be a valid positive definite matrix. "
                             f"({error})") from error
        raise
    return ops.matrix_transpose(lower, conjugate=True) if upper else lower


def cholesky_inverse(a: Any, upper: bool = False) -> Tensor:
    """The inverse of the matrix with the Cholesky factor `a`."""
    a = floating(a)
    triangle = ops.band_part(a, 0, -1) if upper else ops.band_part(a, -1, 0)
    inverse = ops.inv(triangle)
    return ops.matmul(inverse, inverse, adjoint_b=True) if upper else ops.matmul(inverse, inverse, adjoint_a=True)


def qr(x: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    if mode not in ("reduced", "complete"):
        raise ValueError("`mode` argument value not supported. Expected one of {'reduced', 'complete'}. "
                         f"Received: mode={mode}")
    return decompositions.qr(floating(x), mode == "complete")


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    x = floating(x)
    if not compute_uv:
        return decompositions.svd(x, compute_uv=False)
    s, u, v = decompositions.svd(x, full_matrices)
    return u, s, ops.matrix_transpose(v, conjugate=True)


def eigh(x: Any) -> tuple[Tensor, Tensor]:
    return decompositions.eigh(floating(x))


def eig(x: Any) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors, both complex. They are not differentiable here."""
    x = floating(x)
    dtype = "complex128" if x.dtype.name in ("float64", "complex128") else "complex64"

    def computed(x: Any) -> list[Any]:
        values, vectors = np.linalg.eig(x)
        return [values.astype(dtype), vectors.astype(dtype)]

    values, vectors = numpy_function(computed, [x], [TensorSpec(x.type.shape[:-1], dtype),
                                                     TensorSpec(x.type.shape, dtype)])
    return values, vectors


def lu_factor(x: Any) -> tuple[Tensor, Tensor]:
    """The factors L (without its unit diagonal) and U in one matrix, and the row with which each row was swapped. They
    are not differentiable here."""
    x = floating(x)
    *lead, rows, columns = x.type.shape
    least = None if rows is None or columns is None else min(rows, columns)
    factors, pivots = numpy_function(_factored, [x], [TensorSpec(x.type.shape, x.dtype),
                                                      TensorSpec([*lead, least], "int32")])
    return factors, pivots


def _factored(x: Any) -> list[Any]:
    a = x.reshape(-1, *x.shape[-2:])
    count, rows, columns = a.shape
    pivots = np.zeros((count, min(rows, columns)), np.int32)
    each = np.arange(count)
    for k in range(pivots.shape[1]):
        pivot = k + np.abs(a[:, k:, k]).argmax(1)
        pivots[:, k] = pivot
        a[each, k], a[each, pivot] = a[each, pivot], a[each, k].copy()
        divisor = a[:, k, k]
        a[:, k + 1:, k] /= np.where(divisor == 0, 1, divisor)[:, None]
        a[:, k + 1:, k + 1:] -= a[:, k + 1:, k, None] * a[:, k, None, k + 1:]
    return [a.reshape(x.shape), pivots.reshape(*x.shape[:-2], -1)]


# Systems of equations.

def det(a: Any) -> Tensor:
    return ops.det(floating(a))


def inv(a: Any) -> Tensor:
    return ops.inv(floating(a))


def solve(a: Any, b: Any) -> Tensor:
    return _by_columns(ops.solve, a, b)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Tensor:
    return _by_columns(lambda a, b: decompositions.triangular_solve(a, b, lower), a, b)


def _by_columns(solver: Callable[..., Tensor], a: Any, b: Any) -> Tensor:
    """The solution for right-hand sides that are matrices or vectors."""
    a, b = agreed(floating(a), floating(b))
    if b.ndim == a.ndim - 1:
        return shapes.squeeze(solver(a, b[..., None]), [-1])
    return solver(a, b)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> Tensor:
    a, b = agreed(floating(a), floating(b))
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise ValueError(f"lstsq takes a matrix, and a vector or matrix, not ranks {a.ndim} and {b.ndim}")
    right = b[:, None] if b.ndim == 1 else b
    found = ops.matmul(pinv(a, _precision(a) if rcond is None else rcond), right)
    return found[:, 0] if b.ndim == 1 else found


def _precision(x: Tensor) -> float:
    """The fraction of the largest singular value below which singular values count as 0."""
    return float(np.finfo(x.dtype.real_dtype.np).eps) * max(size or 1 for size in x.type.shape[-2:])


def pinv(x: Any, rcond: Any = None) -> Tensor:
    x = _matrices(x)
    s, u, v = decompositions.svd(x)
    least = _precision(x) * 10 if rcond is None else rcond
    small = s <= reduction.reduce_max(s, -1, True) * least
    inverse = math.cast(logic.where(small, 0.0, 1 / logic.where(small, 1.0, s)), x.dtype)
    return ops.matmul(v * shapes.expand_dims(inverse, inverse.ndim - 1), u, adjoint_b=True)


def matrix_rank(x: Any, tol: Any = None) -> Tensor:
    x = _matrices(x)
    s = decompositions.svd(x, compute_uv=False)
    least = reduction.reduce_max(s, -1, True) * _precision(x) if tol is None else in_dtype(tol, s.dtype.name)
    return reduction.reduce_sum(in_dtype(s > least, "int32"), -1)


def _matrices(x: Any) -> Tensor:
    x = floating(x)
    if x.ndim < 2:
        raise ValueError(f"Expected input to have rank >= 2. Received input with shape {tuple(x.shape)}.")
    return x  # type: ignore[no-any-return]


# Norms.

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = floating(x)
    if axis is None:
        if ord is None or (ord == 2 and x.ndim == 1) or (ord == "fro" and x.ndim == 2):
            return _powered(math.abs(x), 2, None, keepdims)
        axes = tuple(range(x.ndim))
    else:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return _of_vectors(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"Invalid axis for norm: {axis}, which should be one axis, or two")
    return _of_matrices(x, "fro" if ord is None else ord, axes, keepdims)


def _powered(size: Tensor, ord: Any, axes: Any, keepdims: bool) -> Tensor:
    if ord == 2:
        return math.sqrt(reduction.reduce_sum(math.square(size), axes, keepdims))
    return math.pow(reduction.reduce_sum(math.pow(size, float(ord)), axes, keepdims), 1.0 / ord)


def _of_vectors(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    size = math.abs(x)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    if ord == np.inf:
        return reduction.reduce_max(size, axes, keepdims)
    if ord == -np.inf:
        return reduction.reduce_min(size, axes, keepdims)
    if ord == 0:
        return reduction.reduce_sum(in_dtype(logic.not_equal(size, 0), size.dtype.name), axes, keepdims)
    return reduction.reduce_sum(size, axes, keepdims) if ord == 1 else _powered(size, ord, axes, keepdims)


def _of_matrices(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    row, column = (axis % x.ndim for axis in axes)
    if row == column:
        raise ValueError(f"Duplicate axes given: {axes}")
    if ord == "fro":
        return _powered(math.abs(x), 2, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        summed, kept = (row, column) if abs(ord) == 1 else (column, row)
        sums = reduction.reduce_sum(math.abs(x), summed, True)
        found = (reduction.reduce_max if ord > 0 else reduction.reduce_min)(sums, kept, True)
    elif ord in (2, -2, "nuc"):
        s = decompositions.svd(shapes.moveaxis(x, [row, column], [-2, -1]), compute_uv=False)
        found = {2: reduction.reduce_max, -2: reduction.reduce_min, "nuc": reduction.reduce_sum}[ord](s, -1)
        for axis in sorted((row, column)):
            found = shapes.expand_dims(found, axis)
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return found if keepdims else shapes.squeeze(found, [row, column])


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    return functional.jvp(fun, [tensor(x) for x in primals], [tensor(x) for x in tangents], has_aux)


