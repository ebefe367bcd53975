"""`numpy.fft` on tensors, with NumPy's names and arguments."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float64
from runtime.numpy.arrays import astype, concatenate, moveaxis, roll
from runtime.numpy.reductions import averaged
from runtime.ops import complex_numbers, creation, fourier, math
from runtime.ops import shape as shapes

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "rfft", "rfftfreq",
]


def _last(x: Tensor, axis: int) -> Tensor:
    """The axis moved to the end. IndexError if there is none."""
    if not x.ndim:
        raise located(IndexError("tuple index out of range"))
    return moveaxis(x, axis, -1)


def _sized(x: Tensor, n: Any) -> Tensor:
    """The last axis cut, or filled with zeros, to a size."""
    if n is None or (type(n) is int and x.type.shape[-1] == n):
        return x
    x = x[..., :n]
    have = shapes.dims(x)
    return concatenate([x, creation.zeros([*have[:-1], n - have[-1]], x.dtype)], -1)


def _scaled(x: Tensor, size: Any, norm: str | None, forward: bool) -> Tensor:
    """The result of a transform in the scale that `norm` says: without, inverses are divided by the size."""
    of_inverse, of_forward = {None: (1, 0), "backward": (1, 0), "forward": (0, 1), "ortho": (0.5, 0.5)}[norm]
    power = -of_forward if forward else 1 - of_inverse
    if not power:
        return x
    scale = math.pow(astype(size, float64), power)
    return x * astype(scale, x.dtype)


def _transform(a: Any, n: Any, axis: int, norm: str | None, forward: bool) -> Tensor:
    x = _sized(_last(averaged(a), axis), n)
    found = (fourier.fft if forward else fourier.ifft)(x)
    return moveaxis(_scaled(found, shapes.dim(x, -1), norm, forward), -1, axis)


def fft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _transform(a, n, axis, norm, True)


def ifft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return _transform(a, n, axis, norm, False)


def _along(each: Callable[..., Tensor], a: Any, s: Any, axes: Any, norm: str | None) -> Tensor:
    x = convert_to_tensor(a)
    axes = axes if axes is not None else range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    for k, axis in enumerate(axes):
        x = each(x, None if s is None else s[k], axis, norm)
    return x


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return _along(fft, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    return _along(ifft, a, s, axes, norm)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _along(fft, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    return _along(ifft, a, s, axes, norm)


def rfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    x = _sized(_last(averaged(a), axis), n)
    return moveaxis(_scaled(fourier.rfft(x), shapes.dim(x, -1), norm, True), -1, axis)


def irfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    x = _last(averaged(a), axis)
    size = 2 * (shapes.dim(x, -1) - 1) if n is None else n
    return moveaxis(_scaled(fourier.irfft(x, size), size, norm, False), -1, axis)


_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return irfft(complex_numbers.conj(averaged(a)), n, axis, _OTHER[norm])


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
    return complex_numbers.conj(rfft(a, n, axis, _OTHER[norm]))


def fftshift(x: Any, axes: Any = None) -> Tensor:
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x: Any, axes: Any = None) -> Tensor:
    return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(a: Any, axes: Any, by: Callable[[Any], Any]) -> Tensor:
    x = convert_to_tensor(a)
    for axis in range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes:
        x = roll(x, by(shapes.dim(x, axis)), axis)
    return x


def fftfreq(n: Any, d: Any = 1.0) -> Tensor:
    places = creation.range(n)
    half = (n - 1) // 2 + 1
    wrapped = (places + n // 2) % n - n // 2 if not isinstance(n, int) else concatenate(
        [creation.range(half), creation.range(-(n // 2), 0)])
    return convert_to_tensor(astype(wrapped, float64) / (astype(n, float64) * d))


def rfftfreq(n: Any, d: Any = 1.0) -> Tensor:
    return convert_to_tensor(astype(creation.range(n // 2 + 1), float64) / (astype(n, float64) * d))
