"""Python sets in staged code whose items are known only at run time: hash tables in the graph.

They replace the sets that a function creates once a trace has found that tensors become items of one; the function is
then retraced (`NeedsSets`). Items are such as keys of dicts (`dict_keys`). The order of numbers is not that of
a Python set, so any operation that depends on it is an error; Python's order of objects, members of Enums and text is
any.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Sequence
from typing import Any, Final, NoReturn

from autograph.backend import Clause, keyed, operators
from runtime.core import pytree
from runtime.core.array_mode import sets_are_staged, want_sets
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.core.types import TensorType
from runtime.ops.effects import raise_unless
from runtime.ops.lists import ListValue
from runtime.ops.logic import greater, logical_and, not_equal
from runtime.staging.aliases.list_elements import following
from runtime.staging.elements.element_layout import has_layouts, leaf_layouts, same_layout
from runtime.staging.elements.hash_table import Table
from runtime.staging.storage.dict import View
from runtime.staging.storage.dict_keys import (
    check_hashable,
    column_type,
    entry_of,
    is_any_order,
    is_key,
    is_staged_key,
    key_leaves,
    key_structure,
    key_to_set,
    raise_unless_there,
    refused_key,
    to_set,
)
from runtime.staging.storage.dict_presence import check_keys
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.any_order import listed_in_any_order, refuse_order
from runtime.staging.values.generators import StagedGenerator, use_up
from runtime.staging.values.iterables import Counted, Staged, stages, view_of
from runtime.staging.values.list import StagedList, branch

__all__ = [
    "JoinedSet", "StagedFrozenSet", "StagedSet", "frozenset_of", "method_of_set", "refuse_set", "set_comp", "set_of"]


class StagedSet(Staged):
    """A set in a traced function. `structure`: that of an item. `narrower`: those that it had before, for leaves that
    are restored."""

    __slots__ = ("leaves", "narrower", "structure")

    __stands_for__ = set

    def __init__(self, leaves: Sequence[ListValue] = (), structure: Any = None) -> None:
        self.leaves, self.structure = tuple(leaves), structure
        self.narrower: tuple[Any, ...] = ()

    # For staging: the whole set is state.

    def __leaves__(self) -> list[ListValue]:
        return [*self.leaves]

    def __rebuild__(self, leaves: Sequence[ListValue]) -> StagedSet:
        return type(self)(leaves, self._structure_in(leaves))

    def __become__(self, leaves: Sequence[ListValue]) -> None:
        self.leaves, self.structure = tuple(leaves), self._structure_in(leaves)

    def _structure_in(self, leaves: Sequence[ListValue]) -> Any:
        """The structure of the items in a table with these leaves: the last one that fits them."""
        ranks = [leaf.type.element.ndim for leaf in leaves[2:]]
        return next((each for each in (self.structure, *self.narrower)
                     if ranks == [int(is_ragged) for layout in leaf_layouts(each) for is_ragged in layout.ragged]),
                    self.structure)

    def __is_like__(self, other: Any) -> bool:
        return same_layout(self.structure, other.structure)

    @property
    def table(self) -> Table:
        return Table.of_leaves(self.leaves, len(self.leaves) - 2)

    def with_types(self, types: Sequence[TensorType]) -> Sequence[ListValue]:
        """The leaves, for items whose leaves have these types; an empty table for a set that never had an item."""
        return self.leaves or Table.empty(types, ()).leaves

    def holding(self, items: Iterable[Any], types: Sequence[TensorType]) -> Sequence[ListValue]:
        """The leaves of a set of other items, of Python's, alike those of this one; their leaves have these types."""
        made = StagedSet(Table.empty(types, ()).leaves, self.structure) if types else StagedSet()
        StagedSet.update(made, items)
        return made.leaves

    def in_any_order(self) -> Any:
        """A list of the items, in insertion order: for uses that do not depend on the order."""
        if not self.leaves:
            return []
        lists = [StagedList(leaf) for leaf in self.table.items(self.table.keys)]
        is_record = pytree.is_nested(self.structure) or has_layouts(self.structure)
        return (StagedRecords(lists, self.structure) if is_record else lists[0]).owner

    def __iterable__(self) -> Counted:
        if not is_any_order(self.structure):
            refuse_order()
        items: Counted = view_of(self.in_any_order()).__iterable__()
        return Counted(items.length, items.item, (self,))

    def when_resized(self) -> Exception:
        """The exception for a change of length during iteration."""
        return RuntimeError("Set changed size during iteration")

    # A set that never had an item is known to be empty, so Python may iterate over it.

    def __iter__(self) -> Iterator[Any]:
        return refuse_order() if self.leaves else iter(())

    def __len__(self) -> int:
        return _refuse("how many items a set has") if self.leaves else 0

    def __bool__(self) -> bool:
        return _refuse("whether a set has items") if self.leaves else False

    # Items.

    def _entry(self, item: Any) -> Any:
        """The entry number of an item; 0, as an int or in the graph, if absent."""
        return entry_of(self.table, self.structure, item) if self.leaves else 0

    def contains(self, item: Any) -> Any:
        """Whether the set contains an item: False, or a bool scalar."""
        entry = self._entry(item)
        return not_equal(entry, 0) if isinstance(entry, Tensor) else False

    def __contains__(self, item: Any) -> Any:
        return self.contains(item)

    def add(self, item: Any, /) -> None:
        item = key_to_set(item)
        if not self.leaves:
            if not is_key(item):
                raise refused_key(item, "an item of a set")
            self.structure = key_structure(item)
            types = [column_type(leaf.type) for leaf in key_leaves(self.structure, None, item) or ()]
            self.leaves = tuple(Table.empty(types, ()).leaves)
        table, structure, leaves = to_set(self.table, self.structure, item, "an item of a set")
        self._take(table.put(leaves, ()).leaves, structure)

    def _take(self, leaves: Sequence[ListValue], structure: Any) -> None:
        if structure is not self.structure:
            self.structure, self.narrower = structure, (self.structure, *self.narrower)
        self.leaves = tuple(leaves)

    def discard(self, item: Any, /) -> None:
        entry = self._entry(item)
        if isinstance(entry, Tensor):
            self.leaves = tuple(self.table.without(entry, not_equal(entry, 0)).leaves)

    def remove(self, item: Any, /) -> None:
        entry = self._entry(item)
        raise_unless_there(entry, item)
        self.leaves = tuple(self.table.without(entry, True).leaves)

    def clear(self) -> None:
        if self.leaves:
            self.leaves = tuple(Table.empty([column.type.element for column in self.table.keys], ()).leaves)

    def pop(self) -> Any:
        if not is_any_order(self.structure):
            refuse_order()
        raise_unless(self.__truth__(), KeyError("pop from an empty set"))
        item = view_of(self.in_any_order())[0]
        StagedSet.discard(self, item)
        return item

    def copy(self) -> StagedSet:
        return type(self)(self.leaves, self.structure)

    @property
    def length(self) -> Any:
        """The number of items: 0, or a weak int32 scalar."""
        return self.table.count if self.leaves else 0

    def __truth__(self) -> Any:
        return greater(self.length, 0) if self.leaves else False

    # Sets and iterables.

    def update(self, *others: Any) -> None:
        for other in others:
            _each(self, other, StagedSet.add)

    def difference_update(self, *others: Any) -> None:
        for other in others:
            _each(self, other, StagedSet.discard)

    def intersection_update(self, *others: Any) -> None:
        for other in others:
            self.leaves = _common(self, _with_items(other)).leaves

    def symmetric_difference_update(self, other: Any, /) -> None:
        among = _with_items(other)
        both = self.intersection(among)
        StagedSet.update(self, among)
        StagedSet.difference_update(self, both)

    def union(self, *others: Any) -> StagedSet:
        return self._changed(StagedSet.update, others)

    def difference(self, *others: Any) -> StagedSet:
        return self._changed(StagedSet.difference_update, others)

    def intersection(self, *others: Any) -> StagedSet:
        return self._changed(StagedSet.intersection_update, others)

    def symmetric_difference(self, other: Any, /) -> StagedSet:
        return self._changed(StagedSet.symmetric_difference_update, (other,))

    def _changed(self, change: Callable[..., None], others: Sequence[Any]) -> StagedSet:
        made = self.copy()
        change(made, *others)
        return made

    def issubset(self, other: Any, /) -> Any:
        return self.intersection(other).length == self.length

    def issuperset(self, other: Any, /) -> Any:
        among = set_of(other)
        return self.intersection(among).length == _length(among)

    def isdisjoint(self, other: Any, /) -> Any:
        return self.intersection(other).length == 0

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, _SETS):
            return NotImplemented
        return logical_and(self.length == _length(other), self.issubset(other))

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else operators.not_(same)

    def __hash__(self) -> int:
        if isinstance(self, StagedFrozenSet):
            raise staging_error("a frozenset whose items only the graph knows cannot be a key, or an item of a set",
                                "Use a tuple of numbers.")
        raise TypeError("unhashable type: 'set'")

    def __lt__(self, other: Any) -> Any:
        return logical_and(self.length < _length(other), self.issubset(other)) if isinstance(other, _SETS) else (
            NotImplemented)

    def __gt__(self, other: Any) -> Any:
        return logical_and(self.length > _length(other), self.issuperset(other)) if isinstance(other, _SETS) else (
            NotImplemented)

    def __le__(self, other: Any) -> Any:
        return self.issubset(other) if isinstance(other, _SETS) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other) if isinstance(other, _SETS) else NotImplemented

    def __text__(self, spec: str) -> NoReturn:
        refuse_order()

    def __repr__(self) -> str:
        return "<staged set>"


