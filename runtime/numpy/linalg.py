"""`numpy.linalg` on tensors, with NumPy's names and arguments."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from runtime.core.errors import LinearAlgebraError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int32, int64
from runtime.numpy.arrays import astype, floats, larger, matrix_transpose, moveaxis, size, together
from runtime.numpy.diagonals import diagonal as diagonal_of
from runtime.numpy.diagonals import trace as trace_of
from runtime.numpy.functions import cross, outer, tensordot, vecdot
from runtime.numpy.reductions import averaged
from runtime.numpy.reductions import min as least
from runtime.ops import complex_numbers, creation, decompositions, linalg, logic, math, matrix_functions, reduction
from runtime.ops import shape as shapes
from runtime.ops.checks import require

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = averaged(x)
    if axis is None and ord is not None and x.ndim == 2:
        axis = (0, 1)
    if isinstance(axis, (list, tuple)) and len(axis) == 2:
        if ord in (2, -2, "nuc", -1, -np.inf):
            found = _of_matrices(x, ord, axis)
            for each in sorted(each % x.ndim for each in axis) if keepdims else ():
                found = shapes.expand_dims(found, each)
            return found
    elif axis is None and ord is not None and x.ndim > 2:
        raise located(ValueError("Improper number of dimensions to norm."))
    elif isinstance(ord, str):
        raise located(ValueError(f"Invalid norm order {ord!r} for vectors"))
    elif ord == -np.inf:
        return least(math.abs(x), axis, keepdims)
    elif ord == 0:
        return reduction.reduce_sum(astype(logic.not_equal(x, 0), x.dtype.real_dtype), axis, keepdims)
    elif isinstance(ord, (int, float)) and ord < 0:
        return math.pow(reduction.reduce_sum(math.pow(math.abs(x), float(ord)), axis, keepdims), 1.0 / ord)
    sizes = math.abs(x) if x.dtype.is_complex else x
    found = matrix_functions.norm(sizes, "euclidean" if ord is None or ord == "fro" else ord, axis, keepdims)
    return math.maximum(found, 0.0) if ord in (1, np.inf) else found  # that of no elements is 0


def _of_matrices(x: Tensor, ord: Any, axis: Any) -> Tensor:
    """The norm of matrices that is made of singular values, or of the least sum along an axis."""
    matrices = moveaxis(x, axis, (-2, -1))
    if ord in (-1, -np.inf):
        return least(reduction.reduce_sum(math.abs(matrices), -2 if ord == -1 else -1), -1)
    values = svdvals(matrices)
    if ord == "nuc":
        return reduction.reduce_sum(values, -1)
    return math.maximum(reduction.reduce_max(values, -1), 0.0) if ord == 2 else least(values, -1)


def inv(a: Any) -> Tensor:
    return linalg.inv(averaged(a))


def det(a: Any) -> Tensor:
    return linalg.det(averaged(a))


def slogdet(a: Any) -> Any:
    return SlogdetResult(*decompositions.slogdet(averaged(a)))


def solve(a: Any, b: Any) -> Tensor:
    x, y = floats(*[averaged(each) if isinstance(each, Tensor) else each for each in (a, b)])
    return linalg.solve(x, y[..., None])[..., 0] if y.ndim == 1 else linalg.solve(x, y)


def cholesky(a: Any) -> Tensor:
    return linalg.cholesky(averaged(a))


def eigh(a: Any, UPLO: str = "L") -> Any:
    return EighResult(*decompositions.eigh(_lower(a, UPLO)))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    return decompositions.eigvalsh(_lower(a, UPLO))


def _lower(a: Any, UPLO: str) -> Tensor:
    """A Hermitian matrix with its elements in the lower triangle, where the decompositions read them."""
    x = averaged(a)
    return x if UPLO == "L" else complex_numbers.conj(linalg.matrix_transpose(x))


def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(f"qr takes the modes reduced, complete and r, not {mode!r}")
    found = decompositions.qr(averaged(a), mode == "complete")
    return found[1] if mode == "r" else QRResult(*found)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """u, s and vᴴ, as `numpy.linalg.svd`."""
    if not compute_uv:
        return decompositions.svd(averaged(a), compute_uv=False)
    s, u, v = decompositions.svd(averaged(a), full_matrices)
    return SVDResult(u, s, complex_numbers.conj(linalg.matrix_transpose(v)))


def svdvals(x: Any) -> Tensor:
    found: Tensor = svd(x, compute_uv=False)
    return found


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    u, s, vh = svd(a, False)
    least = 1e-15 if rcond is None and rtol is None else rtol if rcond is None else rcond
    large = s > astype(least, s.dtype) * reduction.reduce_max(s, -1, True)
    inverse = astype(logic.where(large, 1 / logic.where(large, s, 1), 0), u.dtype)
    v, uh = (complex_numbers.conj(linalg.matrix_transpose(x)) for x in (vh, u))
    return linalg.matmul(v * inverse[..., None, :], uh)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    x = averaged(A)
    s = svdvals(x)
    most = reduction.reduce_max(s, -1, True)
    if tol is None:
        size = larger(*shapes.dims(x)[-2:])
        share = astype(size, s.dtype) * s.dtype.np.type(np.finfo(s.dtype.np).eps) if rtol is None else rtol
        tol = most * share
    return reduction.reduce_sum(astype(s > tol, int64), -1)


def cond(x: Any, p: Any = None) -> Tensor:
    a = averaged(x)
    if p is None or p == 2:
        require(size(a) > 0, LinearAlgebraError("cond is not defined on empty arrays"))
        s = svdvals(a)
        return s[..., 0] / s[..., -1]
    return norm(a, p, (-2, -1)) * norm(inv(a), p, (-2, -1))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solution, the sums of squared residuals, the rank and the singular values, as `numpy.linalg.lstsq`."""
    x, y = floats(*[averaged(each) if isinstance(each, Tensor) else each for each in (a, b)])
    s = svdvals(x)
    rows, columns = shapes.dims(x)
    least = max(np.finfo(x.dtype.np).eps * max(rows, columns), 0) if rcond is None and type(rows) is type(
        columns) is int else 1e-15 if rcond is None else rcond
    rhs = y if y.ndim == 2 else y[:, None]
    solution = linalg.matmul(pinv(x, least), rhs)
    rank = reduction.reduce_sum(astype(s > astype(least, s.dtype) * s[0], int32))
    rest = math.abs(rhs - linalg.matmul(x, solution))
    residuals = reduction.reduce_sum(rest * rest, 0)
    full = logic.logical_and(
        logic.equal(rank, astype(columns, int32)), rows > columns)
    residuals = residuals[:logic.where(full, shapes.dim(residuals, 0), 0)]
    return solution if y.ndim == 2 else solution[:, 0], residuals, rank, s


