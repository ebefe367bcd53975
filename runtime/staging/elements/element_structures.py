"""The structures of the elements of staged lists and dicts: their joins, and lists whose elements get a wider one."""
from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from autograph.backend import LIST_OR_DICT, fields_of, has_staged_items, is_record
from runtime.core import pytree
from runtime.core.operations import OPERATIONS
from runtime.core.text import Text
from runtime.core.types import TensorType, bool_
from runtime.ops.creation import fill, zeros
from runtime.ops.lists import (
    ListValue,
    join_elements,
    list_cast,
    list_concat,
    list_from_tensor,
    list_length,
    list_reserve,
    list_split,
    list_stack,
)
from runtime.ops.shape import dim, stack
from runtime.staging.elements.constant_layout import Constants, constants_of
from runtime.staging.elements.element_layout import (
    FEWEST_SLOTS,
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
    check_empty,
    is_unknown,
    is_unknown_row,
    layout_of,
    leaf_layouts,
    lengths_of,
    row_type,
    same_layout,
    types_of,
)
from runtime.staging.elements.references import Reference, References
from runtime.staging.elements.tuple import StagedTuple, Tuples, list_of
from runtime.staging.values.enum_members import is_member
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import is_staged_list
from runtime.staging.values.optional import Maybe

__all__ = [
    "Beside", "Empty", "Fresh", "Plain", "Together", "as_row", "fitted", "fitted_to", "join_structures",
    "structure_by_value", "structure_of", "widen", "widened"]


def structure_of(x: Any, rows: bool = False, like: Any = None) -> Any:
    """The structure of a value as an element: None for a tensor or number. `rows`: lists may have other lengths later.
    `like`: that of the other elements, if there are some: containers are by value or by reference as in these."""
    if isinstance(like, MaybeNone):
        like = like.structure
    if isinstance(x, Maybe) and x.presence.has_value is not True:
        return MaybeNone(structure_of(x.content, rows, like))
    if x is None:
        return MaybeNone(UNKNOWN)
    if isinstance(x, Reference):
        return x.__arena__.layout
    if isinstance(x, (str, Text)) and not is_member(x):
        return STRING
    if type(x) in LIST_OR_DICT and not _is_by_value(like) and (
            by_reference := OPERATIONS.layout_of_container(x, like)) is not None:
        return by_reference
    return structure_by_value(x, rows or (isinstance(like, Rows) and type(x) is list), like)


def _is_by_value(like: Any) -> bool:
    """Whether the elements of that structure are lists or dicts by value."""
    return isinstance(like, (NoItems, Rows, list, dict))


def structure_by_value(x: Any, rows: bool = False, like: Any = None) -> Any:
    """`structure_of` for a value that is neither None nor text, and if it is a container, by value."""
    if (table := _table_of(x)) is not None:
        return table
    if is_staged_list(x) and type(x) is list:
        return Rows(x[0].structure)
    if isinstance(x, StagedTuple):
        return Tuples(x.items.structure)
    if rows and type(x) is list:
        like = like.structure if isinstance(like, Rows) else None
        return Rows(reduce(join_structures, [structure_of(item, rows, like) for item in x])) if x else ROW
    if type(x) is tuple and not x:
        return Tuples(None)
    if pytree.is_nested(x):
        children = [*pytree.children(x)]
        others = [*pytree.children(like)] if pytree.is_nested(like) else []
        others = others if len(others) == len(children) else [None] * len(children)
        return pytree.rebuild(x, [structure_of(child, rows, other) for child, other in zip(
            children, others, strict=True)])
    if fields_of(x) is not None:
        fields = like.fields if isinstance(like, Record) else {}
        return Record(type(x), {name: structure_of(part, rows, fields.get(name))
                                for name, part in attributes_of(x).items()}, is_record(x))
    return constants_of(x)


def _table_of(x: Any) -> NoItems | None:
    """The layout of a dict or set without items, or of whose items only the graph knows; None for other values."""
    if isinstance(x, dict):
        return Tables(x[0].holding(())) if has_staged_items(x) else None if x else NoItems(x)
    if getattr(type(x), "__stands_for__", None) not in (set, frozenset):
        return None
    return Tables(type(x)((), x.structure)) if x.leaves else NoItems(type(x)())


def join_structures(a: Any, b: Any) -> Any:
    """The structure of elements that have one of these. ValueError or TypeError if there is none."""
    if a is UNKNOWN or b is UNKNOWN:
        return a if b is UNKNOWN else b
    if isinstance(a, References) and isinstance(b, References):
        a.meet(b)
    if isinstance(a, MaybeNone) or isinstance(b, MaybeNone):
        return MaybeNone(join_structures(*[each.structure if isinstance(each, MaybeNone) else each for each in (a, b)]))
    if (rows := _as_rows(a, b)) is not None:
        one, other = rows
        if one.structure is None or other.structure is None:  # perhaps a list whose elements are not known yet
            return one if other.structure is None else other
        return type(one)(join_structures(one.structure, other.structure))
    for one, other in ((a, b), (b, a)):
        if _has_plain(one, other):
            return other
    if (made := _joined_layouts(a, b)) is not None:
        return made
    parts = [[*pytree.children(each)] if pytree.is_nested(each) else None for each in (a, b)]
    if parts[0] is not None and parts[1] is not None:
        pytree.assert_same_structure(*[pytree.rebuild(each, [None] * len(children))
                                       for each, children in ((a, parts[0]), (b, parts[1]))])
        return pytree.rebuild(a, [join_structures(*both) for both in zip(*parts, strict=True)])
    if parts != [None, None] or not same_layout(a, b):
        raise ValueError(f"the structures differ: {a!r} and {b!r}")
    return a


