"""Patches of images, and the structural similarity of images, which compares windows."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float32
from runtime.ops.concat_split import pad
from runtime.ops.convolution import depthwise_conv2d
from runtime.ops.image import convert_image_dtype, image_of
from runtime.ops.math import cast, pow, square
from runtime.ops.nn import relu
from runtime.ops.op_makers import named
from runtime.ops.pooling import avg_pool2d
from runtime.ops.reduction import reduce_mean, reduce_prod
from runtime.ops.shape import dims, reshape, stack, transpose
from runtime.ops.window_axes import pair_of, windows

__all__ = ["extract_patches", "ssim", "ssim_multiscale"]

_SCALES: Final = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weights of scales, of Wang et al."""


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None,
) -> Tensor:
    """The patches of images [n, height, width, channels], each as the channels of one pixel:
    [n, rows, columns, patch height * patch width * channels] (`tf.image.extract_patches`).

    `sizes`, `strides` and `rates` (distances of a patch's pixels) are [1, of rows, of columns, 1]; `padding` is "SAME",
    with zeros, or "VALID".
    """
    x = image_of(images, "extract_patches")
    if x.ndim != 4:
        raise located(ShapeError(f"extract_patches takes images [n, height, width, channels], not {x.type}"))
    if padding not in ("SAME", "VALID"):
        raise located(InvalidArgumentError(f'the padding of extract_patches is "SAME" or "VALID", not {padding!r}'))
    lengths = []
    pairs = [pair_of("extract_patches", values) for values in (sizes, strides, rates)]
    for axis, (size, stride, rate) in enumerate(zip(*pairs, strict=True), 1):
        x, count = windows(x, 2 * axis - 1, size, stride, rate, padding == "SAME")
        lengths += [count, size]
    first, *_, channels = dims(x)  # [n, rows, patch rows, columns, patch columns, channels]
    inner = transpose(x, [0, 1, 3, 2, 4, 5])
    return named(reshape(inner, [first, lengths[0], lengths[2], lengths[1] * lengths[3] * channels]), name)


def ssim(
    img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
    k2: float = 0.03, return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images [..., height, width, channels] (`tf.image.ssim`; Z. Wang et al., "Image
    quality assessment", 2004): [...], or [..., rows, columns] for each window with `return_index_map`.

    `max_val`: the range of values. Windows of `filter_size` pixels are weighted by a Gaussian.
    """
    x, y, top = _compared(img1, img2, max_val, "ssim")
    luminance, contrast = _similarities(x, y, top, filter_size, filter_sigma, k1, k2)
    return reduce_mean(luminance * contrast, [-1] if return_index_map else [-3, -2, -1])


def ssim_multiscale(
    img1: Any, img2: Any, max_val: Any, power_factors: Sequence[float] = _SCALES, filter_size: int = 11,
    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images [..., height, width, channels] on several scales, each half of the one before
    (`tf.image.ssim_multiscale`; Z. Wang et al., "Multiscale structural similarity", 2003): [...].

    `power_factors`: the weights of the scales, the original one first; the product of the contrasts, and of the last
    scale's similarity, to these powers is averaged over the channels. Other arguments are as for `ssim`, and the
    images of the last scale must have room for a window.
    """
    x, y, top = _compared(img1, img2, max_val, "ssim_multiscale")
    found: list[Any] = []
    for k in range(len(power_factors)):
        if k:
            x, y = _half(x), _half(y)
        luminance, contrast = _similarities(x, y, top, filter_size, filter_sigma, k1, k2)
        is_last = k == len(power_factors) - 1
        found.append(relu(reduce_mean(luminance * contrast if is_last else contrast, [-3, -2])))
    powers = convert_to_tensor(power_factors, float32)
    return reduce_mean(reduce_prod(pow(stack(found, -1), powers), [-1]), [-1])


def _half(x: Tensor) -> Tensor:
    """Images of half the size: the means of 2 x 2 pixels, where a last odd row or column occurs twice."""
    *lead, height, width, channels = dims(x)
    odd = [[0, 0], [0, height % 2], [0, width % 2], [0, 0]]
    small = avg_pool2d(pad(reshape(x, [-1, height, width, channels]), odd, "SYMMETRIC"), 2, 2, "VALID")
    return reshape(small, [*lead, *dims(small)[1:]])


def _compared(img1: Any, img2: Any, max_val: Any, op: str) -> tuple[Tensor, Tensor, Tensor]:
    """Two images and the range of their values, as float32."""
    x, y = image_of(img1, op), image_of(img2, op)
    top = convert_image_dtype(cast(max_val, x.dtype), float32)
    return convert_image_dtype(x, float32), convert_image_dtype(y, float32), top


def _similarities(
    x: Tensor, y: Tensor, top: Tensor, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The similarity of luminance, and of contrast and structure, in each window."""
    for sizes in (x.type.shape[-3:-1], y.type.shape[-3:-1]):
        if any(n is not None and n < filter_size for n in sizes):
            raise located(InvalidArgumentError(f"ssim compares windows of {filter_size} pixels: {x.type} is too small",
                                               remedy="Give a smaller filter_size."))
    first, second = square(k1 * top), square(k2 * top)

    def mean(image: Tensor) -> Tensor:
        return _weighted_windows(image, filter_size, filter_sigma)

    mean_x, mean_y = mean(x), mean(y)
    products, squares = mean_x * mean_y * 2.0, square(mean_x) + square(mean_y)
    luminance = (products + first) / (squares + first)
    contrast = (mean(x * y) * 2.0 - products + second) / (mean(square(x) + square(y)) - squares + second)
    return luminance, contrast


def _weighted_windows(x: Tensor, size: int, sigma: float) -> Tensor:
    places = np.square(np.arange(size, dtype=np.float32) - np.float32(size - 1) / 2) * np.float32(-0.5 / sigma ** 2)
    weights = np.exp(places[:, None] + places)
    weights = (weights / weights.sum()).astype(np.float32)
    *lead, height, width, channels = dims(x)
    if not isinstance(channels, int):
        raise located(InvalidArgumentError(f"ssim needs a known number of channels, not {x.type}"))
    kernel = np.broadcast_to(weights[:, :, None, None], [size, size, channels, 1])
    rows = depthwise_conv2d(reshape(x, [-1, height, width, channels]), kernel, [1, 1, 1, 1], "VALID")
    return reshape(rows, [*lead, height - size + 1, width - size + 1, channels])
