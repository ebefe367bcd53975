"""Orders of elements, reversals of their starts, and shapes of blocks: composed of ops."""
from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import constant_tensor, convert_beside, convert_to_tensor, current_graph
from runtime.core.types import TensorSpec, as_dtype, broadcast_shapes, float64, int32
from runtime.ops.checks import message, require
from runtime.ops.concat_split import concat, pad
from runtime.ops.creation import range as range_
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.host_functions import numpy_function
from runtime.ops.indexing import getitem
from runtime.ops.logic import equal, greater, greater_equal, less, logical_or, where
from runtime.ops.math import cast
from runtime.ops.op_makers import named
from runtime.ops.reduction import reduce_all, reduce_max
from runtime.ops.shape import dim, dims, moveaxis, numbers, reshape, stack, transpose
from runtime.ops.sorting import unique
from runtime.ops.static_arguments import axis_of

__all__ = ["batch_to_space", "broadcast_dynamic_shape", "depth_to_space", "is_non_decreasing", "is_strictly_increasing",
           "reverse_sequence", "setdiff1d", "space_to_batch", "space_to_depth", "timestamp"]


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is greater than the one before, in the order of the flat tensor: bool[]
    (`tf.math.is_strictly_increasing`). True for fewer than two elements."""
    flat = reshape(x, [-1])
    return reduce_all(greater(flat[1:], flat[:-1]), name=name)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element is less than the one before: bool[] (`tf.math.is_non_decreasing`)."""
    flat = reshape(x, [-1])
    return reduce_all(greater_equal(flat[1:], flat[:-1]), name=name)


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: str | None = None
) -> Tensor:
    """The tensor with the first `seq_lengths[i]` elements along `seq_axis` in reverse order, for each i along
    `batch_axis`, by default 0 (`tf.reverse_sequence`).

    seq_lengths: int32 or int64, [input.shape[batch_axis]]. IndexOutOfRangeError for one that is longer than the axis,
    InvalidArgumentError for one below 0, ShapeError if both axes are the same.
    """
    x, lengths = convert_to_tensor(input, strings=True), convert_to_tensor(seq_lengths, dtype_hint=int32)
    batch = axis_of("reverse_sequence", 0 if batch_axis is None else batch_axis, x.ndim)
    along = axis_of("reverse_sequence", 0 if seq_axis is None else seq_axis, x.ndim)
    if batch == along or lengths.ndim != 1:
        raise located(ShapeError(f"reverse_sequence takes lengths of rank 1 and two axes, not {lengths.type} for the "
                                 f"axes {batch} and {along}"))
    require(reduce_all(greater_equal(lengths, 0)), InvalidArgumentError(message(
        "reverse_sequence takes lengths of 0 or more, not ", lengths)))
    rows = moveaxis(x, [batch, along], [0, 1])
    places, ends = range_(cast(dim(rows, 1), lengths.dtype)), lengths[:, None]
    turned = where(less(places, ends), ends - 1 - places, places)
    return named(moveaxis(gather(rows, turned, axis=1, batch_dims=1), [0, 1], [batch, along]), name)


class ListDiff(NamedTuple):
    """The results of `setdiff1d`."""

    out: Tensor
    idx: Tensor


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """The elements of `x` that `y` does not have, in their order, and their indices (`tf.compat.v1.setdiff1d`). Both
    are of rank 1 and of one dtype."""
    values = convert_to_tensor(x, strings=True)
    others = convert_beside(y, values.dtype)
    numbers = unique(concat([others, values], 0)).idx  # those of `others` are the first
    count = dim(others, 0)
    most = reduce_max(concat([numbers[:count], [-1]], 0))
    places = where(greater(numbers[count:], most))[:, 0]
    return ListDiff(gather(values, places, name=name), cast(places, as_dtype(index_dtype)))


# Blocks of pixels.

def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The blocks of `block_size`² pixels of images, [batch, height, width, depth], as the depth of one pixel:
    [batch, height / block_size, width / block_size, block_size² depth] (`tf.nn.space_to_depth`).

    `data_format`: NHWC or NCHW. ShapeError for sizes that the block size does not divide.
    """
    x, size = _images("space_to_depth", input, block_size, data_format)
    batch, height, width, depth = dims(x)
    for known in (height, width):
        if type(known) is int and known % size:
            raise located(ShapeError(f"space_to_depth: a block size of {size} does not divide the size {known}"))
    parts = reshape(x, [batch, height // size, size, width // size, size, depth])
    blocks = reshape(transpose(parts, [0, 1, 3, 2, 4, 5]), [batch, height // size, width // size, size * size * depth])
    return named(_in_format(blocks, data_format), name)


def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The inverse of `space_to_depth` (`tf.nn.depth_to_space`). ShapeError for a depth that the square of the block
    size does not divide."""
    x, size = _images("depth_to_space", input, block_size, data_format)
    batch, height, width, depth = dims(x)
    if type(depth) is int and depth % (size * size):
        raise located(ShapeError(f"depth_to_space: {size}² does not divide the depth {depth}"))
    rest = depth // (size * size)
    parts = transpose(reshape(x, [batch, height, width, size, size, rest]), [0, 1, 3, 2, 4, 5])
    return named(_in_format(reshape(parts, [batch, height * size, width * size, rest]), data_format), name)


