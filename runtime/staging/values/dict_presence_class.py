"""The class of a dict while only a graph knows which keys it has.

Code of C looks into a dict without a call that could be seen: `d == e`, `set(d)`, `{**d}`, `match d:`. So while a
function is traced, a dict to which staged code gave a key on some ways only, the same object, is of another class, with
the same layout, whose methods ask `dict_presence.py`. When the trace is over, it is of its own class again.
"""
from __future__ import annotations

import copy
import ctypes
import functools
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, ItemsView, Iterator, KeysView, ValuesView
from contextlib import AbstractContextManager, contextmanager
from types import BuiltinFunctionType
from typing import Any, Final, cast

from autograph.backend import HEAP_TYPE, at_end, keyed, kind_of, kinds, of_trace
from runtime.staging.values.dict_presence import (
    bound_of,
    check_keys,
    delete,
    get,
    has_key,
    is_uncertain,
    item_or_default,
    merge,
    pop,
    same_keys,
    setdefault,
)

__all__ = ["View", "keys_set", "method_of_dict", "partial_dicts"]

_CLASS: Final = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
"""Where in an object its class is."""


_KINDS: Final = frozenset({dict, OrderedDict, defaultdict, Counter})


class _Open(threading.local):
    depth = 0
    dicts: dict[int, Any] = {}
    """By id, those that are of another class."""


_open: Final = of_trace(_Open())


class partial_dicts(AbstractContextManager[None]):
    """While a function is traced."""

    def __enter__(self) -> None:
        if not _open.depth:
            _open.dicts = {}
        _open.depth += 1

    def __exit__(self, *_: object) -> None:
        _open.depth -= 1
        if not _open.depth:
            _put_back()


def _put_back() -> None:
    for key, mapping in list(_open.dicts.items()):
        _set_class(mapping, kind_of(mapping))
        _open.dicts.pop(key)


at_end.append(_put_back)


def keys_set(mapping: Any, *some: Any) -> None:
    """Let a dict be of the class that asks for its keys, if only the graph knows some of these (default: all). Of dicts
    of other classes than Python's own, not all can be seen."""
    if type(mapping) in _KINDS and _open.depth and any(
            bound_of(mapping, key) is not None for key in some or dict.keys(mapping)):
        _open.dicts[id(mapping)] = mapping
        _set_class(mapping, _class_for(cast(Hashable, type(mapping))))


def _set_class(mapping: Any, cls: type) -> None:
    """`mapping.__class__ = cls`, which Python allows for objects of classes that it made itself only."""
    before: Any = type(mapping)
    assert cls.__basicsize__ == before.__basicsize__ and cls.__dictoffset__ == before.__dictoffset__
    if cls.__flags__ & HEAP_TYPE:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(cls))
    ctypes.c_void_p.from_address(id(mapping) + _CLASS).value = id(cls)
    if before.__flags__ & HEAP_TYPE:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(before))


@functools.cache
def _class_for(kind: Any) -> type:
    members: dict[str, Any] = {"__slots__": (), "__module__": __name__}
    if hasattr(kind, "__missing__"):
        members["__getitem__"] = item_or_default
    made = type(kind.__name__, (_Partial, kind), members)
    kinds[made] = kind
    keyed.add(made)
    return made


@contextmanager
def _as_it_was(mapping: Any) -> Iterator[None]:
    """Let a dict be of its own class."""
    cls = type(mapping)
    _set_class(mapping, kind_of(mapping))
    try:
        yield
    finally:
        _set_class(mapping, cls)


def method_of_dict(fn: BuiltinFunctionType) -> Any:
    """What stands for the method `fn` of a dict of which Python knows all keys."""
    return functools.partial(_update, fn.__self__) if fn.__name__ == "update" else fn


def _update(mapping: Any, /, *others: Any, **keywords: Any) -> None:
    if len(others) == 1 and type(others[0]) in kinds:
        merge(mapping, others[0])
        keys_set(mapping)
        others = ()
    kind_of(mapping).update(mapping, *others, **keywords)


