"""`numpy.linalg` on tensors, with NumPy's names and arguments."""
from __future__ import annotations

from typing import Any

from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.numpy.arrays import floats, inexact
from runtime.ops import creation, decompositions, linalg, math, reduction
from runtime.ops import shape as shapes

__all__ = [
    "cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_power", "norm", "qr", "slogdet", "solve", "vector_norm",
]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = inexact(x)
    if axis is None and ord is not None and x.ndim == 2:
        axis = (0, 1)
    return linalg.norm(x, "euclidean" if ord is None or ord == "fro" else ord, axis, keepdims)


def inv(a: Any) -> Tensor:
    return linalg.inv(inexact(a))


def det(a: Any) -> Tensor:
    return linalg.det(inexact(a))


def slogdet(a: Any) -> Any:
    return decompositions.slogdet(inexact(a))


def solve(a: Any, b: Any) -> Tensor:
    x, y = floats(a, b)
    return linalg.solve(x, y[..., None])[..., 0] if y.ndim == 1 else linalg.solve(x, y)


def cholesky(a: Any) -> Tensor:
    return linalg.cholesky(inexact(a))


def eigh(a: Any) -> Any:
    return decompositions.eigh(inexact(a))


def eigvalsh(a: Any) -> Tensor:
    return decompositions.eigvalsh(inexact(a))


def qr(a: Any) -> Any:
    return decompositions.qr(inexact(a))


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
    x = math.abs(inexact(x))
    if ord == 2:
        return math.sqrt(reduction.reduce_sum(x * x, axis, keepdims))
    return linalg.norm(x, ord, axis, keepdims)
