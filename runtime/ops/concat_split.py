"""Concatenating, splitting, padding, repeating and reordering tensors."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import has_staged_items
from runtime.core.errors import DTypeError, InvalidArgumentError, OutOfMemoryError, ShapeError
from runtime.core.op import Op, Sample, unknown_shape
from runtime.core.positions import located
from runtime.core.tensor import EagerList, GraphList, GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import (
    MAX_BYTES,
    Shape,
    TensorType,
    check_room,
    compatible_shapes,
    dtype_of,
    int64,
    shape_text,
)
from runtime.ops.checks import message, require, same
from runtime.ops.creation import range as range_
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.indexing import slice_
from runtime.ops.lists import list_concat, list_stack
from runtime.ops.logic import equal, greater_equal, less_equal, logical_and, logical_or
from runtime.ops.math import cast, maximum, minimum, mod, saturate_cast
from runtime.ops.op_makers import apply_one, named
from runtime.ops.reduction import cumsum, reduce_all, reduce_sum
from runtime.ops.shape import (
    along,
    broadcast_to,
    dim,
    dims,
    expand_dims,
    numbers,
    product,
    reshape,
    squeeze,
    stack,
    transpose,
)
from runtime.ops.sorting import searchsorted
from runtime.ops.static_arguments import axis_of, merge_shapes, static_int, static_ints

# Concat.

def _concat_kernel(*xs: Any, axis: int) -> Any:
    try:
        return np.concatenate(xs, axis)
    except ValueError:
        raise _differ(xs, axis) from None


def _differ(xs: Any, axis: int) -> ShapeError:
    texts = " and ".join(dict.fromkeys(shape_text(x.shape) for x in xs))
    return ShapeError(f"the tensors given to concat differ outside of axis {axis}: {texts}")


def _concat_rule(*xs: TensorType, axis: int) -> TensorType:
    if not xs or not xs[0].ndim:
        raise ShapeError("concat takes at least one tensor, of rank 1 or more",
                         remedy="Use rt.stack to join scalars.")
    hidden = [(*x.shape[:axis], None, *x.shape[axis + 1:]) for x in xs]
    try:
        shape = list(merge_shapes("the tensors given to concat", *hidden))
    except ShapeError:
        raise _differ(xs, axis) from None
    sizes = [x.shape[axis] for x in xs]
    shape[axis] = None if None in sizes else sum(size or 0 for size in sizes)
    return TensorType(xs[0].dtype, tuple(shape), all(x.weak for x in xs))


def _concat_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shapes, axis in ((((2,), (3,)), 0), (((2, 3), (2, 1), (2, 0)), 1), (((1, 2), (4, 2)), 0), (((2,),), 0)):
        yield tuple(rng.random(shape) for shape in shapes), {"axis": axis}


CONCAT: Final = Op("concat", _concat_kernel, _concat_rule, agree=slice(None), joins=True, samples=_concat_samples,
                   doc="Tensors one after another along an axis.")


def concat(values: Any, axis: Any, name: str | None = None) -> Tensor:
    """Tensors of one dtype concatenated along `axis` (`tf.concat`). ShapeError if the other axes differ.

    A list with tensors in it is stacked, and cast to the dtype of the first tensor. The elements of a list that a
    staged loop made must have one shape, unless `axis` is 0.
    """
    sequence = values[0] if has_staged_items(values) else values
    leaves: Sequence[Any] = sequence.__leaves__() if hasattr(type(sequence), "__leaves__") else ()
    if len(leaves) == 1 and isinstance(leaves[0], (GraphList, EagerList)):
        return named(_concat_list(leaves[0], axis), name)
    if isinstance(values, Tensor) or not isinstance(values, (list, tuple)):
        return convert_to_tensor(values, name=name, strings=True)
    if not values:
        raise ShapeError("concat takes at least one tensor, of rank 1 or more")
    items = list(values)
    ranks = [item.ndim for item in items if isinstance(item, Tensor)]
    if not ranks:
        items = [convert_to_tensor(item, strings=True) for item in items]
        ranks = [items[0].ndim]
    elif any(isinstance(item, (list, tuple)) for item in items):
        dtype = next(item.dtype for item in items if isinstance(item, Tensor))
        items = [cast(stack(item), dtype) if isinstance(item, (list, tuple)) and _has_tensors(item) else item
                 for item in items]
    # of scalars the rule complains
    place = axis_of("concat", axis, ranks[0]) if ranks[0] else 0
    return named(apply_one(CONCAT, *items, axis=place), name)


def _has_tensors(values: Any) -> bool:
    return any(isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and _has_tensors(x)) for x in values)


def _concat_list(values: Any, axis: Any) -> Tensor:
    place = axis_of("concat", axis, len(values.type.element.shape))
    if not place:
        joined: Tensor = list_concat(values)
        return joined
    rows = list_stack(values)  # [n, d0, ..., dk, ...] becomes [d0, ..., n, dk, ...]
    rows = transpose(rows, [*range(1, place + 1), 0, *range(place + 1, rows.ndim)])
    sizes = dims(rows)
    return reshape(rows, [*sizes[:place], product(sizes[place:place + 2]), *sizes[place + 2:]])


# Split.

Sections = tuple[int, ...]
_MOST_PARTS: Final = 1 << 24


def _split_kernel(x: Any, *, sections: int | Sections, axis: int) -> tuple[Any, ...]:
    size = x.shape[axis]
    if isinstance(sections, int):
        if size % sections:
            raise ShapeError(f"axis {axis} of size {size} does not split into {sections} equal parts")
        sections = (size // sections,) * sections
    elif sum(sections) != size:
        raise ShapeError(f"axis {axis} of size {size} does not split into parts of {list(sections)}")
    ends = np.cumsum(sections)
    return tuple(x[along(axis, slice(end - size, end))] for end, size in zip(ends, sections, strict=True))


def _split_rule(x: TensorType, *, sections: int | Sections, axis: int) -> tuple[TensorType, ...]:
    size = x.shape[axis]
    parts: Shape
    if isinstance(sections, int):
        if sections < 1 or (size is not None and size % sections):
            raise ShapeError(f"axis {axis} of size {size} does not split into {sections} equal parts")
        if sections > _MOST_PARTS:
            raise OutOfMemoryError(f"split into {sections} parts would be as many tensors: more than there is room for")
        parts = (None if size is None else size // sections,) * sections
    else:
        parts = sections
        if size is not None and sum(sections) != size:
            raise ShapeError(f"axis {axis} of size {size} does not split into parts of {list(sections)}")
    return tuple(x.with_shape((*x.shape[:axis], part, *x.shape[axis + 1:])) for part in parts)


def _split_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape, sections, axis in (((6,), 3, 0), ((2, 4), 2, 1), ((5, 2), (1, 4, 0), 0), ((0,), 2, 0)):
        yield (rng.random(shape),), {"sections": sections, "axis": axis}


SPLIT: Final = Op("split", _split_kernel, _split_rule, samples=_split_samples,
                  errors=unknown_shape,
                  doc="Parts along an axis: `sections` equal ones, or of the sizes in `sections`.")


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str | None = None
          ) -> list[Tensor]:
    """Parts along `axis`: a number of equal ones, or of given sizes, one of which may be -1 (`tf.split`)."""
    x = convert_to_tensor(value, strings=True)
    place = axis_of("split", axis, x.ndim)
    sections: int | Sections
    if np.ndim(num_or_size_splits) == 0:
        (sections,) = static_ints("the number of parts of split", num_or_size_splits)
    else:
        sections = static_ints("the sizes of split", num_or_size_splits)
        if -1 in sections:
            size = x.type.shape[place]
            if size is None and sections.count(-1) == 1:
                return _split_with_rest(x, place, sections)
            if size is None:
                raise ShapeError(f"split takes one part of size -1, not {list(sections)}")
            sections = tuple(size - sum(sections) - 1 if part == -1 else part for part in sections)
    return list(apply(SPLIT, x, sections=sections, axis=place))


def _split_with_rest(x: Tensor, axis: int, sections: Sections) -> list[Tensor]:
    """Parts of an axis of unknown size, of which one, of size -1, is what the others leave."""
    at = sections.index(-1)
    rest = dim(x, axis) - (sum(sections) + 1)
    raise_unless(greater_equal(rest, 0), ShapeError(f"axis {axis} is too small for parts of {list(sections)}"))
    parts, start = [], 0
    for part in (*sections[:at], rest, *sections[at + 1:]):
        begin, size = [0] * x.ndim, [-1] * x.ndim
        begin[axis], size[axis] = start, part
        parts.append(slice_(x, begin, size))
        start = start + part
    return parts


def unstack(value: Any, num: int | None = None, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """The slices along `axis`, which is dropped (`tf.unstack`). `num`: their number, if the size is unknown."""
    x = convert_to_tensor(value, strings=True)
    place = axis_of("unstack", axis, x.ndim)
    size = x.type.shape[place]
    if size is None and num is None:
        raise ShapeError(f"unstack needs to know how many tensors there are, but axis {place} of {x.type} is "
                         "unknown", remedy="Pass num, or loop over the tensor in converted code.")
    if num is not None and size not in (None, num):
        raise ShapeError(f"unstack cannot give {num} tensors for axis {place} of {x.type}")
    count = size if num is None else num
    if not count:
        return []
    return [squeeze(part, place) for part in apply(SPLIT, x, sections=count, axis=place)]


# Pad.

_MODES: Final = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}
Pairs = tuple[tuple[int, int], ...]


def _pad_kernel(x: Any, value: Any, *paddings: Any, pairs: Pairs | None, mode: str) -> Any:
    widths: Any = paddings[0].tolist() if paddings else pairs
    if any(size < 0 for pair in widths for size in pair):
        raise InvalidArgumentError(f"pad takes sizes of at least 0, not {widths}")
    if not x.ndim:
        return x
    check_room("the result of pad", [size + sum(pair) for size, pair in zip(x.shape, widths, strict=True)], dtype_of(x))
    if mode == "CONSTANT":
        return np.pad(x, widths, constant_values=value)
    least = 1 if mode == "REFLECT" else 0
    if any(max(pair) > size - least for pair, size in zip(widths, x.shape, strict=True)):
        raise ShapeError(f"{mode} padding by {widths} needs more elements than {shape_text(x.shape)} has")
    return np.pad(x, widths, _MODES[mode])  # type: ignore[call-overload]


def _pad_rule(x: TensorType, value: TensorType, *paddings: TensorType, pairs: Pairs | None, mode: str
              ) -> TensorType:
    if value.dtype is not x.dtype or value.ndim:
        raise DTypeError(f"pad takes a scalar {x.dtype.name} to pad with, not {value}")
    if paddings and not compatible_shapes(paddings[0].shape, (x.ndim, 2)):
        raise ShapeError(f"pad takes paddings of shape [{x.ndim},2], not {paddings[0]}")
    if pairs is None:
        return TensorType(x.dtype, (None,) * x.ndim)
    if len(pairs) != x.ndim:
        raise ShapeError(f"pad takes paddings of shape [{x.ndim},2], not [{len(pairs)},2]")
    return TensorType(x.dtype, tuple(None if size is None else size + sum(pair)
                                     for size, pair in zip(x.shape, pairs, strict=True)))


def _pad_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape, pairs in (((), ()), ((3,), ((1, 2),)), ((2, 3), ((0, 1), (2, 2))), ((0, 2), ((1, 0), (0, 0)))):
        x, value = rng.random(shape), np.float64(7)
        yield (x, value), {"pairs": pairs, "mode": "CONSTANT"}
        yield (x, value, np.array(pairs, np.int32).reshape(-1, 2)), {"pairs": None, "mode": "CONSTANT"}
    for mode in ("REFLECT", "SYMMETRIC"):
        yield (rng.random((3, 4)), np.float64(0)), {"pairs": ((1, 2), (0, 3)), "mode": mode}


PAD: Final = Op("pad", _pad_kernel, _pad_rule, agree=slice(0, 2), samples=_pad_samples,
                errors=(InvalidArgumentError,),
                doc="Elements added before and after each axis: `pairs`, or if None the operand, says how many.")


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None
        ) -> Tensor:
    """The tensor with `paddings` (int[rank, 2]) elements added before and after each axis (`tf.pad`).

    `mode`: CONSTANT, REFLECT or SYMMETRIC. Strings are by default padded with empty ones, bools with False. ValueError
    for another mode.
    """
    mode = mode.upper()
    if mode not in _MODES:
        raise located(ValueError(f"pad takes the mode {', '.join(_MODES)}, not {mode!r}"))
    x = convert_to_tensor(tensor, strings=True)
    pairs: Pairs | None = None
    operands: list[Tensor] = []
    widths = paddings
    if not isinstance(widths, Tensor):
        rows = [_pair(row) for row in widths]
        if any(type(size) is not int for row in rows for size in row):
            widths = convert_to_tensor(rows)
        else:
            pairs = tuple(rows)
    elif not isinstance(widths, GraphTensor) or widths.value.constant is not None:
        constant = widths.value.constant if isinstance(widths, GraphTensor) else np.asarray(widths)
        pairs = tuple((int(a), int(b)) for a, b in constant)
    if pairs is None:
        operands.append(widths)
    value = constant_values
    if type(value) is int and not value:
        value = "" if x.dtype.is_string else x.dtype.as_numpy_dtype(0)
    return named(apply_one(PAD, x, value, *operands, pairs=pairs, mode=mode), name)


def _pair(row: Any) -> tuple[Any, Any]:
    if isinstance(row, GraphTensor):
        return row[0], row[1]
    before, after = row
    return tuple(size if known is None else known  # type: ignore[return-value]
                 for size in (before, after) for known in (static_int(size),))


# Repeating and reordering.

def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The tensor repeated `multiples[i]` times along axis i (`tf.tile`)."""
    x = convert_to_tensor(input, strings=True)
    counts = numbers("the multiples of tile", multiples)
    if len(counts) != x.ndim:
        raise ShapeError(f"tile takes {x.ndim} multiples for a tensor of rank {x.ndim}, not {len(counts)}")
    if not counts:
        return x
    sizes = dims(x)
    if all(type(count) is int and count == 1 for count in counts):
        return x
    rows = expand_dims(x, [2 * i for i in range(x.ndim)])
    rows = broadcast_to(rows, [n for pair in zip(counts, sizes, strict=True) for n in pair])
    return reshape(rows, [product(pair) for pair in zip(counts, sizes, strict=True)], name)


