"""Elements that the branches of a statement put into staged lists, or read from them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from autograph.backend import containers_in, is_container, references, unwrapped
from runtime.ops.logic import where
from runtime.staging.values.describe import absent
from runtime.staging.values.list_elements import hoisted, is_index, record_read
from runtime.staging.values.open_bodies import Changes, Element, bodies_open

__all__ = ["Alternatives", "record_joined"]


class Ended(Protocol):
    """A traced branch."""

    @property
    def values(self) -> Sequence[Any] | None: ...

    def place_of(self, i: int) -> Element | None: ...


def record_joined(pred: Any, values: Sequence[Any], init: Sequence[Any], branches: Sequence[Ended]) -> None:
    """Record the new containers that variables have after a statement if they are elements of one list at the ends of
    all branches that leave the variable with a value. `pred`: the condition of the first branch."""
    for i, value in enumerate(values):
        container = unwrapped(value)
        if is_container(container) and container is not unwrapped(init[i]):
            found = [branch.place_of(i) for branch in branches if not absent((branch.values or ())[i])]
            owner = found[0].owner if found and found[0] is not None else None
            if owner is not None and all(e is not None and e.owner is owner for e in found):
                index = _joined(pred, [e.index for e in found if e is not None])
                if index is not None:
                    elements, known = bodies_open()[-1].elements, containers_in([container])
                    elements[:] = [e for e in elements if not (id(e.value) in known and e.owner is owner)]
                    record_read(container, owner, index)


def _joined(pred: Any, indices: Sequence[Any]) -> Any:
    """The index, or `_Place` in a dict, that these are in the branches; None if that is not known."""
    if all(is_index(indices[0], index) for index in indices):
        return next((index for each in indices if (index := hoisted(each)) is not None), None)
    found = [*map(hoisted, indices)]
    if len(found) < 2 or any(index is None or isinstance(index, tuple) for index in found):
        return None
    return where(pred, *found)


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

    def hide(self) -> None:
        """Called before another branch, which runs in place of those before: what they put into lists is not there."""
        self.hidden, self.elements[self.first:] = self.elements[self.first:], []
        self.begin = self.first

    def show(self) -> None:
        """Called after that branch."""
        self.elements[self.first:self.first] = self.hidden
        self.begin = len(self.elements)

    def end(self) -> None:
        """Called after the statement."""
        for k, e in enumerate(self.elements[self.first:], self.first):
            if not self._has_changed(e):
                self.elements[k] = replace(e, changes=Changes([e.value]))
                bodies_open()[-1].renewed.append(self.elements[k])

    def _has_changed(self, element: Element) -> bool:
        return any(element is e for e in self.changed)
