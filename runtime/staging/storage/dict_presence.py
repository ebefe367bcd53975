"""Dicts to which staged code adds a key on some paths only: whether the key is present is known only at run time.

The dict stores the key, with a value that may be unbound. Reads of the value are checked at run time; `in` gives the
presence bit, which `get`, `pop` and `setdefault` use; other operations that depend on the keys are errors.
"""
from __future__ import annotations

import functools
import gc
from collections import Counter, defaultdict
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final

from autograph.backend import keyed, operators, put, register_keyed, take_out
from runtime.core.trace import current_graph
from runtime.ops.logic import where
from runtime.staging.values.dict_defaults import with_default
from runtime.staging.values.optional import Maybe, checked, keys, keys_asked

__all__ = [
    "View", "bound_of", "check_keys", "delete", "has_key", "have_other_keys", "is_uncertain", "item",
    "method_of", "size", "union",
]


def check_keys(value: Any) -> None:
    """StagingError if a dict's set of keys is known only at run time; `value` is the dict or a view of it."""
    if not keys.are_uncertain:
        return
    mapping = _mapping(value)
    for key in dict.keys(mapping):
        if bound_of(mapping, key) is not None:
            raise keys_asked(dict.__getitem__(mapping, key).presence.name)


def is_uncertain(mapping: Any) -> bool:
    """Whether a dict has a key whose presence is known only at run time."""
    return keys.are_uncertain and current_graph() is not None and any(
        bound_of(mapping, key) is not None for key in dict.keys(mapping))


def has_key(value: Any, key: Any) -> Any:
    """Whether `key` is in a dict, or in a keys view: a bool, or a bool scalar tensor."""
    mapping = _mapping(value)
    if not dict.__contains__(mapping, key):
        return False
    bound = bound_of(mapping, key)
    return True if bound is None else bound


def same_keys(a: dict[Any, Any], b: dict[Any, Any]) -> bool | None:
    """Whether two dicts have the same keys; None if that is known only at run time."""
    certain = [{key for key in dict.keys(each) if bound_of(each, key) is None} for each in (a, b)]
    if not (certain[0] <= dict.keys(b) and certain[1] <= dict.keys(a)):
        return False
    return True if len(certain[0]) == dict.__len__(a) and len(certain[1]) == dict.__len__(b) else None


def have_other_keys(left: Any, right: Any) -> bool:
    """Whether two values are dicts, one with uncertain keys, whose keys certainly differ. StagingError if that is known
    only at run time."""
    if left is right or not (isinstance(left, dict) and isinstance(right, dict)) or not (
            is_uncertain(left) or is_uncertain(right)):
        return False
    same = same_keys(left, right)
    if same is None:
        check_keys(left)
        check_keys(right)
    return not same


def size(mapping: Any) -> Any:
    """`len(mapping)`: an int, or a weak int of the graph."""
    bits = [bound for key in dict.keys(mapping) if (bound := bound_of(mapping, key)) is not None]
    return sum([where(bit, 1, 0) for bit in bits], dict.__len__(mapping) - len(bits))


def get(mapping: Any, key: Any, default: Any = None, /) -> Any:
    bound = bound_of(mapping, key)
    if bound is None:
        return dict.get(mapping, key, default)
    return operators.if_exp(bound, lambda: dict.__getitem__(mapping, key), lambda: default)


def pop(mapping: Any, key: Any, /, *default: Any) -> Any:
    if bound_of(mapping, key) is None:
        return type(mapping).pop(mapping, key, *default)
    value = dict.__getitem__(mapping, key)
    if default:
        value = get(mapping, key, *default)
    else:
        value = checked(value)
    take_out(mapping, key)
    return value


def setdefault(mapping: Any, key: Any, default: Any = None, /) -> Any:
    if bound_of(mapping, key) is None:
        return type(mapping).setdefault(mapping, key, default)
    value = mapping[key] = get(mapping, key, default)
    return value


def item(mapping: Any, key: Any, /) -> Any:
    """`mapping[key]`. KeyError at run time if the key is missing and the dict has no default factory."""
    if keys.are_uncertain and hasattr(type(mapping), "__missing__") and bound_of(mapping, key) is not None:
        if isinstance(mapping, Counter):
            return get(mapping, key, 0)
        if mapping.default_factory is not None:
            return with_default(mapping, key, functools.partial(setdefault, mapping, key),
                                lambda: checked(dict.__getitem__(mapping, key)))
    if type(mapping) is defaultdict and mapping.default_factory is not None and not dict.__contains__(mapping, key):
        mapping[key] = operators.call(mapping.default_factory)()
    return checked(mapping[key])


