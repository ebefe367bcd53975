"""The lattice of types of staged state: the specs of values and their joins.

`describe` gives the spec of a value, `join` that of a variable that may be either of two. Containers are decomposed,
and so are objects that define

  __leaves__() -> list        the tensors and lists (EagerTensor, GraphTensor, EagerList, GraphList) they hold
  __rebuild__(leaves) -> obj  an object of the same kind with these leaves

and, if they are mutable, `__become__(leaves) -> None`. Other Python values are static as long as all paths agree on
them.
"""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from autograph.backend import (
    LISTS,
    UNBOUND,
    ListItems,
    can_be_record,
    fields_in,
    fill,
    is_container,
    is_list,
    is_record,
    merged_keys,
)
from runtime.core.array_mode import want_record
from runtime.core.array_promotion import join_arrays
from runtime.core.graph import Graph
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphList, GraphTensor
from runtime.core.tensor_writes import Memory, memories_of
from runtime.core.text import Text
from runtime.core.trace import current_graph
from runtime.core.types import ListType, TensorType, Type, as_dtype, join_types
from runtime.numpy.array_choices import JoinedArray, SelectedArray, SelectedOrNew, is_made_in, owners_of
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.staging.elements.describe import (
    absent,
    describe,
    has_unset,
    in_parts,
    is_array,
    is_atom,
    is_text,
    is_unset,
    leaf_type,
    parts_of,
    shared,
    target_of,
)
from runtime.staging.elements.list_specs import both_dicts, both_lists, is_container_reference
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select, alternatives_of, one_of_both
from runtime.staging.elements.specs import (
    BY_VALUE,
    TEXT,
    Cells,
    Custom,
    Leaf,
    Nested,
    Optional,
    Origins,
    Shared,
    Spec,
    Static,
    Variants,
    type_of,
    value_of,
)
from runtime.staging.joins.column_join import has_table_rows, join_lists, join_tables, with_staged_lists
from runtime.staging.joins.set_join import join_sets
from runtime.staging.joins.spec_text import Conflict, contents_of_array, kind_text, remedy_for_containers, text
from runtime.staging.joins.tuple_join import join_tuples
from runtime.staging.values.ambiguous_functions import redefined
from runtime.staging.values.enum_members import is_member
from runtime.staging.values.trials import trials

__all__ = [
    "Conflict", "Custom", "Leaf", "Nested", "Optional", "Origins", "Shared", "Spec", "Static", "absent",
    "all_parts_widened", "as_loop_state", "as_outputs", "describe", "has_unset", "join", "kind_text", "leaf_types",
    "parts_of", "remedy_for_containers", "shared", "targets", "text", "type_of",
    "value_of", "with_numbers_of", "with_staged_lists",
]


def as_loop_state(spec: Spec) -> Spec:
    """The spec with which a loop starts: tensors are leaves, other values static until the body changes them."""
    if isinstance(spec, Static):
        type = None if isinstance(spec.value, BY_VALUE) else type_of(spec.value)
        return spec if type is None or isinstance(spec.value, (np.ndarray, np.generic)) else Leaf(
            type, False, memories_of(spec.value))
    if isinstance(spec, (Leaf, Shared)):
        return spec
    if isinstance(spec, Optional):
        return dataclasses.replace(spec, child=_as_leaves(spec.child))
    children = [child if is_atom(child) else as_loop_state(child) for child in spec.children]
    return dataclasses.replace(spec, children=tuple(children))


def _as_leaves(spec: Spec) -> Spec:
    """All numbers as leaves, except members of an Enum, for a value that may be unbound."""
    if isinstance(spec, Static):
        type = None if is_member(spec.value) else type_of(spec.value)
        return TEXT if isinstance(spec.value, Text) else spec if type is None else Leaf(
            type, False, memories_of(spec.value))
    if isinstance(spec, (Nested, Custom)):
        return dataclasses.replace(spec, children=tuple(map(_as_leaves, spec.children)))
    if isinstance(spec, Optional):
        return dataclasses.replace(spec, child=_as_leaves(spec.child))
    return spec


