"""Elements that the branches of a statement put into staged lists, or read from them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from autograph.backend import containers_in, is_container, references, unwrapped
from runtime.core import pytree
from runtime.core.positions import user_position
from runtime.core.tensor import GraphTensor
from runtime.ops.logic import where
from runtime.staging.aliases.indices import hoisted, is_index
from runtime.staging.aliases.open_bodies import Changes, Element, bodies_open
from runtime.staging.elements.describe import absent
from runtime.staging.values.optional import MaybeObject

__all__ = ["Alternatives", "JoinedPlaces", "any_like", "element_at", "record_place"]


class Ended(Protocol):
    """A traced branch."""

    values: list[Any] | None

    def place_of(self, i: int) -> Element | None: ...


def _list_of(i: int, branches: Sequence[Ended]) -> list[Any] | None:
    """The list of which a variable has an element at the ends of all branches that leave it with a value; None if there
    is none."""
    found = _places(i, branches)
    owner = found[0].owner if found and found[0] is not None else None
    return owner if all(e is not None and e.owner is owner for e in found) else None


def _places(i: int, branches: Sequence[Ended]) -> list[Element | None]:
    return [branch.place_of(i) for branch in branches if branch.values is not None and not absent(branch.values[i])]


class JoinedPlaces:
    """The new containers that variables have after a statement if they are elements of one list at the ends of all
    branches that leave the variable with a value. Their indices are outputs of the branches, if code after the
    statement cannot compute them. `pred`: the condition of the first branch."""

    def __init__(self, pred: Any, init: Sequence[Any], branches: Sequence[Ended]) -> None:
        self.found: dict[int, tuple[list[Any], Any]] = {}
        """By variable, the list, and the index in it; None if that is an output."""
        for i, before in enumerate(init):
            owner = _list_of(i, branches)
            containers = [unwrapped(branch.values[i]) for branch in branches if branch.values is not None]
            if owner is not None and any(each is not unwrapped(before) for each in containers):
                indices = [e.index for e in _places(i, branches) if e is not None]
                known = [*map(hoisted, indices)]
                if all(index is not None for index in known):
                    self.found[i] = owner, _joined(pred, known)
                elif (default := any_like(indices[0])) is not None:
                    self.found[i] = owner, None
                    for branch in branches:
                        if branch.values is not None:
                            place = None if absent(branch.values[i]) else branch.place_of(i)
                            branch.values.append(default if place is None else place.index)

    def names(self, names: Sequence[str]) -> list[str]:
        """The names of the variables and those outputs."""
        return [*names, *[f"{names[i]}_index" for i, (_, index) in self.found.items() if index is None]]

    def record(self, values: Sequence[Any], init: Sequence[Any]) -> None:
        """Record the elements. `values`: those of variables and outputs after the statement."""
        outputs = iter(values[len(init):])
        for i, (owner, index) in self.found.items():
            index = next(outputs) if index is None else index
            container = unwrapped(values[i])
            if is_container(container) and container is not unwrapped(init[i]):
                record_place(values[i], owner, index)


def any_like(index: Any) -> Any:
    """An index, or place in a dict, of the same type; None if there is none."""
    if isinstance(index, tuple):
        parts = [*map(any_like, index)]
        return None if None in parts else type(index)(*parts) if hasattr(index, "_fields") else tuple(parts)
    if isinstance(index, GraphTensor) and not index.ndim:
        return 0 if index.dtype.is_integer else 0.0 if index.dtype.is_floating else None
    return 0 if type(index) is int else None


def _joined(pred: Any, indices: Sequence[Any]) -> Any:
    """The index, or place in a dict, that is one of these, the first if `pred`."""
    if all(is_index(indices[0], index) for index in indices):
        return indices[0]
    if isinstance(indices[0], tuple):
        return pytree.map_structure(lambda *each: _joined(pred, each), *indices)
    return where(pred, *indices)


def record_place(value: Any, owner: list[Any], index: Any) -> None:
    """Record that a variable has, after a statement, the element at that index of a list, if it is not None."""
    body, container = bodies_open()[-1], unwrapped(value)
    known = containers_in([container])
    body.elements[:] = [e for e in body.elements if not (id(e.value) in known and e.owner is owner)]
    made = [replace(element_at(value, owner, index), value=one, changes=Changes([one])) for one in known.values()]
    body.elements += made
    body.renewed += made


def element_at(value: Any, owner: list[Any], index: Any) -> Element:
    """The record of the element that a variable has."""
    container = unwrapped(value)
    return Element(container, Changes([container]), user_position(), False, owner, index, owner[0], container,
                   may_be_absent=isinstance(value, MaybeObject))


class Alternatives:
    """The elements that the branches of a statement put into lists. What one branch changes is no change of what
    another, which runs in its place, has put in."""

    def __init__(self, init: Sequence[Any]) -> None:
        """`init`: the variables before the statement."""
        self.elements = bodies_open()[-1].elements if bodies_open() else []
        self.init = init
        self.first = self.begin = len(self.elements)
        self.changed: list[Element] = []

    def end_branch(self, contained: Sequence[Mapping[Any, Iterable[Any]]] | None) -> None:
        """Called after a branch, with what its variables contain: forget elements that only the list has now."""
        added = self.elements[self.begin:]
        self.changed += [e for e in added if e.changes]
        if added and contained is not None:
            kept = {id(one) for parts in contained for others in parts.values() for one in others}
            counts = references([e.value for e in added])
            self.elements[self.begin:] = [
                e for e in added if id(e.value) in kept or not e.is_put or self._has_changed(e)
                or counts[id(e.value)] > sum(one is e.value for one in self.init)]
        self.begin = len(self.elements)

    def hide(self, first: int) -> None:
        """Called before another branch, which runs in place of one before: what that has put into lists, from the
        element with this number on, is not there."""
        self.place, self.begin = first, first
        self.hidden, self.elements[first:] = self.elements[first:], []

    def show(self) -> None:
        """Called after that branch."""
        self.elements[self.place:self.place] = self.hidden
        self.begin = len(self.elements)

    def end(self) -> None:
        """Called after the statement."""
        for k, e in enumerate(self.elements[self.first:], self.first):
            if not self._has_changed(e):
                self.elements[k] = replace(e, changes=Changes([e.value]))
                bodies_open()[-1].renewed.append(self.elements[k])

    def _has_changed(self, element: Element) -> bool:
        return any(element is e for e in self.changed)
