"""Lists of lists indexed by tensors: `g[y][x]`, and `g[y][x] = v`.

Indexing a list of rows by a tensor gives a `ChosenRow`, which represents one of the rows. A read of its items stacks
those of all rows. An assignment needs a common representation: the items become parts of one tensor of rank 2.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NoReturn

from autograph.backend import ListItems, Remake, has_staged_items, meet_all, operators, was_before
from runtime.core.formatting import formatted, repr_of
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor, indices
from runtime.core.text import ITEM, REPR, STR, concat_text, join
from runtime.core.trace import apply, capture, convert_to_tensor, current_graph, wrap
from runtime.core.types import DType, promote
from runtime.ops.gather import gather
from runtime.ops.indexing import getitem, setitem
from runtime.ops.shape import reshape
from runtime.staging.aliases.alias_tracking import has_no_single_original, is_in_carried_list, origin_of
from runtime.staging.aliases.body_tracing import in_body
from runtime.staging.containers.comparison import equals
from runtime.staging.values.iterables import Unusable, flags, normalised_index, stacked, view_of
from runtime.staging.values.optional import Maybe, there

__all__ = ["ChosenRow", "Row", "RowItems", "StoredRow", "are_rows", "common_table", "own_rows", "remake_before",
           "rows_of", "settle_rows", "store", "table_of"]

_SCALARS: Final = frozenset({bool, int, float, complex, GraphTensor})


class _Table:
    """Rows of one length and type as a tensor of rank 2, which is state as a whole."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __leaves__(self) -> list[Tensor]:
        return [self.tensor]

    def __rebuild__(self, leaves: Sequence[Tensor]) -> _Table:
        return _Table(leaves[0])

    def __become__(self, leaves: Sequence[Tensor]) -> None:
        self.tensor = leaves[0]

    def set(self, place: tuple[Any, Any], value: Any) -> None:
        x = _scalar(value)
        dtype, weak = promote((self.tensor.type, x.type), "the items of a row")
        self.tensor, x = (y if y.dtype is dtype else apply(CAST, y, dtype=dtype, **({"weak": True} if weak else {}))
                          for y in (self.tensor, x))
        self.tensor = setitem(self.tensor, place, x)


def _scalar(value: Any) -> Tensor:
    graph = current_graph()
    x, value = None, there(value)
    if isinstance(value, (bool, int, float, complex, Tensor)) and not isinstance(value, Maybe):
        x = convert_to_tensor(value) if graph is None else wrap(capture(graph, value))
    if not isinstance(x, Tensor) or x.ndim:
        kind = x.type if isinstance(x, Tensor) else "what may be None" if isinstance(value, Maybe) else type(
            value).__name__
        raise staging_error(
            f"an item of a list of lists that a tensor was the index of is set to {kind}: such lists hold numbers",
            "Use one list for each part, or a tensor with more dimensions.")
    return x


class Row:
    """Represents a list that is a row of a list of lists, for reading and setting items."""

    __slots__ = ()

    __stands_for__ = list
    """Marks a placeholder for autograph: its slots count as reachable from its holders. The value is the class that it
    represents."""

    def __len__(self) -> int:
        raise NotImplementedError

    dtype: DType
    """The dtype of the items, once `whole` was called."""

    def whole(self) -> Tensor:
        """The items as one tensor."""
        raise NotImplementedError

    def _get(self, i: Any) -> Any:
        raise NotImplementedError

    def _set(self, i: Any, value: Any) -> None:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return operators.item([*self], index)
        return self._get(self._place(index, "list index out of range"))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._set_slice(index, value)
            return
        self._set(self._place(index, "list assignment index out of range"), value)

    def _set_slice(self, index: slice, values: Any) -> None:
        places, items = range(len(self))[index], [*values]
        if len(places) != len(items):
            self.refuse("it cannot change its length", "Make another list of it first: row[:].")
        for place, item in zip(places, items, strict=True):
            self._set(place, item)

    def _place(self, index: Any, message: str) -> Any:
        return normalised_index(index if isinstance(index, Tensor) else operator.index(index), len(self), message)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def copy(self) -> list[Any]:
        return [*self]

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return [*self]

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other] if isinstance(other, (list, Row)) else NotImplemented

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return [*self] * count

    __rmul__ = __mul__

    def __contains__(self, x: Any) -> Any:
        return operators.in_(x, [*self])

    def index(self, *args: Any) -> Any:
        return OPERATIONS.index([*self], *args)

    def count(self, x: Any, /) -> Any:
        return OPERATIONS.count([*self], x)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        items = [*self]
        OPERATIONS.sort(items, key=key, reverse=reverse)
        self[:] = items

    def reverse(self) -> None:
        self[:] = self[::-1]

    def __iadd__(self, other: Any) -> NoReturn:
        self.refuse("it cannot change its length", "Make another list of it first: row[:].")

    __imul__ = __delitem__ = __iadd__

    def __eq__(self, other: object) -> Any:
        if self is other or not isinstance(other, (list, Row)):
            return True if self is other else NotImplemented
        return equals([*self], [*other])

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else operators.not_(same)

    def __parts__(self) -> list[Any]:
        """The parts for comparisons (`comparison.py`)."""
        return [*self]

    def _compared(self, other: Any) -> NoReturn:
        self.refuse("it cannot be put in order here", "Compare it in converted code, or its items.")

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'list'")

    def __getattr__(self, name: str) -> Any:
        if hasattr(list, name) and not name.startswith("__"):
            self.refuse(f"it has no {name}()", "Make another list of it first: row[:].")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def __text__(self, spec: str) -> Any:
        text = concat_text(("[", join(", ", [repr_of(x) for x in self]), "]"))
        return text if spec in (STR, REPR, ITEM) else formatted(text, spec)

    def refuse(self, what: str, remedy: str) -> NoReturn:
        raise staging_error(f"a list that is a row of a list of lists is part of a tensor here, as a tensor was the"
                            f" index of these: {what}", remedy)


