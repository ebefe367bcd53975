"""Elements that the branches of a statement put into staged lists, or read from them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograph.backend import references
from runtime.staging.values.open_bodies import Changes, Element, bodies_open

__all__ = ["Alternatives"]


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

    def end(self) -> None:
        """Called after the statement."""
        self.elements[self.first:] = [
            e if self._has_changed(e) else replace(e, changes=Changes([e.value]))
            for e in self.elements[self.first:]]

    def _has_changed(self, element: Element) -> bool:
        return any(element is e for e in self.changed)
