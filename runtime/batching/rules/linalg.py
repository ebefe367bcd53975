"""Matrix products and linear systems, whose leading axes are the lanes."""
from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, Unbatched, aligned, batching
from runtime.ops.linalg import matmul, matrix_transpose
from runtime.ops.shape import dims, product, reshape


@batching("matmul")
def _matmul(call: Call) -> Sequence[Any]:
    x, y = call.inputs
    of_x, of_y = call.types
    if not call.batched[1] and of_y.ndim == 2:  # one product of all rows of all lanes
        *lead, inner = dims(x)
        return [reshape(matmul(reshape(x, [product(lead), inner]), y), [*lead, *dims(y)[1:]])]
    if not call.batched[0] and of_x.ndim == of_y.ndim == 2 and of_y.shape[1] == 1:
        rows = matmul(reshape(y, dims(y)[:2]), matrix_transpose(x))
        return [reshape(rows, [*dims(rows), 1])]
    rank = max(of_x.ndim, of_y.ndim)
    return call.apply(*[aligned(a, type.ndim, rank) if batched else a
                        for a, type, batched in zip(call.inputs, call.types, call.batched, strict=True)])


@batching("einsum")
def _einsum(call: Call) -> Sequence[Any]:
    equation = call.params["equation"]
    free = [letter for letter in string.ascii_letters if letter not in equation]
    if not free:
        raise Unbatched("its equation uses all letters")
    labels, result = equation.split("->")
    labels = [free[0] + label if batched else label
              for label, batched in zip(labels.split(","), call.batched, strict=True)]
    return call.apply(*call.inputs, equation=f"{','.join(labels)}->{free[0]}{result}")


@batching("cholesky", "det", "eigh", "qr", "slogdet", "solve", "svd")
def _of_matrices(call: Call) -> Sequence[Any]:
    if len({type.ndim for type in call.types}) > 1:
        raise Unbatched("its operands have different ranks")
    return call.apply(*call.all_batched())


@batching("fft")
def _of_last_axis(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs)