def delete(mapping: Any, key: Any, /) -> None:
    """`del mapping[key]`."""
    if bound_of(mapping, key) is not None:
        dict.__getitem__(mapping, key).presence.check_bound()
    take_out(mapping, key)


def merge(mapping: Any, other: Any) -> None:
    """`mapping.update(other)` for dicts. StagingError if both hold a key whose presence is known only at run time."""
    for key, value in list(dict.items(other)):
        bound = bound_of(other, key)
        if bound is not None and dict.__contains__(mapping, key):
            if bound_of(mapping, key) is not None:
                check_keys(other)
            value = get(other, key, dict.__getitem__(mapping, key))
        put(mapping, key, value)


def bound_of(mapping: Any, key: Any) -> Any:
    """The bit that tells whether the key is present; None if that is known at trace time."""
    value = dict.get(mapping, key)
    # in an object's `__dict__`, the name is that of an attribute
    if not isinstance(value, Maybe) or not value.presence.name.endswith((f"[{key!r}]", f".{key}")):
        return None
    return value.presence.bound


def _mapping(value: Any) -> Any:
    """The dict behind a view (`view.mapping` is a proxy)."""
    return value if isinstance(value, dict) else next(d for d in gc.get_referents(value) if isinstance(d, dict))


# Methods.

def update(mapping: Any, /, *others: Any, **keywords: Any) -> None:
    if len(others) == 1 and type(others[0]) in _KINDS and type(mapping) is not Counter:
        merge(mapping, others[0])
        others = ()
    type(mapping).update(mapping, *others, **keywords)


def union(left: Any, right: Any, in_place: bool = False) -> Any:
    """`left | right`, or `left |= right`, for dicts one of which may have uncertain keys."""
    if not (isinstance(left, dict) and isinstance(right, dict)) or isinstance(left, Counter):  # its `|` differs
        for each in (left, right):
            check_keys(each)
        return left | right
    made = left if in_place else left.copy()
    update(made, right)
    return made


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "__contains__": has_key, "__getitem__": item, "__delitem__": delete, "get": get, "pop": pop,
    "setdefault": setdefault, "update": update,
    **{name: functools.partial(lambda name, mapping: _view(mapping, name), name)
       for name in ("keys", "values", "items")}}
_BLIND: Final = frozenset({"__setitem__", "clear", "copy", "fromkeys"})
"""Methods whose result does not depend on the keys."""


def method_of(method: Any) -> Callable[..., Any]:
    """A replacement for a bound dict method where the dict or an argument may have uncertain keys."""
    mapping, name = method.__self__, method.__name__

    def called(*args: Any, **keywords: Any) -> Any:
        if not (is_uncertain(mapping) or any(type(arg) in _KINDS and is_uncertain(arg) for arg in args)):
            return method(*args, **keywords)
        if name in _METHODS:
            return _METHODS[name](mapping, *args, **keywords)
        if name not in _BLIND:
            check_keys(mapping)
        return method(*args, **keywords)

    return called


class View:
    """`d.keys()`, `d.values()` or `d.items()`: Python's `view` of the dict `mapping`, with checks."""

    __slots__ = ("mapping", "view")

    def __init__(self, mapping: Any, view: Any) -> None:
        self.mapping, self.view = mapping, view

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:  # checks in `next`, not in `iter`, whose TypeError C code would replace
        check_keys(self.mapping)
        yield from self.view


def _checked(name: str) -> Callable[..., Any]:
    def method(self: View, /, *args: Any) -> Any:
        check_keys(self.mapping)
        return getattr(self.view, name)(*args)

    return method


for _name in (
    "len", "reversed", "eq", "ne", "lt", "le", "gt", "ge", "and", "rand", "or", "ror", "sub", "rsub", "xor",
    "rxor", "contains", "repr",
):
    setattr(View, f"__{_name}__", _checked(f"__{_name}__"))


class _KeysView(View):
    __slots__ = ()
    isdisjoint = _checked("isdisjoint")

    def __contains__(self, key: Any) -> Any:
        return has_key(self.mapping, key)


class _ItemsView(View):
    __slots__ = ()
    isdisjoint = _checked("isdisjoint")


class _ValuesView(View):
    __slots__ = ()


KeysView.register(_KeysView)
ItemsView.register(_ItemsView)
ValuesView.register(_ValuesView)
_VIEWS: Final = {"keys": _KeysView, "items": _ItemsView, "values": _ValuesView}
_KINDS: Final = frozenset(kind for kind in keyed if issubclass(kind, dict))
register_keyed(*_VIEWS.values())


def _view(mapping: Any, name: str) -> Any:
    return _VIEWS[name](mapping, getattr(type(mapping), name)(mapping))
