"""A staged list whose elements are structures of tensors, such as pairs: one staged list for each leaf."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from runtime.core import pytree
from runtime.core.errors import OperatorNotAllowedInGraphError, StagingError, locate
from runtime.core.graph import user_position
from runtime.core.symbolic_text import is_for_text
from runtime.core.tensor import GraphList
from runtime.core.types import TensorType
from runtime.ops.strings import text_of_records
from runtime.staging.values import alias_tracking
from runtime.staging.values.iterables import Counted
from runtime.staging.values.list import StagedList, StagedSequence

__all__ = ["StagedRecords"]


class StagedRecords(StagedSequence):
    """A list of structures like `structure` in a function that is being traced, as one list for each leaf."""

    __slots__ = ("columns", "structure")

    def __init__(self, columns: Sequence[StagedList], structure: Any) -> None:
        self.columns = list(columns)
        self.structure = structure

    @classmethod
    def from_items(cls, items: Sequence[Any], structure: Any, types: Sequence[TensorType]) -> StagedRecords:
        """The staged list of the items of a Python list, whose leaves `types` allow."""
        for item in items:
            alias_tracking.put(item)
        rows = [pytree.flatten(item) for item in items]
        return cls([StagedList.from_items([row[k] for row in rows], type) for k, type in enumerate(types)], structure)

    def _leaves(self, x: Any) -> list[Any]:
        try:
            pytree.assert_same_structure(self.structure, x)
        except (TypeError, ValueError) as exc:
            error = StagingError(f"an element of another structure than the others of this list: {exc}",
                                 remedy="Give all elements of a list that changes in staged code one structure.")
            locate(error, user_position())
            raise error from None
        return pytree.flatten(x)

    def _pack(self, leaves: Iterable[Any]) -> Any:
        return pytree.pack_sequence_as(self.structure, leaves)

    # What staging sees.

    def __leaves__(self) -> list[Any]:
        return [leaf for column in self.columns for leaf in column.__leaves__()]

    def __rebuild__(self, leaves: Sequence[Any]) -> StagedRecords:
        return StagedRecords([StagedList(leaf) for leaf in leaves], self.structure)

    def __become__(self, leaves: Sequence[Any]) -> None:
        self.columns = [StagedList(leaf) for leaf in leaves]

    def __iterable__(self) -> Counted:
        return Counted(self.length, lambda i: alias_tracking.read(self._pack([column[i] for column in self.columns])),
                       (self,))

    def __truth__(self) -> Any:
        return self.columns[0].__truth__()

    @property
    def length(self) -> Any:
        """The number of elements: a weak int32 scalar."""
        return self.columns[0].length

    # What Python's list has.

    def append(self, x: Any, /) -> None:
        alias_tracking.put(x)
        for column, leaf in zip(self.columns, self._leaves(x), strict=True):
            column.append(leaf)

    def extend(self, iterable: Any, /) -> None:
        if isinstance(iterable, StagedRecords):
            for column, other in zip(self.columns, iterable.columns, strict=True):
                column.extend(other)
        else:
            for x in iterable:
                self.append(x)

    def insert(self, index: Any, x: Any, /) -> None:
        alias_tracking.put(x)
        for column, leaf in zip(self.columns, self._leaves(x), strict=True):
            column.insert(index, leaf)

    def pop(self, index: Any = -1, /) -> Any:
        """Remove and return an element. IndexError at run time if there is none."""
        return self._pack([column.pop(index) for column in self.columns])

    def clear(self) -> None:
        for column in self.columns:
            column.clear()

    def reverse(self) -> None:
        for column in self.columns:
            column.reverse()

    def copy(self) -> StagedRecords:
        return StagedRecords([column.copy() for column in self.columns], self.structure)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StagedRecords([column[index] for column in self.columns], self.structure)
        return alias_tracking.read(self._pack([column[index] for column in self.columns]), index)

    def __setitem__(self, index: Any, x: Any) -> None:
        alias_tracking.put(x, index)
        for column, leaf in zip(self.columns, self._leaves(x), strict=True):
            column[index] = leaf

    def __add__(self, other: Any) -> StagedRecords:
        result = self.copy()
        result.extend(other)
        return result

    def __radd__(self, other: Any) -> StagedRecords:
        result: StagedRecords = self[:0]
        result.extend(other)
        return result + self

    def __iadd__(self, other: Any) -> StagedRecords:
        self.extend(other)
        return self

    def __len__(self) -> int:
        self._refuse("the length of a staged list is not known here", "Use len() in converted code.")

    def __bool__(self) -> bool:
        self._refuse("whether a staged list is empty is not known here", "Test len(l) > 0 in converted code.")

    def __iter__(self) -> Any:
        self._refuse("a staged list cannot be iterated over here", "Loop over it in converted code.")

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        error = OperatorNotAllowedInGraphError(f"{what}: the list is made while the graph runs", remedy=remedy)
        locate(error, user_position())
        raise error

    def __format__(self, spec: str) -> str:
        return format(str(self), "" if spec == "!r" else spec)

    def __str__(self) -> str:
        leaves = self.__leaves__()
        if all(isinstance(leaf, GraphList) for leaf in leaves):
            return text_of_records(leaves, self._pack)
        return repr(self)

    def __repr__(self) -> str:
        if is_for_text(sys._getframe(1)):
            return str(self)
        return f"<staged list of {self._pack([column.element for column in self.columns])}>"
