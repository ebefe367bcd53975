"""Matrices (`tf.linalg`)."""
from __future__ import annotations

from runtime.ops.creation import eye
from runtime.ops.linalg import (
    adjoint,
    band_part,
    cholesky,
    det,
    diag,
    diag_part,
    einsum,
    global_norm,
    inv,
    l2_normalize,
    matmul,
    matrix_transpose,
    matvec,
    norm,
    set_diag,
    solve,
    tensordot,
    trace,
)

__all__ = [
    "adjoint", "band_part", "cholesky", "det", "diag", "diag_part", "einsum", "eye", "global_norm", "inv",
    "l2_normalize", "matmul", "matrix_transpose", "matvec", "norm", "set_diag", "solve", "tensordot",
    "trace",
]
