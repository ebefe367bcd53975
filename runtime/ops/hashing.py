"""Ops of hash tables with open addressing: rebuilding the slots of a table, and searching for a key.

A table consists of lists:
  slots    a power of two of entry numbers; 0 is an empty slot. A key's entry is in one of the slots from the one that
           its hash gives up to the next empty one.
  marks    for each entry 1, or 0 if it is deleted. Entry 0 has no key.
  columns  for each part of the keys, its values in all entries: scalars, or vectors of any lengths
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import Op
from runtime.core.persistent_list import Items
from runtime.core.trace import apply
from runtime.core.types import ListType, TensorType, Type

__all__ = ["MULTIPLIER", "ROOM", "SHIFT", "hash_find", "hash_slots"]

ROOM: Final = 4
"""The least number of slots per entry after a rebuild."""
MULTIPLIER: Final = 0x9E3779B97F4A7C15 - (1 << 64)
"""The multiplier of hashes: 2**64 divided by the golden ratio, as an int64."""
SHIFT: Final = 32
"""Moves the upper half of a product, which depends on all bits of the key, into the lower half."""


def _comparable(x: Any) -> int | float | tuple[int | float, ...]:
    """A part of a key as a number of 64 bits, or if it is a vector, a tuple of these."""
    if x.ndim:
        return tuple(map(_comparable, x))  # type: ignore[arg-type]
    return float(x) if x.dtype.kind not in "biu" else _wrapped(int(x))


def _wrapped(x: int) -> int:
    """An int modulo 2**64, as an int64."""
    return ((x + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _hash(parts: Iterable[Any]) -> int:
    """The hash of a key. A vector counts as its length and its items."""
    found = 0
    for part in chain.from_iterable((len(part), *part) if isinstance(part, tuple) else (part,) for part in parts):
        bits = part if isinstance(part, int) else struct.unpack("<q", struct.pack("<d", part + 0.0))[0]
        product = _wrapped((found ^ bits) * MULTIPLIER)  # 0.0 and -0.0 have one hash
        found = product ^ (product >> SHIFT)
    return found


def _check_table(op: str, slots: Type, marks: Type, columns: Sequence[Type]) -> None:
    for type in (slots, marks):
        if not isinstance(type, ListType) or type.element.shape or type.element.dtype is not t.int32:
            raise DTypeError(f"the slots and marks of {op} are lists of int32 scalars, not {type}")
    for type in columns:
        if not isinstance(type, ListType) or type.element.ndim > 1:
            raise ShapeError(f"the parts of keys of {op} are lists of scalars or vectors, not {type}")


# hash_slots(slots, marks, *columns): the slots of a table that has grown.

def _slots_kernel(slots: Any, marks: Any, *columns: Any) -> Any:
    size = len(slots)
    while size < ROOM * (len(marks) - 1):
        size *= 2
    found = [0] * size
    for entry in range(1, len(marks)):
        if marks[entry]:
            slot = _hash([_comparable(column[entry]) for column in columns]) & (size - 1)
            while found[slot]:
                slot = (slot + 1) & (size - 1)
            found[slot] = entry
    return Items(map(np.int32, found))


def _slots_rule(slots: Type, marks: Type, *columns: Type) -> ListType:
    _check_table("hash_slots", slots, marks, columns)
    return ListType(TensorType(t.int32))


_SLOTS: Final = Op("hash_slots", _slots_kernel, _slots_rule,
                   doc="The slots of a hash table, of which there may be too few: doubled until there are enough, with "
                       "the entries that are not deleted.")


def hash_slots(slots: Any, marks: Any, columns: Sequence[Any]) -> Any:
    """The slots of a table: twice as many, or more, until each entry has `ROOM` slots, with the numbers of the entries
    that are not deleted."""
    return apply(_SLOTS, slots, marks, *columns)


# hash_find(slots, marks, *columns, *key): the entry of a key, and the slot of its number.

def _find_kernel(slots: Any, marks: Any, *rest: Any) -> tuple[Any, Any]:
    columns, key = rest[:len(rest) // 2], [*map(_comparable, rest[len(rest) // 2:])]
    last = len(slots) - 1
    slot = _hash(key) & last
    while (entry := int(slots[slot])) and not (
            marks[entry] and [_comparable(column[entry]) for column in columns] == key):
        slot = (slot + 1) & last
    return np.int32(entry), np.int32(slot)


def _find_rule(slots: Type, marks: Type, *rest: Type) -> tuple[Type, ...]:
    columns, key = rest[:len(rest) // 2], rest[len(rest) // 2:]
    _check_table("hash_find", slots, marks, columns)
    for part, column in zip(key, columns, strict=True):
        if not isinstance(part, TensorType) or part.ndim != column.element.ndim:  # type: ignore[union-attr]
            raise ShapeError(f"a part of a key of {column} is {part}")
        if part.dtype.is_floating is not column.element.dtype.is_floating:  # type: ignore[union-attr]
            raise DTypeError(f"a key of {column} is searched for by {part}")
    return TensorType(t.int32), TensorType(t.int32)


_FIND: Final = Op("hash_find", _find_kernel, _find_rule,
                  doc="The entry of a key in a hash table, or 0 if absent, and the slot that has its number, or would.")


def hash_find(slots: Any, marks: Any, columns: Sequence[Any], key: Sequence[Any]) -> tuple[Any, Any]:
    """The entry of a key, or 0 if absent, and the slot that has its number, or would have: int32 scalars. `key`: its
    parts."""
    entry, slot = apply(_FIND, slots, marks, *columns, *key)
    return entry, slot
