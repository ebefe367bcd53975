"""Staged lists and dicts whose length a loop over them may change.

As in Python, an iteration reads the current item. The number of iterations is fixed before the loop, so the graph
raises if a list has changed its length and the loop continues.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import user_position
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, logical_not, logical_or

__all__ = ["IteratedLists"]


class IteratedLists:
    """The lists, and `test`, which tells from an iteration's final state whether the loop continues; None: it does."""

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
    """The loop's exception: Python's error, if there is one."""
    if hasattr(type(x), "when_resized"):
        error: Exception = x.when_resized()
        return error
    unknown = UnimplementedError(
        "the list that a loop runs over has another length after an iteration, and the loop goes on",
        remedy="Loop over a copy, list(xs), or leave the loop after the change.")
    locate(unknown, user_position())
    return unknown
