"""The value of a list in the reference executor: a persistent sequence; each update makes a new version.

Updating the newest version takes O(1): the new version takes over the storage, and the old one records how to undo the
update (H. Baker, "Shallow binding makes functional arrays fast", 1991). Reading an old version then copies the storage
once. Loops use lists linearly, so they never do that.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Items", "versions"]


class Items:
    """One version. Updates return a new version; this one keeps its value."""

    __slots__ = ("_list", "_newer", "_undo")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._take(list(items))

    def _take(self, items: list[Any]) -> None:
        self._list: list[Any] | None = items
        self._newer: Items | None = None
        self._undo: tuple[int | None, Any] = None, None

    def storage(self) -> list[Any]:
        """The elements as a list, which the caller must not change."""
        if self._list is None:
            undo: list[tuple[int | None, Any]] = []
            version = self
            while version._newer is not None:
                undo.append(version._undo)
                version = version._newer
            assert version._list is not None, "the newest version owns the storage"
            items = version._list.copy()
            for index, old in reversed(undo):
                if index is None:
                    items.pop()
                elif index == len(items):
                    items.append(old)
                else:
                    items[index] = old
            self._take(items)
        return self._list  # type: ignore[return-value]

    def _successor(self, items: list[Any], index: int | None, old: Any) -> Items:
        new = object.__new__(Items)
        new._take(items)
        self._list, self._newer, self._undo = None, new, (index, old)
        return new

    def append(self, x: Any) -> Items:
        items = self.storage()
        items.append(x)
        return self._successor(items, None, None)

    def set(self, index: int, x: Any) -> Items:
        """A version with `x` at `index`, where 0 <= index < length."""
        items = self.storage()
        old, items[index] = items[index], x
        return self._successor(items, index, old)

    def pop(self) -> tuple[Items, Any]:
        """A version without the last element, and that element. The list must not be empty."""
        items = self.storage()
        last = items.pop()
        return self._successor(items, len(items), last), last

    def __len__(self) -> int:
        return len(self.storage())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.storage())

    def __getitem__(self, index: int) -> Any:
        return self.storage()[index]


def versions(value: Any) -> Items:
    """The value of a list passed to a kernel, a tuple or Items, as Items."""
    return value if type(value) is Items else Items(value)
