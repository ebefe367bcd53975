"""Dicts to which staged code adds a key on some ways only: of that key, the graph knows whether it is there.

Such a dict has the key, with a value that may be unbound. Who reads the value checks it when the graph runs, and
`in` is the bit, and `get`, `pop` and `setdefault` ask it; what else depends on which keys there are is an error.
"""
from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from autograph import operators
from runtime.graph import staging_error
from runtime.maybe import Maybe

__all__ = ["check_keys", "has_key", "method_of_dict"]


def check_keys(value: Any) -> None:
    """StagingError if only the graph knows which keys a dict has; `value` is that, or a view of it."""
    mapping = _mapping(value)
    for key in mapping:
        if _bound(mapping, key) is not None:
            name = mapping[key].presence.name
            raise staging_error(
                f"whether there is {name} is known only when the graph runs, as it is set on some ways through a staged"
                " statement only, and Python asks here for the keys of that dict",
                f"Give {name} a value on all ways, or before, such as 0 or None; `in` and {name} itself may be used.")


def has_key(value: Any, key: Any) -> Any:
    """Whether `key` is in a dict, or in the view of its keys: a bool, or a bool scalar tensor."""
    mapping = _mapping(value)
    if key not in mapping:
        return False
    bound = _bound(mapping, key)
    return True if bound is None else bound


def method_of_dict(fn: Any) -> Any:
    """What stands for the method `fn` of a dict: where only the graph knows whether a key is there, it does for `get`,
    `pop` and `setdefault`; StagingError for `popitem`."""
    mapping = fn.__self__
    if all(_bound(mapping, key) is None for key in mapping):
        return fn
    if fn.__name__ == "popitem":
        check_keys(mapping)
    found = _METHODS.get(fn.__name__)
    return fn if found is None else functools.partial(found, fn)


def _get(fn: Any, key: Any, default: Any = None, /) -> Any:
    mapping = fn.__self__
    bound = _bound(mapping, key)
    if bound is None:
        return mapping.get(key, default)
    return operators.if_exp(bound, lambda: mapping[key], lambda: default)


def _pop(fn: Any, key: Any, /, *default: Any) -> Any:
    mapping = fn.__self__
    if _bound(mapping, key) is None:
        return fn(key, *default)
    if default:
        value = _get(fn, key, *default)
    else:
        mapping[key].presence.check_bound()
        value = mapping[key].content if mapping[key].presence.present is None else mapping[key]
    dict.__delitem__(mapping, key)
    return value


def _setdefault(fn: Any, key: Any, default: Any = None, /) -> Any:
    mapping = fn.__self__
    if _bound(mapping, key) is None:
        return fn(key, default)
    value = mapping[key] = _get(fn, key, default)
    return value


_METHODS: Final = {"get": _get, "pop": _pop, "setdefault": _setdefault}


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else value.mapping


def _bound(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The bit that says whether the key is there; None if Python knows that."""
    value = mapping.get(key)
    if not isinstance(value, Maybe) or not value.presence.name.endswith(f"[{key!r}]"):
        return None
    return value.presence.bound
