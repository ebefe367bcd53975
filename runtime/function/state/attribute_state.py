"""Pre-existing attributes, items and variables to which the traced function assigns values of the graph.

The first trace finds these places. The function is then traced again with their contents as an additional argument, a
dict, which a call changes like any argument: so after each call they hold what Python would have left in them.
"""
from __future__ import annotations

import copy
import dataclasses
import threading
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from types import CellType
from typing import Any, Final

import numpy as np

from autograph.backend import (
    DICTS,
    LISTS,
    UNBOUND,
    Globals,
    ListItems,
    Reached,
    Unwinding,
    can_be_record,
    cell_is_filled,
    fields_in,
    fields_of,
    fill,
    has_staged_items,
    is_collection,
    is_of_converted_code,
    is_users_class,
    items_in,
    parts_in,
    put,
    refill,
    take_out,
)
from runtime.core.tensor import GraphTensor
from runtime.core.text import Text
from runtime.core.trace import current_graph
from runtime.function.arguments.argument_structure import decomposing
from runtime.function.arguments.number_state import StateContainer, as_argument, as_number, can_be_staged
from runtime.function.arguments.signature import ATTRIBUTES, Call, weakly
from runtime.function.state.escaped_tensors import ATOMS
from runtime.function.state.grown_lists import LENGTHS, Appended, GrownList, appended, as_grown, extend
from runtime.staging.containers.row_table import settle_rows
from runtime.staging.elements.describe import has_unset
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select, alternatives_of
from runtime.staging.elements.tuple import StagedTuple
from runtime.staging.storage.set import StagedSet
from runtime.staging.values.optional import MaybeObject, MaybeTensor

__all__ = ["AttributeState", "AttributeStates", "NeedsAttributes", "Place", "can_be_state", "content_of", "holder_of",
           "is_in", "key_of", "path_of"]

Place = tuple[str, Any, Any]
"""The path of an attribute, item or variable, as its name in the graph; the object that holds it; and its key there."""
_WHOLES: Final = (*LISTS, *DICTS, set)
_MOST: Final = 1000  # the number of call structures whose places are remembered
_MOST_NUMBERS: Final = 64  # the length of a list up to which its numbers are inputs of a graph each


class NeedsAttributes(Unwinding):
    """The call has to be traced again with these places as arguments: a trace assigns values of its graph to them, or
    objects of these `classes` that contain some; or their constants differ from those of an earlier call, `before`; or
    they hold arguments of the call, whose ids are `shared`."""

    def __init__(
        self, places: Sequence[Place], classes: frozenset[type] = frozenset(), before: Sequence[Any] = (),
        shared: Collection[int] = (),
    ) -> None:
        super().__init__("attributes are given values of a graph")
        self.places, self.classes, self.before, self.shared = places, classes, before, shared


def can_be_state(holder: Any, key: Any, existed: Callable[[Any], bool]) -> bool:
    """Whether each call can store in a place what the trace stores there: tensors, also in tuples, lists, dicts and new
    objects that consist of their attributes only; for key None, all items of a list or dict. `existed`: whether an
    object existed before the trace."""
    if key is None and type(holder) in DICTS:
        return has_staged_items(holder) or all(
            _can_be_made(part, existed) for _, item in items_in(holder) for part in _parts_within(item, existed))
    if key is None and is_collection(holder):
        return all(_can_be_made(part, existed) for item in holder for part in _parts_within(item, existed))
    is_variable = type(holder) is CellType or type(holder) is Globals
    if not (is_variable or (key is not None and (
            type(holder) in DICTS or fields_in(holder) is not None or _is_class(holder)))):
        return False
    return all(_can_be_made(part, existed) for part in _parts_within(content_of(holder, key), existed))


