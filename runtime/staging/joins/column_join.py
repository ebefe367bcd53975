"""The joins of lists and dicts whose items only the graph knows: column by column."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeGuard

from autograph.backend import LISTS, ListItems, is_list, is_record
from runtime.core import pytree
from runtime.core.array_mode import note_put
from runtime.core.array_promotion import join_arrays
from runtime.core.errors import StagingError
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.types import ListType, TensorType, Type, as_dtype, join_types
from runtime.staging.elements.constant_layout import Constants, Words, constants_of
from runtime.staging.elements.describe import describe, is_array, is_text, leaf_type, target_of
from runtime.staging.elements.element_layout import (
    EMPTY,
    LENGTHS,
    ROW,
    STRING,
    UNKNOWN,
    LeafLayout,
    MaybeNone,
    NoItems,
    Record,
    Rows,
    StagedStructures,
    Tables,
    attributes_of,
    is_unknown,
    layout_of,
    leaf_layouts,
    row_type,
    width_of,
)
from runtime.staging.elements.element_structures import Beside, Empty, Fresh, Plain, Together, join_structures, widen
from runtime.staging.elements.list_specs import (
    empty_like,
    is_container_reference,
    is_staged_spec,
    list_of_tuple,
    representatives,
)
from runtime.staging.elements.references import Reference, References
from runtime.staging.elements.select import Select
from runtime.staging.elements.specs import Custom, Leaf, Nested, Optional, Spec, Static
from runtime.staging.elements.tuple import StagedTuple, Tuples
from runtime.staging.joins.spec_text import Conflict, contents_of_array
from runtime.staging.storage.dict import StagedEntries, empty_dict_like
from runtime.staging.storage.dict_keys import is_key, join_keys, key_structure
from runtime.staging.values.list import StagedItems

__all__ = ["join_lists", "join_sets_of", "join_tables", "with_staged_lists"]

_NUMBERS: Final = frozenset({bool, int, float, complex})
_BYTES: Final = Leaf(TensorType(as_dtype("uint8"), (None,)))
_BOOL: Final = TensorType(as_dtype(bool))
_BIT: Final = Leaf(_BOOL)
_NUMBER: Final = Leaf(TensorType(as_dtype("int32")))
_SLOTS: Final = Leaf(ListType(TensorType(as_dtype("int32"))))


class _Differs(Exception):
    """The items have no structure in common."""


def join_lists(a: Nested | Custom, b: Nested | Custom) -> Custom:
    """The join of lists of different lengths, or of staged lists, as a staged list. Conflict if there is none."""
    structure: Any = None
    try:
        structure = _structure(a, b)
        return _joined(a, b, structure)
    except (_Differs, Conflict):
        if not isinstance(structure, list):
            raise Conflict(a, b) from None
    try:
        return _joined(a, b, ROW)  # the elements are lists of different lengths
    except _Differs:
        raise Conflict(a, b) from None


def _joined(a: Nested | Custom, b: Nested | Custom, structure: Any) -> Custom:
    columns = zip(_columns(a, structure, 0), _columns(b, structure, 0), strict=True)
    leaves = [_elements(a, b, mine, theirs) for mine, theirs in columns]
    if not leaves:  # such as empty tuples: nothing would have the length
        raise _Differs
    like = StagedItems((), empty_like(a)) if structure is None else StagedStructures((), structure, empty_like(a))
    return Custom(like, tuple(leaves), target_of(a, b))


def join_tables(a: Nested | Custom, b: Nested | Custom) -> Custom:
    """The join of dicts with different keys as a hash table. Conflict if the table cannot hold their items."""
    if not all(is_key(key) for spec in (a, b) if isinstance(spec, Nested) for key in spec.keys):
        raise Conflict(a, b)
    try:
        structure = _structure(a, b)
        columns = [*zip(*[_columns(spec, structure, 2) for spec in (a, b)], strict=True)]
    except _Differs:
        raise Conflict(a, b) from None
    keys = width_of(structure[0])
    if _are_names(structure[0]) and any([_changes_numbers(mine, theirs) for mine, theirs in columns[keys:]]):
        raise Conflict(a, b)  # keys that are no numbers are names of values, which may be of several types
    empty = a.like.empty if isinstance(a, Custom) else empty_dict_like(a.like)
    like = StagedEntries((), structure, empty)
    elements = [_elements(a, b, mine, theirs) for mine, theirs in columns]
    return Custom(like, (_SLOTS, _SLOTS, *elements), target_of(a, b))


def join_sets_of(a: Custom, b: Custom) -> Custom:
    """The join of sets of the graph with items of different structures. Conflict if these have no join."""
    try:
        structure = join_keys(a.like.structure, b.like.structure)
        columns = [*zip(*[_columns(spec, structure, 2) for spec in (a, b)], strict=True)]
    except (TypeError, ValueError, _Differs):
        raise Conflict(a, b) from None
    elements = [_elements(a, b, mine, theirs) for mine, theirs in columns]
    return Custom(type(a.like)((), structure), (_SLOTS, _SLOTS, *elements), target_of(a, b))


def _are_names(keys: Any) -> bool:
    """Whether keys of that structure have parts that are no numbers."""
    return any(_are_names(layout.fields) if isinstance(layout, Record) else isinstance(layout, LeafLayout)
               for layout in pytree.flatten(keys))


def _changes_numbers(*columns: Sequence[Spec]) -> bool:
    """Whether a column that has all these values has some of them as numbers of another kind."""
    types = [leaf_type(spec) for column in columns for spec in column]
    elements = [type.element if isinstance(type, ListType) else type for type in types]
    return len({type.dtype.np.kind for type in elements if isinstance(type, TensorType) and not is_unknown(type)}) > 1


def with_staged_lists(spec: Spec) -> Spec:
    """`spec` with its lists made staged lists where the elements' types allow it: for lists that a tensor may index."""
    if isinstance(spec, Optional):
        return dataclasses.replace(spec, child=with_staged_lists(spec.child))
    if not isinstance(spec, Nested):
        return spec
    if has_table_rows(spec) or type_of_table_row(spec) is not None:
        return spec  # which a tensor indexes as they are
    if is_list(spec.like) and spec.children:
        try:
            return join_lists(spec, spec)
        except Conflict:
            pass
    return dataclasses.replace(spec, children=tuple(map(with_staged_lists, spec.children)))


