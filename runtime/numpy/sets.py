"""NumPy's functions of sets, and of sorted elements."""
from __future__ import annotations

from typing import Any, NamedTuple

from runtime.core.errors import UnimplementedError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import int64
from runtime.numpy.arrays import astype, concatenate, moveaxis, ravel, together
from runtime.numpy.functions import flatnonzero, searchsorted, sort
from runtime.numpy.reductions import cumsum
from runtime.ops import creation, logic, reduction, sorting
from runtime.ops import shape as shapes
from runtime.ops.gather import boolean_mask, gather, scatter
from runtime.ops.static_arguments import axis_of

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
    if axis is None and not (return_index or return_inverse):
        return _sorted_groups(sort(x, None), equal_nan, return_counts)
    rows = ravel(x) if axis is None else moveaxis(x, axis_of("np.unique", axis, x.ndim), 0)
    groups = _groups(rows, equal_nan)
    found = gather(rows, groups.first)
    inverse = shapes.reshape(groups.inverse, shapes.shape(x)) if axis is None else groups.inverse
    wanted = [part for part, is_wanted in [
        (groups.first, return_index), (inverse, return_inverse), (groups.counts, return_counts)] if is_wanted]
    found = found if axis is None else moveaxis(found, 0, axis)
    return (found, *wanted) if wanted else found


def _sorted_groups(ordered: Tensor, equal_nan: bool, with_counts: bool) -> Any:
    """The distinct elements of a sorted vector, and their counts."""
    is_new = _are_new(ordered[:, None], equal_nan)
    if not with_counts:
        return boolean_mask(ordered, is_new)
    starts = flatnonzero(is_new)
    ends = concatenate([starts[1:], _size_of(ordered)])
    return gather(ordered, starts), ends - starts


def _size_of(x: Tensor) -> Tensor:
    """The size as a vector of one element, or none if it is 0."""
    return convert_to_tensor(creation.zeros_like(x[:1], int64) + shapes.dim(x, 0, int64))


def _are_new(table: Tensor, equal_nan: bool) -> Tensor:
    """Which rows of a sorted table differ from those before."""
    after, before = table[1:], table[:-1]
    differ = logic.not_equal(after, before)
    if equal_nan and table.dtype.level >= 2:
        differ = logic.logical_and(differ, logic.logical_not(logic.logical_and(
            logic.not_equal(after, after), logic.not_equal(before, before))))
    first = creation.ones_like(reduction.reduce_any(logic.equal(table[:1], table[:1]), 1), bool)
    return concatenate([first, reduction.reduce_any(differ, 1)])


def _groups(rows: Tensor, equal_nan: bool) -> _Groups:
    size = shapes.dim(rows, 0, int64)
    table = shapes.reshape(rows, [size, shapes.product(shapes.dims(rows)[1:])]) if rows.ndim != 1 else rows[:, None]
    order = astype(creation.range(size), int64)
    for column in reversed(range(_columns(table))):
        order = gather(order, astype(sorting.argsort(gather(table[:, column], order)), int64))
    is_new = _are_new(gather(table, order), equal_nan)
    starts = flatnonzero(is_new)
    inverse = scatter(creation.zeros_like(order), order[:, None], cumsum(is_new) - 1)
    ends = concatenate([starts[1:], _size_of(order)])
    return _Groups(gather(order, starts), inverse, ends - starts)


def _columns(table: Tensor) -> int:
    count = table.type.shape[1]
    if count is None:
        raise located(UnimplementedError(
            "unique along an axis takes a tensor whose other sizes are known when it is traced",
            remedy="Give the argument a shape: rt.ensure_shape(x, [None, 3])."))
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
    place = searchsorted(ordered, x)
    beyond = concatenate([ordered, creation.zeros([1], ordered.dtype)])
    found = logic.logical_and(logic.equal(gather(beyond, place), x), place < shapes.dim(ordered, 0, int64))
    if x.dtype.level >= 2:
        found = logic.logical_and(found, logic.equal(x, x))
    return logic.logical_not(found) if invert else found


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x, y = map(unique, together(ar1, ar2))
    return boolean_mask(x, isin(x, y))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x = ravel(ar1) if assume_unique else unique(ar1)
    return boolean_mask(x, isin(x, ar2, invert=True))


def union1d(ar1: Any, ar2: Any) -> Tensor:
    found: Tensor = unique(concatenate([ar1, ar2], None))
    return found


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    x, y = map(unique, together(ar1, ar2))
    return sort(concatenate([boolean_mask(x, isin(x, y, invert=True)), boolean_mask(y, isin(y, x, invert=True))]))
