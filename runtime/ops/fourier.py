"""Discrete Fourier transforms of the last axes."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import ShapeError
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorShape, TensorType, complex64, complex128, float64
from runtime.ops import complex_numbers, math
from runtime.ops.concat_split import concat, pad, roll
from runtime.ops.indexing import getitem, reverse
from runtime.ops.op_makers import COMPLEX, FLOATS, apply_one, check_dtype, named, random_array
from runtime.ops.shape import dim, numbers, transpose
from runtime.ops.static_arguments import axis_of, static_ints

__all__ = [
    "FFT", "fft", "fft2d", "fft3d", "fftshift", "ifft", "ifft2d", "ifft3d", "ifftshift", "irfft", "irfft2d", "irfft3d",
    "rfft", "rfft2d", "rfft3d",
]


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


def _swapped(x: Tensor, axis: int = -2) -> Tensor:
    """With the last axis in the place of another, and that as the last."""
    order = [*range(x.ndim)]
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(x, order)


def _checked(op: str, x: Tensor, rank: int) -> Tensor:
    if x.ndim < rank:
        raise located(ShapeError(f"{op} takes a tensor of rank {rank} or more, not {x.type}"))
    return x


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """`fft` of the last two axes (`tf.signal.fft2d`)."""
    return named(_swapped(fft(_swapped(fft(_checked("fft2d", _complex(input), 2))))), name)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft2d` (`tf.signal.ifft2d`)."""
    return named(_swapped(ifft(_swapped(ifft(_checked("ifft2d", _complex(input), 2))))), name)


def fft3d(input: Any, name: str | None = None) -> Tensor:
    """`fft` of the last three axes (`tf.signal.fft3d`)."""
    return named(_swapped(fft(_swapped(fft2d(_checked("fft3d", _complex(input), 3)), -3)), -3), name)


def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `fft3d` (`tf.signal.ifft3d`)."""
    return named(_swapped(ifft(_swapped(ifft2d(_checked("ifft3d", _complex(input), 3)), -3)), -3), name)


def _resized(x: Tensor, size: Any) -> Tensor:
    """The last axis cut, or filled with zeros, to a size: an int, or a scalar int tensor."""
    x = getitem(x, (..., slice(None, size)))
    have = dim(x, x.ndim - 1)
    if have is size or (isinstance(have, int) and isinstance(size, int) and have == size):
        return x
    return pad(x, [*[[0, 0]] * (x.ndim - 1), [0, size - have]])


def _lengths(op: str, fft_length: Any, count: int) -> list[Any] | None:
    """The sizes of a transform of so many axes: ints, or scalar tensors."""
    if fft_length is None:
        return None
    alone = not getattr(fft_length, "ndim", 0) and not isinstance(fft_length, (list, tuple, TensorShape))
    sizes = numbers(f"the fft_length of {op}", [fft_length] if alone else fft_length)
    if len(sizes) != count:
        raise located(ShapeError(f"{op} takes an fft_length of {count} ints, not of {len(sizes)}"))
    return sizes


def _real_transform(op: str, input_tensor: Any, fft_length: Any, count: int) -> Tensor:
    x = convert_to_tensor(input_tensor)
    check_dtype(op, x.dtype, FLOATS)
    sizes = _lengths(op, fft_length, count)
    x = _checked(op, x, count)
    if sizes is not None:
        x = _resized(x, sizes[-1])
    x = getitem(fft(x), (..., slice(None, dim(x, x.ndim - 1) // 2 + 1)))
    for axis in range(-2, -count - 1, -1):
        turned = _swapped(x, axis)
        x = _swapped(fft(turned if sizes is None else _resized(turned, sizes[axis])), axis)
    return x


def _inverse_real_transform(op: str, input_tensor: Any, fft_length: Any, count: int) -> Tensor:
    x = _checked(op, _complex(input_tensor), count)
    sizes = _lengths(op, fft_length, count)
    for axis in range(-count, -1):
        turned = _swapped(x, axis)
        x = _swapped(ifft(turned if sizes is None else _resized(turned, sizes[axis])), axis)
    size = 2 * (dim(x, x.ndim - 1) - 1) if sizes is None else sizes[-1]
    x = _resized(x, size // 2 + 1)
    rest = getitem(x, (..., slice(1, (size + 1) // 2)))  # the conjugates of the others, in reverse order
    whole = concat([x, reverse(complex_numbers.conj(rest), [x.ndim - 1])], x.ndim - 1)
    found: Tensor = complex_numbers.real(ifft(whole))
    return found


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of `fft` of real numbers [..., n], which determine the rest (`tf.signal.rfft`).

    The last axis is first cut, or filled with zeros, to `fft_length` (an int, or a list or tensor of one).
    """
    return named(_real_transform("rfft", input_tensor, fft_length, 1), name)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` of the last axis, then `fft` of the one before: real [..., m, n] to complex [..., m, n // 2 + 1]
    (`tf.signal.rfft2d`). `fft_length`: two sizes, as in `rfft`."""
    return named(_real_transform("rfft2d", input_tensor, fft_length, 2), name)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """`rfft` of the last axis, then `fft` of the two before (`tf.signal.rfft3d`). `fft_length`: three sizes."""
    return named(_real_transform("rfft3d", input_tensor, fft_length, 3), name)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft`: `fft_length` real numbers, by default 2 (n - 1), for `input_tensor` [..., n]
    (`tf.signal.irfft`)."""
    return named(_inverse_real_transform("irfft", input_tensor, fft_length, 1), name)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft2d`: complex [..., m, n] to real [..., m, 2 (n - 1)], or of the two sizes `fft_length`
    (`tf.signal.irfft2d`)."""
    return named(_inverse_real_transform("irfft2d", input_tensor, fft_length, 2), name)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `rfft3d` (`tf.signal.irfft3d`). `fft_length`: three sizes."""
    return named(_inverse_real_transform("irfft3d", input_tensor, fft_length, 3), name)


def _shift(op: str, value: Any, axes: Any, back: bool) -> Tensor:
    x = convert_to_tensor(value)
    places = range(x.ndim) if axes is None else static_ints(f"the axes of {op}", axes)
    for axis in [axis_of(op, place, x.ndim) for place in places]:
        half = dim(x, axis) // 2
        x = roll(x, -half if back else half, axis)
    return x


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """With the element of frequency 0 in the middle of the `axes` (by default all) (`tf.signal.fftshift`)."""
    return named(_shift("fftshift", x, axes, back=False), name)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift` (`tf.signal.ifftshift`)."""
    return named(_shift("ifftshift", x, axes, back=True), name)
