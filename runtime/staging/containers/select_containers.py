"""One of several lists, tuples, sets or dicts, selected by a tensor: `adjacent[v]`, `rows[i].append(x)`,
`inventory[i]["coins"] += 1`."""
from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from autograph.backend import LISTS, has_staged_items, operators
from runtime.core.formatting import formatted, repr_of
from runtime.core.tensor import Tensor
from runtime.core.text import ITEM, REPR, STR, concat_text, join
from runtime.core.trace import convert_to_tensor
from runtime.ops.gather import gather
from runtime.staging.containers.comparison import equals
from runtime.staging.containers.row_table import ChosenRow, Row, are_rows, remake_before
from runtime.staging.containers.settled_keys import settle_keys
from runtime.staging.elements.element_layout import EMPTY, is_unknown
from runtime.staging.elements.select import (
    Method,
    Select,
    alternatives_of,
    call_method,
    choose,
    class_of_selects,
    is_one,
    replaced,
    unknown,
    use,
)
from runtime.staging.storage.dict_keys import is_staged_key
from runtime.staging.storage.dict_presence import is_uncertain
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.iterables import Counted, Staged, as_iterable, normalised_index, stacked, view_of, weak_int
from runtime.staging.values.list import StagedList, StagedSequence

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["has_known_sequences", "middle_of", "of_items"]


def _put_item(x: Any, key: Any, value: Any) -> None:
    operators.place(x)[key] = value


def _is_in(x: Any, value: Any) -> Any:
    return operators.in_(value, x)


_RESIZES: Final = frozenset({"append", "clear", "extend", "insert", "pop", "remove"})


def _has_known_items(x: Any) -> bool:
    return isinstance(x, (*LISTS, tuple)) and not has_staged_items(x)


class _Row(ChosenRow):
    """A selected list of numbers, all of one length; has further list methods until they become rows of a table."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _RESIZES and all(type(x) is list and _has_known_items(x) for x in self.rows):
            return _Resizing(_SomeLength(self.rows, self.at), name)
        return super().__getattr__(name)


class _Resizing(Method):
    """A method that changes the length of a list."""

    __slots__ = ()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        _all_staged(self._ag_of, grow=True)
        call = _pop if self._ag_name == "pop" else call_method
        return use(self._ag_of, call, self._ag_name, args, keywords, changed="")


def _pop(x: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call `pop` of a list. A list of whose items nothing is known is empty, and gives no value that would have to have
    a type like those of the others."""
    if getattr(view_of(x), "element", None) == EMPTY:
        raise IndexError("pop from empty list")
    return call_method(x, name, args, keywords)


class _OfItems(Select):
    """One of several lists or tuples, or of their representatives."""

    __slots__ = ()
    __stands_for__ = list

    def __getattribute__(self, name: str) -> Any:
        return _Resizing(self, name) if name in _RESIZES else super().__getattribute__(name)

    def __getitem__(self, index: Any) -> Any:
        one_of, at = alternatives_of(self)
        if isinstance(index, slice) or not all(map(_has_known_items, one_of)):
            return use(self, operators.item, index)
        lengths = [len(one) for one in one_of]
        kind = type(one_of[0]).__name__ if isinstance(one_of[0], (deque, tuple)) else "list"
        place = normalised_index(index if isinstance(index, Tensor) else operator.index(index), choose(lengths, at),
                                 f"{kind} index out of range")
        if not isinstance(index, Tensor) and any([-length <= index < length for length in lengths]):
            return _item_at(one_of, at, index)
        items = [*itertools.chain.from_iterable(one_of)]
        if not items:
            return use(self, operators.item, index)
        starts = [*itertools.accumulate(lengths[:-1], initial=0)]
        return choose(items, place + gather(stacked(starts), at))

    def __setitem__(self, index: Any, value: Any) -> None:
        _all_staged(self)
        use(self, _put_item, index, value, changed="")

    def __delitem__(self, index: Any) -> None:
        use(self, operators.delitem, index)

    def __contains__(self, value: Any) -> Any:
        return use(self, _is_in, value)

    def __add__(self, other: Any) -> Any:
        return use(self, operator.add, other)

    def __eq__(self, other: object) -> Any:
        return is_one(self, other) is True or use(self, equals, other)

    __hash__ = Select.__hash__


def _item_at(one_of: Sequence[Any], at: Any, index: int) -> Any:
    """The item at an index that Python knows, of which the sequence at `at` has one, as some others have: of one type,
    while items at other indices may have others."""
    found = {k: one[index] for k, one in enumerate(one_of) if -len(one) <= index < len(one)}
    places = {k: place for place, k in enumerate(found)}
    return choose([*found.values()], choose([places.get(k, 0) for k in range(len(one_of))], at))


