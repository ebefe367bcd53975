"""Rules for matrix products and linear systems."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import broadcast_like, sum_to
from runtime.autodiff.rules.elementwise import adjoint, total
from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.core.types import int64
from runtime.ops.complex_numbers import conj
from runtime.ops.creation import range as range_
from runtime.ops.linalg import EINSUM, inv, matmul, matrix_transpose, solve, trace
from runtime.ops.logic import equal, less, where
from runtime.ops.math import cast, negative
from runtime.ops.op_makers import apply_one
from runtime.ops.shape import dim, expand_dims, reshape

# Products.


@vjp("matmul")
def _matmul(node: Applied, ct: Any) -> Sequence[Any]:
    x, y = node.inputs
    left = sum_to(matmul(ct, y, adjoint_b=True), x, [y], _matrix_axes(x)) if node.wanted[0] else None
    return [left, _right(x, y, ct) if node.wanted[1] else None]


def _right(x: Any, y: Any, ct: Any) -> Any:
    """The cotangent of y; if y is one matrix for a batch of x, a single product over the whole batch."""
    if y.ndim == 2 and x.ndim > 2:
        x, ct = (reshape(z, [-1, dim(z, z.ndim - 1, int64)]) for z in (x, ct))
    return sum_to(matmul(x, ct, adjoint_a=True), y, [x], _matrix_axes(y))


def _matrix_axes(x: Any) -> Sequence[int]:
    return x.ndim - 2, x.ndim - 1


@jvp("matmul")
def _matmul_tangent(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    x, y = node.inputs
    return [total([None if t is None else matmul(t, y), None if u is None else matmul(x, u)])]


@vjp("einsum")
def _einsum(node: Applied, ct: Any) -> Sequence[Any]:
    inputs, output = node.params["equation"].split("->")
    labels = inputs.split(",")
    return [_einsum_operand(node, labels, output, i, ct) if want else None for i, want in enumerate(node.wanted)]


def _einsum_operand(node: Applied, labels: Sequence[str], output: str, i: int, ct: Any) -> Any:
    """The cotangent of operand i: the product of the other operands and `ct`, summed over letters that operand i lacks.

    Along a letter that only it has, which was summed, the cotangent repeats; a letter that it has twice is a diagonal.
    """
    x, letters = node.inputs[i], "".join(dict.fromkeys(labels[i]))
    rest = [(label, other) for k, (label, other) in enumerate(zip(labels, node.inputs, strict=True)) if k != i]
    there = [c for c in letters if any(c in label for label, _ in rest) or c in output]
    equation = ",".join([output, *(label for label, _ in rest)]) + "->" + "".join(there)
    found = adjoint(lambda t: apply_one(EINSUM, t, *(other for _, other in rest), equation=equation), ct)
    ones = [k for k, c in enumerate(labels[i]) if c not in there or c in labels[i][:k]]
    found = expand_dims(found, ones) if ones else found
    for k, c in enumerate(labels[i]):
        first = labels[i].index(c)
        if first < k:
            found = where(equal(_numbers(x, first), _numbers(x, k)), found, 0)
    fixed = [k for k, c in enumerate(labels[i]) if not any(c in label for label, _ in rest)]
    return broadcast_like(sum_to(found, x, fixed=fixed), x)


def _numbers(x: Any, axis: int) -> Any:
    """0, 1, ... along an axis of x."""
    return reshape(range_(cast(dim(x, axis, int64), int64)), [-1] + [1] * (x.ndim - 1 - axis))


@jvp("einsum")
def _einsum_tangent(node: Applied, *tangents: Any) -> Sequence[Any]:
    return [total([None if t is None else apply_one(EINSUM, *node.inputs[:i], t, *node.inputs[i + 1:], **node.params)
                   for i, t in enumerate(tangents)])]


# Linear systems.

@vjp("solve")
def _solve(node: Applied, ct: Any) -> Sequence[Any]:
    (a, b), x = node.inputs, node.outputs[0]
    of_b = solve(a, ct, adjoint=True)
    of_a = sum_to(negative(matmul(of_b, x, adjoint_b=True)), a, [b], _matrix_axes(a)) if node.wanted[0] else None
    return [of_a, sum_to(of_b, b, [a], _matrix_axes(b)) if node.wanted[1] else None]


@jvp("solve")
def _solve_tangent(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    a, x = node.inputs[0], node.outputs[0]
    return [broadcast_like(solve(a, total([u, None if t is None else negative(matmul(t, x))])), x)]


@vjp("det")
def _det(node: Applied, ct: Any) -> Sequence[Any]:
    """As in TF2, it uses the inverse, so a singular matrix is an error."""
    scale = ct * conj(node.outputs[0])
    return [expand_dims(scale, [ct.ndim, ct.ndim + 1]) * inv(node.inputs[0], adjoint=True)]


@jvp("det")
def _det_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [node.outputs[0] * trace(solve(node.inputs[0], t))]


@vjp("cholesky")
def _cholesky(node: Applied, ct: Any) -> Sequence[Any]:
    """I. Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10."""
    lower = node.outputs[0]
    inner = halved_triangle(matmul(lower, ct, adjoint_a=True))
    left = solve(lower, inner, adjoint=True)
    return [hermitian(matrix_transpose(solve(lower, matrix_transpose(left, conjugate=True), adjoint=True),
                                        conjugate=True))]


@jvp("cholesky")
def _cholesky_tangent(node: Applied, t: Any) -> Sequence[Any]:
    lower = node.outputs[0]
    left = solve(lower, hermitian(t))
    inner = solve(lower, matrix_transpose(left, conjugate=True))  # L^-1 H L^-H, Hermitian like H
    return [matmul(lower, halved_triangle(inner))]


def hermitian(x: Any) -> Any:
    """The Hermitian part of matrices."""
    return (x + matrix_transpose(x, conjugate=True)) * 0.5


def halved_triangle(x: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    rows, columns = _numbers(x, x.ndim - 2), _numbers(x, x.ndim - 1)
    return where(less(rows, columns), 0, where(equal(rows, columns), x * 0.5, x))
