"""The join of two different containers: a Select over these cells if other names refer to one of them.

A variable that may be one of several lists gets their joined contents if no other name refers to them, as after a
swap of two buffers. Otherwise a write through the variable must be visible in the chosen list, and vice versa.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from autograph.backend import duplicate, is_container, is_record, parts_in, put, references, with_parts
from runtime.core.errors import subject
from runtime.core.object_mode import want_references
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import current_graph
from runtime.numpy.array_choices import SelectedArray, SelectedOrNew, common_layout, is_same_array
from runtime.numpy.array_indexing import numbers_in
from runtime.numpy.array_objects import ArrayCell, ArrayView, ElementsView
from runtime.staging.aliases.alias_tracking import (
    is_split,
    origin_of,
    originals_of,
    possible_identities,
    record_alias,
    record_exit,
    record_replacement,
)
from runtime.staging.aliases.open_bodies import contents_of
from runtime.staging.elements.describe import is_array
from runtime.staging.elements.select import Select, alternatives_of, among, use
from runtime.staging.joins.alias_join import BodyEnd, Place, surely
from runtime.staging.joins.lattice import Custom, Nested, Spec, Static, value_of
from runtime.staging.values.iterables import flags
from runtime.staging.values.optional import MaybeObject

__all__ = [
    "CellJoin", "arrays_of", "cells_in", "cells_of", "chooses", "chosen_cells", "contents_begun",
    "is_from_outside", "joined",
]


class CellJoin:
    """Joins containers after a statement, given the variables `init` before it and the `ends` of its bodies. `arrays`:
    also arrays; otherwise their contents are joined."""

    def __init__(self, init: Sequence[Any], ends: Sequence[BodyEnd], arrays: bool = True) -> None:
        self.init, self.ends, self.arrays = init, ends, arrays
        self._known: dict[int, tuple[Any, bool]] = {}

    def join(self, a: Spec, b: Spec) -> Any:
        """The Select, SelectedArray or SelectedOrNew, without an index yet, over the containers of two specs; the
        container itself if it is the same and a spec refers to it by identity; None if the contents are to be
        joined."""
        if all(map(is_array, (a, b))):
            return self._join_arrays(a, b) if self.arrays else None
        left, right = cells_of(a), cells_of(b)
        if not left or not right or (
                len({type(cell) for cell in (*left, *right)}) > 1 and not self._can_be_mixed((*left, *right))):
            return None
        cells = list({id(cell): cell for cell in (*left, *right)}.values())
        refers = any(isinstance(spec, Static) or _is_select(spec) for spec in (a, b))
        if len(cells) == 1:
            return cells[0] if refers else None
        return among(cells) if refers or any(map(self.has_other_names, cells)) or self._lose_identity(a, b) else None

    def _lose_identity(self, a: Spec, b: Spec) -> bool:
        """Whether the join of the contents of two new containers, such as lists of different lengths, would copy a
        container in one of them that has other names."""
        return self.are_of_branches and isinstance(a, Nested) and isinstance(b, Nested) and (
            a.keys != b.keys or len(a.children) != len(b.children)) and any(
            self.has_other_names(cell) for spec in (a, b) for child in spec.children for cell in cells_of(child))

    def _join_arrays(self, a: Spec, b: Spec) -> SelectedArray | SelectedOrNew | None:
        arrays: list[Any] = []
        for array in (*arrays_of(a, True), *arrays_of(b, True)):
            if not any(is_same_array(array, one) for one in arrays):
                arrays.append(array)
        new = [value_of(spec) for spec in (a, b) if self._is_new(spec)]
        types = [array.type for array in (*arrays, *new)]
        if any(type != types[0] for type in types) or not all(
                arrays_of(spec, True) or self._is_new(spec) for spec in (a, b)) or not (
                _is_one_of(a) or _is_one_of(b) or (len(types) > 1 and self._refers(a, b, arrays))):
            return None
        flags.objects_are_chosen = True
        if not new:
            return SelectedArray(arrays, None)
        return SelectedOrNew(new[0].some_elements(), arrays, None, common_layout((*arrays, *new)))

    def _refers(self, a: Spec, b: Spec, arrays: Sequence[Any]) -> bool:
        """Whether a variable that may have either of two arrays has to have one of these, and not only its contents.
        (Of views that differ in numbers only it has the numbers.)"""
        if isinstance(a, Custom) and isinstance(b, Custom) and isinstance(a.like, ArrayView) and a.alike(b):
            return False
        return any(not isinstance(array, ArrayCell) or self.has_other_names(array) for array in arrays)

    def _is_new(self, spec: Spec) -> bool:
        """Whether an array may be a new one, which no other variable has: then a variable may have that or arrays from
        before the statement."""
        value = value_of(spec)
        if isinstance(value, SelectedOrNew):
            return True
        return isinstance(value, ArrayCell) and not arrays_of(spec) and value.refusal is None and (
            any(id(value) in end.made for end in self.ends)) and self._most[id(value)] < 2 and (
            not possible_identities(value))

    @property
    def are_of_branches(self) -> bool:
        return all(end.origins is not None for end in self.ends)

    def _can_be_mixed(self, cells: Sequence[Any]) -> bool:
        """Whether a Select may mix these containers of different classes: after branches, if all existed before or some
        have other names."""
        return self.are_of_branches and all(map(is_record, cells)) and (
            not any(id(cell) in end.made for cell in cells for end in self.ends)
            or any(map(self.has_other_names, cells)))

    def alone(self, spec: Spec) -> Any:
        """The container of a value bound on one path only, if other names refer to it (for an array, a SelectedArray
        of it); else None."""
        arrays = arrays_of(spec) if self.arrays and isinstance(spec, Custom) else ()
        if len(arrays) == 1 and not isinstance(value_of(spec), SelectedArray) and self.has_other_names(arrays[0]):
            flags.objects_are_chosen = True
            return SelectedArray(arrays, None)
        cells = cells_of(spec) if isinstance(spec, (Nested, Custom)) else ()
        if len(cells) != 1 or not self.has_other_names(cells[0]):
            return None
        flags.objects_are_chosen = True
        return cells[0]

    def is_shared(self, chosen: Select) -> bool:
        """Whether a Select is referenced other than by variables that the statement rebinds, or one of its alternatives
        other than by the Select."""
        if references([chosen]).total() > sum(before is chosen for before in self.init):
            return True
        return any(references(originals_of(one)).total() > 1 or is_split(one) for one in alternatives_of(chosen)[0])

    def has_other_names(self, cell: Any) -> bool:
        """Whether a container is referenced other than by variables that the statement rebinds, or by several variables
        at one of the ends."""
        if id(cell) not in self._known:
            released = {(id(parts[place[:-1]]), place[-1]) if place[:-1] in parts and place else (i, place)
                        for i, parts in enumerate(self._before) for place, before in parts.items()
                        if before is cell and surely(i, place, self.ends) is not cell}
            self._known[id(cell)] = cell, (
                self._most[id(cell)] > 1 or references(originals_of(cell)).total() > len(released) or is_split(cell))
        return self._known[id(cell)][1]

    @cached_property
    def _before(self) -> Sequence[Mapping[Place, Any]]:
        return list(map(contents_of, self.init))

    @cached_property
    def _most(self) -> Counter[int]:
        """By id, the greatest number of variables that refer to a container at one of the ends."""
        most: Counter[int] = Counter()
        for contained in (each for end in self.ends for each in end.iterations):
            most |= Counter(id(one) for parts in contained for others in parts.values() for one in others)
        return most


def is_cell(value: Any) -> bool:
    """Whether a value is a list, dict or record. (Row tables and arrays define their own joins.)"""
    return is_container(value) and not hasattr(type(value), "__become__")


def _is_one_of(spec: Spec) -> bool:
    """Whether the value is one of several arrays."""
    return isinstance(value_of(spec), (SelectedArray, SelectedOrNew))


def _is_select(spec: Spec) -> bool:
    return isinstance(spec, Custom) and isinstance(spec.like, Select)


def cells_of(spec: Spec) -> Sequence[Any]:
    """The containers with identity that a value of this spec may be; empty for other values."""
    if isinstance(spec, Custom) and isinstance(spec.like, Select):
        return chosen_cells(spec.like)
    if isinstance(spec, Static):
        return (spec.value,) if is_cell(spec.value) else ()
    if isinstance(spec, (Nested, Custom)) and spec.target is not None and is_cell(spec.target):
        return (spec.target,)
    return ()


def arrays_of(spec: Spec, with_views: bool = False) -> Sequence[Any]:
    """The arrays from before the statement that a value of this spec may be, or (`with_views`) of which it may be a
    view; empty for other values."""
    value = value_of(spec)
    if isinstance(value, (SelectedArray, SelectedOrNew)):
        arrays: Sequence[Any] = value.one_of
    elif with_views and isinstance(value, (ArrayView, ElementsView)):
        arrays = (value,)
    else:
        arrays = (spec.target,) if isinstance(value, ArrayCell) and isinstance(spec, Custom) else ()
    return arrays if all(_is_from_before(array) for array in arrays) else ()


def _is_from_before(array: Any) -> bool:
    if isinstance(array, ArrayView):
        return _is_from_before(array.base) and all(n is None or isinstance(n, int) for n in numbers_in(array.index))
    return isinstance(array, (ArrayCell, ElementsView)) and array.born is not None and (
        array.born.contains(current_graph()) and (isinstance(array, ArrayCell) or _is_from_before(array.base)))


def chosen_cells(value: Select) -> Sequence[Any]:
    """The alternatives of a Select if they are containers; empty for other objects."""
    one_of, _ = alternatives_of(value)
    return one_of if all(map(is_cell, one_of)) else ()


def cells_in(value: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """The containers in `value`, including alternatives of Selects, each once. `seen`: those found so far, by id."""
    seen = {} if seen is None else seen
    if issubclass(type(value), MaybeObject):
        value = value.content
    if issubclass(type(value), (Tensor, int, float, str, Text)) or value is None or id(value) in seen:
        return
    seen[id(value)] = value
    if is_cell(value):
        yield value
    parts = alternatives_of(value)[0] if isinstance(value, Select) else [part for _, part in parts_in(value)]
    for part in parts:
        yield from cells_in(part, seen)


def chooses(value: Any, seen: dict[int, Any] | None = None) -> bool:
    """Whether a value contains a Select of containers. `seen`: what has been searched, by id."""
    seen = {} if seen is None else seen
    if isinstance(value, MaybeObject):
        value = value.content
    if isinstance(value, Select):
        return bool(chosen_cells(value))
    if not (isinstance(value, tuple) or is_container(value)) or id(value) in seen:
        return False
    seen[id(value)] = value
    return any(chooses(part, seen) for _, part in parts_in(value))


def joined(
    values: Sequence[Any], names: Sequence[str], keeps: Callable[[Any], bool] = lambda cell: False,
    note: Callable[[Any, Any], object] = record_exit,
) -> list[Any]:
    """The values of variables, with each Select of containers replaced by a container of the joined contents, unless
    `keeps` holds for all its alternatives. `note` receives copies of containers with Selects, and their originals."""
    if not flags.objects_are_chosen:
        return list(values)
    made: dict[int, Any] = {}
    inside: list[frozenset[int]] = []

    def one(value: Any, name: str) -> Any:
        if not chooses(value):
            return value
        if isinstance(value, MaybeObject):
            content = one(value.content, name)
            return value if content is value.content else MaybeObject(content, value.presence)
        if id(value) not in made:
            made[id(value)] = value  # it may contain itself
            made[id(value)] = contents(value, name) if isinstance(value, Select) else parts(value, name)
        return made[id(value)]

    def parts(value: Any, name: str) -> Any:
        copy = with_parts(value, [(key, one(part, name)) for key, part in parts_in(value)])
        if copy is not value and not isinstance(value, tuple):
            note(copy, value)
        return copy

    def contents(value: Select, name: str) -> Any:
        if all(map(keeps, chosen_cells(value))):
            return value
        among = frozenset(map(id, chosen_cells(value)))
        if among in inside:
            want_references()
            raise staging_error(
                f"{subject(name)} is one of several objects here that refer to each other, and only the graph knows"
                " which", "Keep their parts in lists, and indices in place of references.")
        found = use(value, duplicate)
        inside.append(among)
        for key, part in parts_in(found) if chooses(found) else ():  # those of the alternatives, chosen in the same way
            put(found, key, one(part, name))
        inside.pop()
        for cell in chosen_cells(value):
            record_alias(found, cell, name)
            record_replacement(found, cell)
        return found

    return list(map(one, values, names))


def is_from_outside(cell: Any) -> bool:
    """Whether the open body received the container itself, by reference."""
    return origin_of(cell) is cell


def contents_begun(entry: Any, init: Any) -> dict[Place, Any]:
    """The containers, by place, that represent those of `init` at the beginning of a loop's body; those among which a
    Select or SelectedArray selects represent themselves."""
    found = contents_of(entry)
    for place, cell in contents_of(init).items():
        if place not in found and isinstance(_at(entry, place), (Select, SelectedArray)):
            found[place] = cell
    return found


def _at(value: Any, place: Place) -> Any:
    """The part of a value at that place, or the first Select or SelectedArray on the way to it."""
    for key in place:
        if isinstance(value, MaybeObject):
            value = value.content
        if isinstance(value, (Select, SelectedArray)):
            break
        value = dict(parts_in(value)).get(key)
    return value.content if isinstance(value, MaybeObject) else value
