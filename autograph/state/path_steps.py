"""What the steps of a path to a part of a value go through, and which variables and items hold a container."""
from __future__ import annotations

import functools
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from autograph.core.lists import DICTS, LISTS, MUTATORS, is_list
from autograph.core.slots import is_users_class
from autograph.state.structure import ATOMS, is_container, parts_in

__all__ = ["has_namesakes", "is_computed", "note_places", "takes_any"]


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
