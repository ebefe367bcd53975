"""Keras's `backend.math`: segments, Fourier transforms and special functions."""
from __future__ import annotations

from typing import Any

import numpy as np

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, floating, in_dtype, tensor
from runtime.ops import (
    complex_numbers,
    concat_split,
    creation,
    decompositions,
    fourier,
    logic,
    math,
    reduction,
    sorting,
)
from runtime.ops import shape as shapes
from runtime.ops.gather import gather, scatter

__all__ = [
    "cdist", "erf", "erfc", "erfinv", "extract_sequences", "fft", "fft2", "ifft2", "in_top_k", "irfft", "istft",
    "logdet", "logsumexp", "rfft", "rsqrt", "segment_max", "segment_min", "segment_prod", "segment_sum", "stft",
    "top_k",
]


# Segments.

def _segments(data: Any, segment_ids: Any, num_segments: int | None, first: Any, mode: str) -> Tensor:
    """`data` reduced by segment, starting with `first`; rows whose id is out of range are left out."""
    x, ids, count = _segment_operands(data, segment_ids, num_segments)
    start = rnp.full([count + 1, *shapes.dims(x)[1:]], in_dtype(first, x.dtype.name))
    return scatter(start, ids[:, None], x, mode)[:count]


def _segment_operands(data: Any, segment_ids: Any, num_segments: int | None) -> tuple[Tensor, Tensor, Any]:
    x, ids = tensor(data), in_dtype(tensor(segment_ids), "int32")
    count = reduction.reduce_max(ids) + 1 if num_segments is None else num_segments
    return x, logic.where(logic.logical_or(ids < 0, ids >= count), count, ids), count


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
    return _segments(data, segment_ids, num_segments, 0, "add")


def _bound(data: Any, which: int) -> Any:
    dtype = tensor(data).dtype
    if dtype.is_floating:
        return (-np.inf, np.inf)[which]
    return dtype.limits[which]


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
    return _segments(data, segment_ids, num_segments, _bound(data, 0), "max")


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
    return _segments(data, segment_ids, num_segments, _bound(data, 1), "min")


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
    x, ids, count = _segment_operands(data, segment_ids, num_segments)
    within = logic.equal(ids, creation.range(count)[:, None])  # [segments, rows]
    within = shapes.reshape(within, [*shapes.dims(within), *[1] * (x.ndim - 1)])
    return reduction.reduce_prod(logic.where(within, x, in_dtype(1, x.dtype.name)), 1)


# Order.