class StagedFrozenSet(StagedSet):
    """A frozenset in a traced function."""

    __slots__ = ()

    __stands_for__ = frozenset  # type: ignore[assignment]


class JoinedSet(StagedSet):
    """A set that, on some paths through a staged statement, is one from before the call. It can be read as long as
    those sets, `originals`, do not change."""

    __slots__ = ("_before", "_leaves")

    def __init__(self, leaves: Sequence[ListValue], structure: Any, originals: Iterable[Any]) -> None:
        self._leaves, self.structure, self.narrower = tuple(leaves), structure, ()
        self._before = [(one, frozenset(one)) for one in {id(one): one for one in originals}.values()]

    @property
    def originals(self) -> list[Any]:
        return [one for one, _ in self._before]

    def __is_like__(self, other: JoinedSet) -> bool:
        """Whether the other has items of the same structure, and may be one of the same sets."""
        return same_layout(self.structure, other.structure) and (
            {*map(id, self.originals)} == {*map(id, other.originals)})

    @property
    def leaves(self) -> tuple[ListValue, ...]:
        if any(one != before for one, before in self._before):
            self._refuse_change()
        return self._leaves

    @leaves.setter
    def leaves(self, leaves: Sequence[ListValue]) -> NoReturn:
        self._refuse_change()

    def _refuse_change(self) -> NoReturn:
        raise staging_error(
            "a set is changed that may be one from before the call or another one: that depends on the way through a"
            " staged statement, which is known only when the graph runs",
            "Give each name a set of its own: s = set(s).")

    def __rebuild__(self, leaves: Sequence[ListValue]) -> JoinedSet:
        return JoinedSet(leaves, self.structure, self.originals)

    def __become__(self, leaves: Sequence[ListValue]) -> None:
        self._leaves = tuple(leaves)

    def copy(self) -> StagedSet:
        return StagedSet(self.leaves, self.structure)


