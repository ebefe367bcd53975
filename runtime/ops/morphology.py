"""Grayscale morphology: the greatest and least of windows with a structuring function (`tf.nn`)."""
from __future__ import annotations

import math as python_math
from typing import Any

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.core.types import float32
from runtime.ops.indexing import reverse
from runtime.ops.math import negative
from runtime.ops.op_makers import FLOATS, check_dtype, named
from runtime.ops.reduction import reduce_max
from runtime.ops.window_axes import pair_of, windows

__all__ = ["dilation2d", "erosion2d"]


def dilation2d(
    input: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any, name: str | None = None,
) -> Tensor:
    """The greatest of x + filter in each window of images [n, h, w, c] of floats, with a filter [fh, fw, c]:
    [n, h', w', c] (`tf.nn.dilation2d`).

    `strides` and `dilations` are [1, of rows, of columns, 1]; `padding` is "SAME" or "VALID", and is never the maximum;
    `data_format` is "NHWC". The derivative of equal elements is shared among them. InvalidArgumentError for others,
    ShapeError for shapes that do not fit.
    """
    return named(_dilated("dilation2d", input, filters, strides, padding, data_format, dilations, 1), name)


def erosion2d(
    value: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any, name: str | None = None,
) -> Tensor:
    """The least of x - filter in each window, otherwise as `dilation2d` (`tf.nn.erosion2d`)."""
    return named(_dilated("erosion2d", value, filters, strides, padding, data_format, dilations, -1), name)


def _dilated(
    op: str, images: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any, sign: int
) -> Tensor:
    x = convert_to_tensor(images, dtype_hint=float32)
    kernel = convert_beside(filters, x.dtype)
    check_dtype(op, x.dtype, FLOATS)
    sizes = kernel.type.shape
    if x.ndim != 4 or kernel.ndim != 3 or None in sizes[:2] or (
            None not in (x.type.shape[3], sizes[2]) and x.type.shape[3] != sizes[2]):
        raise located(ShapeError(f"{op} takes images [n, h, w, c] and filters [fh, fw, c], not {x.type} and "
                                 f"{kernel.type}"))
    if padding not in ("SAME", "VALID") or data_format != "NHWC":
        raise located(InvalidArgumentError(f'{op} takes the padding "SAME" or "VALID" and the data_format "NHWC", not '
                                           f"{padding!r} and {data_format!r}"))
    steps, rates = (pair_of(op, values) for values in (strides, dilations))
    x = x if sign > 0 else negative(x)
    for axis in (0, 1):
        size: Any = sizes[axis]
        x, _ = windows(x, 2 * axis + 1, size, steps[axis], rates[axis], padding == "SAME", -python_math.inf)
    moved = x + (kernel if sign > 0 else reverse(kernel, [0, 1]))[:, None]  # [n, rows, fh, columns, fw, c]
    found = reduce_max(moved, [2, 4])
    return found if sign > 0 else negative(found)
