"""Lists, deques and dicts whose items are a backend's: they hold a placeholder in place of the items."""
from __future__ import annotations

from collections import deque
from typing import Any

from autograph.core.lists import DICTS

__all__ = ["ListItems", "has_staged_items", "is_reference", "storage_of"]


class ListItems:
    """Base class of the placeholder that a backend stores as the only item of a list or deque, or under the key 0 of a
    dict, if the items, keys or length are known only when the graph runs. The container keeps its identity for all its
    references. Instances are immutable."""

    __slots__ = ()

    def view(self, owner: list[Any]) -> Any:
        """A view of the list `owner`, which implements Python's list methods and operators."""
        raise NotImplementedError

    @property
    def storage(self) -> Any:
        """The object that stores the items of this container together with those of others; None if there is none."""
        return None

    refers: bool = False
    """Whether the container is a reference: its items are elsewhere, where any number of containers refer to them."""


def storage_of(value: Any) -> Any:
    """The object that stores the items of all elements of a list; None if there is none."""
    if type(value) is not list or not value or not has_staged_items(value[0]):
        return None
    found = _storage(value[0])
    return found if found is not None and all([has_staged_items(x) and _storage(x) is found for x in value]) else None


def _storage(value: Any) -> Any:
    return next(iter(value.values() if type(value) in DICTS else value)).storage


def has_staged_items(value: Any) -> bool:
    """Whether the items of a list, deque or dict are a backend's. (Without `len` and `isinstance`: users may replace
    `len`, and `isinstance` reads `__class__` of objects.)"""
    kind = type(value)
    if kind in DICTS:
        return dict.__len__(value) == 1 and ListItems in type(dict.get(value, 0)).__mro__
    return (kind is list or kind is deque) and value.__len__() == 1 and ListItems in type(value[0]).__mro__


def is_reference(value: Any) -> bool:
    """Whether a list or dict is a reference to items that are elsewhere."""
    return has_staged_items(value) and next(iter(value.values() if type(value) in DICTS else value)).refers