def has_known_sequences(x: Any) -> bool:
    """Whether a value is one of several sequences whose items Python knows, which may have types of their own."""
    return isinstance(x, _OfItems) and all(map(_has_known_items, alternatives_of(x)[0]))


def middle_of(x: Any, before: int, after: int) -> Any:
    """A list of the items of one of several such sequences, without the first and the last ones."""
    one_of, at = alternatives_of(x)
    return choose([[*one][before:max(len(one) - after, before)] for one in one_of], at)


def _all_staged(x: Select, grow: bool = False) -> None:
    """Convert all non-empty lists to staged lists if some are staged, or about to `grow`."""
    one_of, _ = alternatives_of(x)
    lists = [one for one in one_of if type(one) is list and not has_staged_items(one)]
    if lists and (any(_empty_like(one) is not None for one in one_of) or (grow and any(lists))):
        _stage(one_of)


def _stage(values: Sequence[Any], empty: Callable[[], Any] | None = None) -> None:
    """Convert the lists among some to staged lists, `empty` ones to the items of a list with that type of elements."""
    distinct = list({id(one): one for one in values}.values())
    empty = next((found for found in map(_empty_like, distinct) if found is not None), empty)
    lists = [one for one in distinct if type(one) is list and not has_staged_items(one)]
    remake_before(lists, functools.partial(_stage, empty=empty), alone=any(lists) or empty is not None)
    for one in lists:
        if one:
            one[:] = StagedList.from_items(one).owner
            empty = empty or _empty_like(one)
    for one in lists:
        if not one:
            one[:] = StagedList.from_items(one, EMPTY).owner if empty is None else empty()


def _empty_like(x: Any) -> Callable[[], Any] | None:
    """What makes the items of an empty list with elements of the type of those of a staged list; None if `x` is none.
    """
    view = view_of(x)
    if isinstance(view, StagedRecords):
        structure, types = view.structure, [leaf.type.element for leaf in view.__leaves__()]
        return lambda: StagedRecords.from_items([], structure, types).owner
    if isinstance(view, StagedList) and not is_unknown(element := view.element):
        return lambda: StagedList.from_items([], element).owner
    return None


class _Sequence(_OfItems):
    """A selection whose alternatives have one statically known length."""

    __slots__ = ()

    def __len__(self) -> int:
        one_of, _ = alternatives_of(self)
        lengths = {len(view_of(one)) for one in one_of}
        if len(lengths) > 1:
            raise unknown(self, "some have changed their length")
        return lengths.pop()

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __text__(self, spec: str) -> Any:
        text = concat_text(("[", join(", ", [repr_of(x) for x in self]), "]"))
        return text if spec in (STR, REPR, ITEM) else formatted(text, spec)


class _OfSomeLength:
    """A selection whose length is known only at run time. The first of the bases: its `length` goes before theirs."""

    __slots__ = ()

    length = property(lambda self: _length(self))

    def __getattribute__(self, name: str) -> Any:
        return _length(self) if name == "length" else super().__getattribute__(name)

    def __truth__(self) -> Any:
        return _length(self) != 0


class _SomeLength(_OfSomeLength, _OfItems, Staged):
    """One of several lists or tuples, not all of one length."""

    __slots__ = ()

    def __iterable__(self) -> Counted:
        return Counted(_length(self), lambda i: self[i])

    def __len__(self) -> int:
        raise unknown(self, "its length is, too", "Use len() in converted code.")

    def __iter__(self) -> Iterator[Any]:
        raise _refused_iteration(self)


def _refused_iteration(x: Any) -> Exception:
    return unknown(x, "it cannot be iterated over here", "Loop over it in converted code.")


def _length(x: Any) -> Any:
    one_of, at = alternatives_of(x)
    return weak_int(choose([operators.call(len)(one) for one in one_of], at))


_CHANGES: Final = frozenset({
    *_RESIZES, "appendleft", "extendleft", "popleft", "reverse", "rotate", "sort"})
_NAMES: Final = {list: "list", deque: "collections.deque"}


