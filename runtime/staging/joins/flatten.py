"""Flattening the state of staged control flow into graph leaves, and rebuilding it.

`lower` flattens a value to the leaves of a spec that is an upper bound of its own, `rebuild` makes a value from leaves,
and `copied` copies the containers of a value for code that is traced.
"""
from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograph.backend import (
    LISTS,
    UNBOUND,
    duplicate,
    fill,
    has_staged_items,
    is_container,
    is_reference,
    objects_in,
    parts_in,
    path_of,
    put,
    refill,
    unnumbered,
    unwrapped,
    with_parts,
)
from runtime.core.array_mode import watch_array
from runtime.core.array_promotion import mark_as_array
from runtime.core.constant_arrays import adapted, constant_array
from runtime.core.errors import locate
from runtime.core.graph import Graph
from runtime.core.inaccessible import inaccessible, is_lost
from runtime.core.op import CAST, CONST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import Position, staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.tensor_writes import remember
from runtime.core.text import Text
from runtime.core.trace import apply, convert_to_tensor, current_graph, hint, raising
from runtime.core.types import ListType, TensorType, Type, Weak
from runtime.numpy.array_choices import JoinedArray, SelectedArray, SelectedOrNew, readable
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.ops.control import UNDEFINED
from runtime.ops.lists import ListValue, list_cast
from runtime.ops.strings import as_bytes
from runtime.staging.aliases.body_tracing import Branch, line_of
from runtime.staging.aliases.list_elements import have_other_names, record_places
from runtime.staging.elements.element_layout import StagedStructures, same_layout, width_of
from runtime.staging.elements.element_structures import widened
from runtime.staging.elements.hash_table import Table
from runtime.staging.elements.list_specs import is_staged_spec, list_of_tuple
from runtime.staging.elements.select import Select, index_of
from runtime.staging.elements.specs import Variants
from runtime.staging.elements.tuple import list_of
from runtime.staging.joins.column_join import join_lists
from runtime.staging.joins.lattice import (
    Custom,
    Leaf,
    Nested,
    Optional,
    Origins,
    Shared,
    Spec,
    Static,
    absent,
    describe,
    has_unset,
    leaf_types,
    parts_of,
)
from runtime.staging.joins.spec_text import Conflict, text
from runtime.staging.storage.dict import StagedDict, StagedEntries
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.storage.set import StagedSet
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import StagedItems, StagedList, StagedView, is_staged_list
from runtime.staging.values.optional import MaybeObject, MaybeTensor, Presence, attach, checked

__all__ = [
    "StagedBefore", "begins_with_container", "check_staged_before",
    "copied", "lower", "named", "passed_on", "rebuild", "rebuild_all", "refuse_cycles", "staged_list",
]


# Leaves of values.

def lower(spec: Spec, value: Any, origins: Origins | None = None) -> Iterator[Any]:
    """The leaves of `value` in the current graph for `spec`, an upper bound of its own spec. `origins` maps copies of
    containers to their originals."""
    if isinstance(spec, Leaf):
        watch_array(value)
        yield _as_type(value, spec.type)
    elif isinstance(spec, Optional):
        yield from _lower_optional(spec, value, origins)
    elif isinstance(spec, Nested):
        parts = parts_of(value)
        assert parts is not None
        for child, key in zip(spec.children, spec.keys, strict=True):
            yield from lower(child, parts.get(key, UNBOUND), origins)
    elif (items := list_of_tuple(spec)) is not None:
        yield from lower(items, list_of(value), origins)
    elif isinstance(spec, Custom):
        if isinstance(spec.like, Select):
            leaves = [index_of((origins or {}).get(id(value), (None, value))[1], spec.like)]
        elif isinstance(value, (str, Text)):
            leaves = [as_bytes(value)]
        elif isinstance(spec.like, Variants):
            leaves = spec.like.leaves_of(value)
        elif isinstance(spec.like, (SelectedArray, SelectedOrNew)):
            leaves = spec.like.leaves_of(value, (origins or {}).get(id(value), (None, value))[1])
        elif isinstance(spec.like, StagedSet):
            leaves = _set_leaves(spec, value)
        elif is_reference(value):
            leaves = value[0].__leaves__()
        elif isinstance(spec.like, JoinedArray):
            leaves = [value.at_end() if isinstance(value, StagedArray) else value]
        else:
            staged = is_staged_list(value) or not isinstance(value, (*LISTS, dict))
            leaves = (view_of(value) if staged else _staged(spec, value)).__leaves__()
            if staged and isinstance(spec.like, (StagedStructures, StagedEntries)) and not same_layout(
                    value[0].structure, spec.like.structure):
                leaves = _widened(spec, value[0].structure, leaves)
        for child, leaf in zip(spec.children, leaves, strict=True):
            yield from lower(child, leaf, origins)


