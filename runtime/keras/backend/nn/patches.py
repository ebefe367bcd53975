"""Windows of images as columns, and blocks of images as channels."""
from __future__ import annotations

from typing import Any

from keras.src.backend.config import standardize_data_format

from runtime.core.tensor import Tensor
from runtime.keras.backend.nn.convolutions import per_axis
from runtime.keras.backend.promotion import tensor
from runtime.ops import concat_split
from runtime.ops import shape as shapes

__all__ = ["depth_to_space", "fold", "space_to_depth", "unfold"]


def _counts(sizes: Any, window: Any, dilation: Any, padding: Any, stride: Any) -> list[Any]:
    return [(size + 2 * pad - extra * (many - 1) - 1) // step + 1
            for size, many, extra, pad, step in zip(sizes, window, dilation, padding, stride, strict=True)]


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows [n, c * window elements, windows] of images [n, c, h, w]."""
    window, dilations, pads, steps = (per_axis(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = concat_split.pad(tensor(input), [[0, 0], [0, 0], *[[pad, pad] for pad in pads]])
    count, channels, *sizes = shapes.dims(x)
    rows, columns = _counts(sizes, window, dilations, (0, 0), steps)
    parts = [x[:, :, i * dilations[0]:i * dilations[0] + (rows - 1) * steps[0] + 1:steps[0],
             j * dilations[1]:j * dilations[1] + (columns - 1) * steps[1] + 1:steps[1]]
             for i in range(window[0]) for j in range(window[1])]
    return shapes.reshape(shapes.stack(parts, 2), [count, channels * window[0] * window[1], rows * columns])


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sum windows [n, c * window elements, windows] at their positions in images [n, c, h, w]."""
    x = tensor(x)
    window, dilations, pads, steps = (per_axis(v, 2) for v in (kernel_size, dilation, padding, stride))
    sizes = per_axis(output_size, 2)
    rows, columns = _counts(sizes, window, dilations, pads, steps)
    count, many, _ = shapes.dims(x)
    parts = shapes.reshape(x, [count, many // (window[0] * window[1]), *window, rows, columns])
    total: Any = None
    for i in range(window[0]):
        for j in range(window[1]):
            spread = _spread(_spread(parts[:, :, i, j], 2, steps[0], i * dilations[0], sizes[0] + 2 * pads[0]),
                             3, steps[1], j * dilations[1], sizes[1] + 2 * pads[1])
            total = spread if total is None else total + spread
    return total[:, :, pads[0]:pads[0] + sizes[0], pads[1]:pads[1] + sizes[1]]  # type: ignore[no-any-return]


def _spread(x: Tensor, axis: int, step: int, first: int, size: int) -> Tensor:
    """Put elements along an axis at `first`, `first + step`, ... among `size` zeros."""
    sizes = shapes.dims(x)
    if step > 1:
        x = shapes.expand_dims(x, axis + 1)
        x = concat_split.pad(x, [[0, step - 1 if i == axis + 1 else 0] for i in range(x.ndim)])
        x = shapes.reshape(x, [*sizes[:axis], sizes[axis] * step, *sizes[axis + 1:]])
    x = x[shapes.along(axis, slice(None, (sizes[axis] - 1) * step + 1))]
    after = size - first - ((sizes[axis] - 1) * step + 1)
    return concat_split.pad(x, [[first, after] if i == axis else [0, 0] for i in range(x.ndim)])


def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Channels as blocks of block_size by block_size: their offset in a block is the outer part of the channel with
    channels last, the inner part with channels first."""
    x = tensor(x)
    if standardize_data_format(data_format) == "channels_last":
        count, rows, columns, channels = shapes.dims(x)
        depth = channels // block_size ** 2
        parts = shapes.reshape(x, [count, rows, columns, block_size, block_size, depth])
        return shapes.reshape(shapes.transpose(parts, [0, 1, 3, 2, 4, 5]),
                              [count, rows * block_size, columns * block_size, depth])
    count, channels, rows, columns = shapes.dims(x)
    depth = channels // block_size ** 2
    parts = shapes.reshape(x, [count, depth, block_size, block_size, rows, columns])
    return shapes.reshape(shapes.transpose(parts, [0, 1, 4, 2, 5, 3]),
                          [count, depth, rows * block_size, columns * block_size])


def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> Tensor:
    """The inverse of `depth_to_space`."""
    x = tensor(x)
    if standardize_data_format(data_format) == "channels_last":
        count, rows, columns, channels = shapes.dims(x)
        high, wide = rows // block_size, columns // block_size
        parts = shapes.reshape(x, [count, high, block_size, wide, block_size, channels])
        return shapes.reshape(shapes.transpose(parts, [0, 1, 3, 2, 4, 5]),
                              [count, high, wide, channels * block_size ** 2])
    count, channels, rows, columns = shapes.dims(x)
    high, wide = rows // block_size, columns // block_size
    parts = shapes.reshape(x, [count, channels, high, block_size, wide, block_size])
    return shapes.reshape(shapes.transpose(parts, [0, 1, 3, 5, 2, 4]),
                          [count, channels * block_size ** 2, high, wide])
