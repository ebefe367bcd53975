"""NumPy's functions that pad, insert, delete and split, and arrays of positions."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import float64, int64
from runtime.numpy.arrays import (
    asarray,
    astype,
    concatenate,
    elements,
    larger,
    linspace,
    moveaxis,
    numpy_dtype,
    operands,
    ravel,
    reshape,
    sizes_of,
    smaller,
    together,
)
from runtime.ops import concat_split, creation, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.checks import message, require
from runtime.ops.gather import boolean_mask, gather, scatter
from runtime.ops.indexing import from_end

__all__ = [
    "array_split", "block", "broadcast_arrays", "choose", "delete", "dsplit", "ediff1d", "extract", "geomspace",
    "hsplit", "indices", "insert", "ix_", "logspace", "pad", "ravel_multi_index", "resize", "select",
    "sliding_window_view", "split", "trim_zeros", "unravel_index", "vsplit",
]


# Padding.

def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    x = convert_to_tensor(array)
    if not x.ndim:
        return x
    pairs = _pairs(pad_width, x.ndim)
    if mode == "constant":
        values = _pairs(constant_values, x.ndim)
        if all(value is values[0][0] for pair in values for value in pair):
            return concat_split.pad(x, pairs, "CONSTANT", astype(values[0][0], x.dtype))
        for axis, (widths, ends) in enumerate(zip(pairs, values, strict=True)):
            sizes = shapes.dims(x)
            parts = [creation.fill([*sizes[:axis], width, *sizes[axis + 1:]], astype(end, x.dtype))
                     for width, end in zip(widths, ends, strict=True)]
            x = concatenate([parts[0], x, parts[1]], axis)
        return x
    if mode not in _PLACES:
        raise NotImplementedError(f"pad takes the modes constant, {', '.join(_PLACES)}, not {mode!r}")
    for axis, (before, after) in enumerate(pairs):
        if not (type(before) is type(after) is int and before == after == 0):
            before, after = (n if type(n) is int else astype(n, int64) for n in (before, after))
            size = shapes.dim(x, axis, int64)
            places = astype(creation.range(size + before + after), int64) - before
            x = gather(x, _PLACES[mode](places, size), axis=axis)
    return x


def _reflected(places: Any, size: Any) -> Any:
    period = larger(2 * size - 2, 1)
    return _folded(places, size, period, period)


def _folded(places: Any, size: Any, period: Any, ends: Any) -> Any:
    """Places within a period that goes to the last element and back; `ends` is the sum of two mirrored places."""
    places = places % period
    return logic.where(places < size, places, ends - places)


_PLACES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "edge": lambda places, size: math.minimum(math.maximum(places, 0), size - 1),
    "reflect": _reflected,
    "symmetric": lambda places, size: _folded(places, size, 2 * size, 2 * size - 1),
    "wrap": lambda places, size: places % size}
"""By the mode: the places of the elements, for places beyond the ends."""


def _pairs(argument: Any, rank: int) -> list[tuple[Any, Any]]:
    """What is given for the start and end of each axis: for all of them, a pair for all axes, or a pair for each."""
    if isinstance(argument, np.ndarray):
        argument = argument.tolist()
    if not isinstance(argument, (list, tuple)):
        argument = [argument[i] for i in range(argument.type.shape[0] or 0)] if isinstance(
            argument, Tensor) and argument.ndim else [argument]
    rows = [*argument]
    if not any(isinstance(row, (list, tuple)) or (isinstance(row, Tensor) and row.ndim) for row in rows):
        rows = [rows]
    pairs = [(row[0], row[len(row) - 1 if isinstance(row, (list, tuple)) else -1]) for row in rows]
    return pairs * rank if len(pairs) == 1 else pairs


# Inserting and deleting.

def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    x = convert_to_tensor(arr)
    x = moveaxis(x, axis, 0) if axis is not None else ravel(x)
    size = shapes.dim(x, 0, int64)
    if isinstance(obj, slice):
        obj = creation.range(*_bounds(obj, size))
    places = asarray(obj)
    added = astype(values, x.dtype)
    rest = shapes.dims(x)[1:]
    if places.ndim and places.dtype.is_bool:
        places = ravel(logic.where(places))
    elif not places.ndim or places.type.shape == (1,):
        place = _inserting_at(places if not places.ndim else places[0], size)
        if axis is None or not added.ndim:
            block = ravel(added) if not rest else shapes.broadcast_to(added, [1, *rest])
        elif added.ndim < x.ndim:
            block = shapes.broadcast_to(added, rest)[None]
        else:
            block = moveaxis(added, axis, 0)
        return _back(concatenate([x[:place], block, x[place:]]), axis)
    places = _inserting_at(places, size)
    count = shapes.dim(places, 0, int64)
    added = moveaxis(added, axis, 0) if axis is not None and added.ndim == x.ndim else added
    both = concatenate([shapes.broadcast_to(added, [count, *rest]), x])
    order = sorting.argsort(concatenate([2 * places, 2 * astype(creation.range(size), int64) + 1]), stable=True)
    return _back(gather(both, order), axis)


def _inserting_at(places: Tensor, size: Any) -> Tensor:
    """The places before which elements are inserted, counted from the start."""
    found = astype(from_end(astype(places, int64), size), int64)
    require(reduction.reduce_all(logic.logical_and(found >= 0, found <= size)), IndexError(message(
        "an index of insert is out of bounds for an axis of size ", size)))
    return found


def _back(x: Tensor, axis: int | None) -> Tensor:
    return x if axis is None else moveaxis(x, 0, axis)


def _bounds(part: slice, size: Any) -> tuple[Any, Any, Any]:
    if type(size) is int and all(bound is None or isinstance(bound, int) for bound in (
            part.start, part.stop, part.step)):
        return part.indices(size)
    if part.step not in (None, 1):
        raise NotImplementedError("a slice with a step is of a tensor whose size is known when it is traced")
    start, stop = 0 if part.start is None else part.start, size if part.stop is None else part.stop
    return start, stop, 1


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    x = convert_to_tensor(arr)
    x = moveaxis(x, axis, 0) if axis is not None else ravel(x)
    size = shapes.dim(x, 0, int64)
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        if type(size) is int and not -size <= obj < size:
            raise IndexError(f"index {obj} is out of bounds for axis {axis or 0} with size {size}")
        place = int(obj) if obj >= 0 else obj + size
        return _back(concatenate([x[:place], x[place + 1:]]), axis)
    if not isinstance(obj, (slice, Tensor)) and type(size) is int:
        return _back(gather(x, np.delete(np.arange(size), obj)), axis)
    if isinstance(obj, slice):
        obj = creation.range(*_bounds(obj, size))
    places = ravel(asarray(obj))
    if places.dtype.is_bool:
        return _back(boolean_mask(x, logic.logical_not(places)), axis)
    places = from_end(astype(places, int64), size)
    kept = scatter(creation.ones([size], bool), places[:, None], creation.zeros_like(places, bool))
    return _back(boolean_mask(x, kept), axis)


def extract(condition: Any, arr: Any) -> Tensor:
    return boolean_mask(ravel(arr), ravel(astype(condition, bool)))


def trim_zeros(filt: Any, trim: str = "fb") -> Tensor:
    x = convert_to_tensor(filt)
    first, last = without_zeros(x, trim)
    return x[first:last + 1]


def without_zeros(x: Tensor, trim: str) -> tuple[Any, Any]:
    """The places of the first and the last element that `trim_zeros` keeps."""
    places = logic.where(logic.not_equal(x, 0))[:, 0]
    size = shapes.dim(x, 0, int64)
    first = reduction.reduce_min(concatenate([places, astype(size, int64)[None]])) if "f" in trim.lower() else 0
    last = reduction.reduce_max(concatenate([places, astype(-1, int64)[None]])) if "b" in trim.lower() else size - 1
    return first, last


def resize(a: Any, new_shape: Any) -> Tensor:
    x = ravel(a)
    sizes = sizes_of(new_shape)
    count = shapes.product(sizes)
    if x.type.shape[0] == 0:
        return creation.zeros(sizes, x.dtype)
    return shapes.reshape(gather(x, creation.range(count) % shapes.dim(x, 0)), sizes)


# Splitting.

def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """The parts; for a number that only the graph knows, a tensor whose rows they are."""
    x = convert_to_tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return list(concat_split.split(x, int(indices_or_sections), axis))
    if isinstance(indices_or_sections, Tensor) and not indices_or_sections.ndim:
        axis %= x.ndim
        sizes = shapes.dims(x)
        count = astype(indices_or_sections, int64)
        parts = shapes.reshape(x, [*sizes[:axis], count, sizes[axis] // count, *sizes[axis + 1:]])
        return moveaxis(parts, axis, 0)
    return _cut(x, indices_or_sections, axis)


def _cut(x: Tensor, places: Any, axis: int) -> list[Tensor]:
    if isinstance(places, (Tensor, np.ndarray)):
        places = [places[i] for i in range(places.shape[0] or 0)]
    cuts = [0, *places, None]
    return [x[shapes.along(axis % x.ndim, slice(low, high))] for low, high in itertools.pairwise(cuts)]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x = convert_to_tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        count = int(indices_or_sections)
        size = shapes.dim(x, axis, int64)
        each, more = size // count, size % count
        cuts = [k * each + smaller(more, k) for k in range(1, count)]
        return _cut(x, cuts, axis)
    return split(x, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    x = convert_to_tensor(ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 2)


def broadcast_arrays(*args: Any) -> tuple[Tensor, ...]:
    xs = [convert_to_tensor(x) for x in args]
    shape: Any = shapes.shape(xs[0]) if xs else []
    known = [x.type.shape for x in xs]
    if all(None not in each for each in known):
        shape = [*np.broadcast_shapes(*known)]  # type: ignore[arg-type]
    else:
        shape = shapes.dims(_spread(xs))
    return tuple([shapes.broadcast_to(x, shape) for x in xs])


def _spread(xs: Sequence[Tensor]) -> Tensor:
    """A tensor of the shape to which others are broadcast."""
    found = creation.zeros_like(xs[0], bool)
    for x in xs[1:]:
        found = logic.logical_or(found, creation.zeros_like(x, bool))
    return found


# Choosing.

def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    *choices, last = _values(operands, *choicelist, default)
    found = last
    for condition, choice in zip(reversed([*condlist]), reversed(choices), strict=True):
        found = logic.where(condition, choice, found)
    return found


def _values(convert: Callable[..., list[Tensor]], *values: Any) -> list[Tensor]:
    """Tensors of one dtype for values, by `convert`; if there is no tensor, Python's numbers have 64 bits."""
    plain = not any(isinstance(value, Tensor) for value in values)
    return [elements(value) for value in np.broadcast_arrays(*values)] if plain else convert(*values)