StagedSet.__name__, StagedFrozenSet.__name__, JoinedSet.__name__ = "set", "frozenset", "set"  # the names in messages
_SETS: Final = (set, frozenset, StagedSet)


def _operator(change: Callable[..., None], in_place: bool = False, reflected: bool = False) -> Callable[..., Any]:
    def method(self: StagedSet, other: Any) -> Any:
        if not isinstance(other, _SETS):
            return NotImplemented
        left, right = (_with_items(other), self) if reflected else (self, other)
        made = left if in_place else left.copy()
        change(made, right)
        return made

    return method


for _name, _change in (("or", StagedSet.update), ("sub", StagedSet.difference_update),
                       ("and", StagedSet.intersection_update), ("xor", StagedSet.symmetric_difference_update)):
    setattr(StagedSet, f"__{_name}__", _operator(_change))
    setattr(StagedSet, f"__r{_name}__", _operator(_change, reflected=True))
    setattr(StagedSet, f"__i{_name}__", _operator(_change, in_place=True))
    setattr(StagedFrozenSet, f"__i{_name}__", _operator(_change))


def _view_operator(name: str, view: View, other: Any) -> Any:
    """A binary operator of a view of keys or items, as of a set."""
    operands = [_with_items(x) if isinstance(x, View) else x for x in (view, other)]
    if view.part == "values" or not isinstance(operands[1], (*_SETS, KeysView, ItemsView)):
        return NotImplemented
    return getattr(operands[0], name)(operands[1] if isinstance(operands[1], _SETS) else set(operands[1]))


OPERATIONS.define(view_operator=_view_operator)


def _followed(change: Callable[..., Any]) -> Callable[..., Any]:
    """A method that changes a set, which may be an element of a list or dict: that changes with it."""
    @functools.wraps(change)
    def method(self: StagedSet, *args: Any) -> Any:
        with following(self):
            return change(self, *args)

    return method


def _absent(name: str) -> property:
    def missing(_: Any) -> NoReturn:
        raise AttributeError(f"'frozenset' object has no attribute {name!r}")

    return property(missing)


def _refuse(what: str) -> NoReturn:
    raise staging_error(f"{what} is known only when the graph runs", "Ask in converted code.")


