"""The specs of arguments, results and state of a recursive function that is one graph for all of its calls: containers
from before the call are references in these."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from autograph.backend import LISTS, is_container, parts_in, with_parts
from runtime.core.graph import Value
from runtime.core.object_mode import want_references
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphList, GraphTensor
from runtime.staging.containers.row_table import table_of
from runtime.staging.joins.cell_join import CellJoin
from runtime.staging.joins.lattice import (
    Conflict,
    Custom,
    Nested,
    Optional,
    Spec,
    Static,
    as_loop_state,
    describe,
    join,
    text,
)
from runtime.staging.values.iterables import view_of

__all__ = [
    "by_reference", "contents_of_references", "fits", "has_python_numbers", "invariants", "joined_specs",
    "references_in", "without_tables", "without_targets",
]


def invariants(spec: Spec) -> Iterator[Value]:
    """The values of the graph that are invariants in a spec."""
    if isinstance(spec, Static) and isinstance(spec.value, (GraphTensor, GraphList)):
        yield spec.value.value
    elif isinstance(spec, (Nested, Custom)):
        for child in spec.children:
            yield from invariants(child)


def joined_specs(a: Spec, b: Spec, what: str) -> Spec:
    try:
        return join(a, _with_copies(b) if isinstance(a, Static) else b, CellJoin((), ()))
    except Conflict:
        want_references()
        raise staging_error(f"{what} is {text(a)} in one call and {text(b)} in another, of a function that calls itself"
                            " where a tensor decides", "Give it one type and structure.") from None


def _with_copies(spec: Spec) -> Spec:
    """The spec with tuples like those that it describes, which are no values of the state: a join would take the same
    one for a value that never changes."""
    if isinstance(spec, Optional):
        return replace(spec, child=_with_copies(spec.child))
    if isinstance(spec, Nested) and isinstance(spec.like, tuple):
        children = tuple(map(_with_copies, spec.children))
        return replace(spec, like=tuple.__new__(type(spec.like), [*spec.like]), children=children)
    return spec


def has_python_numbers(spec: Spec) -> bool:
    """Whether the value that a spec describes has numbers that are not of the graph."""
    if isinstance(spec, Optional):
        return has_python_numbers(spec.child)
    if isinstance(spec, (Nested, Custom)):
        return any(map(has_python_numbers, spec.children))
    return isinstance(spec, Static) and type(spec.value) in (bool, int, float, complex)


def fits(spec: Spec, other: Spec) -> bool:
    """Whether the join of two specs is the first one."""
    try:
        return join(spec, other, CellJoin((), ())) == spec
    except Conflict:
        return False


def by_reference(spec: Spec, known: Mapping[int, Any]) -> Spec:
    """The spec with the known containers in it replaced by references."""
    if isinstance(spec, Optional):
        return replace(spec, child=by_reference(spec.child, known))
    if not isinstance(spec, (Nested, Custom)):
        return spec
    if spec.target is not None and id(spec.target) in known:
        return Static(spec.target)
    return replace(spec, target=None, children=tuple(by_reference(child, known) for child in spec.children))


def references_in(value: Any) -> dict[int, Any]:
    """By id, the outermost containers in a value."""
    if is_container(value):
        return {id(value): value}
    if not isinstance(value, tuple):
        return {}
    return {key: one for part in value for key, one in references_in(part).items()}


def without_targets(spec: Spec) -> Spec:
    return by_reference(spec, {})


def without_tables(value: Any) -> Any:
    """The value with plain copies of lists that are rows of a table, and of containers with such."""
    if not isinstance(value, (*LISTS, tuple, dict)):
        return value
    if type(value) is list and table_of(value) is not None:
        return [*view_of(value)]
    return with_parts(value, [(key, without_tables(part)) for key, part in parts_in(value)])


def contents_of_references(spec: Spec) -> Spec:
    """The spec with references replaced by the contents of the containers."""
    if isinstance(spec, Static) and is_container(spec.value):
        return without_targets(as_loop_state(describe(without_tables(spec.value))))
    if isinstance(spec, Optional):
        return replace(spec, child=contents_of_references(spec.child))
    if isinstance(spec, Nested):
        return replace(spec, children=tuple(map(contents_of_references, spec.children)))
    return spec
