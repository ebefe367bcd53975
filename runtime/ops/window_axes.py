"""Axes of images as two axes: windows, and places in a window."""
from __future__ import annotations

from typing import Any

from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.ops.concat_split import pad
from runtime.ops.creation import range as range_of
from runtime.ops.gather import gather
from runtime.ops.math import cast, maximum
from runtime.ops.shape import dims, expand_dims
from runtime.ops.static_arguments import static_ints

__all__ = ["pair_of", "windows"]


def pair_of(op: str, values: Any) -> tuple[int, ...]:
    """The two middle ones of sizes, strides or rates."""
    found = static_ints(f"the sizes, strides and rates of {op}", values)
    if len(found) != 4 or found[0] != 1 or found[3] != 1 or min(found) < 1:
        raise located(InvalidArgumentError(
            f"sizes, strides and rates of {op} are [1, of rows, of columns, 1], not {list(found)}"))
    return found[1:3]


def windows(
    x: Tensor, axis: int, size: int, stride: int, rate: int, same: bool, fill: float = 0
) -> tuple[Tensor, Any]:
    """An axis as two, windows and places in a window; and the number of windows. `same`: padded with `fill`."""
    length, span = dims(x)[axis], (size - 1) * rate + 1
    if same:
        count = (length + stride - 1) // stride
        missing = (count - 1) * stride + span - length
        missing = max(missing, 0) if isinstance(missing, int) else maximum(missing, 0)
        widths = [[missing // 2, missing - missing // 2] if k == axis else [0, 0] for k in range(x.ndim)]
        x = pad(x, widths, constant_values=cast(fill, x.dtype) if fill else 0)
    else:
        count = (length - span) // stride + 1
    starts = expand_dims(range_of(count) * stride, 1)
    return gather(x, starts + cast(range_of(size) * rate, starts.dtype), axis=axis), count
