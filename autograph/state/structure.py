"""The parts of lists, tuples, dicts and objects with fields, and which of these containers are mutable."""
from __future__ import annotations

import copy
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from autograph.core.lists import LISTS, items_in, refill
from autograph.core.slots import fields_in, is_users_class, put
from autograph.core.staged_items import is_reference
from autograph.core.trace_cleanup import of_trace

__all__ = [
    "ATOMS", "as_records", "can_be_record", "consists_of_attributes", "containers_in", "declared_fields", "duplicate",
    "fields_of", "fill", "is_container", "is_leaf", "is_record", "objects_in", "parts_in", "same_parts", "unwrapped",
    "with_parts"]

ATOMS: Final = frozenset({int, float, bool, complex, str, bytes, type(None)})
_CHANGING: Final = (*LISTS, dict)
_SEQUENCES: Final = (*LISTS, tuple)


class _Records(threading.local):
    classes: frozenset[type] = frozenset()


_records: Final = of_trace(_Records())


@contextmanager
def as_records(classes: frozenset[type]) -> Iterator[None]:
    """While a function is traced, treat objects of these plain classes as state as a whole, like dataclass objects."""
    before = _records.classes
    _records.classes = before | classes
    try:
        yield
    finally:
        _records.classes = before


def can_be_record(cls: type) -> bool:
    """Whether objects of a class, which are not records yet, can be treated as such."""
    return cls not in _records.classes and consists_of_attributes(cls)


def consists_of_attributes(cls: type, even_frozen: bool = False) -> bool:
    """Whether an object of a class consists of nothing but its attributes, so that it can be copied and given
    others. `even_frozen`: or only copied, as it is of a frozen dataclass or attrs class."""
    bases = cls.__mro__[:-1]
    return all(map(is_users_class, bases)) and _is_plain_metaclass(type(cls)) and not any(
        name in vars(base) for base in bases for name in _HOOKS
        if not (even_frozen and name in _FROZEN and _is_frozen(base)))


def _is_frozen(cls: Any) -> bool:
    """Whether a class itself, not a base, is a dataclass or attrs class that is frozen."""
    declares = "__dataclass_params__" in vars(cls) or "__attrs_attrs__" in vars(cls)
    return declares and not _are_records(cls)


def _is_plain_metaclass(kind: type) -> bool:
    """Whether classes of a metaclass, such as `type` or `ABCMeta`, have attributes as others do."""
    return all(getattr(kind, name) is getattr(type, name) for name in ("__getattribute__", "__setattr__"))


_HOOKS: Final = ("__copy__", "__del__", "__delattr__", "__getattr__", "__getattribute__", "__getstate__", "__reduce__",
                 "__reduce_ex__", "__setattr__", "__setstate__")
"""Special methods through which an object could observe that it is copied, or that an attribute is set."""
_FROZEN: Final = frozenset({"__delattr__", "__getstate__", "__setattr__", "__setstate__"})
"""Those that the decorator of a frozen class defines."""


def is_container(value: Any) -> bool:
    """Whether `value` is mutable and state as a whole: a list or dict, a staged value, or an object of a dataclass or
    attrs class."""
    cls: Any = type(value)
    return _are_containers(cls) or cls in _records.classes


@functools.lru_cache(maxsize=1024)
def _are_containers(cls: Any) -> bool:
    return issubclass(cls, _CHANGING) or hasattr(cls, "__become__") or _are_records(cls)


@functools.lru_cache(maxsize=1024)
def _may_have_parts(cls: Any) -> bool:
    """Whether `parts_in` may find parts in objects of a class, `as_records` aside."""
    return issubclass(cls, (*_SEQUENCES, dict)) or hasattr(cls, "__become__") or _declares_fields(cls)


def _declares_fields(cls: Any) -> bool:
    """Whether it is a dataclass or attrs class, and its objects are not a backend's."""
    declares = _has(cls, "__dataclass_fields__") or "__attrs_attrs__" in _namespace(cls)
    return declares and not hasattr(cls, "__leaves__")


def _has(cls: Any, name: str) -> bool:
    """Whether a class has an attribute; its metaclass, which may be the user's, is not asked."""
    return any(name in _namespace(base) for base in type.__dict__["__mro__"].__get__(cls))