def choose(a: Any, choices: Any) -> Tensor:
    places = convert_to_tensor(a)
    values = broadcast_arrays(*_values(together, *choices)) if not isinstance(choices, Tensor) else choices
    require(reduction.reduce_all(logic.logical_and(places >= 0, places < len(values))),
            ValueError("invalid entry in choice array"))
    found = values[0] + creation.zeros_like(places, values[0].dtype)
    for k in range(1, len(values)):
        found = logic.where(logic.equal(places, k), values[k], found)
    return found


def block(arrays: Any) -> Tensor:
    """An array of blocks in nested lists, of which the innermost are joined along the last axis (`numpy.block`)."""
    parts = together(*_blocks(arrays))
    depth, level = 0, arrays
    while isinstance(level, list):
        depth, level = depth + 1, level[0]
    rank = max(depth, *[part.ndim for part in parts])
    rest = iter([part[(None,) * (rank - part.ndim)] for part in parts])

    def joined(level: Any, axis: int) -> Tensor:
        return concatenate([joined(part, axis + 1) for part in level], axis) if isinstance(level, list) else next(rest)

    return joined(arrays, rank - depth)


def _blocks(arrays: Any) -> list[Any]:
    return [part for each in arrays for part in _blocks(each)] if isinstance(arrays, list) else [arrays]


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Tensor:
    """The windows of some sizes along axes, in new axes at the end (`numpy.lib.stride_tricks`)."""
    found = asarray(x)
    sizes = [*sizes_of(window_shape)]
    axes = range(found.ndim) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) != len(sizes):
        raise ValueError(f"a window of {len(sizes)} sizes takes as many axes, not {len(axes)}")
    rank = found.ndim
    for size, place in zip(sizes, axes, strict=True):
        require(size >= 0, ValueError("`window_shape` cannot contain negative values"))
        require(shapes.dim(found, place % rank) >= size, ValueError(
            "window shape cannot be larger than input array shape"))
        starts = astype(creation.range(shapes.dim(found, place % rank) - (size - 1)), int64)
        places = starts[:, None] + astype(creation.range(size), int64)
        found = moveaxis(gather(found, places, axis=place % rank), place % rank + 1, -1)
    return found


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    x = ravel(ary)
    parts = [] if to_begin is None else [ravel(astype(to_begin, x.dtype))]
    parts.append(x[1:] - x[:-1])
    return concatenate(parts if to_end is None else [*parts, ravel(astype(to_end, x.dtype))])