def as_outputs(spec: Spec, graph: Graph) -> Spec:
    """The spec of the results of a branch traced in `graph`, if the other branch never returns."""
    if isinstance(spec, Static):
        value = spec.value
        if isinstance(value, Text):
            return TEXT
        if isinstance(value, JoinedArray):  # which stays one, so that it is not changed
            return Custom(value, (Leaf(value.type),)) if value.leaf.graph is graph else spec
        is_leaf = isinstance(value, (GraphTensor, GraphList)) and value.value.graph is graph and (
            not isinstance(value, StagedArray) or is_made_in(value, graph))
        return Leaf(value.type, False, memories_of(value)) if is_leaf else spec
    if isinstance(spec, Optional):
        return _as_leaves(spec)
    if isinstance(spec, (Nested, Custom)):
        return _collapsed(dataclasses.replace(spec, children=tuple(as_outputs(c, graph) for c in spec.children)))
    return spec


def all_parts_widened(
    names: Sequence[str], before: Sequence[Spec], after: Sequence[Spec], spreads: bool
) -> list[Spec]:
    """`all_items_widened` of the variables with these names; the same part of the elements of a list, such as `xs[0].v`
    and `xs[1].v`, counts as the items of one. Unless it is known that the change `spreads`, only in lists of lists of
    many numbers, such as boards and grids."""
    made = [all_items_widened(old, new, 0 if spreads else _LARGE_TABLE)
            for old, new in zip(before, after, strict=True)]
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names if spreads else ()):
        if "[" in name:
            groups.setdefault(_SUBSCRIPT.sub("[]", name), []).append(k)
    for places in groups.values():
        _widen_all([before[k] for k in places], made, places)
    return made


_LARGE_TABLE: Final = 64
_SUBSCRIPT: Final = re.compile(r"\[\d+\]")


def all_items_widened(before: Spec, after: Spec, most: int = 0) -> Spec:
    """`after` with all numbers in a list or tuple, or in a list of lists, widened to tensors, if some of them became
    tensors since `before`: otherwise later iterations would widen their neighbours one by one. `most`: if it is given,
    only in lists of lists of more numbers."""
    if not (isinstance(before, Nested) and isinstance(after, Nested) and before.alike(after)):
        return after
    children = [all_items_widened(old, new, most) for old, new in zip(before.children, after.children, strict=True)]
    if isinstance(after.like, (*LISTS, tuple)):
        old_items, items = _items_of_rows(before.children), _items_of_rows(children)
        if items and len(items) == len(old_items):
            if len(items) > most:
                _widen_all(old_items, items, range(len(items)))
                rest = iter(items)
                children = [dataclasses.replace(row, children=tuple(itertools.islice(rest, len(row.children))))
                            for row in children if isinstance(row, Nested)]
        elif not most:
            _widen_all(before.children, children, range(len(children)))
    return dataclasses.replace(after, children=tuple(children))


def _items_of_rows(rows: Sequence[Spec]) -> list[Spec]:
    """The items of some lists of Python; empty if these are other values."""
    items: list[Spec] = []
    for row in rows:
        if not (isinstance(row, Nested) and is_list(row.like)):
            return []
        items += row.children
    return items


def _widen_all(before: Sequence[Spec], specs: list[Spec], places: Sequence[int]) -> None:
    """Widen all numbers among the specs at these places, if some of their type became tensors since `before`."""
    wider = {type(old.value): specs[k] for old, k in zip(before, places, strict=True)
             if isinstance(old, Static) and type(old.value) in (bool, int, float) and isinstance(specs[k], Leaf)}
    for k in places if wider else ():
        spec = specs[k]
        if isinstance(spec, Static) and type(spec.value) in wider:
            with contextlib.suppress(Conflict):
                specs[k] = join(wider[type(spec.value)], spec)


