"""Frames, windows, short-time Fourier transforms and cosine transforms of signals, composed of ops."""
from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any, Final

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import as_dtype, complex64, complex128, float32, float64, int32
from runtime.ops import complex_numbers, math
from runtime.ops.concat_split import concat, pad, split, tile
from runtime.ops.creation import ones
from runtime.ops.creation import range as range_of
from runtime.ops.fourier import irfft, rfft
from runtime.ops.gather import gather, segment_totals
from runtime.ops.indexing import getitem, reverse
from runtime.ops.integrals import bessel_i0e
from runtime.ops.logic import equal, where
from runtime.ops.op_makers import FLOATS, check_dtype, named
from runtime.ops.reduction import cumsum, reduce_sum
from runtime.ops.shape import dim, dims, expand_dims, reshape, transpose
from runtime.ops.static_arguments import axis_of, static_int

__all__ = [
    "dct", "frame", "hamming_window", "hann_window", "idct", "inverse_mdct", "inverse_stft", "inverse_stft_window_fn",
    "kaiser_bessel_derived_window", "kaiser_window", "mdct", "overlap_and_add", "stft", "vorbis_window",
]

_FLOATS_OF_FFT: Final = (float32, float64)


def _at_least(low: Any, x: Any) -> Any:
    return max(low, x) if isinstance(low, int) and isinstance(x, int) else math.maximum(x, low)


def _size(what: str, value: Any) -> Any:
    """A positive int, or a scalar int tensor of the graph."""
    known = static_int(value)
    if known is None:
        return math.cast(value, int32)
    if known < 1:
        raise located(ShapeError(f"{what} must be at least 1, not {known}"))
    return known


# Frames.

def frame(
    signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Windows of `frame_length` elements along `axis`, each `frame_step` after the one before (`tf.signal.frame`).

    The axis of n elements becomes two, [frames, frame_length]: 1 + (n - frame_length) // frame_step frames (none of a
    shorter axis), or with `pad_end`, which adds `pad_value`, ceil(n / frame_step). ShapeError for sizes below 1.
    """
    x = convert_to_tensor(signal)
    place = axis_of("frame", axis, x.ndim)
    length, step = _size("the frame_length", frame_length), _size("the frame_step", frame_step)
    size = dim(x, place)
    if pad_end:
        count = -(-size // step)
        missing = _at_least(0, length + step * (count - 1) - size)
        widths = [[0, 0] if i != place else [0, missing] for i in range(x.ndim)]
        x = pad(x, widths, constant_values=convert_to_tensor(pad_value, dtype=x.dtype))
    else:
        count = _at_least(0, 1 + (size - length) // step)
    starts = math.multiply(range_of(count), step)
    return named(gather(x, expand_dims(starts, 1) + range_of(length), axis=place), name)


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The sums of frames [..., frames, frame_length] that overlap, each `frame_step` after the one before: [...,
    (frames - 1) * frame_step + frame_length] (`tf.signal.overlap_and_add`). ShapeError for a rank below 2."""
    x = convert_to_tensor(signal)
    if x.ndim < 2:
        raise located(ShapeError(f"overlap_and_add takes frames [..., frames, frame_length], not {x.type}"))
    step = _size("the frame_step", frame_step)
    *outer, frames, length = dims(x, int32)
    places = reshape(expand_dims(math.multiply(range_of(frames), step), 1) + range_of(length), [-1])
    rows = reshape(transpose(x, [x.ndim - 2, x.ndim - 1, *range(x.ndim - 2)]), [frames * length, *outer])
    total = segment_totals(rows, places, _at_least(0, (frames - 1) * step + length))
    return named(transpose(total, [*range(1, total.ndim), 0]), name)


# Windows.

def _raised_cosine(what: str, length: Any, periodic: Any, dtype: Any, a: float, b: float) -> Tensor:
    kind = as_dtype(dtype)
    check_dtype(what, kind, FLOATS)
    size = _size("the window_length", length)
    if isinstance(size, int) and size == 1:
        return ones([1], kind)
    is_even = 1 - size % 2
    last = math.cast(size + math.multiply(math.cast(periodic, int32), is_even) - 1, kind)
    place = math.cast(range_of(size), kind)
    window = a - b * math.cos(2 * python_math.pi * place / last)
    return window if isinstance(size, int) else where(equal(size, 1), ones([1], kind), window)


