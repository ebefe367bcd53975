"""Python dicts in staged code whose keys are known only at run time: hash tables in the graph.

The dict object keeps its identity, as a list with staged items does. Keys are numbers, text, objects by reference,
members of Enums, functions, classes, or tuples or frozen dataclasses of these (`dict_keys`); values are such as
elements of lists can be.
"""
from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import starmap
from typing import Any, NamedTuple, NoReturn

from autograph.backend import items_in, operators, refill
from runtime.core import pytree
from runtime.core.errors import OperatorNotAllowedInGraphError, locate
from runtime.core.formatting import repr_of
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import Tensor
from runtime.core.text import ITEM, REPR, STR, concat_text
from runtime.core.types import TensorType
from runtime.ops.effects import raise_unless
from runtime.ops.lists import ListValue, list_get
from runtime.ops.logic import equal, greater, logical_and, not_equal, where
from runtime.ops.strings import text_of_records
from runtime.staging.aliases.list_elements import (
    following,
    put,
    record_items,
    record_read,
    record_taken,
    renewed,
)
from runtime.staging.aliases.shared_elements import link
from runtime.staging.elements.element_layout import (
    columns_of,
    element_of,
    has_layouts,
    leaves_of,
    may_change,
    shown_columns,
    shown_element,
    width_of,
)
from runtime.staging.elements.element_structures import fitted
from runtime.staging.elements.hash_table import Table
from runtime.staging.storage import dict_presence
from runtime.staging.storage.dict_keys import (
    certain,
    entry_of,
    is_alike,
    key_to_set,
    raise_unless_there,
    to_set,
)
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.dict_defaults import with_default
from runtime.staging.values.iterables import Counted, Staged
from runtime.staging.values.list import StagedItems, StagedList, StagedView, branch, element_as_tensor, unview

__all__ = ["StagedDict", "StagedEntries", "View", "empty_dict_like"]


class StagedEntries(StagedItems):
    """The single item of a dict whose keys are known only at run time: its hash table. `structure` is that of an item,
    a (key, value) pair."""

    __slots__ = ("structure",)

    def __init__(self, leaves: Sequence[ListValue], structure: tuple[Any, Any], empty: dict[Any, Any]) -> None:
        super().__init__(leaves, empty)
        self.structure = structure

    @property
    def table(self) -> Table:
        return Table.of_leaves(self.leaves, width_of(self.structure[0]))

    def holding(self, leaves: Sequence[ListValue]) -> StagedEntries:
        return StagedEntries(leaves, self.structure, self.empty)

    def view(self, owner: Any) -> Any:
        return StagedDict.of(owner)

    def __text__(self, spec: str) -> Any:
        """The text of the items, without the enclosing braces."""
        table = self.table
        leaves = table.items([*table.keys, *table.values])
        return text_of_records(
            shown_columns(self.structure, leaves), _Item(shown_element(self.structure)).__text__(""))

    def refuse(self) -> NoReturn:
        _refuse("the keys of this dict are not known here", "Use the dict in converted code.")


def empty_dict_like(x: Any) -> Any:
    """An empty dict of the class of `x`, with the same default factory."""
    return type(x)(x.default_factory) if type(x) is defaultdict else type(x)()