Sequence.register(Row)  # for `match`


class RowItems(ListItems, Unusable):
    """The single item of a list whose items are stored in a row of a table."""

    __slots__ = ("owner", "place", "table")

    __stands_for__ = list

    def __init__(self, table: _Table, place: int, owner: list[Any] | None = None) -> None:
        self.table, self.place, self.owner = table, place, owner
        flags.lists_are_staged = True

    def view(self, owner: list[Any]) -> StoredRow:
        if self.owner is None:  # in a copy made by `copy.deepcopy`
            self.owner = owner
        if owner is not self.owner:
            raise staging_error(
                "a list that is a row of a list of lists, which a tensor was the index of, was copied by code that is"
                " not converted", "Copy it in converted code: row[:].")
        return StoredRow(owner)

    @property
    def storage(self) -> _Table:
        return self.table

    def __repr__(self) -> str:
        return ", ".join([format(x, REPR) for x in StoredRow(self.owner or [self])])

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __deepcopy__(self, memo: Any) -> RowItems:
        return RowItems(_Table(self.table.tensor), self.place)

    def refuse(self) -> NoReturn:
        raise staging_error(
            "the items of a list that is a row of a list of lists are part of a tensor here, as a tensor was the index"
            " of these", "Use the list in converted code.")


def _items_of(row: Any) -> RowItems | None:
    """The RowItems of a list that is a row of a table; None for other lists."""
    return row[0] if has_staged_items(row) and isinstance(row[0], RowItems) else None


def table_of(row: Any) -> Any:
    """The table in which a list is a row; None for other lists."""
    items = _items_of(row)
    return None if items is None else items.table


def common_table(rows: Sequence[Any]) -> Any:
    """The table in which all of these lists are rows; None if there is none."""
    tables = [*map(table_of, rows)]
    return tables[0] if tables and all(table is tables[0] for table in tables) else None


class StoredRow(Row):
    """The list `owner`, whose items are stored in a row of a table."""

    __slots__ = ("owner",)

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    @property
    def _table(self) -> _Table:
        return self.owner[0].table  # type: ignore[no-any-return]

    def __len__(self) -> int:
        width = self._table.tensor.type.shape[1]
        assert width is not None
        return width

    def _get(self, i: Any) -> Any:
        return getitem(self._table.tensor, (self.owner[0].place, i))

    def _set(self, i: Any, value: Any) -> None:
        self._table.set((self.owner[0].place, i), value)

    def whole(self) -> Tensor:
        return getitem(self._table.tensor, self.owner[0].place)

    def __getattr__(self, name: str) -> Any:
        if name in ("append", "clear", "extend", "insert", "pop", "remove") and not (
                in_body() and was_before(self.owner)):
            self.owner[:] = [*self]  # from now on it is no row
            return getattr(self.owner, name)
        return super().__getattr__(name)

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self._table.tensor.dtype