# The structure of items.

def _structure(*specs: Nested | Custom) -> Any:
    """The structure of the items of lists or dicts. _Differs if there is none."""
    found = [spec.like.structure for spec in specs if isinstance(spec, Custom)]
    known = [spec for spec in specs if isinstance(spec, Nested)]
    children = [child for spec in known for child in spec.children]
    of_dicts = any(isinstance(spec.like, (dict, StagedEntries)) for spec in specs)
    try:
        if children or not found:
            values = _structure_of(children, of_dicts)
            keys = [key_structure(key) for spec in known for key in spec.keys] if of_dicts else []
            found.append((reduce(join_keys, keys), values) if keys else values)
        return reduce(_join_items if of_dicts else join_structures, found)
    except (TypeError, ValueError):
        raise _Differs from None
    except RecursionError:
        raise _endless(children) from None


def _endless(specs: Sequence[Spec]) -> StagingError:
    """The error for items whose layout has no end, since they lead to themselves."""
    want_references(of_containers=True)
    kinds = [type(spec.like).__name__ for spec in map(_in_parts, map(_bound, specs)) if isinstance(spec, Nested)]
    return staging_error(
        f"a list that changes in staged code has copies of its elements, and a {kinds[0]} in it leads to itself, by"
        " attributes and lists in them: what a graph carries would have no end",
        "Keep such objects in one list, and in other lists and attributes their indices there.")


def _join_items(a: Any, b: Any) -> Any:
    """The structure of the items of dicts that have one of these structures."""
    return join_keys(a[0], b[0]), join_structures(a[1], b[1])


