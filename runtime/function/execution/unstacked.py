"""Python lists from the results of executors for lists, without Python code per element: they may be long."""
from __future__ import annotations

import collections
import copy
import itertools
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any, Final

import numpy as np

from runtime.core import pytree
from runtime.core.recording import recorders
from runtime.core.tensor import EagerList, EagerTensor
from runtime.function.arguments.number_state import NumberColumn
from runtime.function.execution.executors import unstacking
from runtime.ops.lists import list_get
from runtime.staging.elements.constant_layout import Constants
from runtime.staging.elements.element_layout import (
    STRING,
    LeafLayout,
    MaybeNone,
    NoItems,
    Record,
    Rows,
    Tables,
    leaf_layouts,
    width_of,
)
from runtime.staging.elements.references import References

__all__ = ["elements_of", "items_of_list", "items_of_row", "live_entries", "tensors_of_rows"]

_SCALARS: Final = frozenset(np.dtype(code).type for code in "?bBhHiIlLqQefdFD")
_set_array: Final[Any] = EagerTensor.__dict__["_array"].__set__  # the setter of the slot


def items_of_list(column: EagerList) -> list[Any]:
    """The Python list for the value of a staged list, outside of graphs: of eager tensors, or of Python numbers."""
    whole = column.whole
    if isinstance(column, NumberColumn):
        return whole.tolist() if isinstance(whole, np.ndarray) else [x.item() for x in whole]
    if recorders:  # gradients flow through each item
        return [list_get(column, i) for i in range(len(whole))]
    if isinstance(whole, np.ndarray):
        return tensors_of_rows(whole)
    if not _SCALARS.issuperset(map(type, whole)):
        return [None if x is None else EagerTensor.own(x) for x in whole]  # None was never written
    native = unstacking()
    return _wrapped(list(whole)) if native is None else native[1](list(whole))


def items_of_row(row: EagerTensor) -> list[Any]:
    """The items of a row of a list of lists, as eager tensors."""
    return [row[i] for i in range(len(row._array))] if recorders else tensors_of_rows(row._array)


def _items_of(row: EagerTensor | np.ndarray[Any, Any]) -> list[Any]:
    """The items of a row: Python numbers of an array, which is part of a key."""
    return row.tolist() if isinstance(row, np.ndarray) else items_of_row(row)


def _array_of(row: EagerTensor | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return row if isinstance(row, np.ndarray) else row._array


def tensors_of_rows(array: np.ndarray[Any, np.dtype[Any]]) -> list[EagerTensor]:
    """The elements along the first axis of a read-only array of rank 1 or more; rows are views of it."""
    if array.dtype == object:
        return list(map(EagerTensor.own, array))
    native = unstacking()
    return _wrapped(list(array)) if native is None else native[0](array)


def _wrapped(arrays: list[Any]) -> list[EagerTensor]:
    """Eager tensors of read-only arrays and NumPy scalars."""
    tensors = list(map(object.__new__, itertools.repeat(EagerTensor, len(arrays))))
    collections.deque(map(_set_array, tensors, arrays), maxlen=0)
    return tensors


def elements_of(structure: Any, columns: Sequence[Sequence[Any]], values: Any) -> list[Any]:
    """The elements with these columns. `values`: the results of the call, with the objects to which they refer."""
    rest = iter(columns)
    leaves = [_values(layout, [next(rest) for _ in range(layout.size)], values) for layout in leaf_layouts(structure)]
    if not pytree.is_nested(structure):
        return [*leaves[0]]
    return [pytree.pack_sequence_as(structure, row) for row in zip(*leaves, strict=True)]


def _values(layout: LeafLayout, columns: Sequence[Sequence[Any]], values: Any) -> Sequence[Any]:
    """The values of a leaf of the elements."""
    if isinstance(layout, Rows):
        return [layout.made(_row(layout, row, values)) for row in zip(*columns, strict=True)]
    if layout is STRING:
        return [bytes(_array_of(text)).decode() for text in columns[0]]
    if isinstance(layout, MaybeNone):
        bits, *rest = columns
        present = [[*compress(column, bits)] for column in rest]
        found = iter(elements_of(layout.structure, present, values) if rest else ())
        return [next(found) if bit else None for bit in bits]
    if isinstance(layout, References):
        objects = layout.arena.recipe(values)
        return [objects[int(index)] for index in columns[0]]
    if isinstance(layout, Record):
        return [layout.holding(fields) for fields in elements_of(layout.fields, columns, values)]
    if isinstance(layout, Constants):
        return [layout.values[int(number)] for number in columns[0]]
    if isinstance(layout, Tables):
        return [_table(layout, leaves, values) for leaves in zip(*columns, strict=True)]
    if isinstance(layout, NoItems):
        return [_with_items(layout, ()) for _ in columns[0]]
    return columns[0]


def _table(layout: Tables, leaves: Sequence[EagerTensor], values: Any) -> Any:
    """A dict or set from the columns of its hash table; keys and items of sets are Python numbers."""
    _, marks, *columns = leaves
    keys = width_of(layout.structure[0]) if layout.is_dict else len(columns)
    return _with_items(layout, live_entries(  # without the leading row
        layout.structure, marks._array[1:], [column._array[1:] for column in columns[:keys]],
        [items_of_row(column)[1:] for column in columns[keys:]], values))


def live_entries(
    structure: Any, marks: Iterable[Any], keys: Iterable[Iterable[Any]], columns: Iterable[Iterable[Any]], values: Any
) -> list[Any]:
    """The entries of a hash table that are marked, from its columns; keys have Python numbers."""
    there = [*map(bool, marks)]
    live: list[Any] = [[key if key.ndim else key.item() for key in compress(column, there)] for column in keys]
    return elements_of(structure, [*live, *([*compress(column, there)] for column in columns)], values)


def _with_items(layout: NoItems, items: Sequence[Any]) -> Any:
    """A dict or set with these items."""
    if not isinstance(layout.empty, dict):
        return layout.kind[0].__stands_for__(items)
    made = copy.copy(layout.empty)
    dict.update(made, items)
    return made


def _row(layout: Rows, columns: Sequence[EagerTensor], values: Any) -> list[Any]:
    """The items of a row."""
    if layout.structure is None:
        return _items_of(columns[0])
    rest, inner = iter(columns), list[Sequence[Any]]()
    for is_ragged in layout.of_items:
        whole = next(rest)
        if is_ragged:
            ends = np.cumsum(_array_of(next(rest))).tolist()
            inner.append([whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False)])
        else:
            inner.append(_items_of(whole))
    return elements_of(layout.structure, inner, values)
