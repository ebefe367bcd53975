"""Factorisations of matrices by loops, and systems with bands of diagonals (`tf.linalg`)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import InvalidArgumentError, ShapeError, UnimplementedError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.core.types import as_dtype, complex128, float64, int32
from runtime.ops import math
from runtime.ops.checks import message, require, same
from runtime.ops.complex_numbers import conj
from runtime.ops.concat_split import concat, roll
from runtime.ops.creation import eye, zeros_like
from runtime.ops.creation import range as range_
from runtime.ops.decompositions import eigh, eigvalsh, triangular_solve
from runtime.ops.diagonals import diag, set_diag
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.linalg import SOLVABLE, band_part, inv, matmul, matrix_transpose, solve
from runtime.ops.logic import equal, greater, greater_equal, less, logical_and, where
from runtime.ops.op_makers import check_dtype, named
from runtime.ops.reduction import argmax, reduce_all, reduce_max, reduce_sum
from runtime.ops.shape import broadcast_to, dim, dims, expand_dims, product, reshape
from runtime.ops.sorting import argsort

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = ["eigh_tridiagonal", "logm", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "sqrtm",
           "tridiagonal_matmul", "tridiagonal_solve"]


def _squares(op: str, x: Any) -> Tensor:
    tensor = convert_to_tensor(x)
    check_dtype(op, tensor.dtype, SOLVABLE)
    if tensor.ndim < 2:
        raise located(ShapeError(f"{op} takes square matrices, not {tensor.type}"))
    require(same(dim(tensor, -2), dim(tensor, -1)), ShapeError(message(
        f"{op} takes square matrices, not ", dims(tensor))))
    return tensor


# LU, with the largest pivot of each column.

def lu(input: Any, output_idx_type: Any = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """L and U of square matrices, [..., n, n], in one matrix, the ones on the diagonal of L left out, and the order of
    rows, [..., n]: L U is the matrix with its rows in that order (`tf.linalg.lu`). InvalidArgumentError for a singular
    matrix."""
    x = _squares("lu", input)
    sizes, n = dims(x), dim(x, -1)
    rows = range_(n)
    start = reshape(x, [product(sizes[:-2]), n, n])
    order = broadcast_to(rows, [dim(start, 0), n])

    def eliminated(k: Any, x: Tensor, order: Tensor) -> tuple[Any, Tensor, Tensor]:
        candidates = where(greater_equal(rows, k), math.abs(gather(x, k, axis=2)), -1.0)
        pivot = expand_dims(argmax(candidates, 1, output_type=int32), 1)
        swapped = where(equal(rows, pivot), k, where(equal(rows, k), pivot, rows))
        x, order = gather(x, swapped, axis=1, batch_dims=1), gather(order, swapped, axis=1, batch_dims=1)
        column, top = gather(x, k, axis=2), gather(x, k, axis=1)
        diagonal = gather(column, k, axis=1)
        raise_unless(reduce_all(greater(math.abs(diagonal), 0.0)),
                     InvalidArgumentError("Input matrix is not invertible."))
        below = greater(rows, k)
        factors = expand_dims(where(below, column / expand_dims(diagonal, 1), zeros_like(column)), 2)
        rest = where(logical_and(expand_dims(below, 1), below), x - factors * expand_dims(top, 1), x)
        return k + 1, where(logical_and(expand_dims(below, 1), equal(rows, k)), factors, rest), order

    _, found, order = control_flow.while_loop(lambda k, x, order: less(k, n), eliminated, (0, start, order))
    return named(reshape(found, sizes), name), math.cast(reshape(order, sizes[:-1]), as_dtype(output_idx_type))


def _rows_in(order: Any, x: Tensor) -> Tensor:
    """The rows of matrices in another order."""
    order = convert_to_tensor(order)
    return gather(x, order, axis=order.ndim - 1, batch_dims=order.ndim - 1)


def _lower(lower_upper: Tensor) -> Tensor:
    triangle = band_part(lower_upper, -1, 0)
    return set_diag(triangle, zeros_like(lower_upper[..., 0]) + 1.0)


def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The matrices of which `lu` gave these results (`tf.linalg.lu_reconstruct`)."""
    x = _squares("lu_reconstruct", lower_upper)
    product = matmul(_lower(x), band_part(x, 0, -1))
    return named(_rows_in(argsort(perm), product), name)