def top_k(x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    values, indices = sorting.top_k(tensor(x), k)
    return values, indices


def in_top_k(targets: Any, predictions: Any, k: int) -> Tensor:
    scores, classes = tensor(predictions), in_dtype(tensor(targets), "int32")
    own = gather(scores, classes, axis=scores.ndim - 1, batch_dims=classes.ndim)[..., None]
    if scores.dtype.is_floating:  # NaN never is in the top k
        own = logic.where(math.is_nan(own), in_dtype(-np.inf, scores.dtype.name), own)
    return reduction.reduce_sum(in_dtype(scores > own, "int32"), -1) < k


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return reduction.reduce_logsumexp(floating(x), axis, keepdims)


def cdist(x: Any, y: Any) -> Tensor:
    x, y = tensor(x), tensor(y)
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError("`cdist` inputs must have rank >= 2")
    if x.type.shape[-1] != y.type.shape[-1]:
        raise ValueError("Last dimension of inputs to `cdist` must match")
    x, y = agreed(floating(x), floating(y))
    difference = shapes.expand_dims(x, x.ndim - 1) - shapes.expand_dims(y, y.ndim - 2)
    return math.sqrt(reduction.reduce_sum(math.square(difference), -1))


# Signals.

def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Tensor:
    x = tensor(x)
    count = (shapes.dim(x, x.ndim - 1) - sequence_length) // sequence_stride + 1
    starts = creation.range(count) * sequence_stride
    return gather(x, starts[:, None] + creation.range(sequence_length), axis=x.ndim - 1)


def _get_complex_tensor_from_tuple(x: Any) -> Tensor:
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary.Received: x={x}")
    real, imag = (tensor(part) for part in x)
    if tuple(real.shape) != tuple(imag.shape):
        raise ValueError("Input `x` should be a tuple of two tensors - real and imaginary.Both the real and imaginary "
                         f"parts should have the same shape. Received: x[0].shape = {tuple(real.shape)}, "
                         f"x[1].shape = {tuple(imag.shape)}")
    if not (real.dtype.is_floating and imag.dtype.is_floating):
        raise ValueError(f"At least one tensor in input `x` is not of type float.Received: x={x}.")
    return complex_numbers.complex(real, imag)


def _parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return complex_numbers.real(x), complex_numbers.imag(x)


def fft(x: Any) -> tuple[Tensor, Tensor]:
    return _parts(fourier.fft(_get_complex_tensor_from_tuple(x)))


def fft2(x: Any) -> tuple[Tensor, Tensor]:
    return _parts(fourier.fft2d(_get_complex_tensor_from_tuple(x)))


def ifft2(x: Any) -> tuple[Tensor, Tensor]:
    return _parts(fourier.ifft2d(_get_complex_tensor_from_tuple(x)))


def rfft(x: Any, fft_length: int | None = None) -> tuple[Tensor, Tensor]:
    return _parts(fourier.rfft(floating(x), fft_length))


def irfft(x: Any, fft_length: int | None = None) -> Tensor:
    return fourier.irfft(_get_complex_tensor_from_tuple(x), fft_length)


def _window(window: Any, length: int, fft_length: int, dtype: str) -> Tensor:
    """A window of length `fft_length`: a named or given window, centred between zeros."""
    before = (fft_length - length) // 2
    if window is None:
        return creation.ones([fft_length], dtype)
    if isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError("If a string is passed to `window`, it must be one of `\"hann\"`, `\"hamming\"`. "
                             f"Received: window={window}")
        offset = 0.5 if window == "hann" else 0.54  # as periodic windows
        window = offset - (1 - offset) * np.cos(2 * np.pi * np.arange(length) / length)
    w = in_dtype(tensor(window), dtype)
    if w.ndim != 1 or w.type.shape[0] != length:
        raise ValueError("The shape of `window` must be equal to [sequence_length]."
                         f"Received: window shape={tuple(w.shape)}")
    return concat_split.pad(w, [[before, fft_length - length - before]])


def stft(x: Any, sequence_length: int, sequence_stride: int, fft_length: int, window: Any = "hann", center: bool = True
         ) -> tuple[Tensor, Tensor]:
    x = tensor(x)
    if x.dtype.name not in ("float32", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.dtype.name}")
    if fft_length < sequence_length:
        raise ValueError("`fft_length` must equal or larger than `sequence_length`. Received: "
                         f"sequence_length={sequence_length}, fft_length={fft_length}")
    w = _window(window, sequence_length, fft_length, x.dtype.name)
    if center:
        side = fft_length // 2
        x = concat_split.pad(x, [*[[0, 0]] * (x.ndim - 1), [side, side]], "REFLECT")
    return _parts(fourier.rfft(extract_sequences(x, fft_length, sequence_stride) * w))


def istft(x: Any, sequence_length: int, sequence_stride: int, fft_length: int, length: int | None = None,
          window: Any = "hann", center: bool = True) -> Tensor:
    spectrum = _get_complex_tensor_from_tuple(x)
    if spectrum.ndim < 2:
        raise ValueError(f"Input `x` must have at least 2 dimensions. Received shape: {tuple(spectrum.shape)}")
    frames = fourier.irfft(spectrum, fft_length)
    if window is not None:
        w = _window(window, sequence_length, fft_length, frames.dtype.name)
        frames = frames * (w / _periodic_sum(math.square(w), fft_length, sequence_stride))
    total = _overlapped(frames, sequence_stride)
    first = fft_length // 2 if center else 0
    if length is not None:
        return total[..., first:first + length]
    return total[..., first:-(fft_length // 2)] if center and fft_length > 1 else total


def _periodic_sum(x: Tensor, length: int, stride: int) -> Tensor:
    """For each of `length` positions, the sum of x at all positions a multiple of `stride` away."""
    count = -(-length // stride)
    rows = shapes.reshape(concat_split.pad(x, [[0, count * stride - length]]), [count, stride])
    return concat_split.tile(reduction.reduce_sum(rows, 0), [count])[:length]


def _overlapped(frames: Tensor, stride: int) -> Tensor:
    """The sum of overlapping frames [..., n, size], each shifted by `stride` from the one before."""
    count, size = shapes.dim(frames, frames.ndim - 2), shapes.dim(frames, frames.ndim - 1)
    places = (creation.range(count) * stride)[:, None] + creation.range(size)
    lead = shapes.dims(frames)[:-2]
    flat = shapes.reshape(frames, [shapes.product(lead), count * size])
    zeros = creation.zeros([(count - 1) * stride + size, shapes.product(lead)], frames.dtype)
    total = scatter(zeros, shapes.reshape(places, [-1, 1]), shapes.transpose(flat), "add")
    return shapes.reshape(shapes.transpose(total), [*lead, (count - 1) * stride + size])


# Special functions.

def rsqrt(x: Any) -> Tensor:
    return math.rsqrt(floating(x))


def erf(x: Any) -> Tensor:
    return math.erf(floating(x))


def erfc(x: Any) -> Tensor:
    return math.erfc(floating(x))


def erfinv(x: Any) -> Tensor:
    return math.erfinv(floating(x))


def logdet(x: Any) -> Tensor:
    return decompositions.slogdet(floating(x))[1]