def _items(spec: Nested) -> Sequence[Spec]:
    """The specs of the elements of a list, or of the (key, value) pairs of a dict."""
    if not isinstance(spec.like, dict):
        return spec.children
    return [Nested((key, child), (0, 1), (describe(key), child))
            for key, child in zip(spec.keys, spec.children, strict=True)]


def _structure_of(specs: Sequence[Spec], rows: bool = False) -> Any:
    """The structure of values that have these specs, as a copy: None for tensors and numbers. `rows`: lists may have
    other lengths later."""
    others = [_bound(spec) for spec in specs if not (type(spec) is Static and type(spec.value) in _NUMBERS)]
    if any(map(_may_be_none, others)):
        present = _present(specs)
        return MaybeNone(_structure_of(present, rows) if present else UNKNOWN)
    others = [*map(_in_parts, others)]
    constants = [*map(_constants_of, others)]
    joined = reduce(join_structures, filter(None, constants)) if any(constants) else None
    if joined is not None and None not in constants and len(others) == len(specs):
        return joined
    if any(map(is_text, others)):
        return STRING
    if joined is not None:
        if joined.plain is not None:
            raise ValueError("the structures differ")
        others = [spec for spec, found in zip(others, constants, strict=True) if found is None]  # beside numbers
    if by_reference := [spec.like.arena for spec in others if is_container_reference(spec)]:
        if len(by_reference) < len(others):
            raise ValueError("the structures differ")
        for arena in by_reference[1:]:
            OPERATIONS.unify(by_reference[0], arena)
        return by_reference[0].layout
    arenas = {spec.like.__arena__ for spec in others if _is_reference(spec)}
    if arenas:
        if len(arenas) > 1 or not all(map(_is_reference, others)):
            raise ValueError("the structures differ")
        return arenas.pop().layout
    return _structure_of_nested(others, rows)


def _constants_of(spec: Spec) -> Constants | None:
    if isinstance(spec, Static):
        return constants_of(spec.value)
    return constants_of(spec.like) if isinstance(spec, Custom) and isinstance(spec.like, Select) else None


def _is_reference(spec: Spec) -> TypeGuard[Custom]:
    return isinstance(spec, Custom) and isinstance(spec.like, Reference)


def _structure_of_nested(others: Sequence[Spec], rows: bool) -> Any:
    """`_structure_of` for lists, tuples and dicts."""
    tables = [*map(_table_of, others)]
    if any(tables):
        if not all(tables):
            raise ValueError("the structures differ")
        return reduce(join_structures, tables)
    objects = [spec for spec in others if isinstance(spec, Nested) and _is_object(spec)]
    if objects:
        return _record_of(objects, len(objects) < len(others), rows)
    nested = [spec for spec in others if isinstance(spec, Nested)]
    staged = [found for found in map(_layout_of_row, others) if found is not None]
    if staged:
        known = [_rows_of(spec, rows) if type(spec.like) is list else _structure_of([spec], rows) for spec in nested]
        return reduce(join_structures, [*staged, *known])
    return _structure_of_known(nested, rows) if nested else None


def _structure_of_known(nested: Sequence[Nested], rows: bool) -> Any:
    """`_structure_of` for lists, tuples and dicts of known lengths and keys."""
    first = nested[0]
    alike = [spec for spec in nested if type(spec.like) is type(first.like) and {*spec.keys} == {*first.keys}]
    if type(first.like) is tuple and len(alike) < len(nested):
        return reduce(join_structures, [_structure_of([spec], rows) for spec in nested])
    if type(first.like) is tuple and not first.keys:
        return Tuples(None)
    if isinstance(first.like, LISTS) and (rows or not (first.children and len(alike) == len(nested))):
        return reduce(join_structures, [_rows_of(spec, rows) for spec in nested])
    parts = [[dict(zip(spec.keys, spec.children, strict=True))[key] for spec in alike] for key in _in_order(first)]
    return pytree.rebuild(first.like, [_structure_of(part, rows) for part in parts])


