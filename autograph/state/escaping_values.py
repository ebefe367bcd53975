"""The values of variables at the end of a body.

At the end of a body, attributes and items that are state are restored, so that the next body finds them unchanged. A
list or object that escapes is therefore a copy with its content at the end of the body; the backend is told of it.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import Any

from autograph.core.backend import ambient
from autograph.state.structure import duplicate, fill, is_container, parts_in, same_parts

__all__ = ["EscapingValues"]


class EscapingValues:
    """The values at the end of a body, with the content that the containers among them have now."""

    def __init__(self, values: Any) -> None:
        self._values = values
        self._contents: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self._made: dict[int, Any] = {}
        self._alternatives: list[Any] = []
        self._look_into(values)

    def _look_into(self, value: Any) -> None:
        kind = type(value)
        if hasattr(kind, "__alternatives__"):
            self._alternatives += value.__alternatives__()
        if not (issubclass(kind, tuple) or is_container(value)) or id(value) in self._contents:
            return
        parts = parts_in(value)
        self._contents[id(value)] = value, parts
        for _, part in parts:
            self._look_into(part)

    def chosen(self) -> set[int]:
        """The ids of containers that occur as an alternative of a `Choice` but are not themselves in any variable."""
        return {id(value) for value in self._alternatives if is_container(value)} - self._contents.keys()

    def values(self, known: Collection[int]) -> Any:
        """The values. Containers that were changed (restored) since are replaced by copies with the earlier content.
        `known`: the ids of the containers that existed before the body."""
        count = -1
        while count < len(self._made):  # a container of a changed one has to be copied, too
            count = len(self._made)
            for key, (value, parts) in self._contents.items():
                if not (isinstance(value, tuple) or key in self._made) and (
                        not same_parts(parts, parts_in(value)) or any(self._of(part) is not part for _, part in parts)):
                    self._made[key] = duplicate(value)
        for key, made in self._made.items():
            fill(made, [(name, self._of(part)) for name, part in self._contents[key][1]])
        backend = ambient.backend
        if backend is not None:
            for key, (value, _) in self._contents.items():
                if key in known and is_container(value):
                    backend.escapes(self._made.get(key, value), value)
            for value in self._alternatives:
                if id(value) in known and is_container(value):
                    backend.escapes(value, value)
        return self._of(self._values)

    def _of(self, value: Any) -> Any:
        if id(value) in self._made:
            return self._made[id(value)]
        if id(value) in self._contents and isinstance(value, tuple):
            parts = [self._of(part) for part in value]
            if any(a is not b for a, b in zip(parts, value, strict=True)):
                return tuple.__new__(type(value), parts)
        return value