class StagedDict(StagedView):
    """The operations of a dict whose keys are known only at run time."""

    __slots__ = ()

    @classmethod
    def from_items(cls, mapping: dict[Any, Any], structure: Any, types: Sequence[TensorType]) -> StagedDict:
        """The staged form of a Python dict, which is not modified. `structure` is that of its items, `types` are upper
        bounds of the types of their columns."""
        items = [(key, certain(value)) for key, value in items_in(mapping)]
        keys = width_of(structure[0])
        if not items:
            return cls.of({0: StagedEntries(Table.empty(types[:keys], types[keys:]).leaves, structure,
                                            empty_dict_like(mapping))})
        if dict_presence.is_uncertain(mapping):
            made = cls.from_items(empty_dict_like(mapping), structure, types)
            for key, value in items:
                made._put_if(dict_presence.bound_of(mapping, key), key, value)
            return made
        record_items([value for _, value in items])
        rows = [_columns(structure, item, types) for item in items]
        columns = [StagedList.from_items([row[k] for row in rows], type).__leaves__()[0]
                   for k, type in enumerate(types)]
        table = Table.of_entries(columns[:keys], columns[keys:])
        return cls.of({0: StagedEntries(table.leaves, structure, empty_dict_like(mapping))})

    @property
    def structure(self) -> tuple[Any, Any]:
        """The structure of an item: (that of the key, that of the value)."""
        structure: tuple[Any, Any] = self.owner[0].structure
        return structure

    @property
    def table(self) -> Table:
        table: Table = self.owner[0].table
        return table

    def _take(self, table: Table) -> None:
        refill(self.owner, [self.owner[0].holding(table.leaves)])

    # Keys.

    def _entry(self, key: Any) -> Any:
        """The entry number of a key; 0, as an int or in the graph, if absent."""
        return entry_of(self.table, self.structure[0], key)

    def _value(self, entry: Any) -> Any:
        """A new copy of the value of an entry."""
        return element_of(self.structure[1], [list_get(column, entry) for column in self.table.values])

    def at_key(self, key: Any) -> Any:
        """The value of a key that is there."""
        return self._read(key, self._entry(key))

    def _read(self, key: Any, entry: Any) -> Any:
        """The value of an entry, which is that of the key: what changes in it changes in the dict."""
        return record_read(self._value(entry), self.owner, _Place(key))

    def at(self, place: Any) -> Any:
        """A new copy of the value there."""
        return self._value(self._entry(place.key))

    def put_back(self, place: Any, value: Any) -> None:
        """Set the value there."""
        self[place.key] = value

    def contains(self, key: Any) -> Any:
        """Whether the dict contains the key: False, or a bool scalar tensor."""
        entry = self._entry(key)
        return not_equal(entry, 0) if isinstance(entry, Tensor) else False

    # Python's operators and methods.

    @property
    def length(self) -> Any:
        """The number of keys: a weak int32 scalar."""
        return self.table.count

    def __truth__(self) -> Any:
        return greater(self.table.count, 0)

    def __iterable__(self) -> Counted:
        return self.keys().__iterable__()

    def when_resized(self) -> Exception:
        """The exception for a change of length during iteration."""
        return RuntimeError("dictionary changed size during iteration")

    def as_list(self) -> Any:
        return self.keys().as_list()

    def __getitem__(self, key: Any) -> Any:
        factory = Counter if isinstance(self.owner, Counter) else getattr(self.owner, "default_factory", None)
        if factory is Counter:
            return self.get(key, 0)
        if factory is not None:
            with following(self.owner):
                return with_default(self.owner, key, functools.partial(self.setdefault, key),
                                    lambda: StagedDict.of(self.owner).present(key))
        return self.present(key)

    def present(self, key: Any) -> Any:
        """The item of a key. KeyError at run time if absent."""
        return self._read(key, self._checked(key))

    def _checked(self, key: Any) -> Any:
        """The entry number of a key. KeyError at run time if absent."""
        entry = self._entry(key)
        raise_unless_there(entry, key)
        return entry

    def __setitem__(self, key: Any, value: Any) -> None:
        key = key_to_set(key)
        table, keys, leaves = to_set(self.table, self.structure[0], key, "a key of a dict")
        if keys is not self.structure[0]:
            self._renew(table, (keys, self.structure[1]))
        value = unview(value)
        self.fit(value)
        put(value, self.owner, _Place(key), lambda: self._take(self.table.put(leaves, self._stored(value))))

    def _stored(self, value: Any) -> list[Any]:
        """The columns of a value. StagingError if its structure differs."""
        return _columns(self.structure[1], value, [column.type.element for column in self.table.values])

    def fit(self, value: Any) -> None:
        """Give the values the structure that `value` needs, if there is one."""
        found = fitted(self.table.values, self.structure[1], value, rows=True)
        if found is not None:
            structure, values = found
            self._renew(self.table._replace(values=tuple(values)), (self.structure[0], structure))

    def _renew(self, table: Table, structure: tuple[Any, Any]) -> None:
        renewed(self.owner, StagedEntries(table.leaves, structure, self.owner[0].empty))

    def _put_if(self, bit: Any, key: Any, value: Any) -> None:
        """Set an item if the predicate `bit` holds; None: unconditionally."""
        def put(view: Any) -> tuple[Any]:
            view[key] = value
            return (view,)

        (made,) = put(self) if bit is None else branch(bit, put, (self,), ("dict",))
        refill(self.owner, [made.owner[0]])

    def __delitem__(self, key: Any) -> None:
        self._delete(self._checked(key), True)

    def _delete(self, entry: Any, when: Any) -> None:
        self._take(self.table.without(entry, when))

    def get(self, key: Any, default: Any = None, /) -> Any:
        entry = self._entry(key)
        if not isinstance(entry, Tensor):
            return default
        is_scalar = not any([column.type.element.shape for column in self.table.values])
        if default is None or not _has_tensors_alone(self.structure[1]) or not is_scalar or not is_alike(
                self.structure[1], default):
            return operators.if_exp(not_equal(entry, 0), lambda: self._read(key, entry), lambda: default)
        there, found = not_equal(entry, 0), self._value(entry)  # entry 0 holds zeros
        return pytree.map_structure(lambda x, y: where(there, x, y), found, default)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        if _has_tensors_alone(self.structure[1]):
            self[key] = self.get(key, default)
            return self._read(key, self._entry(key))
        self.fit(default)
        self._put_if(equal(self._entry(key), 0), key, default)
        return self._read(key, self._entry(key))

    def pop(self, key: Any, /, *default: Any) -> Any:
        entry = self._entry(key) if default else self._checked(key)
        found = self.get(key, *default) if default else record_taken(self._value(entry), self.owner)
        if isinstance(entry, Tensor):
            self._delete(entry, not_equal(entry, 0))
        return found

    def popitem(self, **options: Any) -> Any:
        if options:
            type(self.owner)(x=0).popitem(**options)  # raises the TypeError about the argument
        raise_unless(self.__truth__(), KeyError("popitem(): dictionary is empty"))
        items = self.items().as_list()
        key, value = items[-1 if options.get("last", True) else 0]
        del self[key]
        return key, value

    def move_to_end(self, key: Any, last: Any = True) -> None:
        if not isinstance(self.owner, OrderedDict):
            self.__getattr__("move_to_end")  # raises the AttributeError
        self._take(self.table.moved(self._checked(key), bool(last)))

    def clear(self) -> None:
        table = self.table
        self._take(Table.empty([x.type.element for x in table.keys], [x.type.element for x in table.values]))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (dict, StagedDict)):
            return NotImplemented
        if isinstance(other, dict):
            return self._equals_known(other)
        if self.owner is other.owner:
            return True
        return logical_and(self.length == other.length, operators.call(all)(operators.gen_exp(
            self.items(), lambda item: operators.and_(other.contains(item[0]), lambda: operators.eq(
                other.get(item[0], item[1]), item[1])))))

    def _equals_known(self, other: dict[Any, Any]) -> Any:
        def has(key: Any, value: Any) -> Any:
            return operators.and_(self.contains(key), lambda: operators.eq(self[key], value))

        return reduce(logical_and, starmap(has, other.items()), self.length == len(other))

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else operators.not_(same)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: '{type(self.owner).__name__}'")

    def copy(self) -> StagedDict:
        made = super().copy()
        if may_change(self.structure[1]):
            link(made.owner, self.owner)
        return made

    def keys(self) -> View:
        return View(self, "keys")

    def values(self) -> View:
        return View(self, "values")

    def items(self) -> View:
        return View(self, "items")

    def __len__(self) -> int:
        _refuse("the number of keys of a staged dict is not known here", "Use len() in converted code.")

    def __bool__(self) -> bool:
        _refuse("whether a staged dict is empty is not known here", "Test len(d) > 0 in converted code.")

    def __iter__(self) -> Iterator[Any]:
        _refuse("a staged dict cannot be iterated over here", "Loop over it in converted code.")

    def __getattr__(self, name: str) -> Any:
        kind = type(self.owner)
        if hasattr(kind, name):
            _refuse(f"a staged {kind.__name__} has no {name}()", "Write it as a loop over the items.")
        raise AttributeError(f"'{kind.__name__}' object has no attribute {name!r}")

    def __text__(self, spec: str) -> Any:
        made = repr_of(self.owner)
        return made if spec in (STR, REPR, ITEM) else made.__text__(spec)

    def __repr__(self) -> str:
        return "<staged dict>"


