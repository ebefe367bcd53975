"""The contents of lists, dicts and objects while a body is traced.

A body mutates the original containers in place, so every reference shows the change. Afterwards their previous
contents are restored, and the final contents are kept in copies that user code never sees.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from autograph.backend import (
    ATOMS,
    containers_in,
    duplicate,
    fill,
    is_container,
    is_leaf,
    objects_in,
    parts_in,
    same_parts,
    with_parts,
)
from runtime.core.array_mode import are_objects
from runtime.numpy.array_choices import as_live_out, owners_of
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.staging.aliases.alias_tracking import note_changed, possible_identities
from runtime.staging.elements.select import Select, alternatives_of
from runtime.staging.joins.lattice import Origins
from runtime.staging.values.optional import MaybeObject

__all__ = ["Contents"]


class Contents(AbstractContextManager["Contents"]):
    """A snapshot of the containers in some values; their contents are restored on exit."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._before = {key: (value, parts_in(value)) for key, value in containers_in(values).items()}
        self._began: dict[int, list[tuple[Any, Any]]] = {}
        self._live_out: dict[int, Any] = {}
        self._counts: Counter[int] | None = None
        """By the ids of arrays, in how many places the final values have elements of them."""

    def begin(self) -> None:
        """Take the containers' current contents as those at the beginning of the body."""
        self._began = {key: parts_in(value) for key, (value, _) in self._before.items()}

    def __exit__(self, kind: object, *_: object) -> None:
        changed = []
        for key, (value, parts) in self._before.items():
            now = parts_in(value)
            if not same_parts(self._began.get(key, now), now):
                changed.append(value)
            if not same_parts(parts, now):
                fill(value, parts)
        note_changed(changed if kind is None else ())

    def live_out(
        self, values: Sequence[Any], origins: Origins, live_out: Origins, final: Sequence[Any] | None = None
    ) -> list[Any]:
        """A body's live-out values: with copies of the containers that it changed, and of those that contain such.
        `origins` maps copies to their originals; `live_out` receives the originals of the copies made here.
        `final`: the final values of all variables, with the first call."""
        if final is not None and are_objects():
            self._counts = Counter(id(array) for value in final for array in _arrays_in(value))
        self._origins, self._was = origins, live_out
        return list(map(self._as_live_out, values))

    def _chosen(self, value: Select) -> Any:
        """A Select with those alternatives that the body created in their final state."""
        one_of, at = alternatives_of(value)
        made = [one if id(one) in self._origins else self._as_live_out(one) for one in one_of]
        return value if all(a is b for a, b in zip(made, one_of, strict=True)) else type(value)(made, at)

    def _has_one_name(self, array: ArrayCell) -> bool:
        """Whether an array is certainly made in the body, and no two of its final values refer to it."""
        return self._counts is not None and self._counts[id(array)] < 2 and (
            id(array) not in self._origins and not possible_identities(array))

    def _as_live_out(self, value: Any) -> Any:
        if id(value) in self._live_out:
            return self._live_out[id(value)]
        kind = type(value)  # `isinstance` would read `__class__`, which an optional value forwards
        if issubclass(kind, MaybeObject):
            content = self._as_live_out(value.content)
            return value if content is value.content else MaybeObject(content, value.presence)
        if issubclass(kind, Select):
            return self._chosen(value)
        if issubclass(kind, StagedArray) and not issubclass(kind, ArrayCell):
            value = as_live_out(value, self._has_one_name)
        if not (issubclass(kind, tuple) or is_container(value)):
            return value
        self._live_out[id(value)] = value  # it may contain itself
        parts = parts_in(value)
        others = [(key, part if type(part) in ATOMS else self._as_live_out(part)) for key, part in parts]
        if isinstance(value, tuple):
            made = with_parts(value, others)
        elif same_parts(self._before.get(id(value), (value, parts))[1], others):
            made = value
        else:
            made = duplicate(value)
            fill(made, others)
            if id(value) in self._origins:
                self._origins[id(made)] = made, self._origins[id(value)][1]
            self._was[id(made)] = made, self._was.get(id(value), (None, value))[1]
        self._live_out[id(value)] = made
        return made


def _arrays_in(value: Any, inside: frozenset[int] = frozenset()) -> Iterator[Any]:
    """The arrays whose elements a value has, once for each place where it has them; `inside`: the ids of the enclosing
    containers, for cycles."""
    if issubclass(type(value), MaybeObject):
        value = value.content
    if issubclass(type(value), StagedArray):
        for owner in owners_of(value):
            yield owner
            yield from possible_identities(owner)
    elif not (is_leaf(value) or id(value) in inside):
        parts = alternatives_of(value)[0] if isinstance(value, Select) else [part for _, part in objects_in(value)]
        for part in parts:
            yield from _arrays_in(part, inside | {id(value)})
