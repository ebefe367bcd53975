"""Attributes, items and variables from before a call that the traced function gives values of the graph.

The first trace finds them. The function is then traced again with their contents as an argument more, a dict, which a
call changes as any other: so they are what Python leaves in them, at each call.
"""
from __future__ import annotations

import copy
import dataclasses
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from types import CellType
from typing import Any, Final

from autograph.backend import (
    DICTS,
    LISTS,
    UNBOUND,
    can_be_record,
    cell_is_filled,
    fields_in,
    fields_of,
    fill,
    has_staged_items,
    is_users_class,
    parts_in,
    put,
    take_out,
)
from runtime.core.tensor import GraphTensor
from runtime.function.argument_structure import decomposing
from runtime.function.escaped_tensors import ATOMS
from runtime.function.signature import ATTRIBUTES, Call
from runtime.staging.values.list import StagedItems
from runtime.staging.values.optional import MaybeObject, MaybeTensor
from runtime.staging.values.set import StagedSet

__all__ = ["AttributeStates", "NeedsAttributes", "Place", "can_be_state"]

Place = tuple[str, Any, Any]
"""The path of an attribute, item or variable, for names in the graph; what holds it, and its key there."""
_MOST: Final = 1000  # structures of calls whose places are remembered


class NeedsAttributes(BaseException):
    """A trace gives values of its graph, or objects of these classes that have some, to these places."""

    def __init__(self, places: Sequence[Place], classes: frozenset[type]) -> None:
        super().__init__("attributes are given values of a graph")
        self.places, self.classes = places, classes


def can_be_state(holder: Any, key: Any, existed: Callable[[Any], bool]) -> bool:
    """Whether each call can put into a place what a trace puts there: tensors, also in tuples, lists, dicts and new
    objects that are no more than their attributes; and all items of a list, or of a dict (key None) that only the graph
    knows. `existed`: of objects from before."""
    if key is None and type(holder) in DICTS:
        return has_staged_items(holder)
    if key is None and type(holder) in LISTS:
        return all(_can_be_made(part, existed) for item in holder for part in _parts_within(item))
    is_variable = type(holder) is CellType or type(holder).__name__ == "Globals"
    if not (is_variable or (key is not None and (
            type(holder) is dict or fields_in(holder) is not None or _is_class(holder)))):
        return False
    return all(_can_be_made(part, existed) for part in _parts_within(_content(holder, key)))


def _parts_within(content: Any, inside: frozenset[int] = frozenset()) -> Iterator[Any]:
    """A value, and all that it contains; UNBOUND for what contains itself. `inside`: the ids of those around it."""
    if id(content) in inside:
        yield UNBOUND
        return
    yield content
    kind = type(content)  # asked without `isinstance`, which objects that may be None refuse
    if kind in LISTS or issubclass(kind, tuple):
        parts: Iterable[Any] = content
    elif kind in DICTS:
        parts = dict.values(content)
    elif kind is MaybeObject:
        parts = (content.content,)
    else:
        parts = (fields_in(content) or {}).values() if _is_no_more_than_attributes(content) else ()
    for part in parts:
        yield from _parts_within(part, inside | {id(content)})


def _can_be_made(part: Any, existed: Callable[[Any], bool]) -> bool:
    kind = type(part)
    return kind in ATOMS or kind in LISTS or kind in DICTS or issubclass(
        kind, (GraphTensor, MaybeTensor, StagedItems, StagedSet, MaybeObject, tuple)) or (
        _is_no_more_than_attributes(part) and not existed(part))


def _is_no_more_than_attributes(value: Any) -> bool:
    return fields_of(value) is not None or can_be_record(type(value))


def _plain_classes(places: Sequence[Place]) -> frozenset[type]:
    """The classes of objects in these places that are neither dataclasses nor attrs classes."""
    kinds = {type(part) for _, holder, key in places for part in _parts_within(_content(holder, key))
             if _is_no_more_than_attributes(part)}
    return frozenset([kind for kind in kinds
                      if not (dataclasses.is_dataclass(kind) or "__attrs_attrs__" in vars(kind))])