def _set_leaves(spec: Custom, value: Any) -> list[ListValue]:
    """The leaves of a staged set, or of one of Python's, as those of `spec`."""
    types = [type.element for type, _ in leaf_types(spec) if isinstance(type, ListType)]
    if not isinstance(value, StagedSet):
        return [*spec.like.holding(value, types[2:])]
    if value.leaves and not same_layout(value.structure, spec.like.structure):
        return value.table.with_keys(widened(value.leaves[2:], value.structure, spec.like.structure, types[2:])).leaves
    return [*value.with_types(types[2:])] if value.leaves or types else []


def _widened(spec: Custom, structure: Any, leaves: Sequence[ListValue]) -> list[ListValue]:
    """The leaves of a staged list or dict with elements of that structure as those of `spec`."""
    types = [type.element for type, _ in leaf_types(spec) if isinstance(type, ListType)]
    if not isinstance(spec.like, StagedEntries):
        return widened(leaves, structure, spec.like.structure, types)
    columns = widened(leaves[2:], structure, spec.like.structure, types[2:])
    keys = width_of(spec.like.structure[0])
    table = Table.of_leaves(leaves, width_of(structure[0])).with_keys(columns[:keys])
    return table._replace(values=tuple(columns[keys:])).leaves


def _staged(spec: Custom, items: Any) -> StagedView:
    """A Python list or dict as the staged one that `spec` describes."""
    if not isinstance(items, dict):
        return staged_list(spec, items)
    types = [type.element for type, _ in leaf_types(spec) if isinstance(type, ListType)]
    return StagedDict.from_items(items, spec.like.structure, types[2:])


def staged_list(spec: Custom, items: list[Any], owner: list[Any] | None = None) -> StagedList | StagedRecords:
    """A Python list as the staged list that `spec` describes. `owner`: that list, if it becomes the staged list."""
    types = [type.element for type, _ in leaf_types(spec) if isinstance(type, ListType)]
    if spec.like.structure is not None:
        return StagedRecords.from_items(items, spec.like.structure, types, owner)
    return StagedList.from_items(items, types[0])


def begins_with_container(x: Any) -> bool:
    """Whether a value is a list of Python whose first item is a list, dict or object."""
    return type(x) is list and bool(x) and is_container(x[0]) and not has_staged_items(x)


class StagedBefore(Exception):
    """A statement needs these variables, by index, to have staged lists before it, of these specs: they have lists of
    Python whose elements have other names, which then are those of elements of the staged lists."""

    def __init__(self, found: Mapping[int, tuple[list[Any], Custom]]) -> None:
        super().__init__("a list becomes a staged list before a statement")
        self.found = found

    def stage(self) -> None:
        """Convert the lists, each of which may be that of several variables."""
        for x, spec in {id(x): (x, spec) for x, spec in self.found.values()}.values():
            items = [*x]
            refill(x, staged_list(spec, items, x).owner)
            record_places(x, items)


