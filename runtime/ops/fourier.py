"""Discrete Fourier transforms of the last axes."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import ShapeError
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, complex64, complex128, float64
from runtime.ops import complex_numbers, math
from runtime.ops.concat_split import concat, pad
from runtime.ops.indexing import getitem, reverse
from runtime.ops.op_makers import COMPLEX, FLOATS, apply_one, check_dtype, named, random_array
from runtime.ops.shape import dim, transpose

__all__ = ["FFT", "fft", "fft2d", "ifft", "ifft2d", "irfft", "rfft"]


def _kernel(x: Any, *, inverse: bool) -> Any:
    return (np.fft.ifft if inverse else np.fft.fft)(x).astype(x.dtype, copy=False)


def _rule(x: TensorType, *, inverse: bool) -> TensorType:
    check_dtype("fft", x.dtype, COMPLEX)
    if not x.ndim or x.shape[-1] == 0:
        raise ShapeError(f"fft takes a last axis with elements, not {x}")
    return x


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in COMPLEX:
        for shape in ((1,), (4,), (2, 3), (0, 5)):
            for inverse in (False, True):
                yield (random_array(rng, dtype, shape),), {"inverse": inverse}


FFT: Final = Op("fft", _kernel, _rule, errors=lambda node: () if node.operands[0].type.shape[-1] else (ShapeError,),
                samples=_samples, doc="The discrete Fourier transform of the last axis, or its inverse.")


def _complex(x: Any) -> Tensor:
    x = convert_to_tensor(x)
    return x if x.dtype.is_complex else math.cast(x, complex128 if x.dtype is float64 else complex64)


def fft(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of the last axis: complex [..., n] (`tf.signal.fft`)."""
    return named(apply_one(FFT, _complex(input), inverse=False), name)


def ifft(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft` (`tf.signal.ifft`)."""
    return named(apply_one(FFT, _complex(input), inverse=True), name)


def _swapped(x: Tensor) -> Tensor:
    return transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """`fft` of the last two axes (`tf.signal.fft2d`)."""
    return named(_swapped(fft(_swapped(fft(input)))), name)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft2d` (`tf.signal.ifft2d`)."""
    return named(_swapped(ifft(_swapped(ifft(input)))), name)


def _resized(x: Tensor, size: int) -> Tensor:
    """The last axis truncated, or zero-padded, to a size."""
    x = getitem(x, (..., slice(None, size)))
    have = dim(x, x.ndim - 1)
    if have is size or (isinstance(have, int) and have == size):
        return x
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, size - have]])


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of real numbers [..., n], which determine the rest (`tf.signal.rfft`).

    The last axis is first truncated, or zero-padded, to `fft_length` (an int, or a list of one).
    """
    x = convert_to_tensor(input_tensor)
    check_dtype("rfft", x.dtype, FLOATS)
    size = fft_length[0] if isinstance(fft_length, (list, tuple)) else fft_length
    if size is not None:
        x = _resized(x, size)
    return named(getitem(fft(x), (..., slice(None, dim(x, x.ndim - 1) // 2 + 1))), name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`: `fft_length` real numbers, by default 2 (n - 1), for `input_tensor` [..., n]
    (`tf.signal.irfft`)."""
    x = _complex(input_tensor)
    size = fft_length[0] if isinstance(fft_length, (list, tuple)) else fft_length
    if size is None:
        size = 2 * (dim(x, x.ndim - 1) - 1)
    x = _resized(x, size // 2 + 1)
    rest = getitem(x, (..., slice(1, (size + 1) // 2)))  # to be conjugated and reversed
    whole = concat([x, reverse(complex_numbers.conj(rest), [x.ndim - 1])], x.ndim - 1)
    return named(complex_numbers.real(ifft(whole)), name)
