"""Errors for Python iterators that staged code cannot use, since their position is known only at run time."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.backend import is_iterator, lose, taken_by
from runtime.core.positions import staging_error, user_position

__all__ = ["iterator_after_exit", "leaving", "outside_iterator", "taken_outside"]


def iterator_after_exit(iterator: Any, lineno: int) -> Exception:
    """For an iterator that a loop advanced until a tensor condition ended it."""
    return staging_error(
        f"where this {type(iterator).__name__} is, is known only when the graph runs, as a tensor decides how many"
        f" items line {lineno} takes of it",
        "Take the items before, `items = list(it)`, and keep in a variable how many of them are used.")


def leaving(iterable: Any) -> Callable[[], None]:
    """A callback for after items of `iterable` were taken: marks its iterators lost, if a tensor decides whether Python
    would have taken the items."""
    if not is_iterator(iterable):
        return lambda: None
    taken = taken_by(iterable)

    def leave() -> None:
        position = user_position()
        line = position.lineno if position is not None else 0
        lose(taken, lambda each: iterator_after_exit(each, line))

    return leave


def outside_iterator(iterator: Any, name: str) -> Exception:
    """For an iterator created outside the body of a loop or branch."""
    return staging_error(*taken_outside(type(iterator).__name__, name))


def taken_outside(kind: str, name: str) -> tuple[str, str]:
    """The text and remedy for a body that takes items from an outside iterator."""
    return (
        f"staged code takes items of {name!r} ({kind}), an iterator from outside of it: that would happen once,"
        " while the code is traced, and not each time it runs",
        "Make the iterator in the code that uses it, take the items before, or take those of a list or tensor by an"
        " index.")
