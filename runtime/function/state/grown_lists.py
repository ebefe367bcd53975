"""Lists that existed before the call and that calls append to. After three traces for different lengths, one trace with
a growing list serves all lengths."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Final

from runtime.core import pytree
from runtime.core.tensor import EagerList, EagerTensor, GraphList
from runtime.core.trace import wrap
from runtime.core.types import ListType, type_of_array
from runtime.function.arguments.number_state import NumberColumn, column_of_numbers, numbers_in
from runtime.staging.elements.element_layout import StagedStructures
from runtime.staging.values.list import StagedItems

__all__ = ["LENGTHS", "Appended", "GrownList", "appended", "as_grown", "extend"]

LENGTHS: Final = 3
"""Number of lengths that are traced separately first."""


class GrownList:
    """A list of tensors or numbers of one type, or of tuples of these, of any length: as an argument, and as the final
    value of a call."""

    __slots__ = ("columns", "numbers", "structure")

    def __init__(self, columns: Sequence[EagerList | GraphList], structure: Any, numbers: tuple[bool, ...]) -> None:
        """`columns`: for each tensor or number in an item, the list of these over all items; `structure`: that of an
        item; `numbers`: which columns stand for Python numbers."""
        self.columns, self.structure, self.numbers = columns, structure, numbers

    @property
    def __static__(self) -> Any:
        """The part of the cache key besides the leaves."""
        return self.structure, self.numbers

    def __leaves__(self) -> Sequence[Any]:
        return self.columns

    def __rebuild__(self, leaves: Sequence[Any]) -> GrownList:
        return GrownList(leaves, self.structure, self.numbers)

    def staged(self) -> list[Any]:
        """The content, while a function is traced, of a list with these items."""
        is_flat = not isinstance(self.structure, tuple)
        columns = [numbers_in(column) if are_numbers else column for column, are_numbers in zip(
            self.columns, self.numbers, strict=True) if isinstance(column, GraphList)]
        return [StagedItems(columns) if is_flat else StagedStructures(columns, self.structure)]


def as_grown(items: list[Any]) -> GrownList | None:
    """The items of a list; None unless they are eager tensors or numbers of one type, or tuples of these."""
    if not items:
        return None
    structure = _structure(items[0])
    if structure is None:
        columns = _columns([items])
    elif all(_structure(item) == structure for item in items):
        columns = _columns(zip(*map(_leaves, items), strict=True))
    else:
        return None
    return GrownList(columns, structure, tuple([type(x) is NumberColumn for x in columns])) if columns else None


def _structure(item: Any) -> Any:
    """The structure of nested tuples, with None for each leaf."""
    return tuple(map(_structure, item)) if type(item) is tuple else None


def _leaves(item: Any) -> list[Any]:
    """The parts of nested tuples."""
    return [leaf for part in item for leaf in _leaves(part)] if type(item) is tuple else [item]


def _columns(columns: Iterable[Sequence[Any]]) -> list[EagerList | GraphList] | None:
    found: list[EagerList | GraphList] = []
    for column in columns:
        if (numbers := column_of_numbers(column)) is not None:
            found.append(numbers)
            continue
        if operator.countOf(map(type, column), EagerTensor) != len(column):
            return None
        arrays = [*map(_ARRAY, column)]
        if operator.countOf(map(_DTYPE, arrays), arrays[0].dtype) != len(arrays) or operator.countOf(
                map(_SHAPE, arrays), arrays[0].shape) != len(arrays):
            return None
        found.append(_Column(column, ListType(type_of_array(column[0]._array))))
    return found


class _Column(EagerList):
    """One of the `columns`; it extracts the arrays of its tensors only when a graph needs them."""

    __slots__ = ("tensors",)

    def __init__(self, tensors: Sequence[EagerTensor], type: ListType) -> None:
        super().__init__((), type)
        self.tensors = tensors

    @property
    def items(self) -> Sequence[Any]:
        if not len(self.whole):
            self.whole = tuple(map(_ARRAY, self.tensors))
        return super().items


class Appended:
    """The items that a call has appended to a list that it has not changed otherwise."""

    __slots__ = ("columns", "structure")

    def __init__(self, columns: Sequence[Sequence[Any]], structure: Any) -> None:
        """`columns`: as in GrownList, for the new items."""
        self.columns, self.structure = columns, structure

    def __leaves__(self) -> Sequence[Any]:
        return [tensor for column in self.columns for tensor in column]

    def __rebuild__(self, leaves: Sequence[Any]) -> Appended:
        count = len(self.columns[0])
        return Appended([leaves[k:k + count] for k in range(0, len(leaves), count)], self.structure)

    @property
    def items(self) -> list[Any]:
        rows = zip(*self.columns, strict=True)
        return [pytree.pack_sequence_as(self.structure, row) if isinstance(self.structure, tuple) else row[0]
                for row in rows]


def appended(before: list[Any], after: list[Any]) -> Appended | None:
    """The items that statements outside of loops and branches have appended to a GrownList, by its staged content
    before and after; None if the list was changed otherwise."""
    if not (len(before) == len(after) == 1 and isinstance(before[0], StagedItems)
            and type(after[0]) is type(before[0])):
        return None
    columns = [_tail(a, b) for a, b in zip(before[0].leaves, after[0].leaves, strict=True)]
    if any(not column or len(column) != len(columns[0]) for column in columns):
        return None
    return Appended(columns, before[0].structure)


def _tail(before: Any, after: Any) -> list[Any]:
    found: list[Any] = []
    value = after.value if isinstance(before, GraphList) and isinstance(after, GraphList) else None
    while value is not None and value is not before.value:
        node = value.node
        if node is None or node.op.name != "list_append":
            return []
        value = node.inputs[0]
        found.append(wrap(node.inputs[1]))
    return found[::-1]


def extend(old: list[Any], new: Sequence[Any]) -> None:
    """Give a list the `new` items; a prefix of unchanged items keeps the same objects."""
    count = len(old)
    if count <= len(new) and _contents(old) == _contents(new[:count]) is not None:
        old += new[count:]
        return
    same = sum(1 for _ in itertools.takewhile(lambda pair: _is_same(*pair), zip(old, new, strict=False)))
    old[same:] = new[same:]


def _contents(items: Sequence[Any]) -> Any:
    """The values of eager tensors, for comparison without Python code per item; None for other items."""
    if operator.countOf(map(type, items), EagerTensor) != len(items):
        return None
    arrays = [*map(_ARRAY, items)]
    return [*map(_DTYPE, arrays)], [*map(_SHAPE, arrays)], b"".join(map(_BYTES, arrays))


_ARRAY: Final = operator.attrgetter("_array")
_DTYPE: Final = operator.attrgetter("dtype")
_SHAPE: Final = operator.attrgetter("shape")
_BYTES: Final = operator.methodcaller("tobytes")


def _is_same(before: Any, now: Any) -> bool:
    if type(before) is tuple and type(now) is tuple:
        return len(before) == len(now) and all(map(_is_same, before, now))
    if not type(now) is type(before) is EagerTensor:
        return False
    a, b = before._array, now._array
    return a.dtype == b.dtype and a.shape == b.shape and bool(a.tobytes() == b.tobytes())
