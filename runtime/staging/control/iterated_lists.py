"""Staged lists and dicts that a loop iterates over and its body may change.

As in Python, an iteration gets the current item. The number of iterations is determined before the loop, so the graph
raises if a list has another length and the loop goes on.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from runtime.core.errors import UnimplementedError
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, logical_not, logical_or

__all__ = ["IteratedLists"]


class IteratedLists:
    """The lists, and `test`, which says whether the loop goes on with the state after an iteration; None: it does."""

    def __init__(self, lists: Sequence[Any], test: Callable[..., Any] | None) -> None:
        self.lists = lists
        self.test = test
        self.began: list[tuple[Any, Sequence[Any], Any]] = []

    def begin(self) -> None:
        """Called at the beginning of an iteration."""
        self.began = [(x, x.__leaves__(), x.length) for x in self.lists]

    def check(self, state: Sequence[Any]) -> None:
        """Called after an iteration, with its state."""
        for x, began, length in self.began:
            now = x.__leaves__()
            if len(now) == len(began) and all(map(operator.is_, now, began)):
                continue
            same = equal(x.length, length)
            going = self.test is None or self.test(*state)
            raise_unless(same if going is True else logical_or(same, logical_not(going)), _resized(x))


def _resized(x: Any) -> Exception:
    """What the loop raises: Python's error, if it has one."""
    if hasattr(type(x), "when_resized"):
        error: Exception = x.when_resized()
        return error
    return UnimplementedError(
        "the list that a loop runs over has another length after an iteration, and the loop goes on: loop over a copy,"
        " list(xs), or leave the loop after the change")
