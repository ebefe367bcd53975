"""NumPy's functions of diagonals and triangles."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int8, int64
from runtime.numpy.arrays import astype, larger, moveaxis, numpy_dtype, ravel, smaller
from runtime.numpy.functions import nonzero
from runtime.numpy.reductions import sum
from runtime.ops import creation, diagonals, logic
from runtime.ops import shape as shapes
from runtime.ops.gather import gather

__all__ = ["diag", "diagflat", "diagonal", "trace", "tri", "tril", "tril_indices", "tril_indices_from", "triu",
    "triu_indices", "triu_indices_from"]


def diagonal(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    x = convert_to_tensor(a)
    if x.ndim < 2:
        raise located(ValueError("diag requires an array of at least two dimensions"))
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    if x.dtype.is_bool:
        return astype(diagonal(astype(x, int8), offset, -2, -1), bool)
    *rest, rows, columns = shapes.dims(x)
    above = larger(offset, 0)
    below = above - offset
    length = larger(smaller(rows - below, columns - above), 0)
    places = creation.range(astype(length, int64)) * (columns + 1) + below * columns + above
    return gather(shapes.reshape(x, [*rest, rows * columns]), places, axis=x.ndim - 2)


def trace(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


def diag(v: Any, k: Any = 0) -> Tensor:
    x = convert_to_tensor(v)
    if x.ndim not in (1, 2):
        raise located(ValueError("Input must be 1- or 2-d."))
    if x.ndim == 2:
        return diagonal(x, k)
    if type(k) is int:
        return diagonals.diag(x, k=k)
    size = shapes.dim(x, 0, int64)
    places = creation.range(size + larger(k, -k))
    at = places - larger(-k, 0)
    inside = logic.logical_and(at >= 0, at < size)
    values = gather(x, logic.where(inside, at, 0))
    here = logic.logical_and(inside[:, None], logic.equal(places[:, None] + k, places))
    return logic.where(here, values[:, None], creation.zeros_like(values))


def diagflat(v: Any, k: Any = 0) -> Tensor:
    return diag(ravel(v), k)


def tril(m: Any, k: Any = 0) -> Tensor:
    return _triangle(m, lambda row, column: column <= row + k)


def triu(m: Any, k: Any = 0) -> Tensor:
    return _triangle(m, lambda row, column: column >= row + k)


def _triangle(m: Any, inside: Callable[[Any, Any], Any]) -> Tensor:
    x = convert_to_tensor(m)
    if not x.ndim:
        raise located(TypeError("tri() missing 1 required positional argument: 'N'"))
    x = x if x.ndim != 1 else shapes.broadcast_to(x, [shapes.dim(x, 0)] * 2)
    rows, columns = creation.range(shapes.dim(x, -2)), creation.range(shapes.dim(x, -1))
    return logic.where(inside(rows[:, None], columns), x, creation.zeros_like(x))


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Tensor:
    return astype(_below(N, M, k), numpy_dtype(dtype))


def _below(n: Any, m: Any, k: Any) -> Tensor:
    rows, columns = creation.range(n), creation.range(n if m is None else m)
    return convert_to_tensor(columns <= rows[:, None] + k)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, ...]:
    return nonzero(_below(n, m, k))


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, ...]:
    return nonzero(logic.logical_not(_below(n, m, k - 1)))


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, ...]:
    rows, columns = _matrix_sizes(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, ...]:
    rows, columns = _matrix_sizes(arr)
    return triu_indices(rows, k, columns)


def _matrix_sizes(x: Any) -> list[Any]:
    sizes = shapes.dims(convert_to_tensor(x))
    if len(sizes) != 2:
        raise located(ValueError(f"an array with two axes is needed here, not with {len(sizes)}"))
    return sizes
