"""Keys with parts: tuples, and records, which are objects of frozen dataclasses that are compared and hashed by methods
which `dataclass` generated, by all their fields."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from autograph.backend import fill
from runtime.core import pytree
from runtime.core.positions import generated_code

__all__ = [
    "class_of_record", "is_tuple", "key_leaves_of", "names_of_fields", "parts_of_key", "with_key_parts"]


def is_tuple(key: Any) -> bool:
    """Whether a key is a tuple, or a named one that equals a tuple with the same items."""
    return type(key) is tuple or (isinstance(key, tuple) and hasattr(type(key), "_fields") and (
        type(key).__eq__ is tuple.__eq__ and type(key).__hash__ is tuple.__hash__))


def class_of_record(key: Any) -> type | None:
    """The class of a record, also by reference or one of several of the class; None for other values."""
    cls: Any = getattr(type(key), "__stands_for__", type(key))
    return cls if isinstance(cls, type) and _has_records(cls) else None


def _has_records(cls: type) -> bool:
    own = vars(cls)
    return "__dataclass_params__" in own and own["__dataclass_params__"].frozen and (
        generated_code(cls, "__eq__") is not None and generated_code(cls, "__hash__") is not None) and all(
            field.compare and field.hash is not False for field in dataclasses.fields(cls))


def parts_of_key(key: Any) -> Sequence[Any] | None:
    """The items of a tuple, or the fields of a record in the order of their names; None for other keys."""
    if is_tuple(key):
        return key  # type: ignore[no-any-return]
    cls = class_of_record(key)
    return None if cls is None else [getattr(key, name) for name in names_of_fields(cls)]


def names_of_fields(cls: Any) -> list[str]:
    """The names of the fields of a dataclass, in the order in which structures have them."""
    return sorted(field.name for field in dataclasses.fields(cls))


def with_key_parts(key: Any, parts: Iterable[Any]) -> Any:
    """A tuple or record like `key` with these parts. A record is made without its `__init__`, as in a copy."""
    cls = class_of_record(key)
    if cls is None:
        return pytree.rebuild(key, parts)
    made: Any = object.__new__(cls)
    fill(made, [*zip(names_of_fields(cls), parts, strict=True)])
    return made


def key_leaves_of(key: Any) -> list[Any]:
    """The parts of a key that have no parts, at any depth."""
    parts = parts_of_key(key)
    return [key] if parts is None else [leaf for part in parts for leaf in key_leaves_of(part)]
