"""Indexing, choice, order, sets and histograms."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.core.types import int32
from runtime.keras.backend import sparse as of_sparse
from runtime.keras.backend.numpy.creation import linspace
from runtime.keras.backend.promotion import agreed, floating, in_dtype, name_of, result, tensor
from runtime.ops import creation, logic, math, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.gather import gather, gather_slices, scatter_nd
from runtime.ops.sparse import is_sparse

__all__ = [
    "argpartition", "argsort", "bincount", "diff", "digitize", "histogram", "isin", "nonzero", "searchsorted", "select",
    "sort", "take", "take_along_axis", "unique", "unravel_index", "where",
]


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    mask = in_dtype(tensor(condition), "bool")
    if x1 is None and x2 is None:
        return nonzero(mask)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    x, y = agreed(x1, x2)
    return logic.where(mask, x, y)


def nonzero(x: Any) -> tuple[Tensor, ...]:
    return tuple(in_dtype(places, "int32") for places in rnp.nonzero(tensor(x)))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    *choices, found = agreed(*choicelist, default)
    for condition, choice in reversed([*zip(condlist, choices, strict=True)]):
        found = logic.where(in_dtype(tensor(condition), "bool"), choice, found)
    return found


# Taking.

def _from_start(indices: Any, size: Any) -> Tensor:
    """Indices with negative ones counted from the end made non-negative."""
    places = tensor(indices)
    if places.dtype.is_bool or not places.dtype.is_integer:
        places = in_dtype(places, "int32")
    if places.dtype.size < 4:
        places = in_dtype(places, "int32")
    count = math.cast(size, places.dtype)
    return places if places.dtype.is_unsigned else logic.where(places < 0, places + count, places)


def take(x: Any, indices: Any, axis: int | None = None) -> Tensor:
    x = tensor(x)
    if axis is None:
        x, axis = shapes.reshape(x, [-1]), 0
    axis %= x.ndim
    return gather_slices(x, _from_start(indices, shapes.dim(x, axis)), axis=axis)


def take_along_axis(x: Any, indices: Any, axis: int | None = None) -> Tensor:
    x, places = tensor(x), tensor(indices)
    if axis is None:
        return gather(shapes.reshape(x, [-1]), _from_start(shapes.reshape(places, [-1]), shapes.size(x)))
    if x.ndim != places.ndim:
        raise ValueError(f"take_along_axis takes indices of the rank of x, {x.ndim}, not {places.ndim}")
    axis %= x.ndim
    places = _from_start(places, shapes.dim(x, axis))
    others = [shapes.dim(x, i) for i in range(x.ndim)]
    theirs = [shapes.dim(places, i) for i in range(x.ndim)]
    if not builtins.all(i == axis or (type(a) is int and type(a) is type(b) and a == b)
                        for i, (a, b) in enumerate(zip(others, theirs, strict=True))):
        x = _broadcast_beside(x, theirs, axis)
        places = _broadcast_beside(places, others, axis)
    return rnp.take_along_axis(x, places, axis)


def _broadcast_beside(x: Tensor, sizes: list[Any], axis: int) -> Tensor:
    wanted = [size if i == axis or own != 1 else other
              for i, (size, own, other) in enumerate(zip(shapes.dims(x), x.type.shape, sizes, strict=True))]
    return shapes.broadcast_to(x, wanted)


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    places = tensor(indices)
    name = places.dtype.name
    total = int(np.prod(shape))
    rest = logic.where(places < 0, places + total, places)
    found = []
    for size in reversed([*shape]):
        found.append(in_dtype(math.mod(rest, size), name))
        rest = math.floordiv(rest, size)
    return tuple(reversed(found))


# Order.

def sort(x: Any, axis: int | None = -1) -> Tensor:
    return rnp.sort(tensor(x), axis)


def argsort(x: Any, axis: int | None = -1) -> Tensor:
    x = tensor(x)
    if not x.ndim:
        return creation.zeros([], int32)
    return rnp.argsort(x, axis)


def argpartition(x: Any, kth: int, axis: int = -1) -> Tensor:
    return argsort(x, axis)


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Tensor:
    sequence = tensor(sorted_sequence)
    if sequence.ndim != 1:
        raise ValueError("`searchsorted` only supports 1-D sorted sequences. "
                         "You can use `keras.ops.vectorized_map` to extend it to N-D sequences. "
                         f"Received: sorted_sequence.shape={tuple(sequence.shape)}")
    sequence, wanted = agreed(sequence, values)
    if sequence.dtype.is_bool:
        sequence, wanted = in_dtype(sequence, "int32"), in_dtype(wanted, "int32")
    return in_dtype(sorting.searchsorted(sequence, wanted, side, int32), "int32")


def digitize(x: Any, bins: Any) -> Tensor:
    return searchsorted(tensor(bins), tensor(x), "right")


# Sets.

def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    x, y = agreed(x1, x2)
    same = logic.equal(x[..., None], shapes.reshape(y, [-1]))
    found = reduction.reduce_any(same, -1)
    return logic.logical_not(found) if invert else found


def unique(x: Any, sorted: bool = True, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, size: int | None = None, fill_value: Any = None
           ) -> Any:
    x = tensor(x)
    if axis is None:
        rows, shape = shapes.reshape(x, [-1, 1]), x.shape
    else:
        moved = shapes.moveaxis(x, axis, 0)
        rows = shapes.reshape(moved, [shapes.dim(moved, 0), shapes.product(shapes.dims(moved)[1:])])
    order = creation.range(shapes.dim(rows, 0))
    for column in reversed(range(rows.type.shape[1] or 0)):
        order = gather(order, sorting.argsort(gather(rows, order)[:, column], stable=True))
    ordered = gather(rows, order)
    first = _first_of_each(ordered)
    places = in_dtype(logic.where(first)[:, 0], "int32")
    number = reduction.cumsum(in_dtype(first, "int32")) - 1  # for each ordered row, the number of its distinct row
    inverse = scatter_nd(order[:, None], number, [shapes.dim(rows, 0)])
    counts = _counted(number, shapes.dim(places, 0))
    index = gather(order, places)
    if size is not None:
        places, counts, index = _sized(places, size, None), _sized(counts, size, 0), _sized(index, size, None)
    found = gather(ordered, places)
    if size is not None and fill_value is not None:
        real = creation.range(size) < reduction.reduce_sum(in_dtype(first, "int32"))
        found = logic.where(real[:, None], found, in_dtype(fill_value, found.dtype.name))
    if axis is None:
        values = found[:, 0]
        inverse = shapes.reshape(inverse, shapes.shape(x) if None in tuple(shape) else list(shape))
    else:
        values = shapes.moveaxis(shapes.reshape(found, [-1, *shapes.dims(moved)[1:]]), 0, axis)
    results = [values, *([index] if return_index else []), *([inverse] if return_inverse else []),
               *([counts] if return_counts else [])]
    return results[0] if len(results) == 1 else tuple(results)


def _first_of_each(ordered: Tensor) -> Tensor:
    """For each of the sorted rows, whether it differs from the one before."""
    changed = reduction.reduce_any(logic.not_equal(ordered[1:], ordered[:-1]), 1)
    return rnp.concatenate([creation.ones([1], "bool"), changed])[: shapes.dim(ordered, 0)]


def _counted(number: Tensor, count: Any) -> Tensor:
    return scatter_nd(number[:, None], creation.ones_like(number), [count])


def _sized(x: Tensor, size: int, fill: int | None) -> Tensor:
    """The first `size` elements, filled up with `fill`, or with the first element."""
    extended = rnp.concatenate([x, rnp.full([size], x[0] if fill is None else in_dtype(fill, x.dtype.name))])
    return extended[:size]


# Histograms.

def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    if sparse or is_sparse(x):
        return of_sparse.bincount(x, weights, minlength)
    places = in_dtype(tensor(x), "int32")
    name = "int32" if weights is None else result(
        name_of(tensor(x)), name_of(tensor(weights)))
    if places.ndim not in (1, 2):
        raise ValueError(f"bincount takes an array of rank 1 or 2, not {places.ndim}")
    updates = creation.ones_like(places, name) if weights is None else in_dtype(tensor(weights), name)
    greatest = reduction.reduce_max(rnp.concatenate([shapes.reshape(places, [-1]), np.array([-1], np.int32)]))
    size = math.maximum(greatest + 1, minlength)
    if places.ndim == 1:
        return scatter_nd(places[:, None], updates, [size])
    count = shapes.dim(places, 0)
    flat = shapes.reshape(places + (creation.range(count) * size)[:, None], [-1, 1])
    return shapes.reshape(scatter_nd(flat, shapes.reshape(updates, [-1]), [count * size]), [count, size])


def histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[Tensor, Tensor]:
    x = tensor(x)
    flat = shapes.reshape(in_dtype(x, "int32") if x.dtype.is_bool else x, [-1])
    values = floating(flat)
    if range is not None:
        if range[0] > range[1]:
            raise ValueError(f"the range of a histogram ascends, unlike {range}")
        low, high = (in_dtype(bound, values.dtype.name) for bound in range)
    elif values.type.shape[0] == 0:
        low, high = in_dtype(0.0, values.dtype.name), in_dtype(1.0, values.dtype.name)
    else:
        low, high = reduction.reduce_min(values), reduction.reduce_max(values)
    none = logic.equal(low, high)
    low, high = logic.where(none, low - 0.5, low), logic.where(none, high + 0.5, high)
    edges = linspace(low, high, bins + 1)
    within = logic.logical_and(values >= low, values <= high)
    place = math.minimum(math.maximum(sorting.searchsorted(edges, values, "right", int32) - 1, 0), bins - 1)
    counts = scatter_nd(logic.where(within, place, 0)[:, None], in_dtype(within, "int32"), [bins])
    return counts, edges


def diff(a: Any, n: int = 1, axis: int = -1) -> Tensor:
    return rnp.diff(tensor(a), n, axis)