def lu_solve(lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The solution X of A X = `rhs`, [..., n, k], for the A of which `lu` gave these results (`tf.linalg.lu_solve`)."""
    x = _squares("lu_solve", lower_upper)
    right = _rows_in(perm, convert_beside(rhs, x.dtype))
    return named(triangular_solve(x, triangular_solve(_lower(x), right), lower=False), name)


def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The inverses of the matrices of which `lu` gave these results (`tf.linalg.lu_matrix_inverse`)."""
    x = _squares("lu_matrix_inverse", lower_upper)
    return lu_solve(x, perm, broadcast_to(eye(dim(x, x.ndim - 1), dtype=x.dtype), dims(x)), name=name)


# The square root.

_ROUNDS: Final = 100


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The principal square roots of square matrices without real eigenvalues that are negative or 0
    (`tf.linalg.sqrtm`). InvalidArgumentError for others.

    By the product form of the iteration of Denman and Beavers, in 64 bits (N. Higham, "Functions of Matrices", 6.3).
    """
    given = _squares("sqrtm", input)
    x = math.cast(given, complex128 if given.dtype.is_complex else float64)
    identity = eye(dim(x, x.ndim - 1), dtype=x.dtype)

    def distance(m: Tensor) -> Tensor:
        return reduce_max(math.abs(m - identity))

    def closer(k: Any, m: Tensor, root: Tensor) -> tuple[Any, Tensor, Tensor]:
        inverse = inv(m)
        return k + 1, (m + inverse) * 0.25 + identity * 0.5, matmul(root, identity + inverse) * 0.5

    start = zeros_like(x) + identity
    _, m, root = control_flow.while_loop(
        lambda k, m, root: logical_and(less(k, _ROUNDS), greater(distance(m), 1e-13)), closer, (0, x, matmul(x, start)))
    raise_unless(less(distance(m), 1e-6), InvalidArgumentError("sqrtm found no principal square root"))
    return named(math.cast(root, given.dtype), name)


def logm(input: Any, name: str | None = None) -> Tensor:
    """The principal logarithms of square matrices without real eigenvalues that are negative or 0 (`tf.linalg.logm`,
    which takes complex ones only). InvalidArgumentError for others.

    By square roots until the matrix is near the identity, and then by Gauss-Legendre quadrature, in 64 bits (N. Higham,
    "Functions of Matrices", 11.5).
    """
    given = _squares("logm", input)
    x = math.cast(given, complex128 if given.dtype.is_complex else float64)
    identity = eye(dim(x, x.ndim - 1), dtype=x.dtype)

    def is_far(count: Any, root: Tensor) -> Tensor:
        size = reduce_max(concat([[0.0], reshape(reduce_sum(math.abs(root - identity), -1), [-1])], 0))
        return logical_and(less(count, _ROUNDS), greater(size, 0.25))

    count, root = control_flow.while_loop(is_far, lambda count, root: (count + 1, sqrtm(root)), (0, x))
    rest = root - identity
    total = zeros_like(rest)
    for place, weight in zip(*np.polynomial.legendre.leggauss(9), strict=True):
        total = total + weight / 2 * solve(identity + rest * ((place + 1) / 2), rest)
    scale = math.cast(math.pow(convert_to_tensor(2.0, float64), math.cast(count, float64)), x.dtype)
    return named(math.cast(total * scale, given.dtype), name)


# Three diagonals.

def _diagonals(op: str, diagonals: Any, form: str) -> list[Tensor]:
    """The diagonals above, on and below the main one, each [..., n], with a zero where there is no element."""
    if form == "sequence":
        parts = [convert_to_tensor(part) for part in diagonals]
    elif form == "compact":
        x = convert_to_tensor(diagonals)
        if x.ndim < 2 or x.type.shape[-2] not in (3, None):
            raise located(ShapeError(f"the diagonals of {op} have the shape [..., 3, n], not {x.type}"))
        parts = [x[..., i, :] for i in range(3)]
    else:
        raise located(ValueError(f"the diagonals_format of {op} is 'sequence' or 'compact', not {form!r}"))
    if len(parts) != 3 or any(part.type.shape[-1:] != parts[1].type.shape[-1:] for part in parts):
        raise located(ShapeError(f"{op} takes three diagonals of one length, the first and the last with one element "
                                 "that is ignored"))
    above, main, below = parts
    n = dim(main, main.ndim - 1)
    places = range_(n)
    return [where(equal(places, n - 1), zeros_like(above), above), main,
            where(equal(places, 0), zeros_like(below), below)]


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of matrices with three diagonals and `rhs`, [..., n, k] (`tf.linalg.tridiagonal_matmul`).

    The diagonals are those above, on and below the main one: [..., 3, n] ("compact"), or three tensors ("sequence").
    The last element of the first and the first element of the last are ignored.
    """
    above, main, below = (expand_dims(x, -1) for x in _diagonals("tridiagonal_matmul", diagonals, diagonals_format))
    x = convert_beside(rhs, main.dtype)
    return named(above * roll(x, -1, -2) + main * x + below * roll(x, 1, -2), name)


def tridiagonal_solve(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", transpose_rhs: bool = False,
    conjugate_rhs: bool = False, name: str | None = None, partial_pivoting: bool = True, perturb_singular: bool = False,
) -> Tensor:
    """The solution X of A X = `rhs`, [..., n, k] or [..., n], for matrices with three diagonals
    (`tf.linalg.tridiagonal_solve`), which are given as to `tridiagonal_matmul`, or as matrices ("matrix").

    The matrices are made, and factorised with pivots. InvalidArgumentError for a singular matrix.
    """
    if diagonals_format == "matrix":
        given = _squares("tridiagonal_solve", diagonals)
        matrix = band_part(given, 1, 1)
    else:
        above, main, below = _diagonals("tridiagonal_solve", diagonals, diagonals_format)
        matrix = diag(main) + diag(above[..., :-1], k=1) + diag(below[..., 1:], k=-1)
    right = convert_beside(rhs, matrix.dtype)
    if perturb_singular:
        raise located(UnimplementedError("tridiagonal_solve does not perturb singular matrices"))
    right = conj(right) if conjugate_rhs and right.dtype.is_complex else right
    is_vector = right.ndim == matrix.ndim - 1
    right = expand_dims(right, -1) if is_vector else matrix_transpose(right) if transpose_rhs else right
    found = solve(matrix, right)
    return named(found[..., 0] if is_vector else found, name)


def eigh_tridiagonal(
    alpha: Any, beta: Any, eigvals_only: bool = True, select: str = "a", select_range: Any = None, tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues, ascending, of Hermitian matrices with three diagonals, `alpha` [n] on and `beta` [n - 1] above
    the main one; also the eigenvectors, unless `eigvals_only` (`tf.linalg.eigh_tridiagonal`)."""
    if select != "a":
        raise located(UnimplementedError("eigh_tridiagonal gives all eigenvalues", remedy="Take a part of the result."))
    main = convert_to_tensor(alpha)
    side = convert_beside(beta, main.dtype)
    below = conj(side) if side.dtype.is_complex else side
    matrix = diag(main) + diag(side, k=1) + diag(below, k=-1)
    return eigvalsh(matrix, name) if eigvals_only else eigh(matrix, name)