def hann_window(window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """The window 0.5 - 0.5 cos(2 pi i / n), of floats [window_length] (`tf.signal.hann_window`).

    n is the length if that is even and the window `periodic`, else one less. DTypeError if `dtype` is not floating.
    """
    return named(_raised_cosine("hann_window", window_length, periodic, dtype, 0.5, 0.5), name)


def hamming_window(window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """The window 0.54 - 0.46 cos(2 pi i / n) (`tf.signal.hamming_window`); n as for `hann_window`."""
    return named(_raised_cosine("hamming_window", window_length, periodic, dtype, 0.54, 0.46), name)


def vorbis_window(window_length: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """The window sin(pi / 2 sin(pi (i + 0.5) / window_length)**2) (`tf.signal.vorbis_window`)."""
    kind = as_dtype(dtype)
    check_dtype("vorbis_window", kind, FLOATS)
    size = _size("the window_length", window_length)
    inner = math.sin(python_math.pi / math.cast(size, kind) * (math.cast(range_of(size), kind) + 0.5))
    return named(math.sin(python_math.pi / 2 * inner * inner), name)


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None,
) -> Tensor:
    """The window I0(beta sqrt(1 - t**2)) / I0(beta), for t from -1 to 1 (`tf.signal.kaiser_window`)."""
    kind = as_dtype(dtype)
    check_dtype("kaiser_window", kind, FLOATS)
    size = _size("the window_length", window_length)
    if isinstance(size, int) and size == 1:
        return ones([1], kind)
    half = (math.cast(size, float32) - 1.0) / 2.0
    place = math.cast((math.cast(range_of(size), float32) - half) / half, kind)
    width = math.cast(beta, kind)
    inner = width * math.sqrt(math.maximum(1.0 - place * place, 0.0))
    window = math.exp(inner - width) * (bessel_i0e(inner) / bessel_i0e(width))
    return named(window if isinstance(size, int) else where(equal(size, 1), ones([1], kind), window), name)


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = float32, name: str | None = None,
) -> Tensor:
    """The window of the square roots of the running shares of a Kaiser window's sum, rising and falling, for `mdct`
    (`tf.signal.kaiser_bessel_derived_window`). `window_length` is even."""
    half = math.floordiv(window_length, 2) if isinstance(window_length, Tensor) else window_length // 2
    sums = cumsum(kaiser_window(half + 1, beta, dtype))
    rising = math.sqrt(sums[:-1] / sums[-1])
    return concat([rising, reverse(rising, [0])], 0, name)


# Modified discrete cosine transforms.

def mdct(
    signals: Any, frame_length: Any, window_fn: Callable[..., Any] | None = vorbis_window, pad_end: bool = False,
    norm: str | None = None, name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transforms of frames, which overlap by half: [..., frames, frame_length / 2]
    (`tf.signal.mdct`).

    `frame_length` is a multiple of 4 (else ValueError). `window_fn(frame_length, dtype=...)` makes the window; without
    it frames are scaled by 1 / sqrt(2). `norm`: None or "ortho", see `dct`.
    """
    length = static_int(frame_length)
    if length is not None and length % 4:
        raise located(ValueError("The frame length must be a multiple of 4."))
    step = math.floordiv(frame_length, 2) if length is None else length // 2
    x = _windowed(frame(signals, frame_length, step, pad_end=pad_end), frame_length, window_fn)
    a, b, c, d = split(x, 4, -1)
    return dct(concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1), 4, norm=norm, name=name)


def inverse_mdct(
    mdcts: Any, window_fn: Callable[..., Any] | None = vorbis_window, norm: str | None = None, name: str | None = None,
) -> Tensor:
    """The signals [..., samples] with these transforms [..., frames, n], but for half a frame at both ends
    (`tf.signal.inverse_mdct`). `window_fn` and `norm` are those of `mdct`."""
    x = convert_to_tensor(mdcts)
    if x.ndim < 2:
        raise located(ShapeError(f"inverse_mdct takes transforms [..., frames, n], not {x.type}"))
    size = dim(x, x.ndim - 1)
    back = dct(x, 4, norm=norm)
    a, b = split(back if norm is not None else back * (0.5 / math.cast(size, x.dtype)), 2, -1)
    frames = concat([b, -reverse(b, [-1]), -reverse(a, [-1]), -a], -1)
    return overlap_and_add(_windowed(frames, 2 * size, window_fn), size, name)


def _windowed(frames: Tensor, length: Any, window_fn: Callable[..., Any] | None) -> Tensor:
    if window_fn is None:
        return math.multiply(frames, 1.0 / python_math.sqrt(2.0))
    return math.multiply(frames, window_fn(length, dtype=frames.dtype))


# Short-time Fourier transforms.

def _enclosing_power_of_two(size: Any) -> Any:
    if isinstance(size, int):
        return 1 << (size - 1).bit_length()
    power: Any = 1
    for bit in range(31):  # of a size that only the graph knows
        power = where(math.cast(1 << bit, int32) < math.cast(size, int32), 1 << min(bit + 1, 30), power)
    return power


def stft(
    signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, pad_end: bool = False, name: str | None = None,
) -> Tensor:
    """`rfft` of the frames of real signals [..., n], each multiplied by a window: complex [..., frames, fft_length // 2
    + 1] (`tf.signal.stft`).

    `fft_length`: by default the least power of 2 that holds a frame. `window_fn(frame_length, dtype=...)` makes the
    window (None: no window). Frames and `pad_end` as in `frame`.
    """
    x = convert_to_tensor(signals)
    check_dtype("stft", x.dtype, FLOATS)
    length = _size("the frame_length", frame_length)
    frames = frame(x, length, frame_step, pad_end)
    if window_fn is not None:
        frames = math.multiply(frames, window_fn(length, dtype=frames.dtype))
    return named(rfft(frames, [_enclosing_power_of_two(length) if fft_length is None else fft_length]), name)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The function that makes the window with which `inverse_stft` restores what `stft` with `forward_window_fn` was
    given: the forward window by the sum of the squares of those that overlap (`tf.signal.inverse_stft_window_fn`)."""
    def window_fn(frame_length: Any, dtype: Any) -> Tensor:
        step, length = _size("the frame_step", frame_step), _size("the frame_length", frame_length)
        window = forward_window_fn(length, dtype=dtype)
        overlaps = -(-length // step)
        squares = reshape(pad(window * window, [[0, overlaps * step - length]]), [overlaps, step])
        total = reshape(tile(reduce_sum(squares, 0, keepdims=True), [overlaps, 1]), [overlaps * step])
        return math.divide(window, getitem(total, slice(None, length)))

    return window_fn


def inverse_stft(
    stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window, name: str | None = None,
) -> Tensor:
    """The signals [..., n] whose `stft` is `stfts`, complex [..., frames, fft_length // 2 + 1], where `window_fn` is
    made by `inverse_stft_window_fn` (`tf.signal.inverse_stft`). DTypeError if they are not complex."""
    x = convert_to_tensor(stfts)
    if not x.dtype.is_complex:
        raise located(DTypeError(f"inverse_stft takes complex numbers, not {x.dtype.name}"))
    length = _size("the frame_length", frame_length)
    size = _enclosing_power_of_two(length) if fft_length is None else fft_length
    frames = getitem(irfft(x, [size]), (..., slice(None, length)))
    missing = _at_least(0, length - dim(frames, frames.ndim - 1))
    if not isinstance(missing, int) or missing:
        frames = pad(frames, [*[[0, 0]] * (frames.ndim - 1), [0, missing]])
    if window_fn is not None:
        frames = math.multiply(frames, window_fn(length, dtype=frames.dtype))
    return named(overlap_and_add(frames, frame_step), name)


# Cosine transforms.

def _check_dct(what: str, type: int, n: Any, axis: int, norm: str | None, x: Tensor) -> None:
    check_dtype(what, x.dtype, _FLOATS_OF_FFT)
    if axis != -1:
        raise located(NotImplementedError(f"the axis of {what} must be -1, not {axis}"))
    if type not in (1, 2, 3, 4):
        raise located(ValueError(f"{what} has the types 1, 2, 3 and 4, not {type!r}"))
    if norm not in (None, "ortho"):
        raise located(ValueError(f"the norm of {what} is None or 'ortho', not {norm!r}"))
    if n is not None:
        _size(f"n of {what}", n)
    if not x.ndim or (type == 1 and (norm or (x.shape[-1] is not None and x.shape[-1] < 2))):
        raise located(ShapeError(f"{what} of type {type} takes a last axis of {1 + (type == 1)} or more elements"
                                 f"{' and no norm' if type == 1 else ''}, not {x.type}"))


def dct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The discrete cosine transform of the last axis of float32 or float64 [..., size] (`tf.signal.dct`).

    `type`: 1 to 4, as in `scipy.fft.dct`. The axis is first cut, or filled with zeros, to `n`. `norm`: "ortho" makes
    it orthonormal (not for type 1). ValueError for another type or norm, NotImplementedError for another axis.
    """
    x = convert_to_tensor(input)
    _check_dct("dct", type, n, axis, norm, x)
    if n is not None:
        x = _padded(getitem(x, (..., slice(None, n))), n)
    return named(_TRANSFORMS[type](x, norm is not None), name)


def idct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The inverse of `dct` of that type, with "ortho"; without, 2 size times the inverse (of type 1, 2 (size - 1)
    times) (`tf.signal.idct`). `n` must be None. Errors as for `dct`."""
    x = convert_to_tensor(input)
    _check_dct("idct", type, None, axis, norm, x)
    if n is not None:
        raise located(ValueError(f"n of idct must be None, not {n!r}"))
    return named(_TRANSFORMS[{2: 3, 3: 2}.get(type, type)](x, norm is not None), name)


def _padded(x: Tensor, size: Any) -> Tensor:
    """With zeros after the last axis, up to a size."""
    missing = size - dim(x, x.ndim - 1)
    return x if isinstance(missing, int) and not missing else pad(x, [*[[0, 0]] * (x.ndim - 1), [0, missing]])


def _dct1(x: Tensor, ortho: bool) -> Tensor:
    inner = reverse(getitem(x, (..., slice(1, -1))), [x.ndim - 1])
    return complex_numbers.real(rfft(concat([x, inner], x.ndim - 1)))


def _angles(x: Tensor, size: Any) -> Tensor:
    """pi i / (2 size) for each index of the last axis."""
    return math.cast(range_of(size), x.dtype) * (0.5 * python_math.pi) / math.cast(size, x.dtype)


def _weights(x: Tensor, size: Any, first: float, rest: float) -> Tensor:
    return where(equal(range_of(size), 0), math.cast(first, x.dtype), math.cast(rest, x.dtype))


def _dct2(x: Tensor, ortho: bool) -> Tensor:
    """By a Fourier transform of twice the size (J. Makhoul, "A fast cosine transform in one and two dimensions")."""
    size = dim(x, x.ndim - 1)
    parts = getitem(rfft(x, [2 * size]), (..., slice(None, size)))
    angles = _angles(x, size)
    found: Tensor = 2.0 * (complex_numbers.real(parts) * math.cos(angles)
                           + complex_numbers.imag(parts) * math.sin(angles))
    if not ortho:
        return found
    return found * _weights(x, size, 0.5, 0.5 ** 0.5) / math.sqrt(math.cast(size, x.dtype))


def _dct3(x: Tensor, ortho: bool) -> Tensor:
    size = dim(x, x.ndim - 1)
    count = math.cast(size, x.dtype)
    x = x * _weights(x, size, 1.0, 0.5 ** 0.5) * math.sqrt(count) if ortho else x * count
    angles = _angles(x, size)
    turned = complex_numbers.complex(2.0 * x * math.cos(angles), 2.0 * x * math.sin(angles))
    turned = _padded(math.cast(turned, complex128 if x.dtype is float64 else complex64), size + 1)
    return getitem(irfft(turned, [2 * size]), (..., slice(None, size)))


def _dct4(x: Tensor, ortho: bool) -> Tensor:
    size = dim(x, x.ndim - 1)
    found = getitem(_dct2(_padded(x, 2 * size), False), (..., slice(1, None, 2)))
    return found * 0.5 ** 0.5 / math.sqrt(math.cast(size, x.dtype)) if ortho else found


_TRANSFORMS: Final[dict[int, Callable[[Tensor, bool], Tensor]]] = {1: _dct1, 2: _dct2, 3: _dct3, 4: _dct4}