def _length(x: Any) -> Any:
    return x.length if isinstance(x, StagedSet) else len(x)


def _with_items(x: Any) -> StagedSet:
    """The items of an iterable as a staged set."""
    if isinstance(x, StagedSet):
        return x
    made = StagedFrozenSet() if isinstance(x, frozenset) else StagedSet()
    StagedSet.update(made, x)
    return made


def _add_if(made: StagedSet, bit: Any, item: Any) -> None:
    def add(made: StagedSet) -> tuple[StagedSet]:
        StagedSet.add(made, item)
        return (made,)

    found = made
    if not isinstance(bit, bool):
        (found,) = branch(bit, add, (made,), ("set",))
    elif bit:
        add(made)
    made._take(found.leaves, found.structure)


def _common(items: StagedSet, among: StagedSet) -> StagedSet:
    """The intersection with another set."""
    kept = items.copy()
    kept.leaves = ()
    _each(kept, items, lambda made, item: _add_if(made, among.contains(item), item))
    return kept


def _each(made: StagedSet, items: Any, change: Callable[[StagedSet, Any], None]) -> None:
    """Call `change(made, item)` for each item of an iterable."""
    ag__made = made

    def for_body(item: Any) -> None:
        change(ag__made, item)

    source = items.in_any_order() if isinstance(items, StagedSet) else items
    if stages(source):
        generator = StagedGenerator(Clause(source, lambda item: item, None))
        use_up(generator, generator.use(), for_body, None, "ag__made")
        return
    for item in source:
        for_body(item)


# Creation of sets.

def refuse_set() -> None:
    """Called where a tensor becomes an item of a Python set: raises to retrace the function with graph sets in place of
    those it creates, or StagingError."""
    raise want_sets(staging_error(
        "a set that was there before the call, or has items of other kinds, gets an item here that only the graph"
        " knows", "Make the set in the traced function, of numbers, members of Enums, text or tuples."))


def set_of(items: Iterable[Any] = (), /) -> Any:
    """`set(items)`."""
    if isinstance(items, StagedSet):
        return items.copy()
    if stages(items):
        if not sets_are_staged():
            refuse_set()
        return _with_items(_of_set(items))
    if type(items) in keyed:
        check_keys(items)
    found = [*items]
    if sets_are_staged() and all(map(is_key, found)):
        return _with_items(found)
    for item in found:
        check_hashable(item)
    if any(map(_is_tensor, found)):
        refuse_set()
    return set(found)


def frozenset_of(items: Iterable[Any] = (), /) -> Any:
    """`frozenset(items)`."""
    if isinstance(items, StagedSet):
        return StagedFrozenSet(items.leaves, items.structure)
    if type(items) in keyed:
        check_keys(items)
    found = _of_set(items) if stages(items) else [*items]
    if not (stages(items) or any(map(_is_tensor, found))):
        return frozenset(found)
    made = StagedFrozenSet()
    StagedSet.update(made, found)
    return made


def _of_set(items: Any) -> Any:
    """The items of a generator over a set as a list, in any order; other iterables as they are."""
    if isinstance(items, StagedGenerator) and isinstance(items.clause.iterable, StagedSet):
        clause = items.use()
        if isinstance(clause.iterable, StagedSet):
            return listed_in_any_order(clause, clause.iterable.in_any_order())
    return items


def _is_tensor(item: Any) -> bool:
    """Whether an item can be in a graph set, but not in a Python set."""
    return is_staged_key(item) and is_key(item)


def set_comp(clause: Clause) -> Any:
    """The set of the items of a comprehension."""
    if not isinstance(clause.iterable, StagedSet):
        return set_of(operators.list_comp(*clause))
    return set_of(listed_in_any_order(clause, clause.iterable.in_any_order()))


def method_of_set(fn: Any, python: Callable[..., Any]) -> Callable[..., Any]:
    """The replacement of a bound method of a Python set; `python` is called if all arguments are Python values."""
    def called(*args: Any) -> Any:
        if fn.__name__ == "add":
            check_hashable(*args)
        if not any(_is_tensor(arg) or stages(arg) for arg in args):
            return python(*args)
        if fn.__name__ in _CHANGES:
            refuse_set()
        return getattr(_with_items(fn.__self__), fn.__name__)(*args)

    return called


_CHANGES: Final = frozenset({
    "add", "remove", "discard", "update", "difference_update", "intersection_update", "symmetric_difference_update"})
for _name in (*_CHANGES, "clear", "pop"):
    setattr(StagedSet, _name, _followed(getattr(StagedSet, _name)))
for _name in (*_CHANGES, "clear", "pop"):
    setattr(StagedFrozenSet, _name, _absent(_name))
