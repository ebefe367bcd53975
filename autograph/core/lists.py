"""Python's mutable collections that are tracked as state by their items: lists, deques, dicts and sets."""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["DICTS", "LISTS", "LIST_OR_DICT", "MUTATORS", "is_collection", "is_list", "items_in", "refill"]

LISTS: Final[tuple[type[list[Any]], type[deque[Any]]]] = (list, deque)

DICTS: Final[frozenset[type[dict[Any, Any]]]] = frozenset({dict, OrderedDict, defaultdict, Counter})
LIST_OR_DICT: Final[frozenset[type]] = frozenset({list, *DICTS})
"""The classes of containers that a backend may have by reference (`ListItems.refers`)."""

MUTATORS: Final = frozenset({
    "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"})
"""Methods that change their list or dict: it is state, though it is not assigned."""


def is_list(value: Any) -> bool:
    """Whether `value` is a list or deque, and not an object of a subclass."""
    return type(value) in LISTS


def is_collection(value: Any) -> bool:
    """Whether `value` is a list, deque or set, and not an object of a subclass."""
    return type(value) in LISTS or type(value) is set


def items_in(value: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """The items of a dict in its order, without code of a subclass."""
    if isinstance(value, OrderedDict):  # has an order of its own
        return [(key, dict.__getitem__(value, key)) for key in OrderedDict.__iter__(value)]
    return dict.items(value)


def refill(value: Any, items: Iterable[Any]) -> None:
    """Replace the items of a list, deque or set; for a dict, its content by the items under the keys 0, 1, ..."""
    if isinstance(value, list):
        value[:] = items
        return
    if isinstance(value, dict):
        items = list(items)
        value.clear()
        for key, item in enumerate(items):
            value[key] = item
        return
    items = list(items)
    value.clear()
    (value.update if isinstance(value, set) else value.extend)(items)
