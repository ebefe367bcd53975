"""What the steps of a path to a part of a value go through, and which variables and items hold a container."""
from __future__ import annotations

import functools
from collections import OrderedDict
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from autograph.core.lists import DICTS, LISTS, MUTATORS, is_list
from autograph.core.slots import fields_in, is_users_class
from autograph.state.structure import ATOMS, is_container, parts_in

__all__ = [
    "computes_items", "has_namesakes", "inherits", "is_computed", "items_of", "note_places", "stores_itself",
    "takes_any",
]


def takes_any(holder: Any, kind: str) -> bool:
    """Whether items (or attributes, for kind ".") of this object can be set directly."""
    setter: Any = type(holder).__setattr__
    return setter is object.__setattr__ if kind == "." else is_list(holder) or type(holder) in DICTS


@functools.lru_cache(maxsize=1024)
def has_namesakes(cls: Any) -> bool:
    """Whether a class that is no list, dict or set has a method with the name of one that changes these."""
    return is_users_class(cls) and not issubclass(cls, (*LISTS, dict, set)) and any(
        [isinstance(getattr(cls, name, None), FunctionType) for name in MUTATORS])


def is_computed(holder: Any, attribute: str) -> bool:
    """Whether an attribute of an object is computed, as by a property, rather than stored."""
    for cls in type(holder).__mro__:
        if attribute in vars(cls):
            found = vars(cls)[attribute]
            stored = isinstance(found, (MemberDescriptorType, GetSetDescriptorType))
            return hasattr(type(found), "__set__") and not stored
    return False


def inherits(holder: Any, attribute: str) -> bool:
    """Whether a class has an attribute of one of its bases, which an assignment hides and does not change."""
    return isinstance(holder, type) and attribute not in vars(holder) and any(
        attribute in vars(base) for base in holder.__mro__)


def computes_items(holder: Any) -> bool:
    """Whether the items of an object, list or dict are what a `__getitem__` of the user's makes of a key."""
    cls = type(holder)
    base = items_of(holder)
    return fields_in(holder) is not None if base is cls else cls.__getitem__ is not base.__getitem__


def stores_itself(holder: Any, attribute: str) -> bool:
    """Whether an object stores an attribute in its own `__dict__` or slots. Then its value can be moved in and out
    without a `__setattr__` of the user's, which has run where the program assigned it."""
    fields, cls = fields_in(holder), type(holder)
    if fields is None or cls.__getattribute__ is not _GET or any(
            isinstance(vars(base).get(attribute), GetSetDescriptorType) for base in cls.__mro__):  # such as `__dict__`
        return False
    return attribute in fields or not hasattr(cls, "__getattr__")


_GET: Any = object.__getattribute__


def items_of(holder: Any) -> Any:
    """The class whose methods move items in and out of a container: of a list or dict, not the user's, whose own
    `__setitem__` has run where the program assigned the item."""
    cls = type(holder)
    return next((base for base in (OrderedDict, dict, list) if issubclass(cls, base)), cls)


def note_places(value: Any, place: Any, places: dict[int, tuple[Any, set[Any]]]) -> None:
    """Record, by id, the variables and items that hold the lists, dicts and objects in `value`."""
    if is_container(value):
        known = id(value) in places
        places.setdefault(id(value), (value, set()))[1].add(place)
        if known:
            return
    for key, item in parts_in(value):
        if type(item) not in ATOMS:  # there may be many
            note_places(item, (id(value), key), places)
