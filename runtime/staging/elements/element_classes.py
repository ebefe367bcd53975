"""What the elements of staged lists consist of: the layouts within a structure, and of which classes and arenas objects
and containers are."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from runtime.core import pytree
from runtime.staging.elements.element_layout import MaybeNone, NoItems, Record, Rows, Tables
from runtime.staging.elements.references import References

__all__ = ["arenas_in", "classes_in", "containers_in"]


def _layouts_in(structure: Any) -> Iterator[Any]:
    """A structure and those of its parts, outer ones first: layouts, and the tuples, lists and dicts that have them."""
    yield structure
    parts: Iterable[Any] = ()
    if isinstance(structure, Record):
        parts = structure.fields.values()
    elif isinstance(structure, (MaybeNone, Rows, Tables)):
        parts = (structure.structure,)
    elif pytree.is_nested(structure):
        parts = pytree.children(structure)
    for part in parts:
        yield from _layouts_in(part)


def arenas_in(structure: Any) -> Iterator[Any]:
    """The arenas to which elements of that structure refer."""
    return (layout.arena for layout in _layouts_in(structure) if isinstance(layout, References))


def classes_in(structure: Any) -> Iterator[type]:
    """The classes of the objects in elements of that structure that can be changed in place."""
    return (layout.cls for layout in _layouts_in(structure) if isinstance(layout, Record) and layout.changes)


def containers_in(structure: Any) -> Iterator[type]:
    """The classes of the lists, dicts and sets by value in elements of that structure."""
    for layout in _layouts_in(structure):
        if isinstance(layout, NoItems):
            yield layout.kind[0]
        elif isinstance(layout, Rows) and layout.changes:
            yield list
        elif pytree.is_nested(layout) and not isinstance(layout, tuple):
            yield type(layout)