def with_numbers_of(spec: Spec, value: Any) -> Spec:
    """The spec of a variable that may also be of the types of `value`, if that consists of numbers and tensors; else
    `spec`."""
    other = _as_leaves(describe(value, {}))
    if spec == other or not _is_of_leaves(other):
        return spec
    with contextlib.suppress(Conflict):
        return join(spec, other)
    return spec


def _is_of_leaves(spec: Spec) -> bool:
    if isinstance(spec, Optional):
        return _is_of_leaves(spec.child)
    if isinstance(spec, Nested) and isinstance(spec.like, tuple):
        return all(map(_is_of_leaves, spec.children))
    return isinstance(spec, Leaf)


def leaf_types(spec: Spec, name: str = "") -> Iterator[tuple[Type, str]]:
    """The types of the leaves of variable `name`, in order, each with a name for printing."""
    if isinstance(spec, Leaf):
        yield spec.type, name
    elif isinstance(spec, Optional):
        if spec.unbound:
            yield _BIT, name + "_bound"
        if spec.none:
            yield _BIT, name + "_present"
        yield from leaf_types(spec.child, name)
    elif isinstance(spec, (Nested, Custom)):
        for child in spec.children:
            if type(child) is not Static:
                yield from leaf_types(child, name)


def targets(specs: Iterable[Spec]) -> Iterator[Any]:
    """The containers that values are written back into."""
    for spec in specs:
        if isinstance(spec, Optional):
            yield from targets([spec.child])
        elif isinstance(spec, (Nested, Custom)):
            yield spec.target
            yield from targets(spec.children)


_BIT: Final = TensorType(as_dtype(bool))
_INDEX: Final = Leaf(TensorType(as_dtype("int32"), (), weak=True))


# Joins.

def join(a: Spec, b: Spec, cells: Cells | None = None) -> Spec:
    """The spec of a variable that may be either. Conflict if there is no join.

    Weak dtypes adapt, differing dimensions become unknown, None and unbound are encoded as bits, and lists of different
    lengths become a staged list.
    """
    if isinstance(a, Static) and a == b:
        return a
    a, b = _without_lost(a, b)
    if _may_be_absent(a) or _may_be_absent(b):
        return _join_optional(a, b, cells)
    if isinstance(a, Static) != isinstance(b, Static):
        a, b = in_parts(a), in_parts(b)
    if cells is not None and (cell := cells.join(a, b)) is not None:
        return _by_identity(cell, a, b)
    if isinstance(a, Static) and isinstance(b, Static) and (function := redefined(a.value, b.value)) is not None:
        chosen = one_of_both(a.value, b.value)
        return Static(function) if chosen is None else _one_of(chosen)
    if (members := _join_members(a, b)) is not None:
        return members
    if all(map(is_text, (a, b))):
        return TEXT
    if (containers := _join_containers(a, b, cells)) is not None:
        return containers
    if (joined := _join_arrays_or_sets(a, b)) is not None:
        return joined
    if isinstance(a, Custom) and isinstance(b, Custom) and a.alike(b) and len(a.children) == len(b.children):
        children = tuple([join(x, y, cells) for x, y in zip(a.children, b.children, strict=True)])
        return _collapsed(dataclasses.replace(a, children=children, target=target_of(a, b)))
    return _join_objects(a, b, cells) or _join_leaves(a, b)


def _join_containers(a: Spec, b: Spec, cells: Cells | None) -> Spec | None:
    """The join of two containers with the same parts, or of two lists or dicts; None for others."""
    if isinstance(a, Nested) and isinstance(b, Nested) and a.alike(b):
        return _join_nested(a, b, cells) if has_table_rows(a) == has_table_rows(b) else join_lists(a, b)
    if (lists := both_lists(a, b)) is not None:
        return join_lists(*lists)
    if (tuples := join_tuples(a, b)) is not None:
        return tuples
    dicts = both_dicts(a, b)
    return None if dicts is None else _join_dicts(*dicts, cells)


