"""Eigenvalues of square matrices that need not be Hermitian (`tf.linalg`)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import LinearAlgebraError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorSpec, complex64, complex128
from runtime.ops.complex_numbers import conj, real
from runtime.ops.diagonals import diag, diag_part
from runtime.ops.host_functions import numpy_function
from runtime.ops.linalg import SOLVABLE, matmul, matrix_transpose, solve
from runtime.ops.logic import equal, where
from runtime.ops.math import cast, divide, subtract
from runtime.ops.op_makers import check_dtype, named
from runtime.ops.shape import expand_dims

if TYPE_CHECKING:
    from runtime.autodiff import custom
else:
    custom = deferred("runtime.autodiff.custom")

__all__ = ["eig", "eigvals"]


def _matrices(op: str, tensor: Any) -> tuple[Tensor, DType]:
    x = convert_to_tensor(tensor)
    check_dtype(op, x.dtype, SOLVABLE)
    rows, columns = x.type.shape[-2:] if x.ndim >= 2 else (0, 1)
    if rows != columns and None not in (rows, columns):
        raise located(ShapeError(f"{op} takes square matrices, not {x.type}"))
    return x, complex64 if x.dtype.size == 4 or x.dtype is complex64 else complex128


def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues of square matrices, complex [..., n], and their eigenvectors of length 1 as the columns of
    complex matrices, [..., n, n] (`tf.linalg.eig`). The order of the values, and the phases of the vectors, are
    LAPACK's. LinearAlgebraError if they are not found."""
    x, kind = _matrices("eig", tensor)
    shape = x.type.shape

    def decomposed(array: Any) -> Sequence[Any]:
        try:
            values, vectors = np.linalg.eig(array)
        except np.linalg.LinAlgError as error:
            raise LinearAlgebraError(f"eig: {error}") from None
        return values.astype(kind.np), vectors.astype(kind.np)

    @custom.custom_gradient
    def found(x: Tensor) -> Any:
        e, v = numpy_function(decomposed, [x], [TensorSpec(shape[:-1], kind), TensorSpec(shape, kind)])

        def gradient(of_e: Any, of_v: Any) -> Any:
            adjoint = matrix_transpose(v, conjugate=True)
            gaps = subtract(expand_dims(e, -2), expand_dims(e, -1))
            none = equal(gaps, 0)
            inverse = conj(where(none, 0, divide(1.0, where(none, 1, gaps))))
            turned = matmul(adjoint, of_v)
            along = matmul(matmul(adjoint, v), diag(cast(real(diag_part(turned)), kind)))
            middle = diag(of_e) + inverse * (turned - along)
            total = solve(adjoint, matmul(middle, adjoint))
            return cast(total if x.dtype.is_complex else real(total), x.dtype)

        return (e, v), gradient

    values, vectors = found(x)
    return named(values, name), vectors


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices, complex [..., n] (`tf.linalg.eigvals`): as `eig`."""
    return named(eig(tensor)[0], name)
