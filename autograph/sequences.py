"""Operators for items and displays of lists, in code that a backend traces."""
from __future__ import annotations

from typing import Any

from .backend import ambient, staging_backend
from .frames import own_errors

__all__ = ["extended", "imul", "item", "place"]


@own_errors
def imul(value: Any, other: Any, /) -> Any:
    """`value *= other` of an item: a statement, as a backend may have to know that it is in place."""
    value *= other
    return value


@own_errors
def item(container: Any, index: Any, /) -> Any:
    """`container[index]`, in code that a backend traces."""
    if ambient.backend is not None and type(container) in _SEQUENCES:
        bounds = (index.start, index.stop, index.step) if type(index) is slice else (index,)
        if any(staging_backend(bound) is not None for bound in bounds):
            return ambient.backend.item(container, index)
    return container[index]


_SEQUENCES = frozenset({list, tuple, range})


class _Place:
    """A list while an item of it is set, by an index that may be a backend's."""

    __slots__ = ("around", "container")

    def __init__(self, container: list[Any], around: Any) -> None:
        self.container, self.around = container, around

    def __getitem__(self, index: Any) -> Any:
        return item(self.container, index)

    @own_errors
    def __setitem__(self, index: Any, value: Any) -> None:
        if ambient.backend is not None and staging_backend(index) is not None:
            ambient.backend.put_item(self.container, index, value, self.around)
        else:
            self.container[index] = value


def place(container: Any, around: Any = None, /) -> Any:
    """What stands for `container`, which may be an item of `around`, in `container[index] = value` where a backend
    traces."""
    return container if ambient.backend is None or type(container) is not list else _Place(container, around)


@own_errors
def extended(made: Any, items: Any, /) -> Any:
    """`[*made, *items]`, of a list that nobody else has, in code that a backend traces."""
    backend = staging_backend(items)
    items = [*items] if backend is None else backend.builtins[list](items)
    return items if type(made) is list and not made else made + items
