"""Operators for items and displays of lists and dicts, in code that a backend traces."""
from __future__ import annotations

from typing import Any

from .backend import ambient, backend_of, staging_backend
from .frames import own_errors

__all__ = ["extended", "imul", "item"]


@own_errors
def imul(value: Any, other: Any, /) -> Any:
    """`value *= other` of an item: a statement, as a backend may have to know that it is in place."""
    value *= other
    return value


@own_errors
def item(container: Any, index: Any, /) -> Any:
    """`container[index]`, in code that a backend traces."""
    if ambient.backend is not None:
        if type(container) in _SEQUENCES:
            bounds = (index.start, index.stop, index.step) if type(index) is slice else (index,)
            if any(staging_backend(bound) is not None for bound in bounds):
                return ambient.backend.item(container, index)
        elif type(container) is dict and backend_of(index) is not None:
            return ambient.backend.item(container, index)
    return container[index]


_SEQUENCES = frozenset({list, tuple, range})


@own_errors
def extended(made: Any, items: Any, /) -> Any:
    """`[*made, *items]`, of a list that nobody else has, in code that a backend traces."""
    backend = staging_backend(items)
    items = [*items] if backend is None else backend.builtins[list](items)
    return items if type(made) is list and not made else made + items
