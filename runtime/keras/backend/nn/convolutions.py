"""Convolutions and their transposes, of one to three spatial axes."""
from __future__ import annotations

from typing import Any

from keras.src.backend.common.backend_utils import (
    check_conv_transpose_input_channels,
    compute_conv_transpose_padding_args_for_jax,
)
from keras.src.backend.config import standardize_data_format

from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, in_dtype
from runtime.ops import concat_split
from runtime.ops import shape as shapes
from runtime.ops.convolution import CONV_INPUT, convolution
from runtime.ops.op_makers import apply_one
from runtime.ops.shape import shape_argument

__all__ = ["conv", "conv_transpose", "depthwise_conv", "separable_conv"]


def per_axis(value: Any, rank: int) -> tuple[int, ...]:
    """A value for each spatial axis."""
    values = (value,) * rank if isinstance(value, int) else tuple(value)
    return values * rank if len(values) == 1 else values


def to_last(x: Tensor, data_format: str) -> Tensor:
    """A tensor with its channels last."""
    return shapes.moveaxis(x, 1, -1) if data_format == "channels_first" and x.ndim > 2 else x


def from_last(x: Tensor, data_format: str) -> Tensor:
    return shapes.moveaxis(x, -1, 1) if data_format == "channels_first" and x.ndim > 2 else x


def conv(inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
         dilation_rate: Any = 1) -> Tensor:
    data_format = standardize_data_format(data_format)
    x, w = agreed(inputs, kernel)
    _check_channels(x, w, data_format)
    return _convolved(x, w, strides, padding, data_format, dilation_rate)


def _check_channels(x: Tensor, w: Tensor, data_format: str) -> None:
    """ValueError unless the filters' channels match those of the images, or of one of several groups."""
    have, wanted = x.type.shape[-1 if data_format == "channels_last" else 1], w.type.shape[-2]
    if have is not None and wanted and have % wanted:
        raise ValueError("The number of input channels must match the kernel's input channels, or be a multiple of it. "
                         f"Received: input channels={have}, kernel input channels={wanted}, "
                         f"data_format='{data_format}'.")


def _convolved(x: Tensor, w: Tensor, strides: Any, padding: str, data_format: str, dilation_rate: Any) -> Tensor:
    rank = x.ndim - 2
    name = x.dtype.name
    if not x.dtype.is_floating:
        x, w = in_dtype(x, "float32"), in_dtype(w, "float32")
    y = convolution(to_last(x, data_format), w, per_axis(strides, rank), padding.upper(), None,
                    per_axis(dilation_rate, rank))
    return from_last(in_dtype(y, name), data_format)


def depthwise_conv(inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
                   dilation_rate: Any = 1) -> Tensor:
    data_format = standardize_data_format(data_format)
    x, w = agreed(inputs, kernel)
    *window, channels, many = shapes.dims(w)
    grouped = shapes.reshape(w, [*window, 1, shapes.product([channels, many])])
    return _convolved(x, grouped, strides, padding, data_format, dilation_rate)


def separable_conv(inputs: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = 1, padding: str = "valid",
                   data_format: str | None = None, dilation_rate: Any = 1) -> Tensor:
    data_format = standardize_data_format(data_format)
    each = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(each, pointwise_kernel, 1, "valid", data_format, 1)


def conv_transpose(inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", output_padding: Any = None,
                   data_format: str | None = None, dilation_rate: Any = 1) -> Tensor:
    data_format = standardize_data_format(data_format)
    x, w = agreed(inputs, kernel)
    check_conv_transpose_input_channels(x, w, data_format)
    rank = x.ndim - 2
    pads = compute_conv_transpose_padding_args_for_jax(
        input_shape=x.type.shape, kernel_shape=w.type.shape, strides=strides, padding=padding,
        output_padding=output_padding, dilation_rate=dilation_rate)
    steps, dilations = per_axis(strides, rank), per_axis(dilation_rate, rank)
    y = to_last(x, data_format)
    count, *sizes, _ = shapes.dims(y)
    # As the gradient of a convolution: the padding around the result is the rest of the window's extent; where that is
    # negative, no window reaches, and the result is 0.
    extents = [((size or 1) - 1) * dilation + 1 for size, dilation in zip(w.type.shape[:-2], dilations, strict=True)]
    around = [(extent - 1 - low, extent - 1 - high) for extent, (low, high) in zip(extents, pads, strict=True)]
    within = tuple((max(low, 0), max(high, 0)) for low, high in around)
    wanted = [count, *[(size - 1) * step + extent - low - high for size, step, extent, (low, high) in zip(
        sizes, steps, extents, within, strict=True)], shapes.dim(w, rank)]
    known, operand = shape_argument("conv_transpose", wanted)
    found = apply_one(CONV_INPUT, w, y, *(() if operand is None else (operand,)), dims=known, strides=steps,
                      padding=within, dilations=dilations)
    if any(min(pair) < 0 for pair in around):
        found = concat_split.pad(found, [[0, 0], *[[max(-low, 0), max(-high, 0)] for low, high in around], [0, 0]])
    return from_last(found, data_format)
