"""Attributes, items and cells of the user's objects: reading, writing and deleting them."""
from __future__ import annotations

import functools
import sys
from collections.abc import Hashable
from enum import Flag
from types import CellType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple, cast

from autograph.core.backend import HEAP_TYPE, backend_for
from autograph.core.lists import LISTS
from autograph.core.tracebacks import is_internal

__all__ = [
    "Globals", "fields_in", "is_users_class", "is_users_object", "put", "slots_of", "take_out",
]


class Globals(NamedTuple):
    """The globals that a function assigns or names, and the namespace of its module."""

    namespace: dict[str, Any]
    names: frozenset[str]


def is_users_object(value: Any) -> bool:
    """Whether `value` has attributes of its own and is not a class, module or function, nor an object of this package
    or runtime."""
    if issubclass(type(value), (type, ModuleType, FunctionType)) or not _may_be_users(type(value)):
        return False
    return hasattr(value, "__dict__")


def is_users_class(cls: type) -> bool:
    """Whether a class was defined by Python code outside of this package and runtime."""
    return bool(cls.__flags__ & HEAP_TYPE) and _may_be_users(cls)


def _may_be_users(cls: type) -> bool:
    found: Any = cls
    return backend_for(cls) is None and _is_outside(found)


@functools.lru_cache(maxsize=4096)
def _is_outside(cls: Any) -> bool:
    module = sys.modules.get(cls.__module__)
    return not is_internal(getattr(module, "__file__", None) or "")


@functools.cache
def slots_of(cls: Any) -> tuple[str, ...]:
    """The attributes in `__slots__` of a user's class that no property of the same name hides."""
    if not (_may_be_users(cls) or hasattr(cls, "__stands_for__")):
        return ()
    return tuple(name for base in cls.__mro__ if "__slots__" in vars(base) for name, member in vars(base).items()
                 if isinstance(member, MemberDescriptorType)
                 and member is next(vars(each)[name] for each in cls.__mro__ if name in vars(each)))


def fields_in(value: Any) -> dict[str, Any] | None:
    """The attributes of a user's object by name, those in `__slots__` included; None for any other value."""
    slots = slots_of(cast(Hashable, type(value)))
    if not slots and not is_users_object(value):
        return None
    fields = dict(getattr(value, "__dict__", ()))
    for name in slots:
        if hasattr(value, name):
            fields[name] = getattr(value, name)
    if issubclass(type(value), Flag):
        fields.pop("_inverted_", None)  # where it keeps the result of `~`
    return fields


def put(holder: Any, key: Any, part: Any) -> None:
    """Store `part` in an object, class, dict, list, namespace or cell under `key`."""
    kind = type(holder)
    if kind is CellType:
        holder.cell_contents = part
    elif issubclass(kind, type):
        type.__setattr__(holder, key, part)
    elif _is_in_slot(holder, key):
        object.__setattr__(holder, key, part)
    else:
        _parts_by_key(holder)[key] = part


def take_out(holder: Any, key: Any) -> None:
    """Delete what `holder` stores under `key`."""
    kind = type(holder)
    if kind is CellType:
        del holder.cell_contents
    elif issubclass(kind, type):
        type.__delattr__(holder, key)
    elif _is_in_slot(holder, key):
        object.__delattr__(holder, key)
    else:
        del _parts_by_key(holder)[key]


def _is_in_slot(holder: Any, key: Any) -> bool:
    return not issubclass(type(holder), (*LISTS, dict)) and key in slots_of(cast(Hashable, type(holder)))


def _parts_by_key(holder: Any) -> Any:
    kind = type(holder)
    if kind is Globals:
        return holder.namespace
    return holder if issubclass(kind, (*LISTS, dict)) else vars(holder)
