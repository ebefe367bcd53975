"""Exceptions that leave what is being staged, for code further up that stages it in another way. No program sees them,
so their tracebacks stay as they are."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["FirstIteration", "Remake", "Restage", "RotateLoop", "Unwinding"]


class Unwinding(BaseException):
    """The base of such exceptions."""


class Restage(Unwinding):
    """Raised when a body changed something that was not state: the statement is staged again with that as state. A
    statement may be left within one that is nested in it: `state` is its own."""

    def __init__(self, state: Any) -> None:
        super().__init__("a statement has more state")
        self.state = state


class Remake(Unwinding):
    """Raised when a body needs another representation of lists that existed before the statement: `make` converts them,
    and the statement is staged again."""

    def __init__(self, make: Callable[[Sequence[Any]], object], values: Sequence[Any]) -> None:
        self.make, self.values = make, values


class RotateLoop(Unwinding):
    """Raised when the test of a loop changed the state: the loop has to be rotated."""


class FirstIteration(Unwinding):
    """Raised by `Backend.reduce` in place of `error`, if the loop may be staged after an iteration in Python, which is
    certain to come. `first()` gives the item of that, `rest` has the others."""

    def __init__(self, first: Callable[[], Any], rest: Any, error: Exception) -> None:
        self.first, self.rest, self.error = first, rest, error