def check_staged_before(init: Sequence[Any], specs: Sequence[Spec], with_elements: bool) -> None:
    """Raise StagedBefore if there are such variables. `specs`: what they have after the statement; `with_elements`:
    even if elements are also those of other staged lists."""
    found = {i: (value, spec) for i, (value, spec) in enumerate(zip(init, specs, strict=False)) if (
        begins_with_container(value) and is_staged_spec(spec) and have_other_names(value, with_elements))}
    if found:
        raise StagedBefore(found)


def _in_one_structure(a: list[Any], b: list[Any]) -> list[StagedItems]:
    """The items of two lists, Python's or staged ones, in the structure that holds those of both. StagingError if there
    is none."""
    OPERATIONS.refer_elements(a, b)
    specs: Any = describe(a), describe(b)
    try:
        spec = join_lists(*specs)
    except Conflict:
        raise staging_error(
            f"elements of {text(specs[0])} and of {text(specs[1])} are in one list here",
            "Give all elements of a list that changes in staged code one structure.") from None
    return [spec.like.holding([*lower(spec, items)]) for items in (a, b)]


OPERATIONS.define(in_one_structure=_in_one_structure)


def _lower_optional(spec: Optional, value: Any, origins: Origins | None) -> Iterator[Any]:
    presence = value.presence if isinstance(value, (MaybeTensor, MaybeObject)) else None
    if spec.unbound:
        bit = None if presence is None else presence.bound
        yield _bit(not has_unset(value)) if bit is None else bit
    content = value if presence is None else value.content
    if spec.none:
        bit = None if presence is None else presence.present
        yield _bit(not absent(content)) if bit is None else bit
    if absent(content) or has_unset(content):
        for type, _ in leaf_types(spec.child):
            yield apply(UNDEFINED, type=type)
    else:
        yield from lower(spec.child, content, origins)


def _bit(value: bool) -> Any:
    return apply(CONST, value=np.array(value))


def _as_type(value: Any, type: Type) -> Any:
    """`value` as a tensor or list of this dtype: weakly typed values are converted."""
    if isinstance(type, ListType):
        return value if value.type.element.dtype is type.element.dtype else list_cast(value, type.element)
    if not isinstance(value, Tensor):
        if not isinstance(value, (int, float, complex, np.ndarray, np.generic)):
            return convert_to_tensor(value)
        array, is_weak = constant_array(value)
        array, weak = adapted(array, type.dtype, type.weak) if is_weak else (array.astype(type.dtype.np), type.weak)
        return _of_arrays(apply(CONST, value=array, **_mark(weak)), type)
    if value.dtype is type.dtype:
        return value
    return _of_arrays(apply(CAST, value, dtype=type.dtype, **_mark(type.weak)), type)


def _of_arrays(made: Any, type: TensorType) -> Any:
    """A new value of that type, made of arrays if the type says so."""
    if type.of_arrays and isinstance(made, GraphTensor):
        mark_as_array(made)
    return made


def _mark(weak: Weak) -> dict[str, Any]:
    return {"weak": weak} if weak else {}


def named(leaves: Iterable[Any], specs: Sequence[Spec], names: Sequence[str]) -> Sequence[Any]:
    """The leaves of the variables `names`, whose names they get in printed graphs from here on."""
    leaves = list(leaves)
    hints = [shown for spec, name in zip(specs, names, strict=True) for _, shown in leaf_types(spec, name)]
    for leaf, name in zip(leaves, hints, strict=True):
        if name:
            hint(leaf, name)
    return leaves


# Values from leaves.

def passed_on(values: Sequence[Any], names: Sequence[str], entry: Sequence[Any], body: Branch) -> list[Any]:
    """The values of the variables `names` after `body`, given their values `entry` before it. Where the body assigned a
    variable from another that may be unbound, emit a check: Python would have raised at the read. An error if it
    assigned a tensor that an ended trace has left in another."""
    return [value if value is before else _read(value, name, body)
            for value, name, before in zip(values, names, entry, strict=True)]


