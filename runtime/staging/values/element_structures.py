"""The structures of the elements of staged lists and dicts: their joins, and lists whose elements get a wider one."""
from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from runtime.core import pytree
from runtime.core.text import Text
from runtime.core.types import TensorType, bool_
from runtime.ops.creation import fill
from runtime.ops.lists import (
    ListValue,
    join_elements,
    list_cast,
    list_from_tensor,
    list_length,
    list_reserve,
    list_stack,
)
from runtime.ops.shape import stack
from runtime.staging.values.element_layout import (
    ROW,
    STRING,
    UNKNOWN,
    MaybeNone,
    is_row,
    layout_of,
    leaf_layouts,
    row_type,
    types_of,
)
from runtime.staging.values.optional import Maybe

__all__ = ["Together", "fitted", "join_structures", "structure_of", "widen", "widened"]


def structure_of(x: Any, rows: bool = False) -> Any:
    """The structure of a value as an element: None for a tensor or number. `rows`: lists may have other lengths
    later."""
    if isinstance(x, Maybe) and x.presence.has_value is not True:
        return MaybeNone(structure_of(x.content, rows))
    if x is None:
        return MaybeNone(UNKNOWN)
    if isinstance(x, (str, Text)):
        return STRING
    if is_row(x) or (rows and type(x) is list):
        return ROW
    if pytree.is_nested(x):
        return pytree.rebuild(x, [structure_of(child, rows) for child in pytree.children(x)])
    return None


def join_structures(a: Any, b: Any) -> Any:
    """The structure of elements that have one of these. ValueError or TypeError if there is none."""
    if a is UNKNOWN or b is UNKNOWN:
        return a if b is UNKNOWN else b
    if isinstance(a, MaybeNone) or isinstance(b, MaybeNone):
        return MaybeNone(join_structures(*[each.structure if isinstance(each, MaybeNone) else each for each in (a, b)]))
    if all(each is ROW or (type(each) is list and not any(map(_is_layout, each))) for each in (a, b)) and (
            ROW in (a, b) or len(a) != len(b)):
        return ROW
    parts = [[*pytree.children(each)] if pytree.is_nested(each) else None for each in (a, b)]
    if parts[0] is not None and parts[1] is not None:
        pytree.assert_same_structure(*[pytree.rebuild(each, [None] * len(children))
                                       for each, children in ((a, parts[0]), (b, parts[1]))])
        return pytree.rebuild(a, [join_structures(*both) for both in zip(*parts, strict=True)])
    if parts != [None, None] or layout_of(a) is not layout_of(b):
        raise ValueError(f"the structures differ: {a!r} and {b!r}")
    return a


def _is_layout(leaf: Any) -> bool:
    return pytree.is_nested(leaf) or layout_of(leaf) is not layout_of(None)


@dataclass(frozen=True)
class Together:
    """Columns whose elements become the items of a row."""

    columns: Sequence[Any]


def widen(structure: Any, wider: Any, columns: Iterator[Any]) -> list[Any]:
    """The columns of a list with elements of that structure as those of a wider one (`join_structures`). New columns
    are True for bits that are all set, None for elements that are not known, and `Together` for rows."""
    if isinstance(wider, MaybeNone):
        is_bit_there = isinstance(structure, MaybeNone)
        return [next(columns) if is_bit_there else True,
                *widen(structure.structure if is_bit_there else structure, wider.structure, columns)]
    if structure is UNKNOWN:
        return [None] * sum([layout.size for layout in leaf_layouts(wider)])
    if wider is ROW and type(structure) is list:
        return [Together([next(columns) for _ in structure])]
    if pytree.is_nested(wider):
        return [column for mine, part in zip(pytree.children(structure), pytree.children(wider), strict=True)
                for column in widen(mine, part, columns)]
    if layout_of(structure) is not layout_of(wider):
        raise ValueError(f"the structures differ: {structure!r} and {wider!r}")
    return [next(columns)]


def widened(columns: Sequence[ListValue], structure: Any, wider: Any, types: Sequence[TensorType]) -> list[ListValue]:
    """`widen` for the columns of a list of the graph; `types` are those of the elements of new columns."""
    found = widen(structure, wider, iter(columns))
    size = list_length(columns[0])
    return [list_from_tensor(fill([size], True)) if column is True
            else list_reserve(size, type) if column is None
            else _rows(column.columns, type) if isinstance(column, Together) else column
            for column, type in zip(found, types, strict=True)]


def fitted(
    columns: Sequence[ListValue], structure: Any, x: Any, rows: bool = False
) -> tuple[Any, list[ListValue]] | None:
    """The structure and the columns of a list, so that `x` can be an element, too; None if these need not change, or
    if there are none. `rows`: see `structure_of`."""
    own = structure_of(x, rows)
    try:
        wider = join_structures(structure, own)
        wanted = widen(own, wider, iter(types_of(own, x)))
        found = widen(structure, wider, iter(columns))
    except (TypeError, ValueError):
        return None
    if len(found) == len(columns) and all(map(operator.is_, found, columns)):
        return None
    types = [_type(column) or _type(type) for column, type in zip(found, wanted, strict=True)]
    return wider, widened(columns, structure, wider, types)


def _type(column: Any) -> Any:
    """The type of the elements of a column of `widen`; None if it is not known."""
    if column is True:
        return TensorType(bool_)
    if isinstance(column, Together):
        return row_type(reduce(join_elements, map(_type, column.columns)))
    return column.type.element if hasattr(column, "type") else column


def _rows(columns: Sequence[ListValue], type: TensorType) -> Any:
    """The list of the rows of items of these columns."""
    items = [list_stack(list_cast(column, TensorType(type.dtype, type.shape[1:], type.weak))) for column in columns]
    return list_cast(list_from_tensor(stack(items, 1)), type)