def _table_of(spec: Spec) -> NoItems | None:
    """The layout of a dict or set without items, or of whose items only the graph knows; None for other values."""
    if isinstance(spec, Nested):
        return NoItems(spec.like) if isinstance(spec.like, dict) and not spec.keys else None
    if not isinstance(spec, Custom):
        return None
    if isinstance(spec.like, StagedEntries):
        return Tables(spec.like.holding(()))
    if getattr(type(spec.like), "__stands_for__", None) not in (set, frozenset):
        return None
    return Tables(spec.like) if spec.children else NoItems(spec.like)


def _is_object(spec: Nested) -> bool:
    """Whether the value is an object with fields."""
    return not isinstance(spec.like, (*LISTS, tuple, Mapping))


def _record_of(objects: Sequence[Nested], has_others: bool, rows: bool) -> Record:
    """The layout of objects. ValueError if they are of several classes, or there are other values."""
    first = objects[0]
    if has_others or any(type(spec.like) is not type(first.like) or spec.keys != first.keys for spec in objects):
        raise ValueError("the structures differ")
    attributes_of(first.like)
    return Record(type(first.like), {key: _structure_of([spec.children[k] for spec in objects], rows)
                                     for k, key in enumerate(first.keys)}, is_record(first.like))


def _is_staged_row(spec: Spec) -> TypeGuard[Custom]:
    """Whether the value is a list, not a deque, whose items only the graph knows."""
    return is_staged_spec(spec) and type(spec.like.empty) is list


def _layout_of_row(spec: Spec) -> Rows | None:
    """The layout of a list or tuple of whose length only the graph knows; None for other values."""
    if isinstance(spec, Custom) and isinstance(spec.like, StagedTuple):
        return Tuples(spec.like.items.structure)
    return Rows(spec.like.structure) if _is_staged_row(spec) else None


def _rows_of(spec: Nested, rows: bool) -> Rows:
    """The layout of a list as an element whose length may change."""
    return Rows(_structure_of(spec.children, rows)) if spec.children else ROW


def _in_order(spec: Nested) -> Sequence[Any]:
    """The keys of a structure in the order of `pytree.children`."""
    return sorted(spec.keys) if isinstance(spec.like, Mapping) else spec.keys


def _bound(spec: Spec) -> Spec:
    """The spec of a value that may be unbound, if it is not."""
    return dataclasses.replace(spec, unbound=False) if isinstance(spec, Optional) and spec.none else (
        spec.child if isinstance(spec, Optional) else spec)


def _in_parts(spec: Spec) -> Spec:
    """The spec of a container, decomposed even if it is one by identity; other specs unchanged. A row of a table is a
    list of the graph."""
    spec = describe(spec.value, {}) if isinstance(spec, Static) else spec
    type = type_of_table_row(spec)
    return spec if type is None else Custom(StagedItems((), []), (Leaf(ListType(type)),))


def type_of_table_row(spec: Spec) -> TensorType | None:
    """The type of the items of a list that is stored as a row of a table (`row_table`); None for other values."""
    if not (isinstance(spec, Nested) and is_list(spec.like) and len(spec.children) == 1):
        return None
    items = spec.children[0].value if isinstance(spec.children[0], Static) else None
    if not isinstance(items, ListItems) or items.storage is None:
        return None
    whole: TensorType = items.storage.tensor.type
    return TensorType(whole.dtype, whole.shape[2:], whole.weak)


def has_table_rows(spec: Nested) -> bool:
    """Whether it is a list with rows of a table."""
    return is_list(spec.like) and any(type_of_table_row(child) is not None for child in spec.children)


def _may_be_none(spec: Spec) -> bool:
    return spec.none if isinstance(spec, Optional) else isinstance(spec, Static) and spec.value is None


