"""Dicts to which staged code adds a key on some ways only: of that key, the graph knows whether it is there.

Such a dict has the key, with a value that may be unbound. Who reads the value checks it when the graph runs, `in` is
the bit, and `get`, `pop` and `setdefault` ask it; what else depends on which keys there are is an error.
(`dict_presence_class.py` has the class that sends all there.)
"""
from __future__ import annotations

import gc
from collections import Counter
from typing import Any

from autograph.backend import drop, kind_of, operators
from runtime.core.graph import staging_error
from runtime.core.trace import current_graph
from runtime.staging.values.optional import Maybe

__all__ = [
    "bound_of", "check_keys", "delete", "get", "has_key", "is_uncertain", "item_or_default", "merge", "pop",
    "same_keys", "setdefault",
]


def check_keys(value: Any) -> None:
    """StagingError if only the graph knows which keys a dict has; `value` is that, or a view of it."""
    mapping = _mapping(value)
    for key in dict.keys(mapping):
        if bound_of(mapping, key) is not None:
            name = dict.__getitem__(mapping, key).presence.name
            raise staging_error(
                f"whether there is {name} is known only when the graph runs, as it is set on some ways through a staged"
                " statement only, and Python asks here for the keys of that dict",
                f"Give {name} a value on all ways, or before, such as 0 or None; `in` and {name} itself may be used.")


def is_uncertain(mapping: Any) -> bool:
    """Whether there is a key of which only the graph that is being traced knows whether it is there."""
    return current_graph() is not None and any(bound_of(mapping, key) is not None for key in dict.keys(mapping))


def has_key(value: Any, key: Any) -> Any:
    """Whether `key` is in a dict, or in the view of its keys: a bool, or a bool scalar tensor."""
    mapping = _mapping(value)
    if not dict.__contains__(mapping, key):
        return False
    bound = bound_of(mapping, key)
    return True if bound is None else bound


def same_keys(a: dict[Any, Any], b: dict[Any, Any]) -> bool | None:
    """Whether two dicts have the same keys; None if only the graph knows that."""
    certain = [{key for key in dict.keys(each) if bound_of(each, key) is None} for each in (a, b)]
    if not (certain[0] <= dict.keys(b) and certain[1] <= dict.keys(a)):
        return False
    return True if len(certain[0]) == dict.__len__(a) and len(certain[1]) == dict.__len__(b) else None


def get(mapping: Any, key: Any, default: Any = None, /) -> Any:
    bound = bound_of(mapping, key)
    if bound is None:
        return kind_of(mapping).get(mapping, key, default)
    return operators.if_exp(bound, lambda: dict.__getitem__(mapping, key), lambda: default)


def pop(mapping: Any, key: Any, /, *default: Any) -> Any:
    if bound_of(mapping, key) is None:
        return kind_of(mapping).pop(mapping, key, *default)
    value = dict.__getitem__(mapping, key)
    if default:
        value = get(mapping, key, *default)
    else:
        value.presence.check_bound()
        value = value.content if value.presence.present is None else value
    drop(mapping, key)
    return value


def setdefault(mapping: Any, key: Any, default: Any = None, /) -> Any:
    if bound_of(mapping, key) is None:
        return kind_of(mapping).setdefault(mapping, key, default)
    value = mapping[key] = get(mapping, key, default)
    return value


def item_or_default(mapping: Any, key: Any, /) -> Any:
    """An item of a dict that has a value of its own for a key that is not there."""
    if current_graph() is None or bound_of(mapping, key) is None:
        return kind_of(mapping).__getitem__(mapping, key)
    if kind_of(mapping) is Counter:
        return get(mapping, key, 0)
    factory = mapping.default_factory
    return dict.__getitem__(mapping, key) if factory is None else setdefault(mapping, key, factory())


def delete(mapping: Any, key: Any, /) -> None:
    if bound_of(mapping, key) is not None:
        dict.__getitem__(mapping, key).presence.check_bound()
    drop(mapping, key)


def merge(mapping: Any, other: Any) -> None:
    """`mapping.update(other)` for dicts. StagingError if both have a key of which only the graph knows."""
    for key, value in list(dict.items(other)):
        bound = bound_of(other, key)
        if bound is not None and dict.__contains__(mapping, key):
            if bound_of(mapping, key) is not None:
                check_keys(other)
            value = get(other, key, dict.__getitem__(mapping, key))
        mapping[key] = value


def bound_of(mapping: Any, key: Any) -> Any:
    """The bit that says whether the key is there; None if Python knows that."""
    value = dict.get(mapping, key)
    if not isinstance(value, Maybe) or not value.presence.name.endswith(f"[{key!r}]"):
        return None
    return value.presence.bound


def _mapping(value: Any) -> Any:
    """The dict itself: a view shows it as another object."""
    return value if isinstance(value, dict) else next(d for d in gc.get_referents(value) if isinstance(d, dict))
