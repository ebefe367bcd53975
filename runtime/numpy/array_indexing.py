"""Elements of arrays by any index that NumPy accepts, as tensors; and the values assigned to them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from runtime.core.array_mode import return_place, times_undone
from runtime.core.errors import locate
from runtime.core.positions import user_position
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph, holds_tensor
from runtime.core.types import DType
from runtime.numpy import arrays
from runtime.ops.indexing import getitem, setitem
from runtime.ops.logic import where

__all__ = [
    "Known", "as_tensor", "cast_into", "entries_of", "get_elements", "is_basic", "is_int", "known", "located",
    "numbers_in", "plain_index", "same_index", "set_elements", "shape_of", "with_numbers",
]


def plain_index(index: Any) -> Any:
    """An index with the arrays in it replaced by their current contents."""
    def plain(part: Any) -> Any:
        if isinstance(part, slice):
            return slice(plain(part.start), plain(part.stop), plain(part.step))
        if hasattr(type(part), "__tensor__"):
            return part.__tensor__()
        return convert_to_tensor(part) if isinstance(part, list) and holds_tensor(part) else part

    return tuple(map(plain, index)) if isinstance(index, tuple) else plain(index)


def entries_of(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def is_basic(index: Any) -> bool:
    """Whether an index yields a view."""
    return all(part is None or part is Ellipsis or isinstance(part, slice) or is_int(part)
               for part in entries_of(index))


def is_int(part: Any) -> bool:
    if isinstance(part, Tensor):
        return not part.ndim and part.dtype.is_integer
    return isinstance(part, (int, np.integer)) and not isinstance(part, bool)


def numbers_in(index: Any) -> list[Any]:
    return [x for part in entries_of(index) if part is not None and part is not Ellipsis
            for x in ((part.start, part.stop, part.step) if isinstance(part, slice) else (part,))]


def with_numbers(index: Any, change: Callable[[Any], Any]) -> Any:
    """An index with `change` applied to the numbers in it."""
    def changed(x: Any) -> Any:
        if isinstance(x, slice):
            return slice(changed(x.start), changed(x.stop), changed(x.step))
        return x if x is None or x is Ellipsis else change(x)

    return tuple(map(changed, index)) if isinstance(index, tuple) else changed(index)


class Known(NamedTuple):
    """The elements of a view at the time when they were read."""

    of: Any
    """The values of the graph that its base contained then."""
    elements: GraphTensor
    undone: int
    """The number of rollbacks of traced nodes so far: a later one may have removed the elements."""

    def is_current(self, now: Any) -> bool:
        """Whether these are the elements for the values `now`, and are usable in the graph being traced."""
        return self.of == now and self.undone == times_undone() and self.elements.graph.contains(current_graph())


def known(of: Any, elements: GraphTensor) -> Known:
    """A record of elements that are read now."""
    return Known(of, elements, times_undone())


def same_index(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or str(with_numbers(a, lambda _: 0)) != str(with_numbers(b, lambda _: 0)):
        return False
    return all(x is y or (isinstance(x, GraphTensor) and isinstance(y, GraphTensor) and x.value is y.value)
               or (isinstance(x, int) and isinstance(y, int) and x == y)
               for x, y in zip(numbers_in(a), numbers_in(b), strict=True))


def get_elements(x: GraphTensor, index: Any) -> GraphTensor:
    """The elements at an index of any kind that NumPy has."""
    return as_tensor(getitem(x, index))


def set_elements(x: GraphTensor, index: Any, value: Any) -> Any:
    """`x` with the elements at the index replaced."""
    mask = _mask(x, index)
    if mask is not None and not value.ndim:
        return where(mask, value, x)
    several = _positions(x, index)
    if several is None:
        return setitem(x, index, value)
    places, rest = several
    return arrays.reshape(setitem(arrays.reshape(x, [-1, *rest]), places, value), shape_of(x))


def _mask(x: GraphTensor, index: Any) -> Any:
    """A mask that is the whole index, with the dimensions of `x`; otherwise None."""
    one = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if not isinstance(one, (Tensor, np.ndarray)) or not one.ndim:
        return None
    mask = convert_to_tensor(one)
    if not mask.dtype.is_bool or mask.ndim > x.ndim or any(
            a is None or b is None or a != b for a, b in zip(mask.type.shape, x.type.shape, strict=False)):
        return None
    return mask[tuple([..., *[None] * (x.ndim - mask.ndim)])]


def _positions(x: GraphTensor, index: Any) -> tuple[Any, Any] | None:
    """For an index that begins with several arrays of ints: the positions in the flattened leading dimensions, and the
    sizes of the other dimensions. None for an index that `getitem` handles."""
    entries = entries_of(index)
    count = sum(_rank(part) > 0 for part in entries)
    if count < 2 or any(isinstance(part, slice) or part is None or part is Ellipsis for part in entries):
        return None
    sizes = shape_of(x) if isinstance(shape_of(x), list) else [shape_of(x)[i] for i in range(x.ndim)]
    place: Any = 0
    for size, part in zip(sizes, entries, strict=False):
        found = arrays.asarray(part)
        if found.dtype.is_bool:
            return None
        found = arrays.astype(found, np.int64)
        place = place * arrays.astype(convert_to_tensor(size), np.int64) + _in_range(found, size)
    return place, sizes[len(entries):]


def _in_range(places: Any, size: Any) -> Any:
    """Positions, with negative ones counted from the end; those out of range become out of range for the whole
    array."""
    size = arrays.astype(convert_to_tensor(size), np.int64)
    inside = (places >= -size) & (places < size)
    return where(inside, where(places < 0, places + size, places), np.int64(2**62))


def _rank(part: Any) -> int:
    if isinstance(part, (Tensor, np.ndarray)):
        return part.ndim
    return np.ndim(part) if isinstance(part, (list, range)) else 0


# Values.

def cast_into(value: Any, dtype: DType) -> Tensor:
    """`value` in the dtype of the array that it is assigned to, cast as in NumPy. TypeError, ValueError or
    OverflowError as in NumPy."""
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        value = convert_to_tensor(value)
    if hasattr(type(value), "__tensor__"):
        value = value.__tensor__()
    if isinstance(value, Tensor):
        if value.dtype is dtype:
            return value
        if value.dtype.is_complex and not dtype.is_complex:
            raise located(TypeError(f"a {value.dtype.name} cannot be assigned to an element of an array of"
                                     f" {dtype.name}"))
        return arrays.astype(value, dtype)
    try:
        array = np.empty(np.shape(value), dtype.np)
        array[...] = value
    except (TypeError, ValueError, OverflowError) as error:
        raise located(error) from None
    return convert_to_tensor(array)


def as_tensor(x: Any) -> GraphTensor:
    return x if type(x) is GraphTensor else GraphTensor(x.value)


def shape_of(x: Tensor) -> Any:
    return [*x.type.shape] if None not in x.type.shape else arrays.shape(x)


def located(error: Exception) -> Exception:
    locate(error, return_place() or user_position())
    return error