def multi_dot(arrays: Any) -> Tensor:
    found = arrays[0]
    for x in [*arrays][1:]:
        found = linalg.tensordot(found, x, 1)
    return convert_to_tensor(found)


def matmul(x1: Any, x2: Any) -> Tensor:
    x, y = together(x1, x2)
    return x @ y


def diagonal(x: Any, offset: int = 0) -> Tensor:
    return diagonal_of(x, offset, -2, -1)


def trace(x: Any, offset: int = 0, dtype: Any = None) -> Tensor:
    return trace_of(x, offset, -2, -1, dtype)


def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    return norm(x, ord, (-2, -1), keepdims)


def matrix_power(a: Any, n: int) -> Tensor:
    """The power by repeated squaring; for a negative exponent, of the inverse (`numpy.linalg.matrix_power`)."""
    x = inv(a) if n < 0 else convert_to_tensor(a)
    result = creation.eye(shapes.dim(x, -1), dtype=x.dtype) if not n else None
    n = abs(n)
    while n:
        if n & 1:
            result = x if result is None else linalg.matmul(result, x)
        n >>= 1
        if n:
            x = linalg.matmul(x, x)
    assert result is not None
    return result


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    x = math.abs(averaged(x))
    if ord == 2:
        return math.sqrt(reduction.reduce_sum(x * x, axis, keepdims))
    return matrix_functions.norm(x, ord, axis, keepdims)
