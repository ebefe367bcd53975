"""`x in xs` where `x`, or an item, is a tensor."""
from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

from autograph.backend import is_iterator, operators
from runtime.core.errors import ShapeError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.numpy.reductions import is_array
from runtime.ops.logic import bitwise_and
from runtime.ops.reduction import reduce_any
from runtime.staging.containers import dict_lookup
from runtime.staging.containers.comparison import equal_in_turn, equals
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select
from runtime.staging.joins.container_arenas import readable
from runtime.staging.storage import dict_presence
from runtime.staging.storage.dict_keys import check_hashable
from runtime.staging.values.generators import StagedGenerator, any_of, any_taken
from runtime.staging.values.iterables import Staged, StagedRange, view_of
from runtime.staging.values.list import StagedList
from runtime.staging.values.optional import MaybeObject, MaybeTensor
from runtime.staging.values.strings import is_part_of_text
from runtime.staging.values.truthiness import truth

__all__ = ["contains"]


def contains(container: Any, value: Any) -> Any:
    """Whether an item of `container` equals `value`: a bool, or a bool scalar tensor. ShapeError if the items are not
    scalars, TypeError if `container` is not iterable."""
    if isinstance(container, MaybeObject):
        container = container.checked()
    if isinstance(container, Reference):
        method = getattr(type(container), "__contains__", None)
        return contains(container.__iterated__(), value) if method is None else truth(
            operators.call(method)(container, value))
    container = view_of(readable(container))
    if isinstance(container, Select) and issubclass(type(container).__stands_for__, dict):
        return container.__contains__(value)
    if isinstance(container, (dict, KeysView)):
        return dict_lookup.has_key(container, value)
    if isinstance(container, (ItemsView, ValuesView)):
        dict_presence.check_keys(container)
    if isinstance(container, (range, StagedRange)):
        return _within(container, value)
    if isinstance(container, (MaybeTensor, StagedList, Tensor)) or (
        hasattr(type(container), "__tensor__") and not isinstance(container, Staged)
    ):
        return _among(convert_to_tensor(container), value)
    if isinstance(container, Staged):
        if (method := getattr(type(container), "contains", None)) is not None:
            return method(container, value)
        equal = container if isinstance(container, StagedGenerator) else operators.gen_exp(container, lambda item: item)
        return any_of(equal, True, lambda item: equals(item, value))  # type: ignore[arg-type]
    if (isinstance(value, Text) and isinstance(container, str)) or isinstance(container, Text):
        return is_part_of_text(value, container)
    if isinstance(container, (str, bytes)) or not hasattr(type(container), "__iter__"):
        return value in container
    if is_iterator(container):
        return any_taken(container, True, lambda item: equals(item, value))
    if isinstance(container, (set, frozenset)):
        check_hashable(value)
    found: Any = False
    for same in equal_in_turn(container, value):
        if not isinstance(same, bool):
            found = same if found is False else found | same
        elif same:
            return True
    return found


def _within(numbers: Any, value: Any) -> Any:
    offset = value - numbers.start
    index = offset // numbers.step
    length = numbers.length if isinstance(numbers, StagedRange) else len(numbers)
    inside = bitwise_and(index >= 0, index < length)
    return bitwise_and(inside, offset % numbers.step == 0)


def _among(items: Any, value: Any) -> Any:
    if items.ndim == 0:
        raise TypeError("a scalar tensor has no items to look among")
    if items.ndim > 1 and not is_array(items):
        error = ShapeError(
            f"`in` compares items, and the truth of their comparison is ambiguous: the tensor is {items.type}",
            remedy="Say which axis is to be equal: rt.reduce_any(rt.reduce_all(xs == x, axis=1)).")
        locate(error, user_position())
        raise error
    return reduce_any(items == value)