class AttributeState:
    """The places that calls of one structure change."""

    def __init__(self, places: Sequence[Place], classes: frozenset[type]) -> None:
        before: set[str] = set()
        self.classes = classes
        """The plain classes of objects in them, which each call makes anew."""
        self._places: list[Place] = []
        for path, holder, key in places:
            while path in before:
                path += "_"
            before.add(path)
            self._places.append((path, _weakly(holder), key))

    @property
    def places(self) -> list[Place] | None:
        """None if an object of these is gone."""
        found = [(path, holder() if isinstance(holder, weakref.ref) else holder, key)
                 for path, holder, key in self._places]
        return None if any(holder is None for _, holder, _ in found) else found

    def read(self) -> dict[str, Any]:
        """What the places hold, by path."""
        contents = {path: _content(holder, key) for path, holder, key in self.places or ()}
        return {path: content for path, content in contents.items() if content is not UNBOUND}

    def write(self, contents: dict[str, Any]) -> None:
        for path, holder, key in self.places or ():
            new = contents.get(path, UNBOUND)
            old = _content(holder, key)
            if new is UNBOUND and old is not UNBOUND:
                take_out(holder, key)
            elif key is None and type(holder) in (*LISTS, *DICTS):
                fill(holder, parts_in(new))
            elif new is not old:
                put(holder, key, new)

    def within(self, contents: dict[str, Any], run: Callable[[], Any]) -> Callable[[], Any]:
        """`run` with `contents` in the places, and after it in `contents` what it has left there."""
        def traced() -> Any:
            before = self.read()
            self.write(contents)
            try:
                return run()
            finally:
                left = self.read()
                contents.clear()
                contents.update(left)
                self.write(before)

        return traced


class AttributeStates:
    """The places that the calls of a traced function change, by the structure of the calls without these."""

    def __init__(self) -> None:
        self._states: dict[Hashable, AttributeState] = {}
        self._lock = threading.Lock()

    def computed(self, compute: Callable[..., Any], call: Call, *others: Any) -> Any:
        """The result of `compute(call, *others)`, where the call has what the places hold as an argument, and its trace
        may find more of them."""
        call.finds_attributes = True
        while True:
            state = self._states.get(call.structure) if self._states else None
            places = None if state is None else state.places
            try:
                if state is None or places is None:
                    return compute(call, *others)
                with decomposing(state.classes):
                    extended = _extended(call, state)
                    result = compute(extended, *others)
            except NeedsAttributes as needed:
                self._add(call, [*(places or ()), *needed.places], needed.classes)
                continue
            state.write(extended.kwargs[ATTRIBUTES])
            return result

    def found(self, call: Call, places: Sequence[Place], restore: Callable[[], None]) -> None:
        """Note what a trace for a call has found. NeedsAttributes if it is to be traced again; then everything is as it
        was before the trace, which is what `restore` does."""
        if not places:
            return
        classes = _plain_classes(places)
        if call.finds_attributes:
            restore()
            raise NeedsAttributes(places, classes)
        self._add(call, places, classes)

    def _add(self, call: Call, places: Sequence[Place], classes: frozenset[type]) -> None:
        with self._lock:
            before = self._states.get(call.structure)
            classes |= frozenset() if before is None else before.classes
            kept = [(key, state) for key, state in self._states.items() if state.places is not None]
            self._states = {**dict(kept[-_MOST:]), call.structure: AttributeState(places, classes)}


def _extended(call: Call, state: AttributeState) -> Call:
    contents = state.read()
    found = Call(call.args, {**call.kwargs, ATTRIBUTES: contents})
    place = next(i for i, container in enumerate(found.containers) if container is contents)
    more = len(found.containers) - len(call.containers)
    found.containers = [  # those of the caller, which an input signature may have converted
        *call.containers[:place], *found.containers[place:place + more], *call.containers[place:]]
    found.attributes, found.finds_attributes = state, True
    return found


def _content(holder: Any, key: Any) -> Any:
    """What a place holds; UNBOUND if nothing. Of the items of a list or dict a copy."""
    if key is None and type(holder) in (*LISTS, *DICTS):
        return copy.copy(holder)
    if type(holder) is CellType:
        return holder.cell_contents if cell_is_filled(holder) else UNBOUND
    if type(holder).__name__ == "Globals":
        return holder.namespace.get(key, UNBOUND)
    if _is_class(holder):
        return vars(holder).get(key, UNBOUND)
    return (holder if type(holder) is dict else fields_in(holder) or {}).get(key, UNBOUND)


def _is_class(holder: Any) -> bool:
    return isinstance(holder, type) and is_users_class(holder)


def _weakly(holder: Any) -> Any:
    if type(holder) is dict or type(holder) is CellType:
        return holder
    try:
        return weakref.ref(holder)
    except TypeError:
        return holder