class _Lists(_OfItems, Staged):
    """One of several lists that have other names: each use reads its current contents."""

    __slots__ = ()

    length = property(lambda self: _length(self))

    def __contents__(self) -> list[Any]:
        """A new list of the contents."""
        length = _length(self)
        return [self[i] for i in range(length)] if isinstance(length, int) else use(self, list.copy)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        if name == "length":
            return _length(self)
        if name == "copy":
            return self.__contents__
        kind = type(self).__stands_for__
        if not hasattr(kind, name):
            raise AttributeError(f"{_NAMES[kind]!r} object has no attribute {name!r}")
        return Method(self, name) if name in _CHANGES else getattr(self.__contents__(), name)

    def __setitem__(self, index: Any, value: Any) -> None:
        one_of, at = alternatives_of(self)
        if type(index) is int and all(_has_known_items(one) and -len(one) <= index < len(one) for one in one_of):
            values = replaced([one[index] for one in one_of], at, value)
            if values is not None:
                for one, new in zip(one_of, values, strict=True):
                    one[index] = new
                return
        use(self, _put_item, index, value, changed="")

    def __iadd__(self, other: Any) -> Self:
        use(self, _change_by, "iadd", other)
        return self

    def __imul__(self, count: Any) -> Self:
        use(self, _change_by, "imul", count)
        return self

    def __add__(self, other: Any) -> Any:
        return operators.add(self.__contents__(), other)

    def __mul__(self, count: Any) -> Any:
        return operators.mul(self.__contents__(), count)

    __rmul__ = __mul__

    def __tensor__(self) -> Tensor:
        return convert_to_tensor(view_of(self))

    def __truth__(self) -> Any:
        return _length(self) != 0

    def __len__(self) -> int:
        length = _length(self)
        if not isinstance(length, int):
            raise unknown(self, "its length is, too", "Use len() in converted code.")
        return length

    def __iterable__(self) -> Counted | None:  # type: ignore[override]
        length = _length(self)
        return None if isinstance(length, int) else Counted(length, lambda i: self[i], (_Iterated(self),))

    def __iter__(self) -> Iterator[Any]:
        length = len(self)
        for i in range(length):
            yield self[i]
            now = _length(self)
            if not isinstance(now, int) or now != length:
                raise unknown(
                    self, "a loop runs over it, and an iteration changes its length", "Loop over a copy, list(x).")

    def __text__(self, spec: str) -> Any:
        contents = self.__contents__()
        return formatted(contents, spec) if spec not in (STR, REPR, ITEM) else repr_of(contents)

    def __repr__(self) -> str:
        return repr(self.__contents__())


class _Deques(_Lists):
    """One of several deques."""

    __slots__ = ()
    __stands_for__ = deque  # type: ignore[assignment]

    def __contents__(self) -> Any:
        one_of, _ = alternatives_of(self)
        length = _length(self)
        if isinstance(length, int) and len({one.maxlen for one in one_of}) == 1:
            return deque([self[i] for i in range(length)], one_of[0].maxlen)
        return use(self, deque.copy)


def _change_by(x: Any, operation: str, other: Any) -> None:
    getattr(operators, operation)(x, other)


class _Iterated:
    """One of several lists, for a loop that iterates over it."""

    def __init__(self, lists: _Lists) -> None:
        self.lists = lists

    def __leaves__(self) -> list[Any]:
        one_of, _ = alternatives_of(self.lists)
        return [leaf for one in one_of for leaf in (one[0].__leaves__() if has_staged_items(one) else one)]

    @property
    def length(self) -> Any:
        return _length(self.lists)


class _SetItems(_OfSomeLength, Staged):
    """The items of one of several sets that Python knows, in its order."""

    __slots__ = ()

    def __iterable__(self) -> Counted | None:  # type: ignore[override]
        length, items = _length(self), _items(self)
        return None if isinstance(length, int) else Counted(length, lambda i: items[i])

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(_length(self), int):
            raise _refused_iteration(self)
        return iter(_items(self))


class _Set(_SetItems, class_of_selects((set,), False)):  # type: ignore[misc]
    """One of several sets."""

    __slots__ = ()


class _FrozenSet(_SetItems, class_of_selects((frozenset,), False)):  # type: ignore[misc]
    """One of several frozensets."""

    __slots__ = ()


def _items(x: Any) -> Any:
    """A list of the items of one of several sets."""
    one_of, at = alternatives_of(x)
    return choose([[*one] for one in one_of], at)


