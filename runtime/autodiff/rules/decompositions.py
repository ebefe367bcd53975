"""Rules for decompositions of matrices.

J. Townsend, "Differentiating the singular value decomposition" (2016); M. Giles, "Collected matrix derivative results
for forward and reverse mode algorithmic differentiation" (2008).

Each rule expresses dA in the basis of the decomposition. The rates at which vectors rotate into each other have
differences of eigenvalues as denominators; where these are equal, the rates are taken as 0. The phases of complex
vectors are fixed.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import filled
from runtime.autodiff.rules.elementwise import total
from runtime.autodiff.rules.linalg import halved_triangle, hermitian
from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import user_position
from runtime.core.types import int64
from runtime.ops.complex_numbers import complex, conj, imag, real
from runtime.ops.concat_split import concat
from runtime.ops.creation import zeros_like
from runtime.ops.indexing import getitem
from runtime.ops.linalg import band_part, diag, diag_part, inv, matmul, matrix_transpose, solve, trace
from runtime.ops.logic import equal, where
from runtime.ops.math import cast, divide, multiply
from runtime.ops.shape import dim, expand_dims


def _adjoint(x: Any) -> Any:
    return matrix_transpose(x, conjugate=True)


def _reciprocal(x: Any) -> Any:
    """1 / x, but 0 where x is 0."""
    zero = equal(x, 0)
    return where(zero, 0, divide(1, where(zero, 1, x)))


def _scaled(x: Any, s: Any) -> Any:
    """Matrices whose columns are multiplied by the real elements of s."""
    return x * cast(expand_dims(s, -2), x.dtype)


def _rates(values: Any, dtype: Any) -> Any:
    """1 / (values[j] - values[i]), and 0 where they are equal."""
    return cast(_reciprocal(expand_dims(values, -2) - expand_dims(values, -1)), dtype)


def _need(node: Applied, holds: bool) -> None:
    """UnimplementedError if `full_matrices` adds vectors."""
    if node.params["full_matrices"] and not holds:
        error = UnimplementedError(
            f"{node.name} with full_matrices=True has a derivative only where this adds no vectors, not for "
            f"{node.inputs[0].type}", remedy="Take full_matrices=False.")
        locate(error, user_position())
        raise error


# Eigenvalues. The op reads the lower triangle only, so this gets the cotangent, as in TF2.

@vjp("eigh")
def _eigh(node: Applied, of_values: Any, of_vectors: Any) -> Sequence[Any]:
    values, vectors = node.outputs
    dtype = vectors.dtype
    inner = total([None if of_values is None else diag(cast(of_values, dtype)),
                   None if of_vectors is None else _rates(values, dtype) * matmul(vectors, of_vectors, adjoint_a=True)])
    whole = hermitian(matmul(matmul(vectors, inner), vectors, adjoint_b=True))
    return [halved_triangle(multiply(whole, 2))]


@jvp("eigh")
def _eigh_tangent(node: Applied, t: Any) -> Sequence[Any]:
    values, vectors = node.outputs
    half = halved_triangle(t)
    inner = matmul(vectors, matmul(half + _adjoint(half), vectors), adjoint_a=True)
    return [cast(diag_part(inner), values.dtype), matmul(vectors, _rates(values, vectors.dtype) * inner)]


# Singular values.

def _thin(node: Applied) -> Sequence[Any]:
    """s, and the vectors that belong to it."""
    s, u, v = node.outputs
    if not node.params["full_matrices"]:
        return s, u, v
    part = (..., slice(0, dim(s, s.ndim - 1, int64)))
    return s, getitem(u, part), getitem(v, part)


def _need_square(node: Applied) -> None:
    rows, columns = node.inputs[0].type.shape[-2:]
    _need(node, rows == columns is not None)


@vjp("svd")
def _svd(node: Applied, of_s: Any, of_u: Any, of_v: Any) -> Sequence[Any]:
    if of_u is not None or of_v is not None:
        _need_square(node)
    s, u, v = _thin(node)
    inner: list[Any] = [None if of_s is None else diag(cast(of_s, u.dtype))]
    outer: list[Any] = []
    if of_u is not None:
        w = matmul(u, of_u, adjoint_a=True)
        inner.append(_scaled(_twice_hermitian(_rates(s * s, u.dtype) * w), s))
        if u.dtype.is_complex:
            inner.append(diag(_imaginary(imag(diag_part(w)) * _reciprocal(s))))
        outer.append(matmul(_scaled(of_u - matmul(u, w), _reciprocal(s)), v, adjoint_b=True))
    if of_v is not None:
        w = matmul(v, of_v, adjoint_a=True)
        inner.append(_adjoint(_scaled(_twice_hermitian(_rates(s * s, u.dtype) * w), s)))
        outer.append(matmul(u, _scaled(of_v - matmul(v, w), _reciprocal(s)), adjoint_b=True))
    return [total([matmul(u, matmul(total(inner), v, adjoint_b=True)), *outer])]


@jvp("svd")
def _svd_tangent(node: Applied, t: Any) -> Sequence[Any]:
    _need_square(node)
    s, u, v = _thin(node)
    of_v, of_u = matmul(t, v), matmul(t, u, adjoint_a=True)
    inner = matmul(u, of_v, adjoint_a=True)
    rates = _rates(s * s, u.dtype)
    turn_u = rates * _twice_hermitian(_scaled(inner, s))
    turn_v = rates * _twice_hermitian(_scaled(_adjoint(inner), s))
    if u.dtype.is_complex:
        turn_u = turn_u + diag(_imaginary(imag(diag_part(inner)) * _reciprocal(s)))
    return [cast(diag_part(inner), s.dtype),
            matmul(u, turn_u) + _scaled(of_v - matmul(u, inner), _reciprocal(s)),
            matmul(v, turn_v) + _scaled(of_u - matmul(v, _adjoint(inner)), _reciprocal(s))]


def _twice_hermitian(x: Any) -> Any:
    return x + _adjoint(x)


def _imaginary(x: Any) -> Any:
    return complex(zeros_like(x), x)


# Orthogonal factors. The columns of a wide matrix after its first square block are only multiplied.

def _columns(node: Applied, x: Any) -> tuple[Any, Any]:
    """The columns that determine q, and the remaining ones, if there may be any."""
    q, r = node.outputs
    rows, columns = r.type.shape[-2:]
    if rows == columns is not None:
        return x, None
    count = dim(q, q.ndim - 1, int64)
    return getitem(x, (..., slice(0, count))), getitem(x, (..., slice(count, None)))


def _need_wide(node: Applied) -> None:
    rows, columns = node.inputs[0].type.shape[-2:]
    _need(node, rows is not None and columns is not None and rows <= columns)


@vjp("qr")
def _qr(node: Applied, of_q: Any, of_r: Any) -> Sequence[Any]:
    _need_wide(node)
    a, (q, r) = node.inputs[0], node.outputs
    upper, _ = _columns(node, r)
    of_q, of_r = filled(of_q, q), filled(of_r, r)
    of_upper, of_rest = _columns(node, of_r)
    _, rest = _columns(node, a)
    if rest is not None:
        of_q = of_q + matmul(rest, of_rest, adjoint_b=True)
    by_q, by_r = matmul(q, of_q, adjoint_a=True), matmul(of_upper, upper, adjoint_b=True)
    inner = by_r - by_q + _skewed(by_q - by_r)
    first = _adjoint(solve(upper, _adjoint(of_q + matmul(q, inner))))
    return [first if rest is None else concat([first, matmul(q, of_rest)], -1)]


@jvp("qr")
def _qr_tangent(node: Applied, t: Any) -> Sequence[Any]:
    _need_wide(node)
    a, (q, r) = node.inputs[0], node.outputs
    upper, _ = _columns(node, r)
    (t, of_rest), (_, rest) = _columns(node, t), _columns(node, a)
    scaled = _adjoint(solve(upper, _adjoint(t), adjoint=True))
    inner = matmul(q, scaled, adjoint_a=True)
    turn = _turning(inner)
    of_q = scaled + matmul(q, turn - inner)
    of_r = matmul(inner - turn, upper)
    if rest is not None:
        of_r = concat([of_r, matmul(of_q, rest, adjoint_a=True) + matmul(q, of_rest, adjoint_a=True)], -1)
    return [of_q, of_r]


def _turning(x: Any) -> Any:
    """The skew-Hermitian matrix with the same lower triangle, and an imaginary diagonal."""
    lower = band_part(x, -1, 0) - band_part(x, 0, 0)
    turn = lower - _adjoint(lower)
    return turn + diag(_imaginary(imag(diag_part(x)))) if x.dtype.is_complex else turn


def _skewed(x: Any) -> Any:
    """The adjoint of `_turning`."""
    skew = x - _adjoint(x)
    lower = band_part(skew, -1, 0) - band_part(skew, 0, 0)
    return lower + diag(_imaginary(imag(diag_part(x)))) if x.dtype.is_complex else lower


# Determinants. With z the trace of A^-1 dA, the logarithm changes by Re z, and the sign's phase by Im z.

@vjp("slogdet")
def _slogdet(node: Applied, of_sign: Any, of_log: Any) -> Sequence[Any]:
    a, sign = node.inputs[0], node.outputs[0]
    scale = None if of_log is None else cast(of_log, a.dtype)
    if a.dtype.is_complex and of_sign is not None:
        scale = total([scale, _imaginary(imag(conj(sign) * of_sign))])
    return [None if scale is None else expand_dims(scale, [scale.ndim, scale.ndim + 1]) * inv(a, adjoint=True)]


@jvp("slogdet")
def _slogdet_tangent(node: Applied, t: Any) -> Sequence[Any]:
    a, sign = node.inputs[0], node.outputs[0]
    z = trace(solve(a, t))
    return [sign * _imaginary(imag(z)), real(z)] if a.dtype.is_complex else [None, z]
