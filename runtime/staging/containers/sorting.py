"""`sorted`, `min` and `max` on tensors: of numbers or tuples of them, with or without keys."""
from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from autograph.backend import ReachedChanges, has_staged_items, is_users_class, operators
from runtime.core import pytree
from runtime.core.errors import ShapeError, StagingError, locate
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import GraphTensor, Tensor, not_iterable
from runtime.core.text import Text
from runtime.core.trace import apply, convert_to_tensor, current_graph
from runtime.core.types import TensorType, int32, uint8
from runtime.ops.effects import raise_unless
from runtime.ops.gather import gather
from runtime.ops.lists import list_new
from runtime.ops.logic import equal, not_equal, where
from runtime.ops.math import cast
from runtime.ops.reduction import argmax, argmin, reduce_all, reduce_any, reduce_max, reduce_min
from runtime.ops.shape import dim
from runtime.ops.sorting import COMPARED_ORDER, argsort
from runtime.ops.strings import as_bytes, rank_texts
from runtime.ops.tensor_lists import element_at
from runtime.staging.aliases.shared_elements import link
from runtime.staging.containers.comparison import compare
from runtime.staging.containers.comparison_sort import order_of_key, sorted_places
from runtime.staging.elements.constant_layout import Constants
from runtime.staging.elements.element_layout import STRING, Record, Rows, leaf_layouts, may_change
from runtime.staging.elements.references import Reference, References
from runtime.staging.elements.select import Select, choose
from runtime.staging.storage.record_list import StagedRecords, in_plain_columns
from runtime.staging.values.generators import (
    StagedGenerator,
    item_if,
    listed,
    mapped,
    materialized,
    once,
    stand_for,
    use_up,
)
from runtime.staging.values.iterables import Staged, StagedRange, indexable, stacked, stages, stages_within, weak_int
from runtime.staging.values.list import StagedList, StagedSequence, branch, collect, unview
from runtime.staging.values.optional import MaybeObject, MaybeTensor
from runtime.staging.values.strings import Characters, text_at

__all__ = ["maximum_of", "minimum_of", "sort_in_place", "sorted_", "vector"]

_MISSING: Final = object()
_FEW: Final = 6
"""Of more keys than this, the graph has one comparison, in a loop, and not one of each two."""
_less: Final = functools.partial(compare, "lt")
_REMEDY: Final = "Let the key be a number, or a tuple of numbers, of one structure for all items."


def vector(x: Any, what: str) -> Tensor:
    """The scalars of a staged iterable as a vector. ShapeError if they are not scalars."""
    if isinstance(x, StagedRange) or (isinstance(x, Staged) and not hasattr(type(x), "__tensor__")):
        x = listed(x)
    rows = convert_to_tensor(x)
    if not rows.ndim:
        raise not_iterable()
    if rows.ndim != 1:
        error = ShapeError(
            f"{what}() compares items, and the truth of their comparison is ambiguous: they are {rows.type} without the"
            " first dimension", remedy="Use rt.reduce_min, rt.reduce_max or rt.sort.")
        locate(error, user_position())
        raise error
    return rows


# sorted