def _present(specs: Sequence[Spec]) -> list[Spec]:
    """The specs of those values that are not None."""
    found = [spec.child if isinstance(spec, Optional) else spec for spec in specs]
    return [spec for spec in found if not _may_be_none(spec)]


# The columns of items.

def _columns(spec: Nested | Custom, structure: Any, before: int) -> list[Sequence[Spec]]:
    """For each column of items of that structure, the specs of what a list or dict has in it. `before`: the number of
    leaves that a staged one has before its columns. _Differs if an item has another structure."""
    if isinstance(spec, Custom):
        try:
            found = widen(spec.like.structure, structure, iter(spec.children[before:]))
        except (TypeError, ValueError):
            raise _Differs from None
        return [*map(_specs_of, found)]
    items = _items(spec)
    if structure is None:
        if any(isinstance(_bound(item), Nested) for item in items):
            raise _Differs
        return [items]
    rows = [_leaf_specs(structure, item) for item in items]
    layouts = leaf_layouts(structure)
    leaves = zip(*rows, strict=True) if rows else [()] * len(layouts)
    return [column for layout, specs in zip(layouts, leaves, strict=True) for column in _stored(layout, specs)]


def _specs_of(column: Any) -> Sequence[Spec]:
    """The specs of what is in a column of `widen`."""
    if isinstance(column, Together):
        specs = [spec for part in column.columns for spec in _specs_of(part)]
        return [Leaf(row_type(_element_type(specs[0], specs[0], specs, ())))] if specs else ()
    if isinstance(column, Empty):
        type = leaf_type(column.column)
        if not (isinstance(type, ListType) and is_unknown(type.element)):
            raise _Differs
        return ()
    if isinstance(column, Fresh):
        return ()
    if isinstance(column, Plain):
        return (Leaf(column.layout.plain_type),)
    if isinstance(column, Beside):
        return (Leaf(row_type(_BOOL)),) if column.bits else ()
    return () if column is None else (_BIT,) if column is True else (column,)


def _leaf_specs(structure: Any, spec: Spec) -> list[Spec]:
    """The specs of the leaves of an item, in the order of `pytree.flatten`."""
    if not pytree.is_nested(structure):
        return [spec]
    spec = _in_parts(_bound(spec))
    if not isinstance(spec, Nested) or type(spec.like) is not type(structure) or len(spec.keys) != len(structure) or (
            isinstance(structure, Mapping) and {*spec.keys} != {*structure}):
        raise _Differs
    own = dict(zip(spec.keys, spec.children, strict=True))
    return [leaf for key, part in zip(_in_order(spec), pytree.children(structure), strict=True)
            for leaf in _leaf_specs(part, own[key])]


def _stored(layout: LeafLayout, specs: Sequence[Spec]) -> list[Sequence[Spec]]:
    """For each column of a leaf, the specs of what these values have in it."""
    specs = [_bound(spec) for spec in specs]
    if isinstance(layout, MaybeNone):
        found = _present(specs)
        if layout.structure is UNKNOWN:
            return [[_BIT]]
        return [[_BIT], *_columns(Nested(found, tuple(range(len(found))), tuple(found)), layout.structure, 0)]
    if any(map(_may_be_none, specs)):
        raise _Differs
    if layout is STRING:
        if not all(map(is_text, specs)):
            raise _Differs
        return [[_BYTES]]
    if isinstance(layout, References):
        found = [*map(_in_parts, specs)]
        if not all((_is_reference(spec) and spec.like.__arena__ is layout.arena) or (
                is_container_reference(spec) and spec.like.arena is layout.arena) for spec in found):
            raise _Differs
        return [[spec.children[0] for spec in found if isinstance(spec, Custom)]]
    if isinstance(layout, Words):
        return [[_NUMBER] * len(specs)]
    if isinstance(layout, Constants):
        if not all(map(layout.has, map(_constants_of, specs))):
            raise _Differs
        return [[_NUMBER] * len(specs)]
    if isinstance(layout, NoItems):
        return _stored_tables(layout, [*map(_in_parts, specs)])
    if isinstance(layout, Record):
        found = [_as_dict(layout, _in_parts(spec)) for spec in specs]
        return _columns(Nested(found, tuple(range(len(found))), tuple(found)), layout.fields, 0)
    if isinstance(layout, Rows):
        return _stored_rows(layout, [*map(_in_parts, specs)])
    if any(isinstance(spec, Nested) and layout is layout_of(None) for spec in specs):
        raise _Differs
    return [specs]


