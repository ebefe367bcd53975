"""The structure of arguments: lists, tuples, mappings, and objects by their fields."""
from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

from autograph.backend import declared_fields, fields_in, is_list

__all__ = ["Names", "children", "decomposing", "fill_shell", "keys_in_order", "rebuild", "shell"]


def children(value: Any) -> list[tuple[str, Any]] | None:
    """The labelled children of a list, deque, tuple, mapping, or instance of a dataclass or attrs class. None for a
    leaf."""
    if isinstance(value, (list, tuple)) or is_list(value):
        fields = getattr(value, "_fields", None)
        if fields is not None:
            return [(f".{name}", child) for name, child in zip(fields, value, strict=True)]
        return [(f"[{i}]", child) for i, child in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", value[key]) for key in keys_in_order(value)]
    names = _fields(value)
    return None if names is None else [(f".{name}", getattr(value, name)) for name in names]


Names = frozenset[str] | None
"""The names of attributes; None for all."""


class _Decomposed(threading.local):
    classes: Mapping[type, Names] = MappingProxyType({})


_decomposed: Final = _Decomposed()


@contextmanager
def decomposing(classes: Mapping[type, Names]) -> Iterator[None]:
    """Objects of these plain classes among the arguments are structures of their attributes with these names, as those
    of dataclasses are of their fields; others are arguments by identity."""
    before = _decomposed.classes
    _decomposed.classes = {**before, **{
        kind: None if names is None else before.get(kind, names) for kind, names in classes.items()}}
    try:
        yield
    finally:
        _decomposed.classes = before


def _fields(value: Any) -> list[str] | None:
    kind = type(value)
    if kind not in _decomposed.classes:
        return declared_fields(value)
    names, fields = _decomposed.classes[kind], fields_in(value) or {}
    return sorted(fields if names is None else names.intersection(fields))


def keys_in_order(mapping: Mapping[Any, Any]) -> list[Any]:
    """The keys of a mapping, sorted if they can be."""
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def rebuild(value: Any, parts: Sequence[Any]) -> Any:
    """A container like `value` with other children, in the order of `children`."""
    new = shell(value)
    if new is not None:
        fill_shell(new, value, parts)
        return new
    kind: Any = type(value)
    if isinstance(value, Mapping):
        by_key = dict(zip(keys_in_order(value), parts, strict=True))
        return kind({key: by_key[key] for key in value})
    return kind(*parts) if hasattr(value, "_fields") else kind(parts)


def shell(value: Any) -> Any:
    """A container like `value` that `fill_shell` gives its children: so it may be among these. None for tuples, objects
    of subclasses of list, and mappings other than dicts, which are made of them."""
    kind: Any = type(value)
    if kind is list:
        return []
    if kind is deque:
        return deque(maxlen=value.maxlen)
    if isinstance(value, (list, tuple)) or (isinstance(value, Mapping) and not isinstance(value, dict)):
        return None
    return object.__new__(kind) if kind in _decomposed.classes else copy.copy(value)


def fill_shell(new: Any, value: Any, parts: Sequence[Any]) -> None:
    """Give `new`, the shell of `value`, children in the order of `children`."""
    if isinstance(new, (list, deque)):
        new.extend(parts)
        return
    if isinstance(new, dict):
        by_key = dict(zip(keys_in_order(value), parts, strict=True))
        new.update((key, by_key[key]) for key in value)
        return
    by_name = dict(zip(_fields(value) or (), parts, strict=True))
    if type(value) in _decomposed.classes:
        by_name = {name: by_name[name] for name in fields_in(value) or {} if name in by_name}
    for name, part in by_name.items():
        object.__setattr__(new, name, part)  # works for frozen classes, too