def _joined_layouts(a: Any, b: Any) -> LeafLayout | None:
    """The join of the layouts of two objects, dicts or sets of one kind; None for others."""
    if isinstance(a, Record) and isinstance(b, Record) and a.cls is b.cls:
        return Record(a.cls, join_structures(a.fields, b.fields), a.changes)
    if isinstance(a, NoItems) and isinstance(b, NoItems) and a.kind == b.kind and type(a) is not type(b):
        return a if isinstance(a, Tables) else b
    if isinstance(a, Constants) and isinstance(b, Constants):
        return a.joined(b)
    return None


def _has_plain(structure: Any, other: Any) -> bool:
    """Whether values of a layout of constants can be stored as the others are."""
    return isinstance(structure, Constants) and not pytree.is_nested(other) and (
        structure.plain is not structure and same_layout(structure.plain, other))


def _as_rows(a: Any, b: Any) -> list[Rows] | None:
    """The layouts of lists, or tuples, one of which has any length, or that have other lengths; None for other
    structures."""
    for kind, rows in ((list, Rows), (tuple, Tuples)):
        if all(type(each) in (kind, rows) for each in (a, b)) and not (type(a) is type(b) is kind and len(a) == len(b)):
            return [each if type(each) is rows else rows(reduce(join_structures, each) if each else None)
                    for each in (a, b)]
    return None


@dataclass(frozen=True)
class Together:
    """Columns whose elements become the items of a row."""

    columns: Sequence[Any]


@dataclass(frozen=True)
class Empty:
    """A column of rows without items, of which `column` has the tensors."""

    column: Any


@dataclass(frozen=True)
class Fresh:
    """A column of the tables of dicts or sets without items: `size` zeros for each."""

    size: int


@dataclass(frozen=True)
class Beside:
    """A column of rows, as long as those of `column`, of bits that are all set, or of items that are not known."""

    column: Any
    bits: bool


@dataclass(frozen=True)
class Plain:
    """A column of the numbers of constants, with what these are otherwise stored as (`Constants.plain`)."""

    column: Any
    layout: Constants


def widen(structure: Any, wider: Any, columns: Iterator[Any]) -> list[Any]:
    """The columns of a list with elements of that structure as those of a wider one (`join_structures`). New columns
    are True for bits that are all set, None for elements that are not known, `Together`, `Empty` or
    `Beside` for rows, `Fresh` for tables, and `Plain` for constants."""
    if isinstance(wider, MaybeNone):
        is_bit_there = isinstance(structure, MaybeNone)
        return [next(columns) if is_bit_there else True,
                *widen(structure.structure if is_bit_there else structure, wider.structure, columns)]
    if structure is UNKNOWN:
        return [None] * sum([layout.size for layout in leaf_layouts(wider)])
    if isinstance(wider, Rows) and (made := _widened_rows(structure, wider, columns)) is not None:
        return made
    if isinstance(wider, Tables) and type(structure) is NoItems and structure.kind == wider.kind:
        next(columns)
        return [Fresh(1 if k else FEWEST_SLOTS) for k in range(wider.size)]
    if isinstance(wider, Record) and isinstance(structure, Record):
        return widen(structure.fields, wider.fields, columns)
    if pytree.is_nested(wider):
        return [column for mine, part in zip(pytree.children(structure), pytree.children(wider), strict=True)
                for column in widen(mine, part, columns)]
    if _has_plain(structure, wider):
        return [Plain(next(columns), structure)]
    is_constant = isinstance(wider, Constants) and isinstance(structure, Constants) and wider.has(structure)
    if not (is_constant or same_layout(structure, wider)):
        raise ValueError(f"the structures differ: {structure!r} and {wider!r}")
    return [next(columns) for _ in range(layout_of(wider).size)]


def _widened_rows(structure: Any, wider: Rows, columns: Iterator[Any]) -> list[Any] | None:
    """`widen` for lists of one length, or of which no item is known, as rows; None if the columns stay the same."""
    if type(structure) is tuple and not structure:
        return [Fresh(0)] * wider.size
    if type(structure) in (list, tuple) and not any(wider.of_items):
        parts = [widen(part, wider.structure, columns) for part in structure]
        return [Together([part[k] for part in parts]) for k in range(wider.size)]
    if isinstance(structure, Rows) and structure.structure is None is not wider.structure:
        return [Empty(next(columns))] * wider.size
    if isinstance(structure, Rows) and structure.size and not (any(wider.of_items) or same_layout(structure, wider)):
        mine = [next(columns) for _ in range(structure.size)]
        return [_beside(mine[0], column) for column in widen(structure.structure, wider.structure, iter(mine))]
    return None