def _parts_within(
    content: Any, existed: Callable[[Any], bool], inside: frozenset[int] = frozenset()
) -> Iterator[Any]:
    """A value, and transitively all that it contains, except the attributes of pre-existing objects; UNBOUND for a
    value that contains itself. `inside`: the ids of the enclosing values."""
    if id(content) in inside:
        yield UNBOUND
        return
    yield content
    kind = type(content)  # not by `isinstance`, which objects that may be None refuse
    if kind in LISTS or issubclass(kind, (tuple, set, frozenset)):
        parts: Iterable[Any] = content
    elif kind in DICTS:
        parts = dict.values(content)
    elif kind is MaybeObject:
        parts = (content.content,)
    elif issubclass(kind, Select):
        parts = alternatives_of(content)[0]
    else:
        is_new = _is_no_more_than_attributes(content) and not existed(content)
        parts = (fields_in(content) or {}).values() if is_new else ()
    for part in parts:
        yield from _parts_within(part, existed, inside | {id(content)})


def _can_be_made(part: Any, existed: Callable[[Any], bool]) -> bool:
    kind = type(part)
    return kind in ATOMS or kind in LISTS or kind in DICTS or issubclass(
        kind, (GraphTensor, MaybeTensor, ListItems, StagedSet, MaybeObject, Reference, Select, Text, StagedTuple,
               tuple, set, frozenset, np.ndarray, np.number)) or (
        is_of_converted_code(kind) if existed(part) else _is_no_more_than_attributes(part))


def _is_no_more_than_attributes(value: Any) -> bool:
    return fields_of(value) is not None or can_be_record(type(value))


def _plain_classes(places: Sequence[Place], existed: Callable[[Any], bool]) -> frozenset[type]:
    """The classes of new objects in these places that are neither dataclasses nor attrs classes."""
    kinds = {type(part) for _, holder, key in places for part in _parts_within(content_of(holder, key), existed)
             if _is_no_more_than_attributes(part) and not existed(part)}
    return frozenset([kind for kind in kinds
                      if not (dataclasses.is_dataclass(kind) or "__attrs_attrs__" in vars(kind))])


