"""Colour spaces."""
from __future__ import annotations

from typing import Any

from keras.src.backend.config import standardize_data_format

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import floating, in_dtype, tensor
from runtime.ops import logic, math, reduction
from runtime.ops import shape as shapes

__all__ = ["hsv_to_rgb", "rgb_to_grayscale", "rgb_to_hsv"]


def check_rank(x: Tensor) -> None:
    if x.ndim not in (3, 4):
        raise ValueError("Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). Received "
                         f"input with shape: images.shape={tuple(x.shape)}")


def _channels(data_format: str | None) -> int:
    return -1 if standardize_data_format(data_format) == "channels_last" else -3


def rgb_to_grayscale(images: Any, data_format: str | None = None) -> Tensor:
    x = tensor(images)
    axis = _channels(data_format)
    check_rank(x)
    if x.type.shape[axis] not in (1, 3):
        raise ValueError("Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
                         f"images.shape={tuple(x.shape)}")
    if x.type.shape[axis] == 1:
        return x
    values = floating(x)
    weights = in_dtype(tensor([0.2989, 0.5870, 0.1140]), values.dtype.name)
    weights = shapes.reshape(weights, [3] + [1] * (-1 - axis))
    return in_dtype(reduction.reduce_sum(values * weights, axis, True), x.dtype.name)


def _planes(images: Any, data_format: str | None) -> tuple[list[Tensor], int]:
    x = tensor(images)
    axis = _channels(data_format)
    check_rank(x)
    if not x.dtype.is_floating:
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={x.dtype.name}")
    return [*rnp.moveaxis(x, axis, 0)], axis % x.ndim


def rgb_to_hsv(images: Any, data_format: str | None = None) -> Tensor:
    planes, axis = _planes(images, data_format)
    least = {"float64": 2.0 ** -52, "float32": 2.0 ** -23, "float16": 2.0 ** -10}.get(planes[0].dtype.name, 2.0 ** -7)
    red, green, blue = (logic.where(math.abs(plane) < least, 0.0, plane) for plane in planes)
    value = math.maximum(math.maximum(red, green), blue)
    spread = value - math.minimum(math.minimum(red, green), blue)
    coloured = spread > 0
    saturation = logic.where(value > 0, spread / logic.where(value > 0, value, 1.0), 0.0)
    step = 1 / (logic.where(coloured, spread, 1.0) * 6)
    hue = logic.where(logic.equal(value, green), step * (blue - red) + 2 / 6, step * (red - green) + 4 / 6)
    hue = logic.where(logic.equal(value, red), step * (green - blue), hue)
    hue = logic.where(coloured, hue, 0.0)
    return shapes.stack([hue + in_dtype(hue < 0, hue.dtype.name), saturation, value], axis)


def hsv_to_rgb(images: Any, data_format: str | None = None) -> Tensor:
    (hue, saturation, value), axis = _planes(images, data_format)
    angle = math.mod(hue, 1.0) * 6

    def plane(share: Tensor) -> Tensor:
        return value * (1 - saturation + saturation * math.minimum(math.maximum(share, 0.0), 1.0))

    return shapes.stack([plane(math.abs(angle - 3) - 1), plane(2 - math.abs(angle - 2)),
                         plane(2 - math.abs(angle - 4))], axis)