def _beside(rows: Any, column: Any) -> Any:
    """A column of rows, given one of `widen` for their items, and other `rows`."""
    if column is None or column is True:
        return Beside(rows, column is True)
    if isinstance(column, (Together, Empty, Fresh, Plain)):
        raise ValueError("the structures of the items of two lists differ")
    return column


def widened(columns: Sequence[ListValue], structure: Any, wider: Any, types: Sequence[TensorType]) -> list[ListValue]:
    """`widen` for the columns of a list of the graph; `types` are those of the elements of new columns."""
    found = widen(structure, wider, iter(columns))
    if not columns:
        raise ValueError("nothing tells how many elements there are, which are empty tuples")
    size = list_length(columns[0])
    return [_made(column, size, type) for column, type in zip(found, types, strict=True)]


def _made(column: Any, size: Any, type: TensorType) -> Any:
    """The list of `size` elements that a column of `widen` is. ValueError if there is none."""
    if column is True:
        return list_from_tensor(fill([size], True))
    if column is None:
        return list_reserve(size, type)
    if isinstance(column, Plain):
        return column.layout.made_plain(column.column)
    if isinstance(column, Together):
        return _rows(column.columns, size, type)
    if isinstance(column, Fresh):
        zero = zeros([size * column.size, *type.shape[1:]], type.dtype)
        return list_cast(list_split(zero, fill([size], column.size)), type)
    if isinstance(column, Beside):
        rows = list_concat(column.column)
        items = fill([dim(rows, 0)], True) if column.bits else zeros(
            [dim(rows, 0), *[known or 0 for known in type.shape[1:]]], type.dtype)
        return list_cast(list_split(items, lengths_of(column.column)), type)
    if not isinstance(column, Empty):
        return column
    if not is_unknown(column.column.type.element):
        raise ValueError("a list of numbers has no other elements")
    check_empty(dim(list_concat(column.column), 0))
    none = zeros([0, *[known or 0 for known in type.shape[1:]]], type.dtype)
    return list_cast(list_split(none, fill([size], 0)), type)


def fitted(
    columns: Sequence[ListValue], structure: Any, x: Any, rows: bool = False
) -> tuple[Any, list[ListValue]] | None:
    """The structure and the columns of a list, so that `x` can be an element, too; None if these need not change, or
    if there are none. `rows`: see `structure_of`."""
    own = structure_of(x, rows, structure)
    try:
        return fitted_to(join_structures(structure, own), columns, structure, x, own)
    except (TypeError, ValueError):  # there are no such columns
        return None


def fitted_to(
    wider: Any, columns: Sequence[ListValue], structure: Any, x: Any, own: Any
) -> tuple[Any, list[ListValue]] | None:
    """`fitted` to the join of that structure and `own`, which `x` has. TypeError or ValueError if there are no such
    columns."""
    wanted = widen(own, wider, iter(types_of(own, x)))
    found = widen(structure, wider, iter(columns))
    if len(found) == len(columns) and all(map(operator.is_, found, columns)) and same_layout(wider, structure):
        return None
    types = [_type(column) or _type(type) for column, type in zip(found, wanted, strict=True)]
    return wider, widened(columns, structure, wider, types)


def as_row(structure: Any, x: Any, types: Sequence[TensorType]) -> Any:
    """`x`, or if it is a list or tuple of the graph, and elements of that structure are such with a wider one, one with
    that. `types`: those of the columns of the elements. ValueError if there is none."""
    is_tuple = isinstance(x, StagedTuple)
    row = list_of(x) if is_tuple else x
    if not (isinstance(structure, Rows) and is_staged_list(row)) or is_unknown_row(row) or same_layout(
            structure.structure, row[0].structure):
        return x
    leaves = widened(view_of(row).__leaves__(), row[0].structure, structure.structure, structure.inner(types))
    items = StagedStructures(leaves, structure.structure)
    return StagedTuple(items) if is_tuple else [items]


def _type(column: Any) -> Any:
    """The type of the elements of a column of `widen`; None if it is not known."""
    if column is True:
        return TensorType(bool_)
    if isinstance(column, Together):
        known = [type for type in map(_type, column.columns) if type is not None]
        return row_type(reduce(join_elements, known)) if known else None
    if isinstance(column, Beside):
        return row_type(TensorType(bool_)) if column.bits else None
    if isinstance(column, Plain):
        return column.layout.plain_type
    return None if isinstance(column, (Empty, Fresh)) else column.type.element if hasattr(column, "type") else column


def _rows(columns: Sequence[Any], size: Any, type: TensorType) -> Any:
    """The list of `size` rows of items of these columns of `widen`."""
    element = TensorType(type.dtype, type.shape[1:], type.weak)
    if None in element.shape and any(column is None for column in columns):
        raise ValueError("the structures of the items of a row differ")
    items = [list_stack(list_cast(_made(column, size, element), element)) for column in columns]
    return list_cast(list_from_tensor(stack(items, 1)), type)