def _join_objects(a: Spec, b: Spec, cells: Cells | None) -> Spec | None:
    """The join of two objects of different classes, by reference or by value; None for others."""
    return _join_references(a, b) or _join_classes(a, b, cells)


def _join_references(a: Spec, b: Spec) -> Custom | None:
    """The join of two references to objects of different classes in one arena; None for others."""
    if is_container_reference(a) and is_container_reference(b) and a.like.arena.takes(b.like.arena.empty):
        OPERATIONS.unify(a.like.arena, b.like.arena)
    if not (isinstance(a, Custom) and isinstance(b, Custom) and isinstance(a.like, Reference)
            and isinstance(b.like, Reference) and a.like.__arena__ is b.like.__arena__):
        return None
    return Custom(a.like.__arena__.at(a.like.__place__), (join(a.children[0], b.children[0]),))


def _by_identity(cell: Any, *joined: Spec) -> Spec:
    """The spec of a value that is that container, or the one at an index of a Select, which joins `joined`."""
    if isinstance(cell, SelectedOrNew):
        contents = _join_leaves(*[contents_of_array(spec) for spec in joined])
        return dataclasses.replace(_one_of(cell, *joined), children=(contents, *_one_of(cell, *joined).children))
    return _one_of(cell, *joined) if isinstance(cell, (Select, SelectedArray)) else Static(cell)


def _join_members(a: Spec, b: Spec) -> Spec | None:
    """The spec of one of several members of an Enum that are numbers or text; None for other values."""
    chosen = one_of_both(value_of(a), value_of(b)) if is_member(value_of(a)) and is_member(value_of(b)) else None
    return None if chosen is None else _one_of(chosen, a, b)


def _one_of(chosen: Select | SelectedArray | SelectedOrNew, *joined: Spec) -> Custom:
    """The spec of one of several objects, which joins `joined`. The type of its index is no narrower than in these."""
    index: Type = _INDEX.type
    for spec in joined:
        if isinstance(spec, Custom) and isinstance(spec.like, (Select, SelectedArray, SelectedOrNew)):
            found = leaf_type(spec.children[-1])
            index = (None if found is None else join_types(index, found, adapts=True)) or index
    return Custom(chosen, (Leaf(index),))


def _join_classes(a: Spec, b: Spec, cells: Cells | None) -> Spec | None:
    """After branches, newly created objects of different classes become Variants; None for other values, and for
    objects with other names."""
    mine, theirs = (_by_class(spec, cells) if cells is not None and cells.are_of_branches else None for spec in (a, b))
    if mine is None or theirs is None:
        return None
    children = []
    for cls in (classes := (*dict.fromkeys([*mine, *theirs]),)):
        both = [found[cls] for found in (mine, theirs) if cls in found]
        child: Spec = join(both[0], both[1], cells) if len(both) == 2 else _on_one_path(both[0], cells)
        children.append(Optional(_as_leaves(child), False, False))
    return Custom(Variants(classes), (_INDEX, *children))


def _by_class(spec: Spec, cells: Cells) -> dict[type, Nested] | None:
    """The objects that a value may be, by class, if there is one per class and none has another name; else None."""
    found: list[Spec] = []
    if isinstance(spec, Nested):
        found = [spec]
    elif isinstance(spec, Custom) and isinstance(spec.like, Variants):
        found = [child.child for child in spec.children[1:] if isinstance(child, Optional)]
    elif isinstance(spec, Custom) and isinstance(spec.like, Select):
        found = [describe(one, {id(one): (one, one)}) for one in alternatives_of(spec.like)[0]]
    kinds = {type(one.like): one for one in found if isinstance(one, Nested) and is_record(one.like)}
    if not kinds or len(kinds) < len(found):
        return None
    is_shared = (cells.is_shared(spec.like) if isinstance(spec, Custom) and isinstance(spec.like, Select)
                 else any(cells.alone(one) is not None for one in found))
    return None if is_shared else kinds


