"""Hash tables made of graph lists, for dicts and sets whose keys are known only at run time.

As in CPython, the entries are in insertion order, and slots map hashes to entries:
  slots    a power of two of entry numbers; 0 is an empty slot. A key's entry is in one of the slots from the one that
           its hash gives up to the next empty one.
  marks    for each entry 1, or 0 once it is deleted. Entry 0, which has no key, always exists: its mark is the
           number of live entries.
  keys     for each leaf of the keys, the list of its values in all entries
  values   likewise for the values
"""
from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, int32
from runtime.ops.concat_split import concat
from runtime.ops.creation import ones, zeros
from runtime.ops.gather import boolean_mask
from runtime.ops.hashing import hash_find, hash_slots
from runtime.ops.lists import (
    ListValue,
    join_elements,
    list_append,
    list_cast,
    list_extend,
    list_from_tensor,
    list_get,
    list_length,
    list_new,
    list_pop,
    list_reserve,
    list_set,
    list_stack,
)
from runtime.ops.logic import equal, greater, not_equal, where
from runtime.ops.math import cast
from runtime.staging.elements.element_layout import FEWEST_SLOTS
from runtime.staging.values.iterables import StagedRange, weak_int
from runtime.staging.values.list import branch, fold

__all__ = ["Table"]

_DEAD: Final = 2
"""Of more entries than this per live one, the deleted ones are dropped."""


class Table(NamedTuple):
    """A hash table; see above. It is immutable: updates return new tables."""

    slots: ListValue
    marks: ListValue
    keys: tuple[ListValue, ...]
    values: tuple[ListValue, ...]

    @classmethod
    def empty(cls, keys: Iterable[TensorType], values: Iterable[TensorType]) -> Table:
        """An empty table, for keys and values with leaves of these types."""
        return cls(_zeros(FEWEST_SLOTS), _zeros(1), tuple(map(_column, keys)), tuple(map(_column, values)))

    @classmethod
    def of_entries(cls, keys: Sequence[ListValue], values: Sequence[ListValue]) -> Table:
        """The table of distinct keys and their values."""
        columns = [list_extend(_column(items.type.element), items) for items in (*keys, *values)]
        marks = _all_marked(list_length(keys[0]))
        slots = hash_slots(_zeros(FEWEST_SLOTS), marks, columns[:len(keys)])
        return cls.of_leaves([slots, marks, *columns], len(keys))

    @classmethod
    def of_leaves(cls, leaves: Sequence[ListValue], keys: int) -> Table:
        """The table with these leaves; `keys`: the number of leaves of a key."""
        slots, marks, *columns = leaves
        return cls(slots, marks, tuple(columns[:keys]), tuple(columns[keys:]))

    def with_keys(self, keys: Sequence[ListValue]) -> Table:
        """The table with its keys stored in other columns, where they have other hashes; itself for its own columns."""
        if len(keys) == len(self.keys) and all(map(operator.is_, keys, self.keys)):
            return self
        return Table(hash_slots(_zeros(FEWEST_SLOTS), self.marks, keys), self.marks, tuple(keys), self.values)

    @property
    def leaves(self) -> list[ListValue]:
        return [self.slots, self.marks, *self.keys, *self.values]

    @property
    def count(self) -> Any:
        """The number of entries: a weak int32 scalar."""
        return weak_int(list_get(self.marks, 0))

    def find(self, key: Sequence[Any]) -> tuple[Any, Any]:
        """The entry of a key, or 0 if absent, and the slot that holds, or would hold, its number. `key`: its leaves."""
        return hash_find(self.slots, self.marks, self.keys, key)

    def put(self, key: Sequence[Any], value: Sequence[Any]) -> Table:
        """The table with the key mapped to the value."""
        keys, values = _holding(self.keys, key), _holding(self.values, value)
        entry, slot = hash_find(self.slots, self.marks, keys, key)
        last = list_length(self.marks)

        def added(slots: ListValue, marks: ListValue, *columns: ListValue) -> tuple[ListValue, ...]:
            marks = list_append(list_set(marks, 0, list_get(marks, 0) + 1), convert_to_tensor(1, int32))
            columns = tuple(map(list_append, columns, (*key, *value)))
            slots = list_set(slots, slot, cast(last, int32))
            (slots,) = branch(last * 2 > list_length(slots), lambda slots: (
                hash_slots(slots, marks, columns[:len(keys)]),), (slots,), ("slots",))
            return slots, marks, *columns

        leaves = branch(equal(entry, 0), added, (self.slots, self.marks, *keys, *values), _names((*keys, *values)))
        made = Table.of_leaves(leaves, len(keys))
        at = where(equal(entry, 0), list_length(made.marks) - 1, weak_int(entry))
        return made._replace(values=tuple([list_set(column, at, x)
                                           for column, x in zip(made.values, value, strict=True)]))

    def without(self, entry: Any, when: Any) -> Table:
        """The table without an entry, if the bool scalar `when` holds."""
        entries, count = list_length(self.marks), list_get(self.marks, 0) - cast(when, int32)
        marks = list_set(self.marks, where(when, entry, 0), where(when, 0, count))
        leaves: tuple[Any, ...] = self.slots, list_set(marks, 0, count), *self.keys, *self.values
        leaves = branch(greater(entries, _DEAD * count + FEWEST_SLOTS), lambda *leaves: _compacted(
            len(self.keys), *leaves), leaves, _names(leaves[2:]))
        return Table.of_leaves(leaves, len(self.keys))

    def moved(self, entry: Any, to_end: bool) -> Table:
        """The table with an entry as the last one, or the first one."""
        columns = *self.keys, *self.values
        leaves = [list_get(column, entry) for column in columns]
        rest, keys = self.without(entry, True), len(self.keys)
        if to_end:
            return rest.put(leaves[:keys], leaves[keys:])
        found = [list_extend(list_new([leaf], column.type.element), items) for leaf, column, items in zip(
            leaves, columns, rest.items([*rest.keys, *rest.values]), strict=True)]
        return Table.of_entries(found[:keys], found[keys:])

    def items(self, columns: Sequence[ListValue]) -> list[ListValue]:
        """For each of some key or value columns, its elements in live entries, in order."""
        marked = concat([[False], not_equal(list_stack(self.marks)[1:], 0)], 0)
        return [list_from_tensor(boolean_mask(list_stack(column), marked)) if None not in column.type.element.shape
                else self._live(column) for column in columns]

    def _live(self, column: ListValue) -> Any:
        """The elements of a column in live entries, which may have several shapes."""
        def add(entry: Any, items: Any) -> tuple[Any, ...]:
            found: tuple[Any, ...] = branch(
                not_equal(list_get(self.marks, entry), 0),
                lambda items: (list_append(items, list_get(column, entry)),), (items,), ("items",))
            return found

        (found,) = fold(StagedRange(1, list_length(self.marks)), add, (list_reserve(0, column.type.element),),
                        ("items",))
        return found