class _Item:
    """A (key, value) item, for formatting."""

    def __init__(self, item: tuple[Any, Any]) -> None:
        self.item = item

    def __text__(self, _: str) -> Any:
        return concat_text((repr_of(self.item[0]), ": ", repr_of(self.item[1])))


class View(Staged):
    """A view of the keys, values or items of a dict whose keys are known only at run time."""

    __slots__ = ("mapping", "part")

    def __init__(self, mapping: StagedDict, part: str) -> None:
        self.mapping, self.part = mapping, part

    @property
    def length(self) -> Any:
        return self.mapping.length

    def __truth__(self) -> Any:
        return self.mapping.__truth__()

    def as_list(self) -> Any:
        """A list of the current items."""
        table, structure = self.mapping.table, self.mapping.structure
        columns: Sequence[Any] = table.keys if self.part == "keys" else table.values if self.part == "values" else (
            *table.keys, *table.values)
        shape = structure if self.part == "items" else structure[self.part == "values"]
        lists = [StagedList(leaf) for leaf in table.items(columns)]
        made = StagedRecords(lists, shape) if pytree.is_nested(shape) or has_layouts(shape) else lists[0]
        if self.part != "keys" and may_change(structure[1]):
            link(made.owner, self.mapping.owner)
        return made

    def __iterable__(self) -> Counted:
        """The items. RuntimeError at run time if their number changes during iteration."""
        if self.part == "keys" or _has_tensors_alone(self.mapping.structure[1]):
            found: Counted = self.as_list().__iterable__()
            return Counted(found.length, found.item, (self.mapping,))
        keys: Counted = View(self.mapping, "keys").as_list().__iterable__()

        def item(i: Any) -> Any:
            key = keys.item(i)
            value = self.mapping.at_key(key)  # so that changes of it are changes of the dict
            return value if self.part == "values" else (key, value)

        return Counted(keys.length, item, (self.mapping,))

    def containers(self) -> Sequence[Any]:
        """The dict, if items of the view may change in it."""
        return () if self.part == "keys" else (self.mapping.owner,)

    def contains(self, value: Any) -> Any:
        if self.part == "keys":
            return self.mapping.contains(value)
        return operators.in_(value, self.as_list().owner)

    def __text__(self, spec: str) -> Any:
        made = concat_text((f"dict_{self.part}(", self.as_list().__text__(REPR), ")"))
        return made if spec in (STR, REPR, ITEM) else made.__text__(spec)

    def __repr__(self) -> str:
        return f"<staged {self.part} of a dict>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'dict_{self.part}' object has no attribute {name!r}")


