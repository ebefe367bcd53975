"""A staged list whose elements are structures of tensors, such as pairs: one staged list per leaf."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from autograph.backend import DICTS, refill
from runtime.core import pytree
from runtime.core.errors import OperatorNotAllowedInGraphError, StagingError, locate
from runtime.core.generator_frames import decided_in_python
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import GraphList, Tensor
from runtime.core.text import ITEM, REPR, STR, concat_text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType
from runtime.ops.lists import list_reserve
from runtime.ops.logic import less
from runtime.ops.shape import stack
from runtime.ops.tensor_lists import element_at
from runtime.staging.aliases.list_elements import (
    put,
    record_items,
    record_put,
    record_read,
    record_taken,
    renewed,
)
from runtime.staging.aliases.open_bodies import Slice
from runtime.staging.aliases.shared_elements import link, note_slice, read_slice, slice_of
from runtime.staging.elements.constant_layout import Constants
from runtime.staging.elements.element_layout import (
    STRING,
    MaybeNone,
    NoItems,
    Record,
    StagedStructures,
    check_empty,
    columns_of,
    element_of,
    has_layouts,
    is_unknown,
    leaf_layouts,
    leaves_of,
    same_layout,
    types_of,
)
from runtime.staging.elements.element_structures import as_row, fitted, structure_of
from runtime.staging.elements.nesting import AS_OBJECTS, is_other_tuple
from runtime.staging.values.iterables import Counted, stages, view_of
from runtime.staging.values.list import StagedItems, StagedList, StagedSequence, unview

__all__ = ["StagedRecords", "in_plain_columns"]


class StagedRecords(StagedSequence):
    """A list of structures like `structure` in a function that is being traced, as one list per leaf."""

    __slots__ = ()

    def __init__(self, columns: Sequence[StagedList], structure: Any) -> None:
        self.owner = [StagedStructures([leaf for column in columns for leaf in column.__leaves__()], structure)]

    @property
    def structure(self) -> Any:
        """The structure of the elements."""
        return self.owner[0].structure

    @property
    def columns(self) -> list[StagedList]:
        """For each leaf of the elements, a new staged list of its current values."""
        return [StagedList(leaf) for leaf in self.__leaves__()]

    def _change(self, change: Callable[..., Any], *others: Iterable[Any]) -> list[Any]:
        """The results of `change(column, *other)`, which may update the column, for each column."""
        columns = self.columns
        found = [change(column, *each) for column, *each in zip(columns, *others, strict=True)]
        refill(self.owner, [self.owner[0].holding([leaf for column in columns for leaf in column.__leaves__()])])
        return found

    @classmethod
    def from_items(
        cls, items: Sequence[Any], structure: Any, types: Sequence[TensorType], owner: list[Any] | None = None,
    ) -> StagedRecords:
        """The staged list of the items of a Python list, whose leaves have the types `types`. `owner`: that list, if it
        becomes the staged list."""
        if owner is None:
            record_items(items)
        rows = [columns_of(structure, leaves_of(structure, item), types) for item in items]
        return cls([StagedList.from_items([row[k] for row in rows], type) for k, type in enumerate(types)], structure)

    def _leaves(self, x: Any) -> list[Any]:
        types = [leaf.type.element for leaf in self.__leaves__()]
        try:
            leaves = leaves_of(self.structure, as_row(self.structure, x, types))
        except (TypeError, ValueError) as exc:
            want_references(of_containers=True)
            is_tuple = is_other_tuple(self.structure, x)
            what = "it has a tuple where these have none, or one of another length" if is_tuple else str(exc)
            error = StagingError(
                f"an element of another structure than the others of this list: {what}",
                remedy=AS_OBJECTS if is_tuple else
                "Give all elements of a list that changes in staged code one structure." + (
                    f" For those that nest: {AS_OBJECTS}" if isinstance(x, (list, dict)) else ""))
            locate(error, user_position())
            raise error from None
        return columns_of(self.structure, leaves, types)

    def stacked(self) -> Any:
        """The tensor of all elements, each a list or tuple of numbers or of such lists."""
        if (plain := in_plain_columns(self)) is not self:
            return convert_to_tensor(plain)
        columns, parts = self.columns, leaf_layouts(self.structure)
        wrong = next((part for part in parts if part.size > 1 or part is STRING or isinstance(
            part, (Constants, Record))), None)
        if wrong is not None:
            raise _no_tensor(str(wrong))
        return _columns_as_tensor(pytree.pack_sequence_as(self.structure, [*map(convert_to_tensor, columns)]))

    # For staging.

    def __iterable__(self) -> Counted:
        part = slice_of(self.owner)
        if part is not None:
            return Counted(self.length, lambda i: self._of_slice(part, i), (self,))
        return Counted(self.length, self._get, (self,), lambda i: less(i, self.length))

    def _of_slice(self, part: Slice, index: Any) -> Any:
        """An element of a list that is a slice of another, as one of that."""
        found = read_slice(part)
        if found is None:
            return self._get(index)
        source, start = found
        view: Any = source[0].view(source)
        return view._get(start + index)

    def __truth__(self) -> Any:
        return self.columns[0].__truth__()

    @property
    def length(self) -> Any:
        """The number of elements: a weak int32 scalar."""
        return self.columns[0].length

    # Python's list methods.

    def fit(self, x: Any) -> None:
        """Give the elements the structure that an element `x` needs, if there is one."""
        if isinstance(self.structure, NoItems) and type(x) in DICTS:
            OPERATIONS.make_table(x)
        found = fitted(self.__leaves__(), self.structure, x)
        if found is not None:
            structure, leaves = found
            empty = self.owner[0].empty
            renewed(self.owner, StagedItems(leaves, empty) if structure is None else StagedStructures(
                leaves, structure, empty))

    def append(self, x: Any, /) -> None:
        x = unview(x)
        self.fit(x)
        put(x, self.owner, None, lambda: self.append_unrecorded(x))

    def append_unrecorded(self, x: Any) -> None:
        """Append an element that has the structure, and that no name has."""
        self._change(StagedList.append, self._leaves(x))

    def extend(self, iterable: Any, /) -> None:
        iterable = OPERATIONS.listed(iterable) if stages(iterable) else iterable
        iterable = view_of(iterable)
        if isinstance(iterable, StagedRecords) and same_layout(self.structure, iterable.structure):
            link(self.owner, iterable.owner)
            self._change(StagedList.extend, iterable.columns)
        elif isinstance(iterable, StagedSequence):
            link(self.owner, iterable.owner)
            self.extend_by_records(iterable)
        else:
            for x in iterable:
                self.now.append(x)

    def insert(self, index: Any, x: Any, /) -> None:
        x = unview(x)
        self.fit(x)
        record_put(x, self.owner)
        self._change(lambda column, leaf: column.insert(index, leaf), self._leaves(x))

    def pop(self, index: Any = -1, /) -> Any:
        """Remove and return an element. IndexError at run time if the index is out of range."""
        return record_taken(
            element_of(self.structure, self._change(lambda column: column.pop(index))), self.owner)

    def clear(self) -> None:
        self._change(StagedList.clear)

    def reverse(self) -> None:
        self._change(StagedList.reverse)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = StagedRecords([column[index] for column in self.columns], self.structure)
            note_slice(made.owner, self.owner, index)
            return made
        return self._get(index)

    def _get(self, index: Any) -> Any:
        return record_read(self.at(index), self.owner, index)

    def at(self, index: Any) -> Any:
        """A new copy of an element, without recording it."""
        return element_of(self.structure, [element_at(leaf, index) for leaf in self.__leaves__()])

    def __setitem__(self, index: Any, x: Any) -> None:
        if isinstance(index, slice):
            OPERATIONS.replace_slice(self, index, x)
            return
        x = unview(x)
        self.fit(x)
        put(x, self.owner, index, lambda: self.set_unrecorded(index, x))

    def set_unrecorded(self, index: Any, x: Any) -> None:
        """Set an element that has the structure, and that no name has."""
        self._change(lambda column, leaf: column.__setitem__(index, leaf), self._leaves(x))

    def copy(self) -> StagedRecords:
        made = super().copy()
        link(made.owner, self.owner)
        return made

    def __add__(self, other: Any) -> Any:
        result = self.copy()
        result.extend(other)
        return result.now

    def __radd__(self, other: Any) -> Any:
        made = self.after([*other])
        link(made.owner, self.owner)
        return made

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
        raise decided_in_python(error)

    def __text__(self, spec: str) -> Any:
        leaves = self.__leaves__()
        if not all(isinstance(leaf, GraphList) for leaf in leaves):
            return None
        made = concat_text(("[", self.owner[0].text(), "]"))
        return made if spec in (STR, REPR, ITEM) else made.__text__(spec)

    def __repr__(self) -> str:
        return f"<staged list of {[column.element for column in self.columns]}>"


def _restructured(items: StagedList, x: Any) -> Any:
    """The view of a list of tensors, made one whose elements have the structure that `x` needs; None if there is
    none."""
    structure, leaves, empty = structure_of(x), items.__leaves__(), items.owner[0].empty
    if structure is None or isinstance(structure, Record):
        return None
    found = fitted(leaves, None, x)
    if found is None and is_unknown(items.element) and not isinstance(structure, MaybeNone):
        check_empty(items.length)
        found = structure, [list_reserve(0, type) for type in types_of(structure, x)]
    if found is None or not found[1]:
        return None
    refill(items.owner, [StagedStructures(found[1], found[0], empty)])
    return items.owner[0].view(items.owner)


def in_plain_columns(items: Any) -> Any:
    """A list of the graph with the constants in its elements stored as text or numbers; other values unchanged."""
    if not isinstance(items, StagedRecords):
        return items
    plain = pytree.map_structure(lambda leaf: leaf.plain if isinstance(leaf, Constants) else leaf, items.structure)
    if same_layout(plain, items.structure):
        return items
    rest, made = iter(items.__leaves__()), list[StagedList]()
    for layout in leaf_layouts(items.structure):
        taken = [next(rest) for _ in range(layout.size)]
        if isinstance(layout, Constants) and layout.plain is not layout:
            taken = [layout.made_plain(taken[0])]
        made += map(StagedList, taken)
    return StagedRecords(made, plain) if pytree.is_nested(plain) or has_layouts(plain) else made[0]


OPERATIONS.define(restructured=_restructured, view_of_records=StagedRecords.of)


def _columns_as_tensor(x: Any) -> Any:
    """A tensor whose second and following axes are those of nested lists and tuples of columns."""
    if isinstance(x, (list, tuple)):
        return stack([_columns_as_tensor(part) for part in x], 1)
    if isinstance(x, Tensor):
        return x
    raise _no_tensor(f"a {type(x).__name__}")


def _no_tensor(what: str) -> StagingError:
    return staging_error(f"a list of elements that contain {what} is no tensor",
                         "Take the parts of the elements apart: a list for each.")
