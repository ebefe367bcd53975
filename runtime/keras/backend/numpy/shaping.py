"""Shapes: reshaping, transposing, joining, splitting, padding and repeating."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import accumulated, agreed, in_dtype, sizes_of, tensor
from runtime.ops import concat_split, creation, logic, math
from runtime.ops import shape as shapes
from runtime.ops.gather import gather

__all__ = [
    "append", "array_split", "broadcast_to", "concatenate", "diag", "diagflat", "diagonal", "dsplit", "dstack",
    "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack", "moveaxis", "ndim", "pad", "ravel", "repeat",
    "reshape", "roll", "rot90", "size", "split", "squeeze", "stack", "swapaxes", "tile", "trace", "transpose", "tril",
    "triu", "vsplit", "vstack",
]


def reshape(x: Any, newshape: Any) -> Tensor:
    x = tensor(x)
    sizes = sizes_of(newshape)
    if isinstance(sizes, list):
        sizes = [-1 if size is None else size for size in sizes]
    return shapes.reshape(x, sizes)


def ravel(x: Any) -> Tensor:
    return shapes.reshape(tensor(x), [-1])


def transpose(x: Any, axes: Any = None) -> Tensor:
    return shapes.transpose(tensor(x), axes)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    return rnp.swapaxes(tensor(x), axis1, axis2)


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    return shapes.moveaxis(tensor(x), source, destination)


def expand_dims(x: Any, axis: Any) -> Tensor:
    x = tensor(x)
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for one in axes:
        if not -(x.ndim + len(axes)) <= one < x.ndim + len(axes):
            raise ValueError(f"axis {one} is out of range for an array of rank {x.ndim + len(axes)}")
    return rnp.expand_dims(x, axes)


def squeeze(x: Any, axis: Any = None) -> Tensor:
    return shapes.squeeze(tensor(x), axis)


def broadcast_to(x: Any, shape: Any) -> Tensor:
    return shapes.broadcast_to(tensor(x), sizes_of(shape))


def ndim(x: Any) -> int:
    return tensor(x).ndim


def size(x: Any) -> Any:
    return shapes.product(shapes.dims(tensor(x)))


# Order.

def flip(x: Any, axis: Any = None) -> Tensor:
    return rnp.flip(tensor(x), axis)


def flipud(x: Any) -> Tensor:
    return rnp.flip(tensor(x), 0)


def fliplr(x: Any) -> Tensor:
    return rnp.flip(tensor(x), 1)


def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    return rnp.roll(tensor(x), shift, axis)


def rot90(array: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    x = tensor(array)
    if x.ndim < 2:
        raise ValueError(f"rot90 takes an array of rank 2 or more, not {x.ndim}")
    if len(axes) != 2 or axes[0] % x.ndim == axes[1] % x.ndim:
        raise ValueError(f"Invalid axes: {axes}. rot90 takes two different axes")
    moved = shapes.moveaxis(x, list(axes), [0, 1])
    return shapes.moveaxis(rnp.rot90(moved, k), [0, 1], list(axes))


# Joining.

def concatenate(xs: Any, axis: int | None = 0) -> Tensor:
    parts = agreed(*xs)
    if axis is None:
        return concat_split.concat([ravel(part) for part in parts], 0)
    return concat_split.concat(parts, axis)


def append(x1: Any, x2: Any, axis: int | None = None) -> Tensor:
    return concatenate([x1, x2], axis)


def stack(x: Any, axis: int = 0) -> Tensor:
    return shapes.stack(agreed(*x), axis)


def hstack(xs: Any) -> Tensor:
    return rnp.hstack(agreed(*xs))


def vstack(xs: Any) -> Tensor:
    return rnp.vstack(agreed(*xs))


def dstack(xs: Any) -> Tensor:
    return rnp.dstack(agreed(*xs))


# Splitting.

def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    x = tensor(x)
    if isinstance(indices_or_sections, (int, np.integer)):
        return list(concat_split.split(x, int(indices_or_sections), axis))
    size = shapes.dim(x, axis)
    cuts = [int(i) if not isinstance(i, Tensor) else i for i in indices_or_sections]
    if isinstance(size, int):
        cuts = [builtins.min(i, size) if isinstance(i, int) else i for i in cuts]
    return [*rnp.split(x, cuts, axis)]


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    x = tensor(x)
    size = shapes.dim(x, axis)
    if not isinstance(indices_or_sections, (int, np.integer)):
        return split(x, indices_or_sections, axis)
    parts = int(indices_or_sections)
    if not isinstance(size, int):
        cuts = [i * (size // parts) + math.minimum(size % parts, i) for i in builtins.range(1, parts)]
        return [*rnp.split(x, cuts, axis)]
    least, more = divmod(size, parts)
    return [*rnp.split(x, [i * least + builtins.min(i, more) for i in builtins.range(1, parts)], axis)]


def hsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    return split(x, indices_or_sections, 2)


# Repeating.

def repeat(x: Any, repeats: Any, axis: int | None = None) -> Tensor:
    counts = repeats if isinstance(repeats, int) else tensor(repeats)
    if isinstance(counts, Tensor) and counts.ndim and counts.type.shape[0] == 1:
        counts = counts[0]
    return rnp.repeat(tensor(x), counts, axis)


def tile(x: Any, repeats: Any) -> Tensor:
    return rnp.tile(tensor(x), repeats)


_PADDED = {"constant": "CONSTANT", "reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Tensor:
    x = tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError("Argument `constant_values` can only be provided when `mode == 'constant'`. "
                         f"Received: mode={mode}")
    pairs = _pairs(pad_width, x.ndim)
    if mode in ("edge", "wrap"):
        for axis, (low, high) in enumerate(pairs):
            if low or high:
                x = _taken(x, axis, low, high, mode)
        return x  # type: ignore[no-any-return]
    if mode not in _PADDED:
        raise ValueError(f"pad takes the modes {', '.join((*_PADDED, 'edge', 'wrap'))}, not {mode!r}")
    value = in_dtype(0 if constant_values is None else tensor(constant_values), x.dtype.name)
    return concat_split.pad(x, pairs, _PADDED[mode], value)


def _taken(x: Tensor, axis: int, low: int, high: int, mode: str) -> Tensor:
    size = shapes.dim(x, axis)
    places = creation.range(size + low + high) - low
    last = size - 1
    places = math.minimum(math.maximum(places, 0), last) if mode == "edge" else places % size
    return gather(x, places, axis=axis)


def _pairs(widths: Any, rank: int) -> list[Any]:
    if isinstance(widths, int):
        return [[widths, widths]] * rank
    if isinstance(widths, Tensor):
        widths = np.asarray(widths).tolist()
    widths = list(widths)
    if all(isinstance(width, (int, np.integer)) for width in widths):
        return [[int(widths[0]), int(widths[-1])]] * rank
    pairs = [[*pair] if len(pair) == 2 else [pair[0], pair[0]] for pair in widths]
    return pairs * rank if len(pairs) == 1 else pairs


# Diagonals and triangles.

def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    x = shapes.moveaxis(tensor(x), [axis1, axis2], [-2, -1])
    rows, columns = shapes.dim(x, x.ndim - 2), shapes.dim(x, x.ndim - 1)
    high, wide = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
    length = math.maximum(math.minimum(high, wide), 0) if not (isinstance(high, int) and isinstance(wide, int)) else \
        builtins.max(builtins.min(high, wide), 0)
    places = creation.range(length)
    row, column = places + builtins.max(-offset, 0), places + builtins.max(offset, 0)
    flat = shapes.reshape(x, [*shapes.dims(x)[:-2], rows * columns])
    return gather(flat, row * columns + column, axis=flat.ndim - 1)


def diag(x: Any, k: int = 0) -> Tensor:
    x = tensor(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag takes an array of rank 1 or 2, not {x.ndim}")
    # The element in column j is x[j] if k is negative, else x[j - k].
    padded = concat_split.pad(x, [[builtins.max(k, 0), builtins.max(-k, 0)]], constant_values=in_dtype(0, x.dtype.name))
    places = creation.range(shapes.dim(padded, 0))
    return logic.where(logic.equal(places[:, None] + k, places), padded, in_dtype(0, x.dtype.name))


def diagflat(x: Any, k: int = 0) -> Tensor:
    return diag(ravel(x), k)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return rnp.sum(accumulated(diagonal(x, offset, axis1, axis2)), -1)


def tril(x: Any, k: Any = 0) -> Tensor:
    return rnp.tril(tensor(x), k)


def triu(x: Any, k: Any = 0) -> Tensor:
    return rnp.triu(tensor(x), k)