def _read(value: Any, name: str, body: Branch, inside: frozenset[int] = frozenset()) -> Any:
    """Check the parts of a value, updating containers in place; `inside`: the ids of the enclosing ones, for cycles."""
    if not isinstance(value, (MaybeTensor, MaybeObject)):
        if is_lost(value):
            error = inaccessible(value, current_graph())
            locate(error, Position(body.filename, line_of(body, name)))
            raise error
        parts = None if isinstance(value, (Tensor, int, float, str, Text)) or id(value) in inside else parts_of(value)
        read = {key: new for key, part in (parts or {}).items()
                if (new := _read(part, name, body, inside | {id(value)})) is not part}
        if isinstance(value, tuple) and read:
            return tuple.__new__(type(value), [read.get(i, item) for i, item in enumerate(value)])
        for key, part in read.items():
            put(value, key, part)
        return value
    presence = value.presence
    if presence.bound is None or (
            not presence.name.isidentifier() if inside else _own_name(presence.name) == _own_name(name)):
        return value
    graph = current_graph()
    assert graph is not None
    before = len(graph.nodes)
    with raising(None):
        found = checked(value)
    for node in graph.nodes[before:]:
        node.position = Position(body.filename, line_of(body, name))
    return found


def _own_name(name: str) -> Any:
    """The path `a.x` or `a['k']` without the variable, since an object may have several names, as in a callee.
    StagingError for an item of a dict that no variable holds: it is one of several, such as the dicts in a dict."""
    name = unnumbered(name)
    if name.startswith("["):
        raise staging_error(
            f"only the graph knows whether there is the key {name[1:-1]} of a dict, and which of several dicts this is",
            "Use one dict with tuples as keys, such as d[node, letter], where a node is a number.")
    return path_of(name)[-1] if name.endswith("]") else name[max(name.rfind("."), 0):]


def copied(value: Any, copies: Origins, outside: Graph | None, inside: frozenset[int] = frozenset()) -> Any:
    """`value` with copies of its lists, dicts and objects, for a handler in the graph `outside`; records each copy and
    its original in `copies`.

    StagingError for a list or dict that contains itself; `inside`: the ids of the enclosing containers.
    """
    if isinstance(value, MaybeObject):
        content = copied(value.content, copies, outside, inside)
        return value if content is value.content else MaybeObject(content, value.presence)
    if isinstance(value, (Tensor, int, float, str, Text)) and not isinstance(value, ArrayCell):
        return readable(value, outside)
    known = next((copy for copy, original in copies.values() if original is value), None)
    if known is not None:
        return known
    if not (isinstance(value, tuple) or is_container(value)) or is_reference(value):
        return value
    _refuse_cycle(value, inside)
    inside |= {id(value)}
    parts = parts_in(value)
    others = [(key, copied(part, copies, outside, inside)) for key, part in parts]
    if isinstance(value, tuple):
        return with_parts(value, others)
    made = duplicate(value)
    fill(made, others)
    return _noted(made, value, copies)


def refuse_cycles(value: Any, inside: frozenset[int] = frozenset()) -> None:
    """StagingError if a list or dict in `value` contains itself; `inside`: the ids of the enclosing containers."""
    if issubclass(type(value), (*LISTS, tuple, dict)):
        _refuse_cycle(value, inside)
        for _, part in objects_in(value):
            refuse_cycles(part, inside | {id(value)})


def _refuse_cycle(value: Any, inside: frozenset[int]) -> None:
    if id(value) in inside:
        kind = type(value).__name__
        raise staging_error(
            f"a {kind} that contains itself is changed here, or may be, in staged code, which has a copy of it: a graph"
            " carries what is in it, which has no end",
            f"Make it an object, one of whose attributes may be that object, or take the {kind} out of itself before.")