# Positions.

def ix_(*args: Any) -> tuple[Tensor, ...]:
    found = []
    for axis, each in enumerate(args):
        x = elements(each)
        x = logic.where(x)[:, 0] if x.dtype.is_bool else x
        found.append(shapes.reshape(x, [-1 if k == axis else 1 for k in range(len(args))]))
    return tuple(found)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    sizes = [dimensions[k] for k in range(len(dimensions))]
    found = [shapes.reshape(astype(creation.range(size), numpy_dtype(dtype)), [
        -1 if k == axis else 1 for k in range(len(sizes))]) for axis, size in enumerate(sizes)]
    return tuple(found) if sparse else shapes.stack([shapes.broadcast_to(x, sizes) for x in found])


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    rest, found = convert_to_tensor(indices), []
    sizes = [shape[k] for k in range(len(shape))] if isinstance(shape, (list, tuple)) or bool(
        getattr(shape, "ndim", 1)) else [shape]
    for size in reversed(sizes[1:]):
        size = astype(size, rest.dtype)
        found.append(rest % size)
        rest = rest // size
    return tuple([rest, *reversed(found)])


def ravel_multi_index(multi_index: Any, dims: Any) -> Tensor:
    found: Any = 0
    for place, size in zip(multi_index, [dims[k] for k in range(len(dims))], strict=True):
        found = found * astype(size, int64) + astype(place, int64)
    return convert_to_tensor(found)


