"""What a staged body changed beyond the variables that its statement names.

A method that the body calls may assign `self.count`, or append to a list that it was given; no text of the body
says so. While a body is traced, the objects and containers that its cells reach are watched, and an attribute or
item that was given a number or a staged value turns out to be state too: the statement is staged again with it.
"""
from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from .classes import meet
from .frames import is_internal

__all__ = ["Heap", "fields_of", "is_container", "is_users_object", "only_atoms", "parts_in"]

_DEPTH = 4
_OBJECTS = 2000
_MISSING = object()
_ATOMS: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})


class Heap:
    """A shallow copy of each object and container reachable from some variables."""

    def __init__(self, variables: Iterable[tuple[str, Any]]) -> None:
        self.seen: set[int] = set()
        self.records: list[tuple[str, Any, Any]] = []
        self.others: list[tuple[str, Any, list[Any]]] = []
        """What changes in place and cannot be state."""
        for name, value in variables:
            self._visit(name, value, 0)

    def _visit(self, path: str, value: Any, depth: int) -> None:
        if depth > _DEPTH or id(value) in self.seen or len(self.records) > _OBJECTS:
            return
        if isinstance(value, _OTHERS) and type(value) is not list:
            self.others.append((path, value, list(value)))
            self.seen.add(id(value))
        if type(value) is list:
            copy: Any = list(value)
            below = [] if only_atoms(value) else [(f"{path}[{i}]", item) for i, item in enumerate(value)]
        elif type(value) is dict:
            copy = dict(value)
            below = [(f"{path}[{key!r}]", item) for key, item in value.items() if type(key) in (str, int)]
        elif isinstance(value, tuple):
            for i, item in enumerate(() if only_atoms(value) else value):
                self._visit(f"{path}[{i}]", item, depth + 1)
            return
        elif type(value) is MethodType:
            self._visit(f"{path}.__self__", value.__self__, depth)
            return
        elif hasattr(type(value), "__become__"):
            copy, below = value.__leaves__(), []
        elif is_users_object(value):
            meet(type(value))
            copy = dict(vars(value))
            below = [(f"{path}.{name}", item) for name, item in copy.items()]
        else:
            return
        self.seen.add(id(value))
        self.records.append((path, value, copy))
        for inner, item in below:
            self._visit(inner, item, depth + 1)

    def take_back(
        self, known: frozenset[str], stages: Callable[[Any], bool], own: frozenset[str] = frozenset()
    ) -> set[str]:
        """The paths of what has changed, other than `known`; it is changed back. `own`: where the body has objects that
        were made for it."""
        found: set[str] = set()
        for path, value, before in self.records:
            if path in known and (path in own or type(value) in (list, dict) or hasattr(type(value), "__become__")):
                continue
            if hasattr(type(value), "__become__"):  # a staged value that changes in place, such as a list
                if any(a is not b for a, b in zip(value.__leaves__(), before)):
                    found.add(path)
                    value.__become__(before)
                continue
            if type(value) is list:
                same = len(value) == len(before) and all(
                    a is b or f"{path}[{i}]" in known for i, (a, b) in enumerate(zip(value, before)))
                if not same and all(_is_state(item, stages) for item in value):
                    found.add(path)
                    value[:] = before
                continue
            now = value if type(value) is dict else vars(value)
            for key in {**before, **now}:
                old, new = before.get(key, _MISSING), now.get(key, _MISSING)
                if old is new or new is _MISSING or not _is_state(new, stages):
                    continue
                inner = f"{path}[{key!r}]" if now is value else f"{path}.{key}"
                if inner in known or type(key) not in (str, int):
                    continue
                found.add(inner)
                if old is _MISSING:
                    del now[key]
                else:
                    now[key] = old
        return found

    def changed(self) -> tuple[str, Any] | None:
        """What has changed that cannot be state, with a path to it; it is changed back."""
        found: tuple[str, Any] | None = None
        for path, value, before in self.others:
            if len(value) != len(before) or any(a is not b for a, b in zip(value, before)):
                found = path, value
                if isinstance(value, (set, deque)):
                    value.clear()
                    (value.update if isinstance(value, set) else value.extend)(before)
                else:
                    value[:] = bytearray(before) if isinstance(value, bytearray) else before
        return found


_OTHERS: Final = (deque, set, bytearray, list)


def _is_state(value: Any, stages: Callable[[Any], bool]) -> bool:
    """A number or staged value, or a list of these; other objects are set up once, while tracing."""
    if type(value) in (list, tuple):
        return all(_is_state(item, stages) for item in value)
    return type(value) in (int, float, bool, complex) or stages(value)


def only_atoms(values: Iterable[Any]) -> bool:
    """Whether all of the values are numbers, text or None: nothing to look into."""
    return _ATOMS.issuperset(map(type, values))


def is_container(value: Any) -> bool:
    """Whether `value` changes in place and is state as a whole: a list or dict, a staged value, or an object of a
    dataclass or attrs class."""
    return isinstance(value, (list, dict)) or hasattr(type(value), "__become__") or _is_record(value)


def _is_record(value: Any) -> bool:
    """Whether `value` is of a dataclass, or attrs class, that is not frozen."""
    cls = type(value)
    if hasattr(cls, "__dataclass_params__"):
        return not cls.__dataclass_params__.frozen
    return "__attrs_attrs__" in vars(cls) and cls.__setattr__.__name__ != "__frozen_setattrs"


def fields_of(value: Any) -> list[str] | None:
    """The names of the fields that an instance of a dataclass or attrs class has; None for any other value."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    elif "__attrs_attrs__" in vars(kind):
        names = [field.name for field in kind.__attrs_attrs__]
    else:
        return None
    return [name for name in names if hasattr(value, name)]


def parts_in(value: Any) -> list[tuple[Any, Any]]:
    """What is in a list, tuple or dict, or the fields of a dataclass or attrs class, by index, key or name."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    return [(name, getattr(value, name)) for name in fields_of(value) or ()]


def is_users_object(value: Any) -> bool:
    cls = type(value)
    if isinstance(value, (type, ModuleType, FunctionType)) or not hasattr(value, "__dict__"):
        return False
    if getattr(cls, "__autograph__", None) is not None:
        return False
    module = sys.modules.get(cls.__module__)
    return not is_internal(getattr(module, "__file__", None) or "")