class ChosenRow(Row):
    """One of several rows: lists of numbers of one length, or their representatives."""

    __slots__ = ("at", "dtype", "rows")

    def __init__(self, rows: tuple[Any, ...], at: Tensor) -> None:
        self.rows, self.at = rows, at

    def __len__(self) -> int:
        return len(view_of(self.rows[0]))

    def _get(self, i: Any) -> Any:
        table, place = self._stored()
        return getitem(_stack(self.rows) if table is None else table.tensor, (place, i))

    def _set(self, i: Any, value: Any) -> None:
        if self._stored()[0] is None:
            store(self.rows)
        table, place = self._stored()
        assert table is not None
        table.set((place, i), value)

    def whole(self) -> Tensor:
        table, place = self._stored()
        whole = getitem(_stack(self.rows) if table is None else table.tensor, place)
        self.dtype = whole.dtype
        return whole

    def settle(self) -> None:
        """Keep the items that the rows have now."""
        self.rows = tuple([[*row] if (items := _items_of(row)) is None else [RowItems(items.table, items.place)]
                           for row in self.rows])

    def _stored(self) -> tuple[_Table | None, Any]:
        """The table that contains all of the rows, or None; and the index of this row in it, or among the rows."""
        table = common_table(self.rows)
        if table is None:
            return None, self.at
        places = [row[0].place for row in self.rows]
        return table, self.at if places == list(range(len(places))) else gather(places, self.at)


def settle_rows(value: Any) -> None:
    """Called before lists get other contents: let the rows chosen from them to which `value` leads keep theirs."""
    for reached in meet_all(value).objects:
        if isinstance(reached.value, ChosenRow):
            reached.value.settle()


def _stack(rows: Sequence[Any]) -> Tensor:
    return reshape(stacked([*chain.from_iterable(map(view_of, rows))]), [len(rows), len(view_of(rows[0]))])


def are_rows(sequence: Sequence[Any]) -> bool:
    """Whether all items of a list or tuple are rows of numbers, of one length."""
    rows = all(isinstance(row, Row) or _items_of(row) is not None or (type(row) is list and _are_scalars(row))
               for row in sequence)
    return rows and len({len(view_of(row)) for row in sequence}) == 1 and len(view_of(sequence[0])) > 0


def _are_scalars(row: Sequence[Any]) -> bool:
    kinds = set(map(type, row))
    if kinds <= _SCALARS:
        return GraphTensor not in kinds or not any([type(x) is GraphTensor and x.type.shape for x in row])
    return all(map(_is_scalar, row))


def _is_scalar(x: Any) -> bool:
    if isinstance(x, Maybe):
        return False
    return not x.ndim if isinstance(x, Tensor) else isinstance(x, (int, float, complex))


def remake_before(values: Sequence[Any], make: Callable[[Sequence[Any]], object], alone: bool = False) -> None:
    """Inside a body, if lists existed before the statement, raise `Remake`: `make` runs before the statement, which is
    then staged again. It gets the pre-existing lists, if each can be converted separately (`alone`); otherwise
    StagingError if only some existed."""
    if in_body():
        before = [value if (origin := origin_of(value)) is None else origin for value in values
                  if not has_no_single_original(value) and (origin_of(value) is not None or was_before(value))]
        if before and (alone or len(before) == len(values)):
            raise Remake(make, before)
        if before:
            error = staging_error(
                "a tensor is the index of a list of lists of which some are made in this staged statement, others"
                " before it, and an item is set", "Make all of them before that statement, or in it.")
            if any(map(is_in_carried_list, values)):
                indices.asked = True
                raise TypeError(str(error))
            raise error


def rows_of(tensor: Tensor) -> list[RowItems]:
    """The RowItems for lists whose items are the rows of a tensor of rank 2."""
    table = _Table(tensor)
    return [RowItems(table, k) for k in range(tensor.type.shape[0] or 0)]


def own_rows(lists: Iterable[Any]) -> None:
    """Make lists the owners of the RowItems that they hold."""
    for owner in lists:
        if type(owner) is list and (items := _items_of(owner)) is not None:
            items.owner = owner


def store(rows: Sequence[Any]) -> None:
    """Make these lists rows of one table.

    In a body of a staged statement, this happens before the statement, which is then staged again.
    """
    distinct = list({id(row): row for row in rows}.values())
    if any(isinstance(row, ChosenRow) for row in distinct):
        raise staging_error(
            "an item is set of a list of lists of which a tensor chose some out of another: which ones these are is"
            " known only when the graph runs", "Keep their indices, or copies of them: row[:].")
    remake_before(distinct, store)
    table = _Table(_stack(distinct))
    for k, row in enumerate(distinct):
        row[:] = [RowItems(table, k, row)]
