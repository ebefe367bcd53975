"""The `for` clauses of comprehensions and generator expressions at run time."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from autograph.core.backend import Backend, ambient, deciding, staging_backend
from autograph.core.lost_iterators import check_items

__all__ = ["Clause", "Exhausted", "clause_of", "items_of", "unpack"]


class Clause(NamedTuple):
    """`for item in iterable if test(*item)` with its result for an item: `element(*item)`, or a nested clause."""

    iterable: Any
    element: Callable[..., Any]
    test: Callable[..., Any] | None

    def arguments(self, item: Any) -> tuple[Any, ...]:
        """The arguments of `element` and `test`: an item, or its parts."""
        count = self.element.__code__.co_argcount
        return unpack(item, count) if count > 1 else (item,)

    @property
    def is_nested(self) -> bool:
        """Whether it returns a clause for each item, because there is a nested `for`."""
        return "nested" in self.element.__code__.co_names

    @property
    def is_map(self) -> bool:
        """Whether it returns one value for each item."""
        return self.test is None and not self.is_nested


class Exhausted(Exception):
    """The function of a `map` has ended the loop over it, as `next` does."""


def clause_of(mapped: Any) -> Clause:
    """The clause of a `map` of Python's, whose element may raise Exhausted."""
    _, (function, *iterators), *state = mapped.__reduce__()

    def element(item: Any) -> Any:
        try:
            return function(*item)
        except StopIteration:
            raise Exhausted from None

    return Clause(zip(*iterators, strict=bool(state and state[0])), element, None)


def unpack(item: Any, count: int, /) -> tuple[Any, ...]:
    """The parts of an item, as unpacked by an assignment to `count` targets."""
    if not hasattr(type(item), "__iter__") and not hasattr(type(item), "__getitem__"):
        raise TypeError(f"cannot unpack non-iterable {type(item).__name__} object")
    parts = tuple(itertools.islice(item, count + 1))
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
    if len(parts) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return parts


def items_of(clause: Clause, what: str, remedy: str) -> Iterator[Any]:
    """The results of a clause in Python. The number of items has to be known, and no backend's value may decide it.

    `what` is made of the items, for the error.
    """
    check_items(clause.iterable)
    backend = deciding(clause.iterable)
    items = clause.iterable if backend is None else backend.items(clause.iterable, what, remedy)
    for item in items:
        arguments = clause.arguments(item)
        if clause.test is not None:
            kept = clause.test(*arguments)
            decides = staging_backend(kept)
            if decides is not None:
                kept = decides.operation("not_", decides.operation("not_", kept))
                if type(kept) is not bool:
                    raise decides.error(
                        f"whether {what} has an item is decided by a tensor, known only when the graph runs", remedy)
            if not kept:
                continue
        value = clause.element(*arguments)
        if type(value) is Clause:
            yield from items_of(value, what, remedy)
        else:
            yield value


def tracing(clause: Clause) -> Backend | None:
    """The backend that stages a clause: that of its iterable, or the one that is tracing."""
    return staging_backend(clause.iterable) or ambient.backend