def _stored_tables(layout: NoItems, specs: Sequence[Spec]) -> list[Sequence[Spec]]:
    """For each column of tables, the specs of what these dicts or sets have in it."""
    found = [(spec, _table_of(spec)) for spec in specs]
    if any(table is None or table.kind != layout.kind for _, table in found):
        raise _Differs
    if not isinstance(layout, Tables):
        return [[_NUMBER] * len(specs)]
    made: list[list[Spec]] = [[] for _ in range(layout.size)]
    for spec, table in found:
        if isinstance(table, Tables) and isinstance(spec, Custom):
            for column, child in zip(made, spec.children, strict=True):
                type = leaf_type(child)
                assert isinstance(type, ListType)
                column.append(Leaf(row_type(type.element)))
    return [*made]


def _as_dict(layout: Record, spec: Spec) -> Nested:
    """The spec of the dict of an object's fields. _Differs if it is of another class."""
    if not isinstance(spec, Nested) or type(spec.like) is not layout.cls:
        raise _Differs
    return dataclasses.replace(spec, like=dict.fromkeys(spec.keys))


def _stored_rows(layout: Rows, rows: Sequence[Spec]) -> list[Sequence[Spec]]:
    """For each column of rows, the specs of what these lists have in it."""
    inner: list[list[Spec]] = [[] for _ in layout.of_items]
    for row in map(list_of_tuple, rows) if isinstance(layout, Tuples) else rows:
        if row is None or not (_is_staged_row(row) or (isinstance(row, Nested) and is_list(row.like))):
            raise _Differs
        assert isinstance(row, (Nested, Custom))
        if not row.children or (layout.structure is not None and _is_unknown(row)):
            continue
        for column, found in zip(inner, _columns(row, layout.structure, 0), strict=True):
            column += found
    made: list[Sequence[Spec]] = []
    for column, is_ragged in zip(inner, layout.of_items, strict=True):
        type = _element_type(column[0], column[0], column, ()) if column else None
        made.append([] if type is None else [Leaf(type if is_ragged else row_type(type))])
        made += [[Leaf(LENGTHS)]] if is_ragged else []
    return made


def _is_unknown(row: Nested | Custom) -> bool:
    """Whether it is a staged list of which no item is known yet."""
    type = leaf_type(row.children[0]) if isinstance(row, Custom) and row.like.structure is None else None
    return isinstance(type, ListType) and is_unknown(type.element)


def _elements(a: Spec, b: Spec, mine: Sequence[Spec], theirs: Sequence[Spec]) -> Leaf:
    """The leaf of a staged list that may be either. Conflict if there is no join."""
    if not (mine or theirs):  # rows without items
        return Leaf(ListType(EMPTY))
    return Leaf(ListType(_element_type(a, b, mine, theirs)))


def _element_type(a: Spec, b: Spec, mine: Sequence[Spec], theirs: Sequence[Spec]) -> TensorType:
    """The join of the types of both lists' items, or staged lists' elements. Conflict if there is none."""
    found: Type | None = None
    for child in representatives((*mine, *theirs)):
        if is_array(child):
            note_put(False)
        type = leaf_type(contents_of_array(child))
        if isinstance(type, ListType):
            type = type.element
        if found is not None and type is not None:
            type = join_types(found, type, adapts=True) or join_arrays(found, type)
        found = type
        if found is None:
            raise Conflict(a, b)
    if not isinstance(found, TensorType):  # of rows that are all empty
        raise Conflict(a, b)
    return found
