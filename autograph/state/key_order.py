"""The order of the keys of dicts that are state: the bodies of a staged statement all run on the same dict while
traced."""
from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from autograph.core.backend import ambient
from autograph.core.lists import items_in

__all__ = ["KeyOrders", "merged_keys", "reorder"]


class KeyOrders:
    """The orders of the keys of some dicts, before a statement and at the ends of its bodies."""

    def __init__(self, dicts: Iterable[dict[Any, Any]]) -> None:
        self._begins = {id(each): (each, keys_in(each)) for each in dicts}
        self._ends: dict[int, list[list[Any]]] = {}

    def note_end(self) -> None:
        """Record the orders at the end of a body."""
        for key, (each, _) in self._begins.items():
            self._ends.setdefault(key, []).append(keys_in(each))

    def restore(self) -> None:
        """Restore the order of the keys before the statement; the items have been restored already."""
        for each, keys in self._begins.values():
            reorder(each, keys)

    def settle(self) -> None:
        """Give the dicts an order consistent with that at the end of each body. Raises the backend's error if there is
        none."""
        for key, (each, keys) in self._begins.items():
            merged: Sequence[Any] | None = keys
            for other in self._ends.get(key, ()):
                merged = None if merged is None else merged_keys(merged, other)
            if merged is None and ambient.backend is not None:
                raise ambient.backend.error(
                    "the keys of a dict get another order on some paths through this statement, and which paths are"
                    " taken is known only when the graph runs",
                    "Set the items in place (d[k] = v), without taking them out before.")
            reorder(each, merged or ())


def keys_in(each: dict[Any, Any]) -> list[Any]:
    return [key for key, _ in items_in(each)]


def merged_keys(a: Sequence[Any], b: Sequence[Any]) -> Sequence[Any] | None:
    """The keys of two dicts in an order consistent with both; None if their common keys differ in order."""
    if a == b:
        return a
    ours, theirs = set(a), set(b)
    if [key for key in a if key in theirs] != [key for key in b if key in ours]:
        return None
    found: list[Any] = []
    others = iter(b)
    for key in a:
        if key in theirs:
            found += itertools.takewhile(key.__ne__, others)
        found.append(key)
    return [*found, *others]


def reorder(each: dict[Any, Any], keys: Iterable[Any]) -> None:
    """Move these keys of a dict, as far as it has them, to the front, in this order."""
    now = keys_in(each)
    wanted = [key for key in keys if key in each]
    known = set(wanted)
    wanted += [key for key in now if key not in known]
    if now != wanted:
        for key in wanted:
            if isinstance(each, OrderedDict):
                each.move_to_end(key)
            else:
                dict.__setitem__(each, key, dict.pop(each, key))