def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`: a Python list if the number of items is known, else a staged list."""
    if current_graph() is None:
        return builtins.sorted(iterable, key=key, reverse=reverse)
    iterable = materialized(iterable)
    found = _in_order(iterable if stages(iterable) else list(iterable), key, reverse)
    if isinstance(found, StagedRecords) and may_change(found.structure):
        source = unview(iterable)
        link(found.owner, source if has_staged_items(source) else None)
    return found


def _in_order(items: Any, key: Any, reverse: Any) -> Any:
    """The items of a Python list or staged iterable, sorted."""
    if (hasattr(type(items), "as_list") and not isinstance(items, StagedSequence)) or isinstance(
            items, (Select, Characters)):
        items = listed(items)  # of a dict, or a view of one, or of one of several containers
    reverse = bool(reverse)
    direction = "DESCENDING" if reverse else "ASCENDING"
    if key is None and stages(items) and not isinstance(items, StagedRecords):
        row = vector(items, "sorted")
        return listed(gather(row, _order(row, direction)))
    if not isinstance(items, (list, StagedList, StagedRecords, Tensor)):
        items = listed(items)
    less = order_of_key(key)
    keys = items if less is not None else _keys(items, _order_of(items) if key is None else key)
    if isinstance(keys, list):
        with contextlib.suppress(_Undecided):
            known: list[Any] = [_Known(value, less or _less) for value in keys] if (
                less is not None or _are_staged(keys)) else keys
            return [items[i] for i in builtins.sorted(range(len(keys)), key=known.__getitem__, reverse=reverse)]
        if less is not None or _has_objects(keys):
            return _taken(items, _by_comparisons(keys, reverse, _pure(less or _less)))
    elif less is not None or _needs_comparisons(keys):
        return _taken(items, _by_merging(keys, reverse, _pure(less or _less)))
    *others, places = _columns(keys, "sorted")
    places = argsort(places, direction=direction) if others else _order(places, direction)
    for column in reversed(others):
        places = gather(places, argsort(gather(column, places), direction=direction))
    return _taken(items, places)


def _order(keys: Tensor, direction: str) -> Tensor:
    """The indices that sort a vector as Python does: where there is a nan, which it compares with what depends on its
    algorithm."""
    order = argsort(keys, direction=direction)
    if not keys.dtype.is_floating:
        return order

    def compared(_: Any) -> tuple[Tensor]:
        return (apply(COMPARED_ORDER, keys, descending=direction == "DESCENDING"),)

    found: Tensor = branch(reduce_any(not_equal(keys, keys)), compared, (order,), ("order",))[0]
    return found


def _order_of(items: Any) -> Callable[[Any], Any] | None:
    """The key that gives the order of the objects in a list of the graph, of a dataclass with `order`; else None."""
    layout = items.structure if isinstance(items, StagedRecords) else None
    if not isinstance(layout, Record) or not dataclasses.is_dataclass(layout.cls) or (
            not layout.cls.__dataclass_params__.order):  # type: ignore[attr-defined]
        return None
    names = [field.name for field in dataclasses.fields(layout.cls) if field.compare]
    return lambda x: tuple([getattr(x, name) for name in names])


def _needs_comparisons(keys: Any) -> bool:
    """Whether the keys in a list of the graph are objects, which define their own order, lists, or may be None."""
    return isinstance(keys, StagedRecords) and any(
        layout.size > 1 or isinstance(layout, (Record, References, Rows)) for layout in leaf_layouts(keys.structure))


def _by_comparisons(keys: Sequence[Any], reverse: bool, less: Callable[[Any, Any], Any]) -> Tensor:
    """The sorted order of keys, some of them objects, as indices: a key's rank is the number of others that are less,
    or equal and before it."""
    if len(keys) > _FEW:
        return _by_merging(keys, reverse, less)

    def is_less(i: int, j: int) -> Any:
        return less(*(keys[j], keys[i]) if reverse else (keys[i], keys[j]))

    ranks = [sum([cast(is_less(j, i), int32) for j in range(i + 1, len(keys))],
                 sum([1 - cast(is_less(i, j), int32) for j in range(i)])) for i in range(len(keys))]
    return argsort(convert_to_tensor(ranks))


def _pure(less: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A user's comparison of two items. StagingError if it has effects, since Python may compare other items."""
    def compared(one: Any, other: Any) -> Any:
        graph = current_graph()
        before = len(graph.nodes) if graph is not None else 0
        changes = ReachedChanges("comparison", (less, one, other))
        found = less(one, other)
        if changes.are_there() or (graph is not None and any(node.effect for node in graph.nodes[before:])):
            raise staging_error("the comparison of items prints, raises or assigns, and Python may compare other items"
                                " of this list, in another order", "Let it only compare; or sort by a key of numbers.")
        return found

    return compared


def _by_merging(keys: Any, reverse: bool, less: Callable[[Any, Any], Any]) -> Tensor:
    """The sorted order of keys, of which there may be any number, as indices."""
    size = weak_int(convert_to_tensor(operators.call(len)(keys)))
    return convert_to_tensor(operators.call(sorted_places)(keys, size, reverse, less))


def _are_staged(value: Any) -> bool:
    """Whether the order of keys may depend on values of the graph."""
    return stages_within(value) or _has_text(value) or _has_objects(value)


def _has_text(value: Any) -> bool:
    """Whether a value is, or a list or tuple contains, text that only the graph knows."""
    return any(map(_has_text, value)) if isinstance(value, (list, tuple)) else isinstance(value, Text)


def _has_objects(value: Any) -> bool:
    """Whether a value is, or a list or tuple has, an object of a user's class, which may define its own order, or a
    list of the graph."""
    if has_staged_items(value) or isinstance(value, (Reference, Select)):
        return True
    return any(map(_has_objects, value)) if isinstance(value, (list, tuple)) else is_users_class(type(value))


def _keys(items: Any, key: Any) -> Any:
    """The keys of the items."""
    if key is None:
        return items
    key = operators.call(key)
    if isinstance(items, list):
        return [key(item) for item in items]
    ag__key = key

    def checked(item: Any) -> Any:
        return _not_none(ag__key(item))

    stand_for(key, checked)
    return listed(mapped(checked, (items,)))


def _not_none(key: Any) -> Any:
    """A key that may be None, which no other compares with: TypeError if it is when the graph runs."""
    if isinstance(key, MaybeObject):
        return key.checked()
    return convert_to_tensor(key) if isinstance(key, MaybeTensor) else key


class _Undecided(Exception):
    """Which of two keys is less is known only at run time."""


class _Known:
    """A key that Python compares, as long as no tensor value is needed."""

    __slots__ = ("key", "less")

    def __init__(self, key: Any, less: Callable[[Any, Any], Any]) -> None:
        self.key, self.less = key, less

    def __lt__(self, other: _Known) -> bool:
        found = self.less(self.key, other.key)
        if isinstance(found, GraphTensor):
            raise _Undecided
        return bool(found)


def _columns(keys: Any, what: str) -> list[Tensor]:
    """Keys as vectors, the most significant first."""
    keys = in_plain_columns(keys)
    if isinstance(keys, StagedRecords):
        _check_constants(keys.structure)
        columns = [rank_texts(column.__leaves__()[0]) if layout is STRING else convert_to_tensor(column)
                   for layout, column in zip(leaf_layouts(keys.structure), keys.columns, strict=True)]
        first = keys.structure
    elif isinstance(keys, (StagedList, Tensor)):
        columns, first = [convert_to_tensor(keys)], 0
    else:
        first = keys[0]
        try:
            for other in keys[1:]:
                pytree.assert_same_structure(first, other)
            columns = [_column(list(values)) for values in zip(*map(pytree.flatten, keys))]
        except (TypeError, ValueError) as error:
            raise staging_error(f"{what}() compares here what cannot be one tensor: {error}", _REMEDY) from error
    _check_order(first, what)
    return [vector(column, what) for column in columns]


def _column(values: list[Any]) -> Tensor:
    """A vector with the order of the values."""
    if not all(isinstance(value, (str, Text)) for value in values):
        return stacked(values)
    ranks: Tensor = rank_texts(list_new([*map(as_bytes, values)], TensorType(uint8, (None,))))
    return ranks


def _check_constants(structure: Any) -> None:
    """TypeError if keys of that structure are, or have, members of an Enum, functions or classes."""
    for layout in leaf_layouts(structure):
        if isinstance(layout, Constants):
            first, *rest = [type(value).__name__ for value in layout.values.values()]
            raise TypeError(f"'<' not supported between instances of '{first}' and '{(rest or [first])[0]}'")


def _check_order(key: Any, what: str) -> None:
    if isinstance(key, (tuple, list)):
        for part in key:
            _check_order(part, what)
    elif pytree.is_nested(key):
        raise TypeError(f"'<' not supported between instances of '{type(key).__name__}' and '{type(key).__name__}'")


def _taken(items: Any, places: Tensor) -> Any:
    """The items at these indices."""
    if isinstance(items, Tensor):
        return listed(gather(items, places))
    if isinstance(items, list):
        item = _item_of(items)
        return [item(places[i]) for i in range(len(items))]
    if isinstance(items, StagedRecords):
        columns = [collect(places, element=functools.partial(element_at, leaf)) for leaf in items.__leaves__()]
        return StagedRecords(columns, items.structure)
    return collect(places, element=items.__getitem__)


def _item_of(items: list[Any]) -> Callable[[Any], Any]:
    """A function from an index to the item of a list."""
    if _has_text(items):
        return functools.partial(_item_at, items)
    if not _has_objects(items):
        with contextlib.suppress(StagingError):  # not all are numbers of one structure
            return indexable(items, "sorted")
    return functools.partial(choose, items)


def _item_at(items: list[Any], place: Any) -> Any:
    """An item of a list of structures of one form with text in them."""
    leaves = [list(column) for column in zip(*map(pytree.flatten, items), strict=True)]
    return pytree.pack_sequence_as(items[0], [
        text_at(column, place) if all(isinstance(leaf, (str, Text)) for leaf in column)
        else indexable(column, "sorted")(place) for column in leaves])


def sort_in_place(items: Any, /, *, key: Any = None, reverse: Any = False) -> None:
    """`items.sort(key=key, reverse=reverse)` for a Python or staged list."""
    found = _in_order(items, key, reverse)
    if isinstance(items, list):
        items[:] = found
    else:
        items.owner[:] = found.owner


# min and max

def _extreme(
    name: str, python: Callable[..., Any], reduction: Callable[..., Any], place: Callable[..., Any],
    better: Callable[[Any, Any], Any],
) -> Callable[..., Any]:
    """`min` or `max`; `better` tells whether an item, or its key, replaces an earlier one."""

    rule = _Extreme(name, python, reduction, place, better)

    def extreme(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
        defaults = {} if default is _MISSING else {"default": default}
        if current_graph() is None or not args or (len(args) > 1 and defaults):
            return python(*args, key=key, **defaults)
        items = args[0] if len(args) == 1 else args
        if key is None:
            items = materialized(items)
        if not stages(items):
            return rule.of_known(list(items), key, defaults)
        if key is None and (hasattr(type(items), "__tensor__") or isinstance(items, (Tensor, StagedRange))):
            return rule.of_numbers(vector(items, name), *defaults.values())
        return rule.of_staged(items, key, *defaults.values())

    extreme.__name__ = extreme.__qualname__ = name
    return extreme


class _Extreme(NamedTuple):
    """`min` or `max`."""

    name: str
    python: Callable[..., Any]
    reduction: Callable[..., Any]
    place: Callable[..., Any]
    better: Callable[[Any, Any], Any]

    def better_for(self, key: Any) -> tuple[Callable[[Any, Any], Any], Any]:
        """`better` and the key for items with this key, which may be one of `functools.cmp_to_key`."""
        less = order_of_key(key)
        if less is None:
            return self.better, key
        return (less if self.name == "min" else lambda x, y: less(y, x)), None

    def of_known(self, items: list[Any], key: Any, defaults: dict[str, Any]) -> Any:
        """For a statically known number of items, which are compared one by one."""
        better, key = self.better_for(key)
        keys = _keys(items, key)
        if not keys or (better is self.better and not _are_staged(keys)):
            if not keys:
                return self.python((), **defaults)
            return items[self.python(range(len(keys)), key=keys.__getitem__)]
        result, best = items[0], keys[0]
        for item, value in zip(items[1:], keys[1:]):
            chosen = _truth(self.name, better(value, best))
            best = _either(chosen, value, best)
            result = best if key is None else _either(chosen, item, result)
        return result

    def of_numbers(self, x: Tensor, *default: Any) -> Any:
        """For the items of a vector."""
        size = dim(x, 0)
        if isinstance(size, int):
            return self.first_of(x) if size else self.python((), **({"default": default[0]} if default else {}))
        if not default:
            raise_unless(not_equal(size, 0), _error_of(self.python))
            return self.first_of(x)
        return branch(not_equal(size, 0), lambda _: (self.first_of(x),), default, (self.name,))[0]

    def first_of(self, x: Tensor) -> Any:
        """The extreme item of a vector that is not empty. Python takes the first of equal ones, such as 0.0 and -0.0,
        and keeps a nan only if it is the first item, since nothing compares with it."""
        if x.dtype.is_bool:
            return (reduce_any if self.name == "max" else reduce_all)(x)
        found = self.reduction(x)
        if not x.dtype.is_floating:
            return found

        def compared(_: Any) -> tuple[Tensor]:
            is_nan, worst = not_equal(x, x), cast(math.inf if self.name == "min" else -math.inf, x.dtype)
            return (x[where(is_nan[0], 0, self.place(where(is_nan, worst, x)))],)

        return branch(equal(found, 0) | not_equal(found, found), compared, (found,), (self.name,))[0]

    def of_staged(self, items: Any, key: Any, *default: Any) -> Any:
        """For items whose number is known only at run time: stages a loop."""
        name, (better, key) = self.name, self.better_for(key)
        ag__key = None if key is None else operators.call(key)
        ag__found: Any = False
        ag__best: Any
        ag__item: Any
        if isinstance(items, StagedRecords) and may_change(items.structure):  # the result is an element of the list
            ag__item, at, items = 0, items.__getitem__, StagedRange(items.length)
        else:
            def at(item: Any) -> Any:
                return item

        def for_body(item: Any) -> None:
            nonlocal ag__found
            value = at(item) if ag__key is None else ag__key(at(item))

            def if_true() -> None:
                nonlocal ag__best, ag__item
                ag__best, ag__item = value, item

            def is_better() -> Any:
                best = ag__best.checked() if isinstance(ag__best, MaybeObject) else ag__best
                return _truth(name, better(value, best))

            operators.cond(operators.or_(operators.not_(ag__found), is_better), if_true, None, "ag__best", "ag__item")
            ag__found = True

        generator = items if isinstance(items, StagedGenerator) else once(items)
        use_up(generator, generator.use(), for_body, None, "ag__found", "ag__best", "ag__item")
        return item_if(ag__found, lambda: at(ag__item), _error_of(self.python), *default)


def _error_of(python: Callable[..., Any]) -> ValueError:
    """The error of `min` or `max` for an empty iterable, whose text depends on the version of Python."""
    try:
        python(())
    except ValueError as error:
        return ValueError(str(error))
    raise AssertionError("min and max of nothing raise")


def _truth(name: str, chosen: Any) -> Any:
    if isinstance(chosen, Tensor) and chosen.ndim:
        error = ShapeError(
            f"{name}() compares its arguments, and the truth of the comparison, {chosen.type}, is ambiguous",
            remedy=f"Use rt.{name}imum, which compares element by element.")
        locate(error, user_position())
        raise error
    return chosen


def _either(chosen: Any, x: Any, y: Any) -> Any:
    if not isinstance(chosen, Tensor):
        return x if chosen else y
    numbers = all(isinstance(value, (Tensor, int, float)) for value in (x, y))
    return where(chosen, x, y) if numbers else operators.if_exp(chosen, lambda: x, lambda: y)


minimum_of: Final = _extreme("min", builtins.min, reduce_min, argmin, _less)
maximum_of: Final = _extreme("max", builtins.max, reduce_max, argmax, functools.partial(compare, "gt"))