StagedDict.__name__, StagedEntries.__name__, View.__name__ = "dict", "dict", "dict view"  # the names in messages


def _as_of_set(name: str) -> Callable[[View, Any], Any]:
    return lambda view, other: OPERATIONS.view_operator(name, view, other)


for _name in ("and", "or", "sub", "xor", "rand", "ror", "rsub", "rxor", "le", "lt", "ge", "gt", "eq", "ne"):
    setattr(View, f"__{_name}__", _as_of_set(f"__{_name}__"))


class _Place(NamedTuple):
    """Where in a dict a value is."""

    key: Any


def _has_tensors_alone(structure: Any) -> bool:
    """Whether a value is a tensor, or a tuple of tensors."""
    return not has_layouts(structure) and not may_change(structure)


def _columns(structure: Any, x: Any, types: Sequence[TensorType]) -> list[Any]:
    """The columns of a value or item as tensors. StagingError if its structure differs."""
    try:
        leaves = leaves_of(structure, x)
    except (TypeError, ValueError) as error:
        raise staging_error(
            f"a value of another structure than the others of this dict, whose keys only the graph knows: {error}",
            "Give its values one structure, of numbers or tensors, text, None, lists, tuples and dicts.") from None
    return [element_as_tensor(column) for column in columns_of(structure, leaves, types)]


def _refuse(what: str, remedy: str) -> NoReturn:
    error = OperatorNotAllowedInGraphError(f"{what}: the dict is made while the graph runs", remedy=remedy)
    locate(error, user_position())
    raise error