def _checked(name: str) -> Callable[..., Any]:
    """A method that says something of which keys there are."""

    def method(self: Any, /, *args: Any) -> Any:
        if is_uncertain(self):
            check_keys(self)
        with _as_it_was(self):
            return getattr(self, name)(*args)

    return method


class _Partial:
    """What stands before the methods of a dict."""

    __slots__ = ()

    __len__, __reversed__, __repr__ = map(_checked, ("__len__", "__reversed__", "__repr__"))
    __reduce_ex__, popitem = map(_checked, ("__reduce_ex__", "popitem"))
    __hash__ = None  # type: ignore[assignment]

    __contains__, __delitem__ = has_key, delete
    get, pop, setdefault, update = get, pop, setdefault, _update

    def __iter__(self: Any) -> Iterator[Any]:
        return iter(_view(self, "keys"))

    def __eq__(self: Any, other: object) -> Any:
        if self is not other and isinstance(other, dict) and (is_uncertain(self) or is_uncertain(other)):
            same = same_keys(self, other)
            if same is None:
                check_keys(self)
                check_keys(other)
            if not same:
                return False
        equal: Callable[[Any, object], Any] = kind_of(self).__eq__
        return equal(self, other)

    def __ne__(self: Any, other: object) -> Any:
        equal = _Partial.__eq__(self, other)
        return equal if equal is NotImplemented else not equal

    def keys(self: Any) -> Any:
        return _view(self, "keys")

    def values(self: Any) -> Any:
        return _view(self, "values")

    def items(self: Any) -> Any:
        return _view(self, "items")

    def copy(self: Any) -> Any:
        with _as_it_was(self):
            made = self.copy()
        keys_set(made)
        return made

    def __copy__(self: Any) -> Any:
        with _as_it_was(self):
            made = copy.copy(self)
        keys_set(made)
        return made

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        with _as_it_was(self):
            made = copy.deepcopy(self, memo)
        keys_set(made)
        return made

    def __or__(self: Any, other: object) -> Any:
        return _union(self, self, other)

    def __ror__(self: Any, other: object) -> Any:
        return _union(self, other, self)

    def __ior__(self: Any, other: object) -> Any:
        _update(self, other)
        return self


def _union(partial: Any, left: Any, right: Any) -> Any:
    """`left | right`, of which one is `partial`."""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return NotImplemented
    if kind_of(partial) is not dict:  # a Counter has another meaning of it
        check_keys(partial)
    made = left.copy()
    _update(made, right)
    return made


class View:
    """`d.keys()`, `d.values()` or `d.items()`: `view` of the dict `mapping`."""

    __slots__ = ("mapping", "view")

    def __init__(self, mapping: Any, view: Any) -> None:
        self.mapping, self.view = mapping, view

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:  # raises no sooner than `next`: of `iter`, C takes a TypeError for another
        check_keys(self.mapping)
        yield from self.view


def _checked_in_view(name: str) -> Callable[..., Any]:
    def method(self: View, /, *args: Any) -> Any:
        check_keys(self.mapping)
        with _as_it_was(self.mapping):
            return getattr(self.view, name)(*args)

    return method


for _name in (
    "len", "reversed", "eq", "ne", "lt", "le", "gt", "ge", "and", "rand", "or", "ror", "sub", "rsub", "xor",
    "rxor", "contains", "repr",
):
    setattr(View, f"__{_name}__", _checked_in_view(f"__{_name}__"))


class _Keys(View):
    __slots__ = ()
    isdisjoint = _checked_in_view("isdisjoint")

    def __contains__(self, key: Any) -> Any:
        return has_key(self.mapping, key)


class _Items(View):
    __slots__ = ()
    isdisjoint = _checked_in_view("isdisjoint")


class _Values(View):
    __slots__ = ()


KeysView.register(_Keys)
ItemsView.register(_Items)
ValuesView.register(_Values)
keyed.update((_Keys, _Items, _Values))
_VIEWS: Final = {"keys": _Keys, "items": _Items, "values": _Values}


def _view(mapping: Any, name: str) -> Any:
    view = getattr(kind_of(mapping), name)(mapping)
    return _VIEWS[name](mapping, view) if is_uncertain(mapping) else view