class AttributeState:
    """The places that calls of one structure change."""

    def __init__(
        self, places: Sequence[Place], classes: frozenset[type], contents: Sequence[Any] = (),
        earlier: AttributeState | None = None,
    ) -> None:
        """`contents`: of the last of the places, in an earlier call; the first places are those of `earlier`."""
        before: set[str] = set()
        self.classes = classes
        """The plain classes of objects in the places, which each call creates anew."""
        self.is_exact = False
        """Whether tracing with numbers, and lists of any length, as inputs fails: then each value has a trace of its
        own."""
        self._known: dict[str, Any] = {}  # their contents in the first call
        self._staged: set[str] = set()  # places whose numbers differed in another call: inputs of the graph
        self._lengths: dict[str, set[int]] = {}  # of lists: some of the lengths so far
        self._places: list[Place] = []
        wholes = {id(holder) for _, holder, key in places if key is None}
        for path, holder, key in places:
            if key is not None and id(holder) in wholes:
                continue  # an item of a dict that is state as a whole
            while path in before:
                path += "_"
            before.add(path)
            self._places.append((path, weakly(holder), key))
        self._wholes = frozenset(id(kept) for _, kept, key in self._places if _is_whole(kept, key))
        self._lists = frozenset(path for path, kept, key in self._places if key is None and type(kept) is list)
        if earlier is not None:
            self._known, self._staged = dict(earlier._known), set(earlier._staged)
            self._lengths = {path: set(lengths) for path, lengths in earlier._lengths.items()}
        by_key = dict(zip([key_of(holder, key) for _, holder, key in places[len(places) - len(contents):]], contents))
        for path, kept, key in self._places:
            if (at := key_of(holder_of(kept), key)) in by_key:
                self._known[path] = by_key[at]

    @property
    def keys(self) -> set[tuple[int, Any]]:
        """The places as `key_of` pairs."""
        return {key_of(holder, key) for _, holder, key in self.places or ()}

    @property
    def places(self) -> list[Place] | None:
        """The places; None if an object that holds one has been freed."""
        found = [(path, holder_of(kept), key) for path, kept, key in self._places]
        return None if any(holder is None for _, holder, _ in found) else found

    def arguments(self, places: Sequence[Place]) -> dict[str, Any]:
        """The contents of the places, as an argument of a call."""
        contents = _read(places)
        if not self.is_exact:
            for path, content in contents.items():
                if not _is_same(self._known.setdefault(path, content), content):
                    self._staged.add(path)
            for path in self._lists:
                contents[path] = self._of_any_length(path, contents[path])
        if self._wholes:
            contents = {path: StateContainer(x) if id(x) in self._wholes else x for path, x in contents.items()}
        return self._each(contents, lambda x, path: as_argument(x, path in self._staged and not self.is_exact))

    def _of_any_length(self, path: str, items: list[Any]) -> Any:
        """The items of a list; as a GrownList if it has had several lengths, or has many numbers, which differ between
        calls."""
        lengths = self._lengths.setdefault(path, set())
        if len(lengths) < LENGTHS:
            lengths.add(len(items))
        is_general = len(lengths) == LENGTHS or (path in self._staged and len(items) > _MOST_NUMBERS)
        return (as_grown(items) if is_general else None) or items

    def _each(self, contents: dict[str, Any], change: Callable[[Any, str], Any]) -> dict[str, Any]:
        """`contents` with `change` applied to each, and to each item of lists that are places themselves, which are
        copied; other lists remain the objects that the places hold."""
        return {path: [change(item, path) for item in x] if type(x) is list and path in self._lists and len(
                x) <= _MOST_NUMBERS
                else change(x, path) for path, x in contents.items()}

    @property
    def is_general(self) -> bool:
        """Whether its numbers, or lists of any length, are inputs."""
        return not self.is_exact and (bool(self._staged) or any(
            len(lengths) == LENGTHS for lengths in self._lengths.values()))

    def write(
        self, places: Sequence[Place], contents: dict[str, Any], original: dict[str, Any] | None = None
    ) -> None:
        """Store the contents in the places, except where they are unchanged from `original`: Python code called by the
        graph may have stored something else there."""
        original = {} if original is None else self._each(original, lambda x, _: as_number(x))
        contents = self._each(contents, lambda x, _: as_number(x))
        for path, holder, key in places:
            new = contents.get(path, UNBOUND)
            if path in original and _is_unchanged(original[path], new, _is_whole(holder, key)):
                continue
            if type(new) is Appended:
                holder += new.items
                continue
            if type(new) is GrownList:
                if not original:
                    holder[:] = new.staged()
                continue
            if original and key is None and type(holder) is list:
                extend(holder, new)
                continue
            old = content_of(holder, key)
            if new is UNBOUND:
                if not has_unset(old):
                    take_out(holder, key)
            elif type(holder) is set:
                refill(holder, new)
            elif _is_whole(holder, key):
                fill(holder, parts_in(new))
            elif new is not old:
                put(holder, key, new)

    def within(self, contents: dict[str, Any], run: Callable[[], Any]) -> Callable[[], Any]:
        """`run` with `contents` in the places; afterwards `contents` holds what `run` left there."""
        def traced() -> Any:
            places = self.places or ()
            before, original = _read(places), dict(contents)
            self.write(places, contents)
            begun = _read(places)
            try:
                returned = run()
                settle_rows(returned)
                return returned
            finally:
                after = _read(places)
                for path, holder, key in places:
                    is_unchanged = _is_unchanged(begun[path], after[path], _is_whole(holder, key))
                    contents[path] = original[path] if is_unchanged else after[path]
                    if path in self._lists and (new := appended(begun[path], after[path])) is not None:
                        contents[path] = new
                self.write(places, before)

        return traced


