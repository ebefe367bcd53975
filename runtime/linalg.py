"""Linear algebra (`tf.linalg`)."""
from __future__ import annotations

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
    norm,
    solve,
    tensordot,
    trace,
)

inverse = inv

__all__ = [
    "adjoint", "band_part", "cholesky", "det", "diag", "diag_part", "eigh", "eigvalsh", "einsum", "eye", "global_norm",
    "inv", "inverse", "l2_normalize", "logdet", "lstsq", "matmul", "matrix_transpose", "matvec", "norm", "qr",
    "set_diag", "slogdet", "solve", "svd", "tensordot", "trace", "triangular_solve",
]
