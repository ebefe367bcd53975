"""Rules for Fourier transforms, which are linear."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.ops.fourier import FFT
from runtime.ops.math import cast, divide, multiply
from runtime.ops.op_makers import apply_one
from runtime.ops.shape import dim


@vjp("fft")
def _fft(node: Applied, ct: Any) -> Sequence[Any]:
    """The matrix is symmetric, so its adjoint is its conjugate: the inverse transform, rescaled."""
    inverse = node.params["inverse"]
    count = cast(dim(ct, ct.ndim - 1), ct.dtype)
    found = apply_one(FFT, ct, inverse=not inverse)
    return [divide(found, count) if inverse else multiply(found, count)]


@jvp("fft")
def _fft_tangent(node: Applied, t: Any) -> Sequence[Any]:
    return [apply_one(FFT, t, **node.params)]