def _join_nested(a: Nested, b: Nested, cells: Cells | None) -> Spec:
    target = target_of(a, b)
    if a.like is b.like and target is None and not isinstance(a.like, (*LISTS, dict)):
        return Static(a.like)
    children = tuple([join(x, y, cells) for x, y in zip(a.children, b.children, strict=True)])
    return _collapsed(dataclasses.replace(a, children=children, target=target))


def _join_leaves(a: Spec, b: Spec) -> Spec:
    """The join of two tensors, or of values that become tensors; of two objects, a Select."""
    left, right = leaf_type(a), leaf_type(b)
    if left is None or right is None:
        chosen = one_of_both(value_of(a), value_of(b))
        if chosen is None:
            raise Conflict(a, b)
        return _one_of(chosen, a, b)
    fixed = isinstance(a, Leaf) and a.fixed
    joined = join_types(left, right, adapts=True) or join_arrays(left, right)
    if joined is None or (fixed and not _fits(left, joined)):
        raise Conflict(a, b)
    return Leaf(joined, fixed, _memories(a) | _memories(b))


def _join_arrays_or_sets(a: Spec, b: Spec) -> Spec | None:
    """The join of different views, of a view and an array, of an array and a tensor, or of sets; None for others."""
    if not (is_array(a) or is_array(b)):
        return join_sets(a, b)
    if isinstance(a, Custom) and isinstance(b, Custom) and a.alike(b) and not isinstance(a.like, JoinedArray):
        if isinstance(b.like, ArrayCell) and b.like.refusal is not None and a.like.refusal is None:
            return join(b, a)
        return _join_layouts(a, b)
    contents = [contents_of_array(spec) for spec in (a, b)]
    if None in map(leaf_type, contents):
        return None
    arrays = [spec.like for spec in (a, b) if is_array(spec) and isinstance(spec, Custom)]
    owners = [owner for x in arrays for owner in owners_of(x)]
    return Custom(JoinedArray(arrays[0].some_elements(), owners), (_join_leaves(*contents),))


def _join_layouts(a: Custom, b: Custom) -> Spec | None:
    """The join of two arrays with different layouts, so that it has none that is known; None for others."""
    if not (type(a.like) is type(b.like) is ArrayCell) or a.like.layout == b.like.layout:
        return None
    like = a.like.without_layout()
    return join(dataclasses.replace(a, like=like), dataclasses.replace(b, like=like))


def _memories(spec: Spec) -> frozenset[Memory]:
    if isinstance(spec, Leaf):
        return frozenset([memory for memory in spec.memories if not memory.is_over])
    return memories_of(spec.value) if isinstance(spec, Static) else frozenset()


def _without_lost(a: Spec, b: Spec) -> tuple[Spec, Spec]:
    """The specs of two containers, where one with tensors that an ended trace left in it is unbound: the other replaces
    it."""
    if not (isinstance(a, Nested) and isinstance(b, Nested)) or target_of(a, b) is not None:
        return a, b
    return tuple([Static(UNBOUND) if has_unset(spec.like) else spec for spec in (a, b)])  # type: ignore[return-value]


def _may_be_absent(spec: Spec) -> bool:
    return isinstance(spec, Optional) or (isinstance(spec, Static) and absent(spec.value))


