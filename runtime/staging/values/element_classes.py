"""Of which classes the objects and containers in elements of staged lists are."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.core import pytree
from runtime.staging.values.element_layout import MaybeNone, NoItems, Record, Rows, Tables, leaf_layouts

__all__ = ["classes_in", "containers_in_structure"]


def classes_in(structure: Any) -> Iterator[type]:
    """The classes of the objects in elements of that structure that can be changed in place."""
    for layout in leaf_layouts(structure):
        if isinstance(layout, (MaybeNone, Rows, Tables)):
            yield from classes_in(layout.structure)
        elif isinstance(layout, Record):
            yield from (layout.cls,) if layout.changes else ()
            yield from classes_in(layout.fields)


def containers_in_structure(structure: Any) -> Iterator[type]:
    """The classes of the lists and dicts by value in elements of that structure."""
    if isinstance(structure, MaybeNone):
        yield from containers_in_structure(structure.structure)
    elif isinstance(structure, Record):
        yield from containers_in_structure(structure.fields)
    elif isinstance(structure, NoItems):
        yield structure.kind[0]
    elif isinstance(structure, Rows):
        yield list
        yield from containers_in_structure(structure.structure)
    elif pytree.is_nested(structure):
        yield from () if isinstance(structure, tuple) else (type(structure),)
        for part in pytree.children(structure):
            yield from containers_in_structure(part)
