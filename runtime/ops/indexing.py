"""Indexing: `x[...]`, and the functional update for `x[...] = value`.

An index is compiled into a `Spec`: for each entry an int, a slice (start, stop, step), None for a new axis, or "?" for
an int given by an operand.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from runtime.core.array_mode import note_0d
from runtime.core.errors import (
    DTypeError,
    IndexDTypeError,
    IndexOutOfRangeError,
    InvalidSliceError,
    OpError,
    ShapeError,
    locate,
)
from runtime.core.op import Errors, Op, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located, user_position
from runtime.core.string_arrays import element
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import Shape, TensorType, broadcast_shapes, int32, int64, shape_text
from runtime.ops.checks import message, require, same
from runtime.ops.creation import range as range_
from runtime.ops.gather import gather, masked, scatter
from runtime.ops.gather_nd import gather_nd
from runtime.ops.logic import greater_equal, less, logical_and, where
from runtime.ops.math import add, cast
from runtime.ops.op_makers import apply_one, named
from runtime.ops.shape import broadcast_to, dim, dims, moveaxis, numbers, reshape, shape, size, stack
from runtime.ops.static_arguments import axes_of, known_elements, static_int

Part = int | str | None  # of a slice; "?": given by an operand
Entry = int | str | None | tuple[Part, Part, Part]
Spec = tuple[Entry, ...]

_FULL: Final = (None, None, None)


# The ops.

def _numpy_index(index: Spec, operands: Iterator[Any]) -> tuple[Any, ...]:
    """The index for NumPy, with the operands inserted."""

    def part(p: Any) -> Any:
        return int(next(operands)) if p == "?" else p

    def entry_(entry: Any) -> Any:
        if type(entry) is tuple:
            start, stop, step = map(part, entry)
            return slice(start, stop, step)
        return part(entry)

    return tuple(map(entry_, index))


def _getitem_kernel(x: Any, *operands: Any, index: Spec) -> Any:
    try:
        return x[_numpy_index(index, iter(operands))]
    except (IndexError, OverflowError) as exc:
        raise IndexOutOfRangeError(str(exc)) from None
    except ValueError as exc:  # a step of 0
        raise InvalidSliceError(str(exc)) from None


def _sliced(x: Shape, index: Spec) -> Shape:
    """The shape of `x[index]`. IndexOutOfRangeError for an index that is certainly out of range."""
    shape: list[int | None] = []
    axis = 0
    for entry in index:
        if entry is None:
            shape.append(1)
            continue
        if axis == len(x):
            raise IndexOutOfRangeError(
                f"there are more indices than the {len(x)} dimensions of the tensor",
                remedy=f"Give one index for each dimension, {len(x)} at most." if x else
                "It is a scalar: use it without an index.")
        size = x[axis]
        if type(entry) is tuple:
            if entry[2] == 0:
                raise InvalidSliceError("slice step cannot be zero")
            if entry == _FULL or entry == (None, None, -1):
                shape.append(size)
            elif size is None or "?" in entry:
                shape.append(None)
            else:
                shape.append(len(range(size)[slice(*entry)]))  # type: ignore[arg-type]
        elif type(entry) is int and size is not None and not -size <= entry < size:
            raise IndexOutOfRangeError(f"index {entry} is out of bounds for axis {axis} with size {size}")
        axis += 1
    return (*shape, *x[axis:])


def _check_index(operands: tuple[TensorType, ...], index: Spec) -> None:
    parts = [part for entry in index for part in (entry if type(entry) is tuple else (entry,))]
    if parts.count("?") != len(operands) or not all(p is None or p == "?" or type(p) is int for p in parts):
        raise TypeError(f"{index} is no index with {len(operands)} operands")
    for operand in operands:
        if operand.ndim or not operand.dtype.is_integer:
            raise IndexDTypeError(f"an index is an int scalar, not {operand}", remedy="Cast it to rt.int32.")


def _getitem_rule(x: TensorType, *operands: TensorType, index: Spec) -> TensorType:
    _check_index(operands, index)
    return x.with_shape(_sliced(x.shape, index))


def _getitem_samples(rng: np.random.Generator) -> Iterable[Sample]:
    x = rng.random((4, 3, 2))
    one, two = np.int32(1), np.int64(-2)
    for operands, index in (
        ((), ()), ((), (1,)), ((), (-1, 2)), ((), ((1, None, None),)), ((), ((None, None, -1), 0)),
        ((), (None, (3, 0, -2), None, (0, 100, 1), -1)), ((), ((2, 2, None),)), ((one,), ("?",)),
        ((one, two), (("?", None, None), _FULL, "?")), ((two, one), ((None, "?", None), "?")),
        ((one, one, two), (("?", None, None), 0, ("?", None, "?"))),
    ):
        yield (x, *operands), {"index": index}
    yield (rng.random(()),), {"index": (None,)}
    yield (rng.random((0, 2)),), {"index": ((1, None, None), 1)}


def _index_errors(node: Any) -> Errors:
    """No errors for ints that the type rule has checked against known sizes; slices accept any start and stop."""
    sizes = iter(node.operands[0].type.shape)
    found: dict[type[BaseException], None] = {}
    for entry in node.params["index"]:
        size = None if entry is None else next(sizes)
        if entry == "?" or (type(entry) is int and size is None):
            found[IndexOutOfRangeError] = None
        elif type(entry) is tuple and entry[2] == "?":
            found[InvalidSliceError] = None
    return tuple(found)


GETITEM: Final = Op("getitem", _getitem_kernel, _getitem_rule, samples=_getitem_samples,
                    errors=_index_errors,
                    doc="x[index]: ints, slices and new axes; the operands stand at the '?' of the index.")


def _setitem_kernel(x: Any, value: Any, *operands: Any, index: Spec) -> Any:
    out = np.array(x)
    place = _numpy_index(index, iter(operands))
    if any(isinstance(entry, slice) and entry.step == 0 for entry in place):
        raise InvalidSliceError("slice step cannot be zero")
    try:
        out[place] = element(value)
    except (IndexError, OverflowError) as exc:
        raise IndexOutOfRangeError(str(exc)) from None
    except ValueError as exc:
        raise ShapeError(str(exc)) from None
    return out


def _setitem_rule(x: TensorType, value: TensorType, *operands: TensorType, index: Spec) -> TensorType:
    _check_index(operands, index)
    if value.dtype is not x.dtype:
        raise DTypeError(f"an element of a {x.dtype.name} tensor cannot be set to {value}",
                         remedy=f"Cast the value: rt.cast(value, rt.{x.dtype.name}).")
    place = _sliced(x.shape, index)
    fits = broadcast_shapes(place, value.shape, what="the place and the value of an item assignment")
    if len(fits) != len(place) or any(a is not None and b is not None and a != b
                                      for a, b in zip(fits, place, strict=True)):
        raise ShapeError(f"a value of shape {shape_text(value.shape)} does not fit a place of shape "
                         f"{shape_text(place)}")
    return TensorType(x.dtype, x.shape, x.weak and value.weak)


def _setitem_samples(rng: np.random.Generator) -> Iterable[Sample]:
    x = rng.random((4, 3))
    one = np.int32(1)
    for value, operands, index in (
        ((), (), (0,)), ((3,), (), (-1,)), ((), (), (1, 2)), ((2, 3), (), ((1, 3, None),)),
        ((4,), (), (_FULL, 0)), ((), (one,), ("?",)), ((1,), (one, one), (("?", None, None), "?")),
        ((4, 3), (), ((None, None, -1),)), ((), (), ()),
    ):
        yield (x, rng.random(value), *operands), {"index": index}


SETITEM: Final = Op("setitem", _setitem_kernel, _setitem_rule, agree=slice(0, 2), samples=_setitem_samples,
                    errors=_index_errors,
                    doc="x with `value` at x[index]; for the index see getitem.")


def _slice_kernel(x: Any, begin: Any, size: Any, *, dims: tuple[int | None, ...]) -> Any:
    index = []
    for axis, (start, count, limit) in enumerate(zip(begin.tolist(), size.tolist(), x.shape, strict=True)):
        stop = limit if count == -1 else start + count
        if not 0 <= start <= stop <= limit:
            raise IndexOutOfRangeError(f"slice of {count} elements from {start} is out of bounds for axis {axis} "
                                       f"with size {limit}")
        index.append(slice(start, stop))
    return x[tuple(index)]


def _slice_rule(x: TensorType, begin: TensorType, size: TensorType, *, dims: tuple[int | None, ...]) -> TensorType:
    for what in (begin, size):
        if what.ndim != 1 or not what.dtype.is_integer or what.shape[0] not in (None, x.ndim):
            raise ShapeError(f"slice of a tensor of rank {x.ndim} takes int tensors of as many elements, not {what}")
    for axis, (count, limit) in enumerate(zip(dims, x.shape, strict=True)):
        if count is not None and (count < 0 or (limit is not None and count > limit)):
            raise IndexOutOfRangeError(f"slice of {count} elements is out of bounds for axis {axis} "
                                       f"with size {limit}")
    return x.with_shape(dims)


def _slice_samples(rng: np.random.Generator) -> Iterable[Sample]:
    x = rng.random((4, 3))
    for begin, count, known in (((0, 0), (4, 3), (4, 3)), ((1, 2), (2, 1), (2, None)), ((4, 0), (0, -1), (0, 3)),
                               ((1, 1), (-1, -1), (None, None))):
        yield (x, np.array(begin, np.int32), np.array(count, np.int32)), {"dims": known}


SLICE: Final = Op("slice", _slice_kernel, _slice_rule, samples=_slice_samples,
                  errors=(IndexOutOfRangeError,),
                  doc="The part from `begin`, of shape `size`, whose known dims are `dims`; -1 is all the rest.")


# Compiling an index.

class _Index:
    """A compiled index of `x`: the spec, its operands, and the arrays, which are positions or bool masks, with their
    axes in the result of the spec. `is_separated`: something stands between arrays, or an array and an int, so that the
    axes of the positions are the first of the result (NumPy's rule)."""

    def __init__(self, x: Tensor, index: Any) -> None:
        entries = index if isinstance(index, tuple) else (index,)
        if any([type(e) is list or hasattr(type(e), "__as_array__") for e in entries]):
            entries = tuple(map(_listed, entries))
        self.operands: list[Any] = []
        self.arrays: list[tuple[int, Tensor]] = []
        spec: list[Entry] = []
        for e in entries:
            kind = type(e)
            if kind is int or e is None:
                spec.append(e)
            elif kind is slice:
                start, stop, step = e.start, e.stop, e.step
                spec.append((self._part(start), self._part(stop), self._part(step)))
            elif e is Ellipsis:
                if sum(other is Ellipsis for other in entries) > 1:
                    raise IndexOutOfRangeError("an index has at most one ellipsis (`...`)")
                used = sum(_axes_used(other) for other in entries)
                if used == x.ndim:
                    note_0d()  # with `...` NumPy gives an array, not a scalar
                spec += [_FULL] * (x.ndim - used)
            elif _rank(e) == 0:
                spec.append(self._scalar(e))
            else:
                array = convert_to_tensor(e)
                if not (array.dtype.is_bool or array.dtype.is_integer):
                    raise IndexDTypeError(
                        f"arrays used as indices must be of integer or bool type, not {array.dtype.name}",
                        remedy="Cast it to rt.int64.")
                self.arrays.append((sum(type(entry) is tuple or entry is None for entry in spec), array))
                spec += [_FULL] * _axes_used(array)
        self.spec = tuple(spec)
        self.is_separated = bool(self.arrays) and _are_separated(entries)

    def _part(self, e: Any) -> int | str | None:
        """A part of a slice: an int if its value is known, which cannot be out of range."""
        known = static_int(e) if isinstance(e, GraphTensor) and e.dtype.is_integer and not e.ndim else None
        return None if e is None else self._scalar(e) if known is None else known

    def _scalar(self, e: Any) -> int | str:
        """An int, or "?" for a tensor."""
        if type(e) is int:
            return e
        if isinstance(e, Tensor) or hasattr(type(e), "__tensor__"):
            self.operands.append(e)
            return "?"
        if isinstance(e, (bool, np.bool_)) or not hasattr(e, "__index__"):
            raise IndexDTypeError(
                f"an index is an int, a slice, None, `...` or an int or bool tensor, not {e!r} ({type(e).__name__})",
                remedy="Take an item by its position, x[0], or several by a list of these.")
        return int(e.__index__())


def _listed(entry: Any) -> Any:
    """A list, or a range of the graph, as an array of positions; another entry as it is."""
    if type(entry) is list:
        return convert_to_tensor(entry if entry else np.zeros(0, np.int64))
    return entry.__as_array__() if hasattr(type(entry), "__as_array__") else entry


def _are_separated(entries: tuple[Any, ...]) -> bool:
    """Whether the ints and arrays of an index are not all next to each other."""
    advanced = [not (e is None or e is Ellipsis or isinstance(e, slice)) for e in entries]
    return False in advanced[advanced.index(True):len(advanced) - advanced[::-1].index(True)]


def _compiled(x: Tensor, index: Any) -> _Index:
    try:
        return _Index(x, index)
    except OpError as error:
        locate(error, user_position())
        raise


def _rank(e: Any) -> int:
    return e.ndim if isinstance(e, (Tensor, np.ndarray)) else np.ndim(e)


def _axes_used(e: Any) -> int:
    """The number of dimensions that an entry of an index consumes."""
    if e is None or e is Ellipsis:
        return 0
    if isinstance(e, (int, slice)):
        return 1
    rank = _rank(e)
    return rank if rank and convert_to_tensor(e).dtype.is_bool else 1


def getitem(x: Any, index: Any, name: str | None = None) -> Tensor:
    """`x[index]` (`tf.Tensor.__getitem__`): ints, slices of any step, None, `...`, and int scalar tensors.

    Beyond TF2, entries may be tensors of positions (rank 1 or more), which broadcast, and bool masks, as in NumPy.
    IndexOutOfRangeError for an index out of range; slices are cut to the size, as in Python.
    """
    if not isinstance(x, Tensor):
        x = convert_to_tensor(x)
    if type(index) is int:
        if type(x) is GraphTensor:
            node = x.value.node
            if (node is not None and node.op.name == "stack" and node.params["axis"] == 0
                    and -len(node.inputs) <= index < len(node.inputs)):
                return GraphTensor(node.inputs[index])
        return apply_one(GETITEM, x, index=(index,))
    compiled = _compiled(x, index)
    if not compiled.arrays:
        return named(apply_one(GETITEM, x, *compiled.operands, index=compiled.spec), name)
    if any(entry != _FULL for entry in compiled.spec):
        x = apply(GETITEM, x, *compiled.operands, index=compiled.spec)
    if len(compiled.arrays) > 1:
        return named(_at_positions(x, compiled), name)
    axis, array = compiled.arrays[0]
    if array.dtype.is_bool:
        _check_mask(x, axis, array)
        found = masked(x, array, axis)
    else:
        found = gather(x, from_end(array, dim(x, axis)), axis=axis)
    count = 1 if array.dtype.is_bool else array.ndim
    if compiled.is_separated and axis:
        found = moveaxis(found, _axes_from(axis, count), _axes_from(0, count))
    return named(found, name)


def _axes_from(start: int, count: int) -> list[int]:
    return [start + i for i in range(count)]


def _at_positions(x: Tensor, index: _Index) -> Tensor:
    """The elements of `x` at several arrays of positions, which broadcast against each other."""
    axes: list[int] = []
    positions: list[Tensor] = []
    for axis, array in index.arrays:
        parts = [array]
        if array.dtype.is_bool:
            _check_mask(x, axis, array)
            parts = [apply_one(GETITEM, where(array), index=(_FULL, k)) for k in range(array.ndim)]
        axes += _axes_from(axis, len(parts))
        positions += [from_end(cast(part, int64), dim(x, axis + k)) for k, part in enumerate(parts)]
    rank = max(part.ndim for part in positions)
    total: Any = positions[0] * 0
    for part in positions[1:]:
        total = add(total, part * 0)  # a position out of range is found when it is used
    places = stack([add(part, total) for part in positions], axis=-1)
    found = gather_nd(moveaxis(x, axes, _axes_from(0, len(axes))), places)
    first = 0 if index.is_separated else axes[0]
    return moveaxis(found, _axes_from(0, rank), _axes_from(first, rank)) if first else found


def _check_mask(x: Tensor, axis: int, mask: Tensor) -> None:
    """IndexOutOfRangeError if a mask has another size than the dimensions of `x` that it selects from."""
    for k, count in enumerate(dims(mask), axis):
        if k >= x.ndim:
            raise located(IndexOutOfRangeError(
                f"too many indices for array: array is {x.ndim}-dimensional, but {axis + mask.ndim} were indexed"))
        size = dim(x, k, int64)
        require(same(size, count), IndexOutOfRangeError(message(
            f"boolean index did not match indexed array along axis {k}; size of axis is ", size,
            " but size of corresponding boolean axis is ", count)))


def from_end(positions: Tensor, size: Any) -> Tensor:
    """Indices with negative ones counted from the end, as in Python. Those out of range stay as they are."""
    if positions.dtype.is_unsigned:
        return positions
    positions = cast(positions, int32) if positions.dtype.size < 4 else positions  # a dtype that can hold the size
    size = cast(size, positions.dtype)
    counted = add(positions, size)
    return where(logical_and(less(positions, 0), greater_equal(counted, 0)), counted, positions)


def setitem(x: Any, index: Any, value: Any) -> Tensor:
    """The value of `x` after `x[index] = value`: a new tensor. For the index see `getitem`.

    The value broadcasts to the selection. IndexOutOfRangeError, ShapeError or DTypeError if it does not fit.
    """
    x = convert_to_tensor(x)
    compiled = _compiled(x, index)
    if not compiled.arrays:
        return apply_one(SETITEM, x, value, *compiled.operands, index=compiled.spec)
    places = getitem(reshape(range_(size(x)), shape(x)), index)
    if not isinstance(value, Tensor):
        value = convert_to_tensor(value, x.dtype)
    flat = scatter(reshape(x, [-1]), reshape(places, [-1, 1]), reshape(broadcast_to(value, shape(places)), [-1]))
    return reshape(flat, shape(x))


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part of shape `size` that starts at `begin`; a size of -1 is all the rest (`tf.slice`).

    IndexOutOfRangeError if it is not within the tensor.
    """
    x = convert_to_tensor(input_, strings=True)
    starts, first = _vector(begin, x.ndim)
    sizes, count = _vector(size, x.ndim)
    known = tuple(_slice_size(s, n, limit) for s, n, limit in zip(starts, sizes, x.type.shape, strict=True))
    return named(apply_one(SLICE, x, first, count, dims=known), name)


def _vector(values: Any, length: int) -> tuple[list[Any], Any]:
    """The numbers for `length` dimensions, ints where known (else None or tensors); and the tensor of them."""
    if isinstance(values, GraphTensor) and known_elements(values) is None:
        return [None] * length, values
    items = numbers("the begin or size of slice", values)
    if len(items) != length:
        raise located(ShapeError(
            f"slice of a tensor of rank {length} takes {length} begins and sizes, not {len(items)}",
            remedy=f"Give a begin and a size for each of the {length} dimensions."))
    if isinstance(values, EagerTensor):
        return items, values  # not restacked: uint64 may hold values that no other int dtype does
    return items, stack(items) if items else np.zeros(0, np.int32)


def _slice_size(start: Any, size: Any, limit: int | None) -> int | None:
    if type(size) is not int:
        return None
    if size != -1:
        return size
    return limit - start if limit is not None and type(start) is int else None


def strided_slice(
    input_: Any, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None, name: str | None = None,
) -> Tensor:
    """`x[begin:end:strides]` along the leading axes (`tf.strided_slice`).

    Bit i of a mask applies to entry i: it has no begin, no end, is `...`, is a new axis, or is the single index
    `begin[i]`.
    """
    starts, ends = numbers("the begin of strided_slice", begin), numbers("the end of strided_slice", end)
    steps = [1] * len(starts) if strides is None else numbers("the strides of strided_slice", strides)
    if not len(starts) == len(ends) == len(steps):
        raise located(ShapeError(f"strided_slice takes as many begins as ends and strides, not {len(starts)}, "
                                 f"{len(ends)} and {len(steps)}"))
    index: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, ends, steps, strict=True)):
        if ellipsis_mask >> i & 1:
            index.append(...)
        elif new_axis_mask >> i & 1:
            index.append(None)
        elif shrink_axis_mask >> i & 1:
            index.append(start)
        else:
            index.append(slice(None if begin_mask >> i & 1 else start, None if end_mask >> i & 1 else stop, step))
    return getitem(convert_to_tensor(input_, strings=True), tuple(index), name)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements in reverse order along each of the axes (`tf.reverse`)."""
    x = convert_to_tensor(tensor, strings=True)
    axes = axes_of("reverse", axis, x.ndim)
    spec = tuple((None, None, -1) if a in axes else _FULL for a in range(x.ndim))
    return named(apply_one(GETITEM, x, index=spec), name)


OPERATIONS.define(getitem=getitem)