def _join_optional(a: Spec, b: Spec, cells: Cells | None) -> Spec:
    unbound = none = False
    children: list[Spec] = []
    for spec in (a, b):
        if isinstance(spec, Optional):
            unbound, none = unbound or spec.unbound, none or spec.none
            children.append(spec.child)
        elif isinstance(spec, Static) and is_unset(spec.value):
            unbound = True
        elif isinstance(spec, Static) and spec.value is None:
            none = True
        else:
            children.append(spec)
    present = [child for child in children if not (isinstance(child, Static) and child.value is None)]
    if not present:  # each is unbound or None
        return Optional(Static(None), unbound, False)
    none, children = none or len(present) < len(children), present
    for child in children:
        if isinstance(child, Static):
            _want_record(child.value)
    if len(children) > 1:
        child = join(children[0], children[1], cells)
    else:
        cell = None if cells is None else cells.alone(children[0])
        child = _on_one_path(children[0], cells) if cell is None else _by_identity(cell)
    return Optional(_as_leaves(child), unbound, none)


def _want_record(value: Any) -> None:
    """Retrace the function if this is an object of a plain class that a body has made of values of its graph: as state
    it may be absent."""
    if trials.depth == 0 and can_be_record(type(value)):
        graph = current_graph()
        parts = (fields_in(value) or {}).values()
        if any(isinstance(part, GraphTensor) and not part.graph.contains(graph) for part in parts):
            kind = type(value).__name__
            want_record(staging_error(
                f"a {kind} that is made here on one path has tensors, and there is none on another",
                f"Make {kind} a dataclass, or give that place an object before."), type(value))


def _on_one_path(spec: Spec, cells: Cells | None = None) -> Spec:
    """The spec of an object bound on one path only: without a target, since on the other path it must not change.
    Arrays and containers in it that have other names are by identity."""
    if isinstance(spec, Nested):
        children = tuple([_part_on_one_path(child, cells) for child in spec.children])
        return dataclasses.replace(spec, children=children, target=None)
    if isinstance(spec, Custom):
        return dataclasses.replace(spec, target=None)
    return spec


def _part_on_one_path(spec: Spec, cells: Cells | None) -> Spec:
    cell = None if cells is None else cells.alone(spec)
    return _on_one_path(spec, cells) if cell is None else _by_identity(cell)


def _collapsed(spec: Nested | Custom) -> Spec:
    """An immutable container all of whose parts are unchanged is itself unchanged (`Static`)."""
    changes = isinstance(spec.like, (ListItems, SelectedOrNew)) or is_container(spec.like)
    if changes or not all(isinstance(c, Static) for c in spec.children):
        return spec
    own: Sequence[Any] = (list((parts_of(spec.like) or {}).values()) if isinstance(spec, Nested)
                          else spec.like.__leaves__())
    same = all(isinstance(c, Static) and c.value is value for c, value in zip(spec.children, own, strict=True))
    return Static(spec.like) if same else spec


def _join_dicts(a: Nested | Custom, b: Nested | Custom, cells: Cells | None) -> Spec:
    """The join of dicts with different keys: a hash table in the graph, or a dict with values that may be unbound."""
    keys = merged_keys(a.keys, b.keys) if isinstance(a, Nested) and isinstance(b, Nested) else None
    if keys is None or not all([type(key) is str for key in keys]):
        try:
            return join_tables(a, b)
        except Conflict:
            if keys is None:
                raise
    assert isinstance(a, Nested) and isinstance(b, Nested)
    mine, theirs = (dict(zip(spec.keys, spec.children, strict=True)) for spec in (a, b))
    missing = Static(UNBOUND)
    children = [join(mine.get(key, missing), theirs.get(key, missing), cells) for key in keys]
    like = copy.copy(a.like)
    fill(like, [(key, (b if key in theirs else a).like[key]) for key in keys])
    return Nested(like, tuple(keys), tuple(children), target_of(a, b))


def _fits(wide: Type, narrow: Type) -> bool:
    return (isinstance(wide, TensorType) and isinstance(narrow, TensorType) and wide.shape == narrow.shape) or (
        isinstance(wide, ListType) and isinstance(narrow, ListType) and _fits(wide.element, narrow.element))


