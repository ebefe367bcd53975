"""Resizing, as a product along each axis with a matrix of interpolation weights."""
from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any, Final

from keras.src.backend.config import standardize_data_format

from runtime.core.tensor import Tensor
from runtime.keras.backend.image.colors import check_rank
from runtime.keras.backend.promotion import floating, in_dtype, result, tensor
from runtime.ops import concat_split, creation, linalg, logic, math, reduction
from runtime.ops import shape as shapes
from runtime.ops.gather import gather

__all__ = ["RESIZE_INTERPOLATIONS", "resize", "scale_and_translate"]

RESIZE_INTERPOLATIONS: Final = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")


def _linear(x: Tensor) -> Tensor:
    return math.maximum(1 - x, 0.0)


def _cubic(x: Tensor) -> Tensor:
    """R. Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981)."""
    near = ((x * 1.5 - 2.5) * x) * x + 1
    far = ((x * -0.5 + 2.5) * x - 4) * x + 2
    return logic.where(x >= 2, 0.0, logic.where(x >= 1, far, near))


def _lanczos(radius: float) -> Callable[[Tensor], Tensor]:
    def kernel(x: Tensor) -> Tensor:
        angle = logic.where(x > 1e-3, x, 1.0) * python_math.pi
        found = math.sin(angle) * math.sin(angle / radius) * radius / math.square(angle)
        return logic.where(x > radius, 0.0, logic.where(x > 1e-3, found, 1.0))

    return kernel


_KERNELS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), _linear),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": _lanczos(3.0), "lanczos5": _lanczos(5.0)}


def _weights(size: Any, wanted: int, scale: Tensor, translation: Any, method: str, antialias: bool) -> Tensor:
    """The weight of each input element in each output element, [wanted, size]; zeros for outputs that lie outside."""
    step = 1 / scale
    width = math.maximum(step, 1.0) if antialias else 1.0
    place = (in_dtype(creation.range(wanted), "float32") + 0.5 - translation) * step - 0.5
    distance = math.abs(place[:, None] - in_dtype(creation.range(size), "float32")) / width
    found = _KERNELS[method](distance)
    total = reduction.reduce_sum(found, 1, True)
    some = math.abs(total) > 1000 * 2.0 ** -23
    found = logic.where(some, found / logic.where(logic.equal(total, 0), 1.0, total), 0.0)
    within = logic.logical_and(place >= -0.5, place <= _as_float(size) - 0.5)
    return logic.where(within[:, None], found, 0.0)


def _along(x: Tensor, axis: int, weights: Tensor) -> Tensor:
    found = linalg.tensordot(x, in_dtype(weights, x.dtype.name), [[axis], [1]])
    return shapes.moveaxis(found, -1, axis)


def _sizes(x: Tensor, axes: Any) -> list[Any]:
    """The sizes along axes: ints, or tensors where they are not known when a function is traced."""
    return [shapes.dim(x, axis) for axis in axes]


def _known_sizes(x: Tensor, axes: Any) -> list[int]:
    sizes = [x.type.shape[axis] for axis in axes]
    if any(size is None for size in sizes):
        raise NotImplementedError("resizing images to an aspect ratio, whose sizes are not known when a function is "
                                  "traced")
    return sizes


def _as_float(size: Any) -> Any:
    return float(size) if isinstance(size, int) else in_dtype(size, "float32")


def resize(images: Any, size: Any, interpolation: str = "bilinear", antialias: bool = False,
           crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False, fill_mode: str = "constant",
           fill_value: Any = 0.0, data_format: str | None = None) -> Tensor:
    data_format = standardize_data_format(data_format)
    if interpolation not in RESIZE_INTERPOLATIONS:
        raise ValueError(f"Invalid value for argument `interpolation`. Expected of one {RESIZE_INTERPOLATIONS}. "
                         f"Received: interpolation={interpolation}")
    if fill_mode != "constant":
        raise ValueError("Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: "
                         f"fill_mode={fill_mode}")
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")
    x = tensor(images)
    check_rank(x)
    axes = (x.ndim - 3, x.ndim - 2) if data_format == "channels_last" else (x.ndim - 2, x.ndim - 1)
    if crop_to_aspect_ratio:
        x = _cropped(x, axes, size)
    elif pad_to_aspect_ratio:
        x = _padded(x, axes, size, fill_value)
    name = x.dtype.name
    if interpolation == "nearest":
        for axis, have, wanted in zip(axes, _sizes(x, axes), size, strict=True):
            places = (in_dtype(creation.range(wanted), "float32") + 0.5) * (_as_float(have) / wanted)
            x = gather(x, in_dtype(math.floor(places), "int32"), axis=axis)
        return x
    wide = in_dtype(floating(x), result(floating(x).dtype.name, "float32"))
    for axis, have, wanted in zip(axes, _sizes(x, axes), size, strict=True):
        if not isinstance(have, int) or have != wanted:
            scale = in_dtype(wanted / _as_float(have), "float32")
            wide = _along(wide, axis, _weights(have, int(wanted), scale, 0.0, interpolation, antialias))
    return _like(wide, name)


def _like(x: Tensor, name: str) -> Tensor:
    """Results in the dtype of the images; for integer images they stay floats."""
    return in_dtype(x, name if "float" in name else x.dtype.name)


def _cropped(x: Tensor, axes: tuple[int, int], size: Any) -> Tensor:
    """The middle of images, cropped to the aspect ratio of `size`."""
    height, width = _known_sizes(x, axes)
    wanted = (max(min(height, int(float(width * size[0]) / size[1])), 1),
              max(min(width, int(float(height * size[1]) / size[0])), 1))
    for axis, have, length in zip(axes, (height, width), wanted, strict=True):
        first = (have - length) // 2
        x = x[shapes.along(axis, slice(first, first + length))]
    return x


def _padded(x: Tensor, axes: tuple[int, int], size: Any, fill_value: Any) -> Tensor:
    height, width = _known_sizes(x, axes)
    wanted = (max(height, int(float(width * size[0]) / size[1])), max(width, int(float(height * size[1]) / size[0])))
    around = [[0, 0] for _ in range(x.ndim)]
    for axis, have, length in zip(axes, (height, width), wanted, strict=True):
        around[axis] = [(length - have) // 2] * 2
    return concat_split.pad(x, around, constant_values=in_dtype(fill_value, x.dtype.name))


def scale_and_translate(images: Any, output_shape: Any, scale: Any, translation: Any, spatial_dims: Any, method: str,
                        antialias: bool = True) -> Tensor:
    if method not in _KERNELS:
        raise ValueError(f"Invalid value for argument `method`. Expected of one {set(_KERNELS)}. Received: "
                         f"method={method}")
    x = floating(images)
    name = x.dtype.name
    scales, offsets = in_dtype(tensor(scale), "float32"), in_dtype(tensor(translation), "float32")
    x = in_dtype(x, result(name, "float32"))
    for i, (axis, have) in enumerate(zip(spatial_dims, _sizes(x, spatial_dims), strict=True)):
        weights = _weights(have, int(output_shape[axis]), scales[i], offsets[i], method, antialias)
        x = _along(x, axis % x.ndim, weights)
    return in_dtype(x, name)
