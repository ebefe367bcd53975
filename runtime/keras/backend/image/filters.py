"""Filters of images."""
from __future__ import annotations

from typing import Any

from keras.src.backend.config import standardize_data_format

from runtime.core.tensor import Tensor
from runtime.keras.backend.image.colors import check_rank
from runtime.keras.backend.promotion import in_dtype, tensor
from runtime.ops import concat_split, creation, math, reduction
from runtime.ops import shape as shapes
from runtime.ops.convolution import depthwise_conv2d

__all__ = ["gaussian_blur", "sobel_edges"]


def _each_channel(x: Tensor, kernel: Tensor) -> Tensor:
    """Images [n, h, w, c], each channel convolved with a kernel [h, w]."""
    filters = concat_split.tile(kernel[:, :, None, None], [1, 1, shapes.dim(x, 3), 1])
    return depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")


def gaussian_blur(images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0), data_format: str | None = None
                  ) -> Tensor:
    x = tensor(images)
    check_rank(x)
    widths = in_dtype(tensor(sigma), x.dtype.name)

    def weights(size: int, width: Tensor) -> Tensor:
        places = in_dtype(creation.range(size), x.dtype.name) - (size - 1) / 2
        found = math.exp(math.square(places / width) * -0.5)
        return found / reduction.reduce_sum(found)

    kernel = weights(int(kernel_size[1]), widths[1])[:, None] * weights(int(kernel_size[0]), widths[0])
    first = standardize_data_format(data_format) == "channels_first"
    batch = x if x.ndim == 4 else x[None]
    batch = shapes.moveaxis(batch, 1, -1) if first else batch
    found = _each_channel(batch, kernel)
    found = shapes.moveaxis(found, -1, 1) if first else found
    return found if x.ndim == 4 else found[0]


def sobel_edges(images: Any, data_format: str | None = None) -> Tensor:
    """The differences along y and x, as a last axis."""
    x = tensor(images)
    first = standardize_data_format(data_format) == "channels_first"
    batch = shapes.moveaxis(x, 1, -1) if first else x
    across = in_dtype(tensor([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]), x.dtype.name)
    edges = [_each_channel(batch, kernel) for kernel in (shapes.transpose(across), across)]
    return shapes.stack([shapes.moveaxis(edge, -1, 1) if first else edge for edge in edges], -1)