WINDOWS: Final[dict[str, Callable[[Any], Any]]] = {
    "hanning": lambda x: 0.5 + 0.5 * math.cos(np.pi * x), "hamming": lambda x: 0.54 + 0.46 * math.cos(np.pi * x),
    "blackman": lambda x: 0.42 + 0.5 * math.cos(np.pi * x) + 0.08 * math.cos(2 * np.pi * x),
    "bartlett": lambda x: 1 - math.abs(x)}
"""By name: the weight at a place, which goes from -1 to 1."""


def window(name: str, M: Any) -> Tensor:
    """A window of `M` points (`numpy.hanning` and its like)."""
    count = astype(M, float64)
    places = (2 * astype(creation.range(M), float64) + 1 - count) / math.maximum(count - 1, 1.0)
    return convert_to_tensor(WINDOWS[name](places))


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None
             ) -> Tensor:
    found = math.pow(astype(base, float64), linspace(start, stop, num, endpoint))
    return found if dtype is None else astype(found, dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True) -> Tensor:
    first, last = math.log10(astype(start, float64)), math.log10(astype(stop, float64))
    found = logspace(first, last, num, endpoint)
    return reshape(concatenate([astype(start, float64)[None], found[1:-1], astype(stop, float64)[None]]),
                   [-1]) if endpoint and type(num) is int and num > 1 else found
