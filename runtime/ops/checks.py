"""Checks of arguments that may be known only when the graph runs, with the user's line."""
from __future__ import annotations

import functools
from typing import Any

from runtime.core.formatting import formatted
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor
from runtime.core.text import concat_text, join
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, logical_and

__all__ = ["all_of", "message", "require", "same"]


def require(condition: Any, error: Exception) -> None:
    """Raise `error` with the user's line unless the condition holds: at once if it is known, else when the graph
    runs."""
    if isinstance(condition, GraphTensor):
        raise_unless(condition, located(error))
    elif not condition:
        raise located(error)


def same(x: Any, y: Any) -> Any:
    """Whether two sizes are equal: a bool if both are ints."""
    return x == y if type(x) is int and type(y) is int else equal(x, y)


def all_of(*conditions: Any) -> Any:
    """Whether all conditions hold: a bool unless one of them is unknown."""
    unknown: list[Any] = [each for each in conditions if isinstance(each, GraphTensor)]
    if not all(bool(each) for each in conditions if not isinstance(each, GraphTensor)):
        return False
    return functools.reduce(logical_and, unknown) if unknown else True


def message(*parts: Any) -> Any:
    """A text of these parts: strings, numbers, tensors, and lists of sizes."""
    return concat_text([_text(part) for part in parts])


def _text(part: Any) -> Any:
    if isinstance(part, (list, tuple)):
        return concat_text(("[", join(", ", [formatted(each) for each in part]), "]"))
    return part if isinstance(part, str) else formatted(part)