_namespace: Final[Callable[[Any], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
"""The `__dict__` of a class, whatever its metaclass says."""


def is_leaf(value: Any) -> bool:
    """Whether `value` is certainly neither mutable state nor contains any: it has no parts."""
    cls: Any = type(value)
    return _are_leaves(cls) and cls not in _records.classes


@functools.lru_cache(maxsize=1024)
def _are_leaves(cls: Any) -> bool:
    return not (_are_containers(cls) or _may_have_parts(cls) or hasattr(cls, "__wraps__") or hasattr(cls, "__owned__"))


def is_record(value: Any) -> bool:
    """Whether `value` is an object of a dataclass or attrs class that is not frozen, or of a class treated as one
    (`as_records`)."""
    cls = type(value)
    return cls in _records.classes or _are_records(cls)


def _are_records(cls: Any) -> bool:
    if not _declares_fields(cls):
        return False
    if hasattr(cls, "__dataclass_params__"):
        return not cls.__dataclass_params__.frozen
    return "__attrs_attrs__" in vars(cls) and cls.__setattr__.__name__ != "__frozen_setattrs"


def fields_of(value: Any) -> list[str] | None:
    """The names of the fields of an object of a dataclass or attrs class, or of all attributes of an object treated as
    one (`as_records`); None for any other value."""
    return sorted(fields_in(value) or ()) if type(value) in _records.classes else declared_fields(value)


def declared_fields(value: Any) -> list[str] | None:
    """The names of the fields of an object of a dataclass or attrs class; None for any other value."""
    kind = type(value)
    if not _declares_fields(kind):
        return None
    names = [field.name for field in (
        dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else kind.__attrs_attrs__)]
    return [name for name in names if hasattr(value, name)]


def parts_in(value: Any) -> list[tuple[Any, Any]]:
    """The items of a list, tuple or dict, or the fields of a dataclass or attrs object, by index, key or name; of a
    staged value, its leaves."""
    cls: Any = type(value)
    if not _may_have_parts(cls) and cls not in _records.classes:
        return []
    if hasattr(cls, "__become__"):
        return list(enumerate(value.__leaves__()))
    if issubclass(cls, dict):
        return list(items_in(value))
    if issubclass(cls, _SEQUENCES):
        return list(enumerate(value))
    return [(name, getattr(value, name)) for name in fields_of(value) or ()]


def objects_in(value: Any) -> list[tuple[Any, Any]]:
    """The parts other than numbers, text and None, of which there may be many."""
    if type(value) in _SEQUENCES and ATOMS.issuperset(map(type, value)):
        return []
    return [(key, part) for key, part in parts_in(value) if type(part) not in ATOMS]


def fill(value: Any, parts: list[tuple[Any, Any]]) -> None:
    """Replace the parts of a list, dict, object or staged value by these, in the form of `parts_in`."""
    if hasattr(type(value), "__become__"):
        value.__become__([part for _, part in parts])
    elif isinstance(value, LISTS):
        refill(value, [part for _, part in parts])
    elif isinstance(value, dict):
        value.clear()
        for key, part in parts:
            put(value, key, part)
    else:
        for name, part in parts:
            object.__setattr__(value, name, part)


def duplicate(value: Any) -> Any:
    """A shallow copy of a list, dict, object or staged value."""
    cls = type(value)
    if hasattr(cls, "__become__"):
        return value.__rebuild__(value.__leaves__())
    if not makes_its_objects(cls):
        return copy.copy(value)
    made = object.__new__(cls)
    for name, part in (fields_in(value) or {}).items():
        object.__setattr__(made, name, part)
    return made


def makes_its_objects(cls: type) -> bool:
    """Whether objects of a class that consist of their attributes are made by a `__new__` of the class, which a copy
    of one should not run."""
    new: Any = cls.__new__
    return new is not object.__new__ and consists_of_attributes(cls)


def with_parts(value: Any, parts: list[tuple[Any, Any]]) -> Any:
    """`value` with these parts (in the form of `parts_in`): itself if unchanged, else a new tuple or a copy."""
    if same_parts(parts_in(value), parts):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(type(value), [part for _, part in parts])
    made = duplicate(value)
    fill(made, parts)
    return made


def unwrapped(value: Any) -> Any:
    """The content of a value that may be None or unbound; any other value itself."""
    return value.__wraps__() if hasattr(type(value), "__wraps__") else value


def containers_in(values: Iterable[Any]) -> dict[int, Any]:
    """By id, the mutable lists, dicts, objects and staged values in `values`, at any depth; without lists that are
    references, which do not change themselves."""
    found: dict[int, Any] = {}
    pending, visited = list(values), set[int]()
    for value in pending:  # grows meanwhile
        if id(value) not in visited and not is_leaf(value):
            visited.add(id(value))
            if is_reference(value):
                continue
            if is_container(value):
                found[id(value)] = value
            if hasattr(type(value), "__owned__"):
                pending += value.__owned__()
            content = unwrapped(value)
            if content is not value:
                pending.append(content)
            else:
                pending += [part for _, part in objects_in(value)]
    return found


def same_parts(a: list[tuple[Any, Any]], b: list[tuple[Any, Any]]) -> bool:
    return len(a) == len(b) and all([x == y and one is other for (x, one), (y, other) in zip(a, b, strict=True)])
