"""Operators for items, displays and comparisons of lists, tuples and dicts, in code that a backend traces."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from autograph.core.backend import ambient, backend_of, staging_backend
from autograph.core.tracebacks import own_errors

__all__ = ["eq", "extended", "ge", "gt", "imul", "item", "le", "lt", "ne"]


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


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    python: Callable[[Any, Any], Any] = getattr(operator, name)

    @own_errors
    def compare(left: Any, right: Any, /) -> Any:
        if ambient.backend is None or type(left) in _NUMBERS or type(right) in _NUMBERS:
            return python(left, right)
        return ambient.backend.compare(name, left, right)

    compare.__name__ = compare.__qualname__ = name
    return compare


_NUMBERS = frozenset({bool, int, float, complex})
lt, le, gt, ge, eq, ne = map(_comparison, ("lt", "le", "gt", "ge", "eq", "ne"))