class _Dict(Select, Staged):
    """One of several dicts."""

    __slots__ = ()
    __stands_for__ = dict

    def __getattribute__(self, name: str) -> Any:
        if name == "length":
            return object.__getattribute__(self, name)
        made = _OF_DICTS.get(name)
        return super().__getattribute__(name) if made is None else functools.partial(made, self)

    def __getitem__(self, key: Any) -> Any:
        one_of, at = alternatives_of(self)
        if _all_have(one_of, key):
            return choose([one[key] for one in one_of], at)
        return use(self, operators.item, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        one_of, at = alternatives_of(self)
        if _all_have(one_of, key):
            values = replaced([one[key] for one in one_of], at, value)
            if values is not None:
                for one, new in zip(one_of, values, strict=True):
                    one[key] = new
                return
        use(self, _put_item, key, value)

    def __delitem__(self, key: Any) -> None:
        use(self, operators.delitem, key)

    def __eq__(self, other: object) -> Any:
        return is_one(self, other) is True or use(self, operators.eq, other)

    __hash__ = Select.__hash__

    def __contains__(self, key: Any) -> Any:
        return use(self, _is_in, key)

    def __iterated__(self) -> Any:
        """For autograph: what a loop over the dict runs over."""
        return operators.call(self.keys)()

    def __iterable__(self) -> Any:
        return as_iterable(self.__iterated__())

    def __iter__(self) -> Iterator[Any]:
        return iter(_keys(self))

    @property
    def length(self) -> Any:
        return _length(self)

    def __truth__(self) -> Any:
        return _length(self) != 0

    def __len__(self) -> Any:
        return _length(self)

    def __or__(self, other: Any) -> Any:
        return operators.bitor(_contents(self), other)

    def __ror__(self, other: Any) -> Any:
        return operators.bitor(other, _contents(self))

    def __ior__(self, other: Any) -> Self:
        use(self, call_method, "update", (other,), {})
        return self

    def __text__(self, spec: str) -> Any:
        contents = _contents(self)
        return formatted(contents, spec) if spec not in (STR, REPR, ITEM) else repr_of(contents)


def _all_have(one_of: Sequence[Any], key: Any) -> bool:
    """Whether all dicts are known at trace time to have a key."""
    return not (isinstance(key, Select) or is_staged_key(key) or any(map(has_staged_items, one_of))) and all(
        [key in one for one in one_of])


def _is_staged(x: Select) -> bool:
    """Whether the keys of one of the dicts are known only at run time."""
    return any(map(has_staged_items, alternatives_of(x)[0]))


def _have_one_order(x: Select) -> bool:
    """Whether all dicts are known at trace time to have the same keys in the same order."""
    one_of, _ = alternatives_of(x)
    are_settled = any([is_uncertain(one) and settle_keys(one) for one in one_of])
    return not (are_settled or any(map(has_staged_items, one_of))) and all(
        [list(one) == list(one_of[0]) for one in one_of])


def _contents(x: Any) -> dict[Any, Any]:
    """A copy of the selected dict."""
    if not _have_one_order(x):
        found: dict[Any, Any] = use(x, call_method, "copy", (), {})
        return found
    return {key: x[key] for key in _keys(x)}


def _keys(x: Select) -> list[Any]:
    if _have_one_order(x):
        return list(alternatives_of(x)[0][0])
    raise unknown(x, "only the graph knows the keys of one of them" if _is_staged(x) else "they have not the same keys",
                  "Loop over x.keys(), or a copy.")


def _get(x: Select, key: Any, default: Any = None, /) -> Any:
    one_of, at = alternatives_of(x)
    if isinstance(key, Select) or is_staged_key(key) or _is_staged(x):
        return use(x, call_method, "get", (key, default), {})
    return choose([one.get(key, default) for one in one_of], at)


def _view(name: str, python: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The method that returns the keys, values or items."""
    return lambda x: python(x) if _have_one_order(x) else operators.call(getattr(view_of(_contents(x)), name))()


_OF_DICTS: Final[Mapping[str, Callable[..., Any]]] = {
    "get": _get,
    "items": _view("items", lambda x: [(key, x[key]) for key in _keys(x)]),
    "keys": _view("keys", _keys),
    "values": _view("values", lambda x: [x[key] for key in _keys(x)]),
}


_Lists.__name__, _Deques.__name__, _Dict.__name__ = "list", "deque", "dict"  # the names in messages
_Set.__name__, _FrozenSet.__name__ = "set", "frozenset"
_KINDS: Final[Mapping[Any, Callable[[Sequence[Any], Any], Select]]] = {
    dict: _Dict, deque: _Deques, set: _Set, frozenset: _FrozenSet, **{
        kind: type(kind.__name__, (_Dict,), {"__slots__": (), "__stands_for__": kind})
        for kind in (defaultdict, OrderedDict, Counter)}}


def of_items(values: Sequence[Any], at: Any, rows: bool) -> Any:
    """The selection among several lists and tuples, sets, or dicts; None for other values. `rows`: lists may be
    converted to rows of one tensor, or to staged lists."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and (made := _KINDS.get(type(values[0]))) is not None:
        return made(values, at)
    if not all(issubclass(kind, (StagedSequence, Row)) or kind in (list, tuple) for kind in kinds):
        return None
    if not rows:
        return _Lists(values, at)
    if are_rows(values):
        return _Row(tuple(values), at)
    views = [*map(view_of, values)]
    known = not any(isinstance(view, Staged) for view in views)
    return (_Sequence if known and len({len(view) for view in views}) == 1 else _SomeLength)(values, at)
