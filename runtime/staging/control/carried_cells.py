"""The contents of containers that values after a branch refer to, but no variable holds: extra outputs of the
branches."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from runtime.core.graph import Graph
from runtime.core.positions import staging_error
from runtime.core.trace import apply
from runtime.numpy.array_choices import SelectedArray, SelectedOrNew, owners_of
from runtime.ops.control import UNDEFINED
from runtime.staging.aliases.alias_tracking import possible_identities, record_alias
from runtime.staging.elements.select import Select
from runtime.staging.joins.cell_join import CellJoin, arrays_of, cells_of
from runtime.staging.joins.flatten import lower
from runtime.staging.joins.lattice import (
    Conflict,
    Custom,
    Nested,
    Optional,
    Origins,
    Spec,
    Static,
    as_outputs,
    describe,
    join,
    leaf_types,
    text,
)
from runtime.staging.values.iterables import flags

__all__ = ["Carried", "Part", "carried", "lower_carried", "record_identities", "undefined"]

Carried = Sequence[tuple[Any, Spec]]
"""Containers, each with the spec of its contents."""


class Part(Protocol):
    """A traced branch. `cells`: by id, the containers that it received or created, in their final state."""

    @property
    def graph(self) -> Graph: ...

    @property
    def origins(self) -> Origins: ...

    @property
    def cells(self) -> Mapping[int, Any]: ...


def carried(specs: Sequence[Spec], parts: Sequence[Part], cells: CellJoin) -> Carried:
    """The containers that values of the specs refer to, transitively, and that a branch created or changed, with the
    specs of their final contents."""
    found: dict[int, tuple[Any, Spec]] = {}
    if not flags.objects_are_chosen:
        return ()
    pending = [cell for spec in specs for cell in _referred(spec)]
    for cell in pending:  # grows during iteration
        containing = [part for part in parts if id(cell) in part.cells]
        if id(cell) in found or all(part.cells[id(cell)] is cell and _is_in_all(cell, parts) for part in containing):
            continue
        spec = _contents(cell, containing, cells)
        found[id(cell)] = cell, spec
        pending += _referred(spec)
    return list(found.values())


def _is_in_all(cell: Any, parts: Sequence[Part]) -> bool:
    return all(id(cell) in part.cells for part in parts)


def _contents(cell: Any, parts: Sequence[Part], cells: CellJoin) -> Spec:
    """The spec of the contents after the branches; nested containers are references."""
    specs = [_by_reference(describe(part.cells[id(cell)], part.origins)) for part in parts]
    spec = specs[0]
    if len(specs) == 1:
        return as_outputs(spec, parts[0].graph)
    for other in specs[1:]:
        try:
            spec = join(spec, other, cells)
        except Conflict:
            raise staging_error(
                f"a {type(cell).__name__} that is one of several here is {text(spec)} on one path and {text(other)} on"
                " another, and only the graph knows which",
                f"Make all paths leave the same types in it, or give each name a {type(cell).__name__} of its"
                " own.") from None
    return spec


def _by_reference(spec: Spec, inside: bool = False) -> Spec:
    """The spec with the containers in it replaced by references."""
    if isinstance(spec, (Nested, Custom)):
        if inside and spec.target is not None:
            return Static(spec.target)
        return dataclasses.replace(spec, children=tuple(_by_reference(child, True) for child in spec.children))
    if isinstance(spec, Optional):
        return dataclasses.replace(spec, child=_by_reference(spec.child, inside))
    return spec


def _referred(spec: Spec) -> Iterator[Any]:
    """The containers that a value of the spec refers to by identity: its leaves do not hold their contents."""
    if isinstance(spec, Optional):
        yield from _referred(spec.child)
    elif isinstance(spec, Static) or (isinstance(spec, Custom) and isinstance(spec.like, Select)):
        yield from cells_of(spec)
    elif isinstance(spec, Custom) and isinstance(spec.like, (SelectedArray, SelectedOrNew)):
        yield from {id(owner): owner for array in arrays_of(spec) for owner in owners_of(array)}.values()
    elif isinstance(spec, (Nested, Custom)):
        for child in spec.children:
            yield from _referred(child)


def lower_carried(found: Carried, part: Part) -> list[Any]:
    """The leaves of the final contents in a branch."""
    leaves: list[Any] = []
    for cell, spec in found:
        has = id(cell) in part.cells
        leaves += lower(spec, part.cells[id(cell)], part.origins) if has else undefined([spec])
    return leaves


def record_identities(found: Carried) -> None:
    """Record the possible identities of containers that branches created as may-alias pairs."""
    for cell, _ in found:
        for other in possible_identities(cell):
            if other is not cell:
                record_alias(cell, other, "")


def undefined(specs: Sequence[Spec]) -> list[Any]:
    """Leaves for values that a branch does not define."""
    return [apply(UNDEFINED, type=type) for spec in specs for type, _ in leaf_types(spec)]