def _names(columns: Sequence[Any]) -> tuple[str, ...]:
    return ("slots", "marks", *["column"] * len(columns))


def _zeros(size: Any) -> Any:
    return list_from_tensor(zeros([size], int32))


def _column(element: TensorType) -> Any:
    """A column with an element for entry 0 only, which is never read."""
    return list_reserve(1, element)


def _all_marked(count: Any) -> Any:
    """The marks of `count` live entries."""
    return list_from_tensor(concat([[cast(count, int32)], ones([count], int32)], 0))


def _holding(columns: Sequence[ListValue], leaves: Sequence[Any]) -> tuple[ListValue, ...]:
    """The columns, cast to include the types of the leaves. DTypeError or ShapeError if there is no join."""
    types = [join_elements(column.type.element, x.type) for column, x in zip(columns, leaves, strict=True)]
    return tuple([column if column.type.element.dtype is type.dtype else list_cast(column, type)
                  for column, type in zip(columns, types, strict=True)])


def _compacted(keys: int, slots: ListValue, marks: ListValue, *columns: ListValue) -> tuple[ListValue, ...]:
    """The leaves of a table without its deleted entries; `keys`: the number of leaves of a key. All lists are updated
    in place."""
    names = ("marks", *["column"] * len(columns))

    def moved(entry: Any, end: Any, marks: Any, *columns: Any) -> tuple[Any, ...]:
        mark = list_get(marks, entry)
        return (end + weak_int(mark), list_set(marks, end, mark),
                *[list_set(column, end, list_get(column, entry)) for column in columns])

    length = list_length(marks)
    end, *leaves = fold(StagedRange(1, length), moved, (1, marks, *columns), ("end", *names))
    marks, *rest = fold(StagedRange(length - end), lambda _, *leaves: tuple([list_pop(leaf)[0] for leaf in leaves]),
                        tuple(leaves), names)
    return hash_slots(slots, marks, rest[:keys]), marks, *rest
