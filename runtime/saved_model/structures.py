"""Arguments and results of saved functions: structures whose leaves are tensors, by number."""
from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any, Final

from runtime.staging.elements.element_layout import ROW, STRING, UNKNOWN, MaybeNone, Rows
from runtime.staging.elements.tuple import StagedTuple, Tuples

__all__ = ["LITERALS", "NotSavedError", "Structure", "rebuilt"]

LITERALS: Final = (type(None), bool, int, float, str, bytes)


class NotSavedError(Exception):
    """The value cannot be saved in a structure."""


class Structure:
    """Makes the JSON of structures. `is_tensor` tells which values are leaves; these are appended to `leaves`."""

    def __init__(self, is_tensor: Callable[[Any], bool], literal: Callable[[Any], Any]) -> None:
        self.leaves: list[Any] = []
        self._is_tensor = is_tensor
        self._literal = literal

    def of(self, x: Any) -> Any:
        """The JSON of `x`. NotSavedError unless it consists of tensors, literals, and lists, tuples and dicts of
        these."""
        if x is ROW:
            return {"row": None}
        if isinstance(x, Tuples):
            return {"tuples": None if x.structure is None else self.of(x.structure)}
        if isinstance(x, Rows):
            return {"rows": self.of(x.structure)}
        if x is STRING:
            return {"text": None}
        if x is UNKNOWN:
            return {"unknown": None}
        if isinstance(x, MaybeNone):
            return {"maybe": self.of(x.structure)}
        if self._is_tensor(x):
            self.leaves.append(x)
            return {"leaf": len(self.leaves) - 1}
        if type(x) in LITERALS:
            return {"value": self._literal(x)}
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return {"namedtuple": [type(x).__name__, list(x._fields), [self.of(item) for item in x]]}
        if type(x) in (list, tuple):
            return {type(x).__name__: [self.of(item) for item in x]}
        if isinstance(x, Mapping):
            return {"dict": [[self._key(key), self.of(x[key])] for key in x]}
        raise NotSavedError(f"{x!r}, a {type(x).__name__}")

    def _key(self, key: Any) -> Any:
        if type(key) not in LITERALS:
            raise NotSavedError(f"the key {key!r}")
        return self._literal(key)


def rebuilt(
    x: Any, leaf: Callable[[int], Any], literal: Callable[[Any], Any], staged: Callable[[Any], Any] | None = None
) -> Any:
    """The structure that the JSON `x` describes; `staged` makes lists of dynamic length. ValueError, TypeError or
    KeyError if it describes none."""
    ((kind, content),) = x.items()
    if kind in ("staged", "staged_tuple") and staged is not None:
        items = staged(content)
        return items if kind == "staged" else StagedTuple(*items)
    if kind == "leaf":
        return leaf(content)
    if kind == "row":
        return ROW
    if kind == "rows":
        return Rows(rebuilt(content, leaf, literal, staged))
    if kind == "tuples":
        return Tuples(None if content is None else rebuilt(content, leaf, literal, staged))
    if kind == "text":
        return STRING
    if kind == "unknown":
        return UNKNOWN
    if kind == "maybe":
        return MaybeNone(rebuilt(content, leaf, literal, staged))
    if kind == "value":
        return literal(content)
    if kind == "dict":
        return {literal(key): rebuilt(item, leaf, literal, staged) for key, item in content}
    if kind == "namedtuple":
        name, fields, items = content
        named: Any = collections.namedtuple
        return named(name, fields)(*[rebuilt(item, leaf, literal, staged) for item in items])
    items = [rebuilt(item, leaf, literal, staged) for item in content]
    if kind not in ("list", "tuple"):
        raise ValueError(f"a structure {kind!r}")
    return items if kind == "list" else tuple(items)
