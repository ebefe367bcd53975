"""Python's mutable sequences that are state: the list and the deque, by their items."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["LISTS", "is_list", "refill"]

LISTS: Final[tuple[type[list[Any]], type[deque[Any]]]] = (list, deque)


def is_list(value: Any) -> bool:
    """Whether `value` is a list or deque, and not an object of a subclass."""
    return type(value) in LISTS


def refill(value: Any, items: Iterable[Any]) -> None:
    """Replace the items of a list or deque."""
    if isinstance(value, list):
        value[:] = items
        return
    items = list(items)
    value.clear()
    value.extend(items)
