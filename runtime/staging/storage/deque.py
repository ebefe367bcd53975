"""`collections.deque` in staged code: a deque that changes length in a loop or branch on tensors stores its items in
a graph list."""
from __future__ import annotations

import operator
from collections import deque
from typing import Any, Final

from autograph.backend import refill
from runtime.core.formatting import deque_text
from runtime.core.operations import OPERATIONS
from runtime.core.text import ITEM, REPR, STR
from runtime.ops.effects import raise_unless
from runtime.ops.logic import greater, less
from runtime.ops.math import maximum
from runtime.staging.elements.element_layout import StagedStructures
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.generators import listed
from runtime.staging.values.iterables import StagedRange, normalised_index, stages, weak_int
from runtime.staging.values.list import StagedItems, StagedList, StagedSequence, fold

__all__ = ["DequeMethods", "as_deque", "deque_of", "extend_left"]


class DequeMethods(StagedSequence):
    """The methods of deques, in terms of those of a list. Items beyond `maxlen` are dropped from the opposite end."""

    __slots__ = ()

    @property
    def _most(self) -> int | None:
        most: int | None = self.owner.maxlen
        return most

    def _take(self, items: StagedSequence) -> None:
        refill(self.owner, [self.owner[0].holding(items.__leaves__())])

    def _drop_first(self) -> None:
        if self._most is not None:
            self._take(super().__getitem__(slice(maximum(self.length - self._most, 0), None)))

    def _drop_last(self) -> None:
        if self._most is not None:
            self._take(super().__getitem__(slice(None, self._most)))

    def as_list(self) -> StagedSequence:
        items = self.owner[0]
        if items.structure is None:
            return StagedList(items.leaves[0])
        return StagedRecords([StagedList(leaf) for leaf in items.leaves], items.structure)

    def append(self, x: Any, /) -> None:
        super().append(x)
        self._drop_first()

    def appendleft(self, x: Any, /) -> None:
        super().insert(0, x)
        self._drop_last()

    def extend(self, iterable: Any, /) -> None:
        super().extend(iterable)
        self._drop_first()

    def extendleft(self, iterable: Any, /) -> None:
        found = listed(iterable) if stages(iterable) else iterable
        if isinstance(found, StagedSequence):
            self._take(_reversed_before(found, self))
            self._drop_last()
        else:
            for x in found:
                self.appendleft(x)

    def insert(self, index: Any, x: Any, /) -> None:
        if self._most is not None:
            raise_unless(less(self.length, self._most), IndexError("deque already at its maximum size"))
        super().insert(index, x)

    def pop(self, *index: Any) -> Any:
        """Remove and return the last item. IndexError at run time if the deque is empty."""
        if index:
            deque(index).pop(*index)  # raises the TypeError about the argument
        self._check_not_empty()
        return super().pop()

    def popleft(self) -> Any:
        """Remove and return the first item. IndexError at run time if the deque is empty."""
        self._check_not_empty()
        return super().pop(0)

    def _check_not_empty(self) -> None:
        raise_unless(greater(self.length, 0), IndexError("pop from an empty deque"))

    def rotate(self, n: Any = 1, /) -> None:
        size = self.length
        if isinstance(n, int) and abs(n) <= _FEW:
            self._take(fold(StagedRange(abs(n) % maximum(size, 1)), _right if n > 0 else _left, (self.as_list(),),
                            ("deque",))[0])
            return
        first = (size - weak_int(n)) % maximum(size, 1)
        rest = super().__getitem__(slice(first, None))
        rest.extend(super().__getitem__(slice(None, first)))
        self._take(rest)

    def _place(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return normalised_index(index, self.length, "deque index out of range")

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(self._place(index))

    def __setitem__(self, index: Any, x: Any) -> None:
        super().__setitem__(self._place(index), x)

    def __delitem__(self, index: Any) -> None:
        super().pop(self._place(index))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (deque, DequeMethods)):
            raise TypeError(f'can only concatenate deque (not "{_kind(other)}") to deque')
        result = self.copy()
        result.extend(other)
        return result

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, deque):
            raise TypeError(f'can only concatenate {_kind(other)} (not "collections.deque") to {_kind(other)}')
        return as_deque(operator.add([*other], self.as_list()), other.maxlen)

    def __iadd__(self, other: Any) -> Any:
        self.extend(other)
        return self

    def __mul__(self, count: Any) -> Any:
        return as_deque(OPERATIONS.repeat(self.as_list(), count), self._most)

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> Any:
        self._take(self * count)
        return self


    def __text__(self, spec: str) -> Any:
        items = self.owner[0].__text__(spec)
        if items is None:
            return None
        made = deque_text(items, self.owner)
        return made if spec in (STR, REPR, ITEM) else made.__text__(spec)


_FEW: Final = 8
"""Up to this many steps, a deque is rotated item by item; beyond it, by copying its two parts."""


def _right(_: Any, items: StagedSequence) -> tuple[StagedSequence]:
    items.insert(0, items.pop())
    return (items,)


def _left(_: Any, items: StagedSequence) -> tuple[StagedSequence]:
    items.append(items.pop(0))
    return (items,)


class StagedDeque(DequeMethods, StagedList):
    """A deque of tensors of one type in a function that is being traced."""

    __slots__ = ()


class StagedRecordDeque(DequeMethods, StagedRecords):
    """A deque of structures of tensors in a function that is being traced."""

    __slots__ = ()


def _kind(x: Any) -> str:
    return "list" if isinstance(x, StagedSequence) else type(x).__name__


def as_deque(items: StagedSequence, maxlen: int | None) -> Any:
    """The view of a deque with the last `maxlen` items of a staged list; a Python deque if `maxlen` is 0."""
    if maxlen == 0:
        return deque(maxlen=0)
    empty: deque[Any] = deque(maxlen=maxlen)
    has = items.owner[0]
    made = StagedItems(has.leaves, empty) if has.structure is None else StagedStructures(
        has.leaves, has.structure, empty)
    view = made.view(deque([made], maxlen))
    assert isinstance(view, DequeMethods)
    view._drop_first()
    return view


def deque_of(iterable: Any = (), maxlen: Any = None) -> Any:
    """`collections.deque`."""
    items = listed(iterable) if stages(iterable) else iterable
    if not isinstance(items, StagedSequence):
        return deque(items, maxlen)
    most = None if maxlen is None else operator.index(maxlen)
    if most is not None and most < 0:
        raise ValueError("maxlen must be non-negative")
    return as_deque(items, most)


def extend_left(items: deque[Any], others: StagedSequence) -> None:
    """`items.extendleft(others)` for a Python deque and a staged sequence."""
    if items.maxlen != 0:
        made = _reversed_before(others, [*items])
        refill(items, as_deque(made[:items.maxlen], items.maxlen).owner)


def _reversed_before(front: StagedSequence, rest: Any) -> StagedSequence:
    """The items of `front` in reverse order, followed by those of `rest`."""
    made = front.as_list()
    made.reverse()
    made.extend(rest)
    return made


def _view(owner: deque[Any]) -> DequeMethods:
    return (StagedDeque if owner[0].structure is None else StagedRecordDeque).of(owner)


OPERATIONS.define(view_of_deque=_view)
