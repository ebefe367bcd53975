"""Rules for parts of complex numbers. As in TF2, the cotangent of z = x + iy is ct_x + i·ct_y."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import broadcast_like, sum_to
from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.ops.complex_numbers import complex, conj, imag, real
from runtime.ops.creation import zeros_like
from runtime.ops.math import cast


@vjp("real")
def _real_vjp(node: Applied, ct: Any) -> Sequence[Any]:
    return [cast(ct, node.inputs[0].dtype)]


@jvp("real")
def _real_jvp(node: Applied, t: Any) -> Sequence[Any]:
    return [real(t)]


@vjp("imag")
def _imag_vjp(node: Applied, ct: Any) -> Sequence[Any]:
    return [complex(zeros_like(ct), ct)]


@jvp("imag")
def _imag_jvp(node: Applied, t: Any) -> Sequence[Any]:
    return [imag(t)]


@vjp("conj")
@jvp("conj")
def _conj(node: Applied, t: Any) -> Sequence[Any]:
    return [conj(t)]


@vjp("complex")
def _complex_vjp(node: Applied, ct: Any) -> Sequence[Any]:
    x, y = node.inputs
    return [sum_to(part(ct), side, [other]) if want else None
            for part, side, other, want in zip((real, imag), (x, y), (y, x), node.wanted, strict=True)]


@jvp("complex")
def _complex_jvp(node: Applied, x: Any, y: Any) -> Sequence[Any]:
    return [broadcast_like(complex(zeros_like(y) if x is None else x, zeros_like(x) if y is None else y),
                           node.outputs[0])]
