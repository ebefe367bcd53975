"""NumPy's functions of sets, and of sorted elements."""
from __future__ import annotations

from typing import Any, NamedTuple

from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int64
from runtime.numpy.arrays import astype, concatenate, moveaxis, ravel, together
from runtime.numpy.functions import flatnonzero, searchsorted, sort
from runtime.numpy.reductions import cumsum
from runtime.ops import creation, logic, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.gather import boolean_mask, gather, scatter

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]


class _Groups(NamedTuple):
    """The equal rows of a tensor: where the first of each is, which group each is in, and how many there are."""

    first: Tensor
    inverse: Tensor
    counts: Tensor


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: Any = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    """The distinct elements in sorted order, or along an axis; and where the first of each is, which of them each
    element is, and how many there are, if these are asked for."""
    x = convert_to_tensor(ar)
    rows = ravel(x) if axis is None else moveaxis(x, axis, 0)
    groups = _groups(rows, equal_nan)
    found = gather(rows, groups.first)
    inverse = shapes.reshape(groups.inverse, shapes.shape(x)) if axis is None else groups.inverse
    wanted = [part for part, is_wanted in [
        (groups.first, return_index), (inverse, return_inverse), (groups.counts, return_counts)] if is_wanted]
    found = found if axis is None else moveaxis(found, 0, axis)
    return (found, *wanted) if wanted else found


def _groups(rows: Tensor, equal_nan: bool) -> _Groups:
    size = shapes.dim(rows, 0, int64)
    table = shapes.reshape(rows, [size, -1]) if rows.ndim != 1 else rows[:, None]
    order = astype(creation.range(size), int64)
    for column in reversed(range(_columns(table))):
        order = gather(order, astype(sorting.argsort(gather(table[:, column], order)), int64))
    ordered = gather(table, order)
    after, before = ordered[1:], ordered[:-1]
    differ = logic.not_equal(after, before)
    if equal_nan and table.dtype.level >= 2:
        differ = logic.logical_and(differ, logic.logical_not(logic.logical_and(
            logic.not_equal(after, after), logic.not_equal(before, before))))
    is_new = concatenate([creation.ones_like(order[:1], bool), reduction.reduce_any(differ, 1)])
    starts = flatnonzero(is_new)
    inverse = scatter(creation.zeros_like(order), order[:, None], cumsum(is_new) - 1)
    ends = concatenate([starts[1:], creation.zeros_like(order[:1]) + size])
    return _Groups(gather(order, starts), inverse, ends - starts)


def _columns(table: Tensor) -> int:
    count = table.type.shape[1]
    if count is None:
        error = UnimplementedError("unique along an axis takes a tensor whose other sizes are known when it is traced",
                                   remedy="Give the argument a shape: rt.ensure_shape(x, [None, 3]).")
        locate(error, user_position())
        raise error
    return count


def unique_values(x: Any) -> Tensor:
    found: Tensor = unique(x)
    return found


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Any) -> UniqueAll:
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCounts:
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverse:
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
         ) -> Tensor:
    x, among = together(element, test_elements)
    ordered = sort(among, None)
    found = searchsorted(ordered, x, "right") > searchsorted(ordered, x)
    if x.dtype.level >= 2:
        found = logic.logical_and(found, logic.equal(x, x))
    return logic.logical_not(found) if invert else found


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x, y = map(unique, together(ar1, ar2))
    return boolean_mask(x, isin(x, y))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x, y = together(ar1, ar2)
    x = ravel(x) if assume_unique else unique(x)
    return boolean_mask(x, isin(x, y, invert=True))


def union1d(ar1: Any, ar2: Any) -> Tensor:
    found: Tensor = unique(concatenate([ar1, ar2], None))
    return found


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x, y = map(unique, together(ar1, ar2))
    return sort(concatenate([boolean_mask(x, isin(x, y, invert=True)), boolean_mask(y, isin(y, x, invert=True))]))
