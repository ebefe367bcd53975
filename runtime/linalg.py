"""Linear algebra (`tf.linalg`)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import complex64, float32
from runtime.eigenvalues import eig, eigvals
from runtime.factorizations import (
    eigh_tridiagonal,
    logm,
    lu,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    sqrtm,
    tridiagonal_matmul,
    tridiagonal_solve,
)
from runtime.linear_operators import (
    LinearOperator,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorIdentity,
    LinearOperatorKronecker,
    LinearOperatorLowerTriangular,
    LinearOperatorLowRankUpdate,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from runtime.ops import math
from runtime.ops.concat_split import concat
from runtime.ops.creation import eye
from runtime.ops.decompositions import (
    eigh,
    eigvalsh,
    logdet,
    lstsq,
    qr,
    slogdet,
    svd,
    triangular_solve,
)
from runtime.ops.diagonals import diag, diag_part, set_diag
from runtime.ops.linalg import (
    adjoint,
    band_part,
    cholesky,
    det,
    einsum,
    global_norm,
    inv,
    l2_normalize,
    matmul,
    matrix_transpose,
    matvec,
    solve,
    tensordot,
    trace,
)
from runtime.ops.logic import less, where
from runtime.ops.matrix_functions import (
    cholesky_solve,
    cross,
    matrix_rank,
    norm,
    normalize,
    pinv,
    tensor_diag,
    tensor_diag_part,
)
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_max, reduce_sum
from runtime.ops.shape import dim, reshape

inverse = inv

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = [
    "LinearOperator", "LinearOperatorBlockDiag", "LinearOperatorComposition", "LinearOperatorDiag",
    "LinearOperatorFullMatrix", "LinearOperatorIdentity", "LinearOperatorKronecker", "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular", "LinearOperatorScaledIdentity", "LinearOperatorZeros", "adjoint", "band_part",
    "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eig", "eigh", "eigh_tridiagonal", "eigvals",
    "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "inverse", "l2_normalize", "logdet", "logm", "lstsq",
    "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank", "matrix_transpose", "matvec",
    "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "sqrtm", "svd", "tensor_diag",
    "tensor_diag_part", "tensordot", "trace", "triangular_solve", "tridiagonal_matmul", "tridiagonal_solve",
]

_PADE: Final = {
    7: (1.0, 1 / 2, 3 / 26, 5 / 312, 5 / 3432, 1 / 11440, 1 / 308880, 1 / 17297280),
    13: (1.0, 1 / 2, 3 / 25, 11 / 600, 11 / 5520, 3 / 18400, 1 / 96600, 1 / 1932000, 1 / 48944000, 1 / 1585785600,
         1 / 67395888000, 1 / 3953892096000, 1 / 355850288640000, 1 / 64764752532480000)}
"""By degree: the coefficients p of Padé's approximation exp(x) ≈ p(x) / p(-x)."""


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponentials of square matrices, [..., n, n], of floats or complex numbers of 32 bits or more
    (`tf.linalg.expm`). ShapeError and DTypeError for others.

    By scaling and squaring (N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
    """
    x = convert_to_tensor(input, dtype_hint=float32)
    rows, columns = x.type.shape[-2:] if x.ndim >= 2 else (0, 1)
    if rows != columns and None not in (rows, columns):
        raise located(ShapeError(f"expm takes square matrices, not {x.type}"))
    if not (x.dtype.is_floating or x.dtype.is_complex) or x.dtype.size < 4:
        raise located(DTypeError(f"expm takes floats or complex numbers of 32 bits or more, not {x.dtype.name}"))
    degree, reach = (7, 3.9) if x.dtype in (float32, complex64) else (13, 5.3)
    size = math.stop_gradient(reduce_max(reduce_sum(math.abs(x), -2), -1))
    halvings = math.maximum(math.ceil(math.log(size / reach) / float(np.log(2))), 0)
    halvings = where(math.is_finite(size), halvings, 0)
    scaled = x * math.cast(math.pow(2.0, -halvings)[..., None, None], x.dtype)
    squarings = halvings[..., None, None]
    most = reduce_max(concat([reshape(halvings, [-1]), [0.0]], 0))

    def squared(i: Any, y: Any) -> tuple[Any, Any]:
        return i + 1.0, where(less(i, squarings), matmul(y, y), y)

    start = math.cast(0.0, most.dtype), _pade(scaled, _PADE[degree])
    found: Tensor = control_flow.while_loop(lambda i, y: less(i, most), squared, start)[1]
    return named(found, name)


def _pade(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """p(x) / p(-x) for a polynomial of odd degree."""
    square = matmul(x, x)
    identity = eye(dim(x, x.ndim - 1), dtype=x.dtype)
    even, odd = (identity * c for c in coefficients[-2:])
    for lower_even, lower_odd in zip(coefficients[-4::-2], coefficients[-3::-2], strict=True):
        even, odd = (matmul(square, part) + identity * c for part, c in ((even, lower_even), (odd, lower_odd)))
    odd = matmul(x, odd)
    return solve(even - odd, even + odd)


hint_at_public_names(__name__)
