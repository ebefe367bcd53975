"""Changes of the positions of sparse tensors (`tf.sparse`)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.core import types as t
from runtime.core.errors import ShapeError
from runtime.core.trace import convert_to_tensor
from runtime.ops import creation, logic, reduction, shape
from runtime.ops import math as math_ops
from runtime.ops.checks import all_of, message, require
from runtime.ops.concat_split import concat as join
from runtime.ops.gather import boolean_mask, gather
from runtime.ops.sequences import setdiff1d
from runtime.ops.shape import product
from runtime.ops.sparse import (
    IndexedSlices,
    SparseTensor,
    may_be_equal,
    numbered,
    permuted,
    reorder,
    sizes_from,
    text_of,
    unnumbered,
)
from runtime.ops.static_arguments import axes_of, axis_of

__all__ = ["concat", "expand_dims", "mask", "reset_shape", "reshape", "retain", "slice", "squeeze", "transpose"]


def transpose(sp_input: SparseTensor, perm: Sequence[int] | None = None, name: str | None = None) -> SparseTensor:
    """The tensor with its axes permuted, by default reversed, and its positions in row-major order
    (`tf.sparse.transpose`)."""
    return reorder(permuted(sp_input, perm))


def retain(sp_input: SparseTensor, to_retain: Any) -> SparseTensor:
    """The values, with their positions, for which `to_retain`, bool [n], holds (`tf.sparse.retain`)."""
    kept = convert_to_tensor(to_retain)
    return SparseTensor(boolean_mask(sp_input.indices, kept), boolean_mask(sp_input.values, kept), sp_input.sizes)


def reshape(sp_input: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    """The tensor in another shape with as many elements; one size may be -1 (`tf.sparse.reshape`). ShapeError."""
    new, whole = list(sizes_from(shape)), product(sp_input.sizes)
    if -1 in [size for size in new if isinstance(size, int)]:
        place = next(i for i, size in enumerate(new) if isinstance(size, int) and size == -1)
        rest = product(new[:place] + new[place + 1:])
        new[place] = 0 if isinstance(rest, int) and rest == 0 else whole // rest
    made = product(new)
    if isinstance(whole, int) and isinstance(made, int) and whole != made:
        raise ShapeError(f"a SparseTensor of the shape {text_of(sp_input.shape)} cannot have the shape "
                         f"{text_of(shape)}: it has {whole} elements")
    return SparseTensor(unnumbered(numbered(sp_input.indices, sp_input.sizes), new), sp_input.values, new)


def reset_shape(sp_input: SparseTensor, new_shape: Any = None) -> SparseTensor:
    """The same values at the same positions of a larger shape, or by default of the smallest one that has them
    (`tf.sparse.reset_shape`). ShapeError for another rank or a smaller size."""
    if new_shape is None:
        least = math_ops.maximum(reduction.reduce_max(sp_input.indices, 0) + 1, 0)
        return SparseTensor(sp_input.indices, sp_input.values, [least[i] for i in range(sp_input.ndim)])
    new = sizes_from(new_shape)
    fits = [len(new) == sp_input.ndim, *[a >= b for a, b in zip(new, sp_input.sizes)]]
    require(all_of(*fits), ShapeError(message("reset_shape gives a SparseTensor of the shape ", sp_input.sizes,
                                              " the same rank and no smaller size, not ", new)))
    return SparseTensor(sp_input.indices, sp_input.values, new)


def mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The rows without those at the positions `mask_indices` (`tf.sparse.mask`)."""
    kept = setdiff1d(a.indices, mask_indices)
    return IndexedSlices(gather(a.values, kept.idx), kept.out, a.sizes)


def expand_dims(sp_input: SparseTensor, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The tensor with a new axis of size 1, by default the last (`tf.sparse.expand_dims`)."""
    axis = -1 if axis is None else axis
    sizes, axis = list(sp_input.sizes), axis_of("expand_dims", axis, sp_input.ndim + 1)
    columns = [sp_input.indices[:, i] for i in range(len(sizes))]
    columns.insert(axis, creation.zeros([shape.dim(sp_input.values, 0)], t.int64))
    return SparseTensor(shape.stack(columns, axis=1), sp_input.values, [*sizes[:axis], 1, *sizes[axis:]])


def squeeze(sp_input: SparseTensor, axis: Any = None) -> SparseTensor:
    """The tensor without its axes of size 1, or some of them. ShapeError for an axis of another size."""
    sizes = sp_input.sizes
    gone = ([i for i, size in enumerate(sizes) if isinstance(size, int) and size == 1] if axis is None
            else axes_of("squeeze", axis, sp_input.ndim))
    for i in gone:
        if isinstance(sizes[i], int) and sizes[i] != 1:
            raise ShapeError(f"squeeze removes axes of size 1, axis {i} has {sizes[i]}")
    kept = [i for i in range(len(sizes)) if i not in gone]
    return SparseTensor(gather(sp_input.indices, convert_to_tensor(kept, t.int32), axis=1), sp_input.values,
                        [sizes[i] for i in kept])


def concat(axis: Any, sp_inputs: Sequence[SparseTensor], name: str | None = None) -> SparseTensor:
    """Concatenation along an axis, with the positions in row-major order (`tf.sparse.concat`). ShapeError if the other
    axes differ."""
    first = sp_inputs[0]
    axis, before, moved = axis_of("concat", axis, first.ndim), 0, []
    for x in sp_inputs:
        if x.ndim != first.ndim or not all(may_be_equal(m, n) or i == axis
                                           for i, (m, n) in enumerate(zip(x.shape, first.shape, strict=True))):
            raise ShapeError(f"SparseTensors of the shapes {text_of(first.shape)} and {text_of(x.shape)} cannot be "
                             f"concatenated along axis {axis}")
        columns = [x.indices[:, i] + before if i == axis else x.indices[:, i] for i in range(x.ndim)]
        moved.append(shape.stack(columns, axis=1))
        before = before + x.sizes[axis]
    sizes = [before if i == axis else size for i, size in enumerate(first.sizes)]
    return reorder(SparseTensor(join(moved, 0), join([x.values for x in sp_inputs], 0), sizes))


def slice(sp_input: SparseTensor, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part from `start` of at most `size` along each axis, int64 [rank] (`tf.sparse.slice`)."""
    start, size = convert_to_tensor(start, t.int64), convert_to_tensor(size, t.int64)
    sizes = math_ops.minimum(size, math_ops.maximum(sp_input.dense_shape - start, 0))
    moved = sp_input.indices - start
    inside = reduction.reduce_all(logic.logical_and(moved >= 0, moved < sizes), axis=1)
    return retain(SparseTensor(moved, sp_input.values, sizes), inside)