def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Each element along `axis` repeated; without `axis`, of the flat tensor (`tf.repeat`).

    `repeats`: a scalar, or one number per element.
    """
    x = convert_to_tensor(input, strings=True)
    if axis is None or not x.ndim:
        x, axis = reshape(x, [-1]), axis or 0
    place = axis_of("repeat", axis, x.ndim)
    counts = convert_to_tensor(repeats)
    size = dim(x, place, int64)
    if counts.ndim and counts.type.shape[0] != 1:
        number = dim(counts, 0, int64)
        fits = same(number, size) if type(number) is int else logical_or(equal(number, size), equal(number, 1))
        require(fits, ShapeError(message(
            "repeat takes one count, or one for each of the ", size, " elements along its axis, not ", number)))
        counts = counts if type(number) is int else broadcast_to(counts, [size])
        if not counts.dtype.is_unsigned:
            raise_unless(reduce_all(greater_equal(counts, 0)), InvalidArgumentError("repeat takes counts of 0 or more"))
        most = convert_to_tensor(MAX_BYTES, int64)
        counts = minimum(saturate_cast(counts, int64), most)
        ends = cumsum(counts)  # an overflowing sum is negative at least once
        raise_unless(reduce_all(logical_and(greater_equal(ends, 0), less_equal(ends, most))), OutOfMemoryError(
            "the result of repeat would have more than 2**47 elements along its axis, which no tensor has"))
        return gather(x, searchsorted(ends, range_(reduce_sum(counts)), side="right"), axis=place, name=name)
    scalar = reshape(counts, []) if counts.ndim else counts
    known = static_int(scalar)
    times = scalar if known is None else known
    sizes = dims(x)
    rows = broadcast_to(expand_dims(x, place + 1), [*sizes[:place + 1], times, *sizes[place + 1:]])
    return reshape(rows, [*sizes[:place], product([size, times]), *sizes[place + 1:]], name)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements shifted by `shift` along `axis`, wrapping around at the end (`tf.roll`).

    Each is an int, or a list or tensor of as many; a `shift` may be a tensor known only at run time.
    """
    x = convert_to_tensor(input, strings=True)
    places = static_ints("the axis of roll", axis)
    shifts = numbers("the shift of roll", [shift] if getattr(shift, "ndim", None) == 0 else shift)
    if len(shifts) != len(places):
        raise ShapeError(f"roll takes a shift for each axis, not {len(shifts)} for {len(places)}")
    for place, by in zip(places, shifts, strict=True):
        along = axis_of("roll", place, x.ndim)
        size = dim(x, along, int64)
        if type(size) is int and not size:
            continue
        if type(size) is int and type(by) is int:
            if at := (size - by) % size:
                last, first = ((slice(None),) * along + (part,) for part in (slice(at, None), slice(at)))
                x = concat([x[last], x[first]], along)
            continue
        if type(by) is not int:
            by = mod(cast(by, int64), maximum(size, convert_to_tensor(1, int64)))
        x = gather(x, mod(range_(cast(size, int64)) - by, size), axis=along)
    return named(x, name)

