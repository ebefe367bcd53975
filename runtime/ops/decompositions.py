"""Decompositions of matrices, over the last two axes."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import LinearAlgebraError, ShapeError
from runtime.core.op import Op, Sample, unknown_shape
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import TensorType
from runtime.ops import math
from runtime.ops.creation import eye
from runtime.ops.linalg import (
    SOLVABLE,
    band_part,
    cholesky,
    diag_part,
    matmul,
    matrix_samples,
    matrix_transpose,
    solve,
    square,
    unless_singular,
)
from runtime.ops.op_makers import check_dtype, named, random_array
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import dim

__all__ = ["EIGH", "QR", "SLOGDET", "SVD", "eigh", "eigvalsh", "logdet", "lstsq", "qr", "slogdet", "svd",
           "triangular_solve"]

_TYPES = tuple[TensorType, ...]


def _rectangle(op: str, x: TensorType) -> tuple[Any, int | None, int | None, int | None]:
    """The leading dimensions, rows, columns, and the smaller of these two."""
    check_dtype(op, x.dtype, SOLVABLE)
    if x.ndim < 2:
        raise ShapeError(f"{op} takes matrices, not {x}")
    *lead, rows, columns = x.shape
    return tuple(lead), rows, columns, None if rows is None or columns is None else min(rows, columns)


def _rectangles(**params: Any) -> Callable[[np.random.Generator], Iterable[Sample]]:
    def samples(rng: np.random.Generator) -> Iterable[Sample]:
        for dtype in SOLVABLE:
            for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1)):
                for full in (False, True):
                    yield (random_array(rng, dtype, shape, -2, 2),), {"full_matrices": full, **params}
    return samples


# Eigenvalues.

def _eigh_rule(x: TensorType) -> _TYPES:
    shape = square("eigh", x)
    return TensorType(x.dtype.real_dtype, shape[:-1]), TensorType(x.dtype, shape)


EIGH: Final = Op("eigh", unless_singular("eigh", lambda x: tuple(np.linalg.eigh(x))), _eigh_rule,
                 samples=matrix_samples, errors=(LinearAlgebraError,),
                 doc="The eigenvalues of Hermitian matrices, ascending, and their eigenvectors as columns.")


def eigh(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of Hermitian matrices [..., n, n], ascending, real[..., n], and the eigenvectors as columns,
    [..., n, n] (`tf.linalg.eigh`). Only the lower triangles are read. InvalidArgumentError if the iteration does not
    converge.

    Derivatives of eigenvectors with equal eigenvalues omit their rotation into each other, as in TF2.
    """
    values, vectors = apply(EIGH, tensor)
    return named(values, name), vectors


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of `eigh` alone (`tf.linalg.eigvalsh`)."""
    return eigh(tensor, name)[0]


# Singular values.

def _svd_kernel(x: Any, *, full_matrices: bool) -> Any:
    u, s, adjoint = np.linalg.svd(x, full_matrices)
    return s, u, np.conj(np.swapaxes(adjoint, -1, -2))


def _svd_rule(x: TensorType, *, full_matrices: bool) -> _TYPES:
    lead, rows, columns, least = _rectangle("svd", x)
    return (TensorType(x.dtype.real_dtype, (*lead, least)),
            TensorType(x.dtype, (*lead, rows, rows if full_matrices else least)),
            TensorType(x.dtype, (*lead, columns, columns if full_matrices else least)))


SVD: Final = Op("svd", unless_singular("svd", _svd_kernel), _svd_rule, samples=_rectangles(),
                errors=(LinearAlgebraError,),
                doc="s, u and v of x = u diag(s) vᴴ, with s descending.")


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """s, u and v of matrices u diag(s) vᴴ, [..., n, m], with s real[..., min(n, m)], descending (`tf.linalg.svd`).

    u: [..., n, min(n, m)], v: [..., m, min(n, m)]; with `full_matrices` both are square. Without `compute_uv`, s alone.
    InvalidArgumentError if the iteration does not converge. Derivatives of vectors with equal singular values omit
    their rotation into each other; there are none for the vectors that `full_matrices` adds.
    """
    s, u, v = apply(SVD, tensor, full_matrices=bool(full_matrices))
    return (named(s, name), u, v) if compute_uv else named(s, name)


# Orthogonal factors.

def _qr_kernel(x: Any, *, full_matrices: bool) -> Any:
    return tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced"))


def _qr_rule(x: TensorType, *, full_matrices: bool) -> _TYPES:
    lead, rows, columns, least = _rectangle("qr", x)
    inner = rows if full_matrices else least
    return TensorType(x.dtype, (*lead, rows, inner)), TensorType(x.dtype, (*lead, inner, columns))


QR: Final = Op("qr", unless_singular("qr", _qr_kernel), _qr_rule, samples=_rectangles(),
               errors=(LinearAlgebraError,),
               doc="q with orthonormal columns and the upper triangle r of x = q r.")


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """q with orthonormal columns, [..., n, k], and the upper triangle r, [..., k, m], of matrices q r, [..., n, m]
    (`tf.linalg.qr`). k = min(n, m), or with `full_matrices` n.

    The derivative raises InvalidArgumentError if the first k columns are linearly dependent; there is none for the
    parts that `full_matrices` adds.
    """
    q, r = apply(QR, input, full_matrices=bool(full_matrices))
    return named(q, name), r


# Determinants.

def _slogdet_rule(x: TensorType) -> _TYPES:
    shape = square("slogdet", x)[:-2]
    return TensorType(x.dtype, shape), TensorType(x.dtype.real_dtype, shape)


SLOGDET: Final = Op("slogdet", lambda x: tuple(np.linalg.slogdet(x)), _slogdet_rule, samples=matrix_samples,
                    errors=unknown_shape,
                    doc="The sign of the determinant, or its direction, and the logarithm of its absolute value.")


def slogdet(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The sign of the determinant of square matrices (for complex ones its phase), and the logarithm of its absolute
    value, real (`tf.linalg.slogdet`). 0 and -inf for a singular matrix, whose derivative is an InvalidArgumentError."""
    sign, logarithm = apply(SLOGDET, input)
    return named(sign, name), logarithm


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of Hermitian positive definite matrices, real (`tf.linalg.logdet`).
    InvalidArgumentError for others."""
    diagonal = diag_part(cholesky(matrix))
    return reduce_sum(math.multiply(math.log(math.cast(diagonal, diagonal.dtype.real_dtype)), 2), -1, name=name)


# Systems of equations.

def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
                     ) -> Tensor:
    """The solution X of T X = `rhs` for the lower or upper triangle T of `matrix` (`tf.linalg.triangular_solve`).
    InvalidArgumentError if T is singular."""
    triangle = band_part(matrix, -1 if lower else 0, 0 if lower else -1)
    return solve(triangle, rhs, adjoint, name)


def lstsq(matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None) -> Tensor:
    """The X, [..., m, k], that minimises the squared norm of `matrix` X - `rhs` plus `l2_regularizer` times that of X,
    for [..., n, m] and [..., n, k]; for n < m the X of minimal norm (`tf.linalg.lstsq`).

    It is computed from the normal equations, or, unless `fast`, from `qr`. InvalidArgumentError if the columns (for n <
    m, the rows) are linearly dependent and `l2_regularizer` is 0. If sizes are unknown, n >= m is assumed.
    """
    a, b = convert_to_tensor(matrix), convert_to_tensor(rhs)
    if not fast:
        return named(_by_qr(a, b), name)
    rows, columns = dim(a, a.ndim - 2), dim(a, a.ndim - 1)
    wide = type(rows) is int and type(columns) is int and rows < columns
    if wide:
        return matmul(a, solve(_regular(matmul(a, a, adjoint_b=True), l2_regularizer), b), adjoint_a=True, name=name)
    return solve(_regular(matmul(a, a, adjoint_a=True), l2_regularizer), matmul(a, b, adjoint_a=True), name=name)


def _regular(gram: Tensor, regularizer: Any) -> Tensor:
    if isinstance(regularizer, (int, float)) and not regularizer:
        return gram
    identity = eye(dim(gram, gram.ndim - 1), dtype=gram.dtype)
    return math.add(gram, math.multiply(identity, math.cast(regularizer, gram.dtype)))


def _by_qr(a: Tensor, b: Tensor) -> Tensor:
    rows, columns = dim(a, a.ndim - 2), dim(a, a.ndim - 1)
    if type(rows) is int and type(columns) is int and rows < columns:
        q, r = qr(matrix_transpose(a, conjugate=True))
        return matmul(q, solve(r, b, adjoint=True))
    q, r = qr(a)
    return solve(r, matmul(q, b, adjoint_a=True))