def _images(op: str, input: Any, block_size: int, data_format: str) -> tuple[Tensor, int]:
    x = convert_to_tensor(input)
    if data_format not in ("NHWC", "NCHW"):
        raise located(InvalidArgumentError(f"{op} takes the data_format NHWC or NCHW, not {data_format!r}"))
    if x.ndim != 4:
        raise located(ShapeError(f"{op} takes images of rank 4, not {x.type}"))
    if block_size < 2:
        raise located(InvalidArgumentError(f"{op} takes a block size of at least 2, not {block_size}"))
    return (x if data_format == "NHWC" else transpose(x, [0, 2, 3, 1])), int(block_size)


def _in_format(x: Tensor, data_format: str) -> Tensor:
    return x if data_format == "NHWC" else transpose(x, [0, 3, 1, 2])


# Blocks as images of the batch.

def _blocks(op: str, input: Any, block_shape: Any, margins: Any, name: str) -> tuple[Tensor, list[int], list[Any]]:
    x = convert_to_tensor(input)
    sides = np.asarray(margins).reshape(-1, 2).tolist()
    blocks = [int(block_shape)] * 2 if np.ndim(block_shape) == 0 else [int(size) for size in np.asarray(block_shape)]
    if x.ndim <= len(blocks) or len(sides) != len(blocks) or any(size < 1 for size in blocks):
        raise located(ShapeError(f"{op} takes a batch of at least {len(blocks)} axes, with a block of at least 1 and "
                                 f"{name} for each, not {x.type} with {blocks} and {sides}"))
    return x, blocks, sides


def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """The pixels at each place of a block as an image of its own: [batch, ...] to [batch * product of the block, ...],
    after `paddings`, ints [axes, 2], with zeros (`tf.space_to_batch`). ShapeError for sizes that a block does not
    divide."""
    x, blocks, sides = _blocks("space_to_batch", input, block_shape, paddings, "paddings")
    rest = x.ndim - 1 - len(blocks)
    x = pad(x, [[0, 0], *sides, *[[0, 0]] * rest])
    batch, *sizes = dims(x)
    for size, block in zip(sizes, blocks, strict=False):
        if type(size) is int and size % block:
            raise located(ShapeError(f"space_to_batch: a block of {block} does not divide the padded size {size}"))
    count = len(blocks)
    inner = [part for size, block in zip(sizes, blocks, strict=False) for part in (size // block, block)]
    parts = reshape(x, [batch, *inner, *sizes[count:]])
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2), *range(2 * count + 1, parts.ndim)]
    outer = [size // block for size, block in zip(sizes, blocks, strict=False)]
    return reshape(transpose(parts, order), [batch * int(np.prod(blocks)), *outer, *sizes[count:]], name=name)


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch`; `crops`, ints [axes, 2], are left out of the result (`tf.batch_to_space`).
    ShapeError for a batch that the product of the block does not divide."""
    x, blocks, sides = _blocks("batch_to_space", input, block_shape, crops, "crops")
    batch, *sizes = dims(x)
    total, count = int(np.prod(blocks)), len(blocks)
    if type(batch) is int and batch % total:
        raise located(ShapeError(f"batch_to_space: {total} does not divide the batch {batch}"))
    parts = reshape(x, [*blocks, batch // total, *sizes])
    order = [count, *[axis for i in range(count) for axis in (count + 1 + i, i)], *range(2 * count + 1, parts.ndim)]
    whole = [size * block for size, block in zip(sizes, blocks, strict=False)]
    image = reshape(transpose(parts, order), [batch // total, *whole, *sizes[count:]])
    kept = tuple([slice(first, size - last) for size, (first, last) in zip(whole, sides, strict=True)])
    return named(getitem(image, (slice(None), *kept)), name)


# Shapes and times that a run knows.

def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that two shapes, int vectors, broadcast to, also where only a run knows them
    (`tf.broadcast_dynamic_shape`). ShapeError if they do not broadcast. A graph must know the lengths."""
    shapes = [numbers("a shape to broadcast", each) for each in (shape_x, shape_y)]
    if all(type(size) is int for each in shapes for size in each):
        return constant_tensor(np.array(broadcast_shapes(*map(tuple, shapes)), np.int32))
    rank = max(map(len, shapes))
    pairs = zip(*[[1] * (rank - len(each)) + list(each) for each in shapes], strict=True)
    return stack([_broadcast_size(a, b) for a, b in pairs])


def _broadcast_size(a: Any, b: Any) -> Any:
    if type(a) is int and (a == 1 or type(b) is int):
        return b if a == 1 else a
    if type(b) is int and b == 1:
        return a
    raise_unless(logical_or(equal(a, b), logical_or(equal(a, 1), equal(b, 1))),
                 ShapeError("the shapes given to broadcast_dynamic_shape do not broadcast"))
    return where(equal(a, 1), b, a)


def timestamp(name: str | None = None) -> Tensor:
    """The seconds since the epoch, float64[], at the time when the graph runs here (`tf.timestamp`)."""
    if current_graph() is None:
        return convert_to_tensor(np.float64(time.time()))
    found: Tensor = numpy_function(_now, [], TensorSpec([], float64))
    return named(found, name)


def _now() -> Any:
    return np.float64(time.time())
