"""Functions of matrices and vectors that are composed of ops (`tf.linalg`)."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.errors import ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.core.types import compatible_shapes, int32
from runtime.ops import linalg, math
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.decompositions import svd, triangular_solve
from runtime.ops.logic import greater, where
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_max, reduce_sum
from runtime.ops.shape import dim, dims, expand_dims, moveaxis, product, reshape, squeeze, stack
from runtime.ops.static_arguments import axes_of, axis_of

__all__ = [
    "cholesky_solve", "clip_by_norm", "cross", "matrix_rank", "norm", "normalize", "pinv", "tensor_diag",
    "tensor_diag_part",
]


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross products of vectors of 3 elements, the last axes of two tensors of one shape and dtype
    (`tf.linalg.cross`). ShapeError for others."""
    x = convert_to_tensor(a)
    y = convert_beside(b, x.dtype)
    if not x.ndim or not compatible_shapes(x.type.shape, y.type.shape) or {3, None}.isdisjoint(x.type.shape[-1:]):
        raise located(ShapeError(f"cross takes two tensors of one shape [..., 3], not {x.type} and {y.type}"))
    require(all_of(same(dim(x, -1), 3), same(dim(y, -1), 3)), ShapeError(message(
        "cross takes two tensors of one shape [..., 3], not ", dims(x), " and ", dims(y))))
    (x0, x1, x2), (y0, y1, y2) = ([v[..., i] for i in range(3)] for v in (x, y))
    return named(stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], -1), name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The solution X of A X = `rhs`, [..., n, k], for A = L Lᴴ with L = `chol`, [..., n, n], as `cholesky` gives it
    (`tf.linalg.cholesky_solve`). InvalidArgumentError if L is singular."""
    lower = convert_to_tensor(chol)
    return triangular_solve(lower, triangular_solve(lower, rhs), adjoint=True, name=name)


def _largest(s: Tensor) -> Tensor:
    """The largest singular value of each matrix, with an axis of size 1; 0 if there are none."""
    return math.maximum(reduce_max(s, -1, keepdims=True), 0)


def _precision(s: Tensor, x: Tensor) -> Tensor:
    """The larger side of matrices times the precision of the singular values' dtype."""
    rows, columns = dims(x)[-2:]
    side = max(rows, columns) if type(rows) is type(columns) is int else math.maximum(rows, columns)
    return math.cast(side, s.dtype) * float(np.finfo(s.dtype.np).eps)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverses, [..., m, n], of matrices [..., n, m] (`tf.linalg.pinv`).

    Singular values of at most `rcond` times the largest count as 0; by default 10 max(n, m) times the precision of the
    dtype. `validate_args` has no effect: operands are always checked.
    """
    x = convert_to_tensor(a)
    s, u, v = svd(x)
    share = _precision(s, x) * 10.0 if rcond is None else expand_dims(math.cast(rcond, s.dtype), -1)
    is_kept = greater(s, share * _largest(s))
    inverse = where(is_kept, 1.0 / where(is_kept, s, 1.0), 0.0)
    return linalg.matmul(v * expand_dims(math.cast(inverse, v.dtype), -2), u, adjoint_b=True, name=name)


def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The number of singular values above `tol`, int32[...], of matrices [..., n, m] (`tf.linalg.matrix_rank`); by
    default above the largest times max(n, m) times the precision of the dtype."""
    x = convert_to_tensor(a)
    s = svd(x, compute_uv=False)
    limit = _precision(s, x) * _largest(s) if tol is None else expand_dims(math.cast(tol, s.dtype), -1)
    return reduce_sum(math.cast(greater(s, limit), int32), -1, name=name)


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: str | None = None
         ) -> Tensor:
    """The norm along `axis` (`tf.norm`): a vector's along one axis or, by default, of all; a matrix's along two.

    `ord`: "euclidean", a number or inf for vectors; "euclidean", "fro", 1, 2 or inf for matrices. The Euclidean norm of
    complex numbers has their dtype, as in TF; its derivative at 0 is NaN.
    """
    given = convert_to_tensor(tensor)
    x = math.abs(given)
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if is_matrix:
        rows, columns = (axis_of("norm", a, x.ndim) for a in axis)
        if ord in ("euclidean", "fro"):
            result = math.sqrt(reduce_sum(math.square(x), [rows, columns], keepdims=True))
        elif ord == 1 or ord == np.inf:
            inner, outer = (rows, columns) if ord == 1 else (columns, rows)
            result = reduce_max(reduce_sum(x, inner, keepdims=True), outer, keepdims=True)
        elif ord == 2:
            largest = reduce_max(svd(moveaxis(given, (rows, columns), (-2, -1)), compute_uv=False), -1)
            result = expand_dims(expand_dims(largest, min(rows, columns)), max(rows, columns))
        else:
            raise located(ValueError(f"the norm of a matrix has the ord 'euclidean', 'fro', 1, 2 or inf, not {ord!r}"))
    elif ord == "euclidean" or ord == 2:
        result = math.sqrt(reduce_sum(math.square(x), axis, keepdims=True))
    elif ord == 1:
        result = reduce_sum(x, axis, keepdims=True)
    elif ord == np.inf:
        result = reduce_max(x, axis, keepdims=True)
    elif isinstance(ord, (int, float)) and ord > 0:
        result = math.pow(reduce_sum(math.pow(x, float(ord)), axis, keepdims=True), 1.0 / ord)
    else:
        raise located(ValueError(f"the norm of a vector has the ord 'euclidean' or a positive number, not {ord!r}"))
    if given.dtype.is_complex and (ord == "euclidean" or ord == "fro" or (ord == 2 and not is_matrix)):
        result = math.cast(result, given.dtype)
    axes = axes_of("norm", axis, x.ndim)
    return named(result if keepdims or not axes else squeeze(result, axes), name)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """`t` scaled down to Euclidean norm `clip_norm` along `axes`, if its norm is greater (`tf.clip_by_norm`). Of
    `IndexedSlices` these are the rows' values."""
    if hasattr(type(t), "__with_rows__"):
        return t.__with_rows__(clip_by_norm(t.values, clip_norm, axes, name))  # type: ignore[no-any-return]
    x = convert_to_tensor(t)
    clip_norm = math.cast(clip_norm, x.dtype)
    length = norm(x, axis=axes, keepdims=True)
    return math.divide(math.multiply(x, clip_norm), math.maximum(length, clip_norm), name)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The tensor divided by its norm along `axis`, and that norm, with axes of size 1 (`tf.linalg.normalize`). For
    `ord` and `axis` see `norm`."""
    x = convert_to_tensor(tensor)
    length = norm(x, ord, axis, keepdims=True)
    return named(x / math.cast(length, x.dtype), name), length


def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """The tensor of shape [*s, *s] with `diagonal`, of shape s, at the places whose two halves of indices are the same,
    and zeros elsewhere (`tf.linalg.tensor_diag`)."""
    x = convert_to_tensor(diagonal)
    sizes = dims(x)
    return reshape(linalg.diag(reshape(x, [product(sizes)])), [*sizes, *sizes], name)


def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """The elements, of shape s, of a tensor of shape [*s, *s] at the places whose two halves of indices are the same
    (`tf.linalg.tensor_diag_part`). ShapeError for other shapes."""
    x = convert_to_tensor(input)
    half = x.ndim // 2
    if x.ndim % 2 or not x.ndim or not compatible_shapes(x.type.shape[:half], x.type.shape[half:]):
        raise located(ShapeError(f"tensor_diag_part takes a tensor of shape [*s, *s], not {x.type}"))
    sizes = dims(x)[:half]
    return reshape(linalg.diag_part(reshape(x, [product(sizes), product(dims(x)[half:])])), sizes, name)