def rebuild_all(
    specs: Sequence[Spec], leaves: Iterator[Any], names: Sequence[str], copies: Origins | None = None
) -> list[Any]:
    """The values of the variables `names`; see `rebuild`."""
    values: list[Any] = []
    for spec, name in zip(specs, names, strict=True):
        values.append(values[spec.index] if isinstance(spec, Shared) else rebuild(spec, leaves, name, copies))
    for spec, value in zip(specs, values, strict=True):
        _settle(spec, value)
    return values


def _settle(spec: Spec, value: Any) -> None:
    """Called when all arrays have their contents: elements that the value was rebuilt with are those of these."""
    if isinstance(spec, Optional):
        _settle(spec.child, unwrapped(value))
    elif isinstance(spec, Custom) and isinstance(value, (JoinedArray, SelectedArray)):
        value.settle()
    elif isinstance(spec, Nested):
        inner = [(key, child) for key, child in zip(spec.keys, spec.children, strict=True)
                 if isinstance(child, (Custom, Nested, Optional))]
        parts = (parts_of(value) or {}) if inner else {}
        for key, child in inner:
            _settle(child, parts.get(key))


def rebuild(spec: Spec, leaves: Iterator[Any], name: str, copies: Origins | None = None) -> Any:
    """The value of variable `name` from its leaves.

    A container whose spec has a target is filled in place. `copies` records all rebuilt containers with their targets.
    """
    if isinstance(spec, Static):
        return spec.value
    if isinstance(spec, Leaf):
        return remember(next(leaves), spec.memories) if spec.memories else next(leaves)
    if isinstance(spec, Optional):
        if not (spec.unbound or spec.none):
            return rebuild(spec.child, leaves, name, copies)
        bits = next(leaves) if spec.unbound else None, next(leaves) if spec.none else None
        return attach(rebuild(spec.child, leaves, name, copies), Presence(name, *bits))
    assert not isinstance(spec, Shared)
    if isinstance(spec, Custom):
        return _object(spec, [rebuild(child, leaves, name, copies) for child in spec.children], copies)
    children = [rebuild(child, leaves, _name_of(child, spec.like, key, name), copies)
                for key, child in zip(spec.keys, spec.children, strict=True)]
    return _container(spec, children, copies)


def _name_of(spec: Spec, container: Any, key: Any, name: str) -> str:
    """The name of a part of variable `name`: its own path for an item or attribute that may be unbound, else `name`."""
    if not isinstance(spec, Optional) or isinstance(container, (*LISTS, tuple)):
        return name
    return f"{name}[{key!r}]" if isinstance(container, dict) else f"{name}.{key}"


def _object(spec: Custom, leaves: list[Any], copies: Origins | None) -> Any:
    if isinstance(spec.like, StagedItems):
        new = copy.copy(spec.like.empty) if spec.target is None else spec.target
        refill(new, [spec.like.holding(leaves)])
    elif spec.target is not None:
        new = spec.target
        new.__become__(leaves)
        if isinstance(new, StagedSet):
            new.structure = spec.like.structure
    else:
        new = spec.like.__rebuild__(leaves)
    return _noted(new, spec.target, copies) if is_container(new) else new


def _container(spec: Nested, children: list[Any], copies: Origins | None) -> Any:
    like, target = spec.like, spec.target
    if isinstance(like, tuple):
        return tuple(children) if type(like) is tuple else type(like)(*children)
    if isinstance(like, LISTS):
        new = copy.copy(like) if target is None else target
        refill(new, children)
    elif isinstance(like, dict):
        new = copy.copy(like) if target is None else target
        fill(new, list(zip(spec.keys, children, strict=True)))
    else:
        new = duplicate(like) if target is None else target
        for key, child in zip(spec.keys, children, strict=True):
            if getattr(new, key, None) is not child:
                object.__setattr__(new, key, child)
    return _noted(new, target, copies)


def _noted(new: Any, target: Any, copies: Origins | None) -> Any:
    if copies is not None:
        copies[id(new)] = new, target
    return new