def _read(places: Sequence[Place]) -> dict[str, Any]:
    """The contents of the places, by path; UNBOUND for an empty one."""
    return {path: content_of(holder, key) for path, holder, key in places}


class AttributeStates:
    """The places that the calls of a traced function change, by the structure of the calls (without these places)."""

    def __init__(self) -> None:
        self._states: dict[Hashable, AttributeState] = {}
        self._lock = threading.Lock()

    def computed(
        self, compute: Callable[..., Any], inline: Callable[..., Any] | None, in_trace: Callable[[Exception], bool],
        call: Call, *others: Any,
    ) -> Any:
        """The result of `compute(call, *others)`, where the contents of the places are an additional argument of the
        call, and its trace may find more places. In a caller's trace a call with places is traced in place, by
        `inline`: what Python knows of their contents must not come back to the caller as a tensor. `in_trace`: whether
        an error occurred before anything was executed."""
        call.finds_attributes = True
        while True:
            state, extended = self._states.get(call.structure) if self._states else None, call
            places = None if state is None else state.places
            if places is not None and inline is not None and current_graph() is not None:
                return inline(call.args, call.kwargs)
            try:
                if state is None or places is None:
                    result = compute(call, *others)
                else:
                    with decomposing(dict.fromkeys(state.classes)) if state.classes else nullcontext():
                        extended = _extended(call, state, places)
                        result = compute(extended, *others)
            except NeedsAttributes as needed:
                assert state is None or not (needed.classes <= state.classes and all(
                    is_in(state.keys, holder, key) for _, holder, key in needed.places)), needed.places
                kept = [place for place in places or () if id(place[1]) not in needed.shared]
                self._add(call, [*kept, *needed.places], needed.classes, needed.before,
                          None if places is None else state)
                continue
            except Exception as error:
                if state is None or not state.is_general or not in_trace(error):
                    raise
                state.is_exact = True
                continue
            self._finish(call, extended, None if places is None else state, places or ())
            return result

    def _finish(self, call: Call, extended: Call, state: AttributeState | None, places: Sequence[Place]) -> None:
        """Store in the places what the call has left of its additional argument, and record those it has found."""
        if state is not None:
            contents = extended.kwargs[ATTRIBUTES]
            if extended.twins is not None:
                contents = {path: extended.twins.original(content) for path, content in contents.items()}
            state.write(places, contents, extended.original_contents)
        if extended.changed:
            changed, before = zip(*extended.changed, strict=True)
            self._add(call, [*places, *changed], extended.classes, before, state)

    def found(
        self, call: Call, places: Sequence[Place], changed: Sequence[tuple[Place, Any]], sets_up: bool,
        existed: Callable[[Any], bool], restore: Callable[[], None],
    ) -> None:
        """Record the places that a trace for a call has found: those assigned values of the graph, and those in
        `changed`, with changed constants and their earlier contents. NeedsAttributes if the call has to be traced
        again; then `restore` undoes the trace's changes. A trace that changed nothing but constants, and `sets_up`
        nothing, serves for this call only."""
        if call.finds_attributes and not places and not sets_up:
            call.changed, call.undo = [*changed], restore
            call.classes = _plain_classes([place for place, _ in changed], existed)
            return
        places = [*places, *(place for place, _ in changed)]
        if not places:
            return
        classes = _plain_classes(places, existed)
        if call.finds_attributes:
            restore()
            raise NeedsAttributes(places, classes, [before for _, before in changed])
        self._add(call, places, classes)

    def _add(
        self, call: Call, places: Sequence[Place], classes: frozenset[type], contents: Sequence[Any] = (),
        earlier: AttributeState | None = None,
    ) -> None:
        with self._lock:
            before = self._states.get(call.structure)
            classes |= frozenset() if before is None else before.classes
            kept = [(key, state) for key, state in self._states.items() if state.places is not None]
            self._states = {**dict(kept[-_MOST:]), call.structure: AttributeState(places, classes, contents, earlier)}


