"""Windows that slide over the spatial axes of a tensor: the common part of convolution and pooling.

A padding is "SAME", "VALID", or a pair (before, after) for each spatial axis. Along an axis of `size` elements, with
windows that span `span = (window - 1) * dilation + 1` of them (https://www.tensorflow.org/api_docs/python/tf/nn):

      "SAME"    ceil(size / stride) windows; padded by as many elements as these need, the odd one after
      "VALID"   as many windows as fit inside; equivalent to the pairs (0, 0)
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError, StagingError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import Shape
from runtime.ops.op_makers import FLOATS, DTypes, check_dtype
from runtime.ops.shape import dims, product, reshape, transpose
from runtime.ops.static_arguments import static_ints

__all__ = ["Padding", "Plan", "blocks", "bounds", "located", "plan", "positive", "tensor", "view", "window_counts"]

Padding = str | tuple[tuple[int, int], ...]

_FORMATS: Final = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
_BLOCK: Final = 1 << 22  # the number of bytes of windows that are copied at once


# The number and position of windows.

def bounds(size: int, window: int, stride: int, dilation: int, padding: Padding, axis: int) -> tuple[int, int]:
    """The number of elements added before and after spatial axis `axis`."""
    if padding == "VALID":
        return 0, 0
    if padding == "SAME":
        span = (window - 1) * dilation + 1
        total = max((-(-size // stride) - 1) * stride + span - size, 0)
        return total // 2, total - total // 2
    assert not isinstance(padding, str)
    return padding[axis]


def window_counts(sizes: Shape, windows: Shape, strides: Sequence[int], dilations: Sequence[int], padding: Padding
                  ) -> Shape:
    """The number of windows along each spatial axis, as far as it is known. ShapeError if one does not fit."""
    counts: list[int | None] = []
    for axis, (size, window, stride, dilation) in enumerate(zip(sizes, windows, strides, dilations, strict=True)):
        if window is not None and window < 1:
            raise ShapeError(f"a window has at least 1 element along each axis, not {window} along spatial axis {axis}")
        if size is None or (window is None and padding != "SAME"):
            counts.append(None)
        elif padding == "SAME":
            counts.append(-(-size // stride))
        else:
            assert window is not None
            low, high = bounds(size, window, stride, dilation, padding, axis)
            room = size + low + high - (window - 1) * dilation - 1 + stride
            if room <= -stride:  # as in TensorFlow, a window that only just does not fit gives an empty result
                raise ShapeError(f"a window of {window} elements{f', {dilation} apart,' if dilation > 1 else ''} does "
                                 f"not fit into {size + low + high} along spatial axis {axis}",
                                 remedy='Take smaller windows, or pad: padding="SAME".')
            counts.append(max(room, 0) // stride)
    return tuple(counts)


def view(x: Any, counts: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
         ) -> Any:
    """The windows of a padded array [n, *sizes, c] as a view [n, *counts, *window, c], writable if the array is."""
    steps = x.strides

    def scaled(sizes: Sequence[int], by: Sequence[int]) -> list[int]:  # along an axis of size 1 any step is valid
        return [step * n if size > 1 else 0 for step, size, n in zip(steps[1:-1], sizes, by, strict=True)]

    return np.lib.stride_tricks.as_strided(
        x, (len(x), *counts, *window, x.shape[-1]),
        (steps[0], *scaled(counts, strides), *scaled(window, dilations), steps[-1]), writeable=x.flags.writeable)


def blocks(count: int, rows: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Parts of `count` images with `rows` rows of windows of `size` bytes each, of limited size."""
    images = _BLOCK // max(rows * size, 1)
    if images:
        for start in range(0, count, images):
            yield slice(start, min(start + images, count)), slice(0, rows)
        return
    step = max(_BLOCK // size, 1)
    for image in range(count):
        for start in range(0, rows, step):
            yield slice(image, image + 1), slice(start, min(start + step, rows))


# Arguments.

P = ParamSpec("P")
R = TypeVar("R")


def located(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, with the user's position added to its errors."""
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as exc:
            locate(exc, user_position())
            raise

    return wrapper


@dataclass(frozen=True)
class Plan:
    """The checked arguments of a convolution or pooling with `rank` spatial axes."""

    op: str
    rank: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Padding
    channels_first: bool

    def inward(self, x: Tensor) -> tuple[Tensor, list[Any]]:
        """A tensor in the form [n, *sizes, c], and its leading dimensions if these were merged."""
        at = x.ndim - self.rank - 1  # the axis of the channels, if they come first
        if self.channels_first:
            x = transpose(x, [*range(at), *range(at + 1, x.ndim), at])
        if at == 1:
            return x, []
        sizes = dims(x)
        return reshape(x, [product(sizes[:at]), *sizes[at:]]), sizes[:at]

    def outward(self, x: Tensor, leading: Sequence[Any]) -> Tensor:
        """The inverse of `inward`."""
        if leading:
            x = reshape(x, [*leading, *dims(x)[1:]])
        if not self.channels_first:
            return x
        at = x.ndim - self.rank - 1
        return transpose(x, [*range(at), x.ndim - 1, *range(at, x.ndim - 1)])

    def ordered(self, sizes: Sequence[Any]) -> list[Any]:
        """A shape in the order of the arguments, reordered to [n, *sizes, c]."""
        return [sizes[0], *sizes[2:], sizes[1]] if self.channels_first else list(sizes)

    @property
    def params(self) -> dict[str, Any]:
        return {"strides": self.strides, "padding": self.padding, "dilations": self.dilations}


def plan(op: str, rank: int, strides: Any, padding: Any, data_format: str | None, dilations: Any = None) -> Plan:
    """Check arguments in TF2's forms: a number, or a list of 1, `rank` or `rank + 2` of them."""
    if rank not in _FORMATS:
        raise ShapeError(f"{op} takes a tensor of 1, 2 or 3 spatial axes besides batch and channels, not {rank}")
    last, first = _FORMATS[rank]
    if data_format is not None and data_format not in (last, first):
        raise InvalidArgumentError(f"{op} takes the data_format {last!r} or {first!r}, not {data_format!r}")
    turned = data_format == first
    return Plan(op, rank, positive(op, "strides", strides, rank, turned),
                positive(op, "dilations", 1 if dilations is None else dilations, rank, turned),
                _padding(op, padding, rank, turned), turned)


def positive(op: str, what: str, values: Any, rank: int, channels_first: bool) -> tuple[int, ...]:
    """One positive int per spatial axis."""
    try:
        found = static_ints(f"the {what} of {op}", values)
    except StagingError:
        raise
    except TypeError:
        raise InvalidArgumentError(f"{op} takes {what} of ints, not {values!r}") from None
    if any(value < 1 for value in found):
        raise InvalidArgumentError(f"{op} takes {what} of at least 1, not {_shown(found)}")
    if len(found) == 1:
        return found * rank
    if len(found) == rank:
        return found
    if len(found) != rank + 2:
        raise InvalidArgumentError(f"{op} takes {what} of 1, {rank} or {rank + 2} numbers, not {_shown(found)}")
    if found[0] != 1 or found[1 if channels_first else -1] != 1:
        raise InvalidArgumentError(f"{op} takes {what} of 1 along batch and channels, not {_shown(found)}")
    return found[2:] if channels_first else found[1:-1]


def _shown(values: Sequence[int]) -> str:
    return str(values[0] if len(values) == 1 else list(values))


def _padding(op: str, padding: Any, rank: int, channels_first: bool) -> Padding:
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise InvalidArgumentError(f"{op} takes the padding 'SAME', 'VALID' or a list of pairs, not {padding!r}")
        return padding
    try:
        flat = static_ints(f"the padding of {op}", [n for pair in padding for n in pair])
        right = [len(pair) for pair in padding] == [2] * (rank + 2)
    except StagingError:
        raise
    except TypeError:
        right = False
    if not right:
        raise InvalidArgumentError(f"{op} takes a padding of {rank + 2} pairs of ints, one for each axis, "
                                   f"not {padding!r}")
    if any(n < 0 for n in flat):
        raise InvalidArgumentError(f"{op} takes a padding of at least 0, not {padding!r}")
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    channels = pairs.pop(1 if channels_first else -1)
    if pairs[0] != (0, 0) or channels != (0, 0):
        raise InvalidArgumentError(f"{op} takes no padding along batch and channels: {padding!r}")
    return tuple(pairs[1:])


def tensor(op: str, what: str, value: Any, rank: int, dtypes: DTypes = FLOATS, hint: t.DType = t.float32,
           more: bool = False) -> Tensor:
    """`value` as a tensor with `rank` spatial axes and two others; with `more`, or more than two."""
    x = convert_to_tensor(value, dtype_hint=hint)
    check_dtype(op, x.dtype, dtypes)
    if x.ndim < rank + 2 or (x.ndim > rank + 2 and not more):
        raise ShapeError(f"{op} takes {what} of rank {rank + 2}{' or more' if more else ''}, not {x.type}")
    return x