def _extended(call: Call, state: AttributeState, places: Sequence[Place]) -> Call:
    contents = state.arguments(places)
    twins = call.twins
    found = Call(call.args, {**call.kwargs, ATTRIBUTES: contents if twins is None else twins.within(contents)})
    begin, end = found.contents.start, found.contents.stop
    if twins is not None:
        found.containers, found.twins = [*map(twins.original, found.containers)], twins
    elif len(found.containers) - (end - begin) == len(call.containers):  # an input signature may have converted some
        found.containers = [*call.containers[:begin], *found.containers[begin:end], *call.containers[begin:]]
    found.attributes, found.finds_attributes, found.overwritten = state, True, call.overwritten
    found.finds_numbers = call.finds_numbers
    found.original_contents = {path: copy.copy(x) if type(x) in _WHOLES else x for path, x in contents.items()}
    return found


def _is_whole(holder: Any, key: Any) -> bool:
    """Whether a place is all of a list, dict or set."""
    return key is None and type(holder) in _WHOLES


def _is_unchanged(original: Any, now: Any, whole: bool) -> bool:
    """Whether a call has left the content of a place unchanged; for a whole list or dict, its parts."""
    if whole and type(original) in _WHOLES and type(now) is type(original):
        if type(original) is set:
            return bool(original == now)
        before, after = list(parts_in(original)), list(parts_in(now))
        return len(before) == len(after) and all(map(_is_unchanged_part, before, after))
    return _is_unchanged_part(original, now)


def _is_unchanged_part(original: Any, now: Any) -> bool:
    if type(original) is tuple and type(now) is tuple:  # key and content of an item
        return len(original) == len(now) and all(map(_is_unchanged_part, original, now))
    return original is now or (type(original) is type(now) and can_be_staged(now) and repr(original) == repr(now))


def content_of(holder: Any, key: Any) -> Any:
    """The content of a place; UNBOUND if it is empty. Of a whole list, dict or set, a copy."""
    if key is None and type(holder) in _WHOLES:
        return copy.copy(holder)
    if type(holder) is CellType:
        return holder.cell_contents if cell_is_filled(holder) else UNBOUND
    if type(holder) is Globals:
        return holder.namespace.get(key, UNBOUND)
    if _is_class(holder):
        return vars(holder).get(key, UNBOUND)
    return (holder if type(holder) in DICTS else fields_in(holder) or {}).get(key, UNBOUND)


def key_of(holder: Any, key: Any) -> tuple[int, Any]:
    """The identity of a place: the id of the holder (for globals, of their dict), and the key in it."""
    return id(holder.namespace if type(holder) is Globals else holder), key


def is_in(keys: set[tuple[int, Any]], holder: Any, key: Any) -> bool:
    """Whether a place is one of these, or part of one."""
    return key_of(holder, key) in keys or key_of(holder, None) in keys


def path_of(root: Reached, key: Any) -> str:
    """The name of a place in messages and graphs."""
    name = root.path or root.hint or type(root.value).__name__
    if key is None and type(root.value) is not CellType:
        return name
    if isinstance(root.value, dict):
        return f"{name}[{key!r}]"
    return key or name if type(root.value) in (CellType, Globals) else f"{name}.{key}"


def _is_same(known: Any, content: Any) -> bool:
    """Whether the content of a place has the same numbers as in the first call."""
    if type(content) is list and type(known) is list:
        return len(known) != len(content) or all(map(_is_same, known, content))
    return not can_be_staged(content) or repr(known) == repr(content)


def _is_class(holder: Any) -> bool:
    return isinstance(holder, type) and is_users_class(holder)


def holder_of(kept: Any) -> Any:
    """The holder for which `weakly` returned `kept`; None if it has been freed."""
    return kept() if isinstance(kept, weakref.ref) else kept
