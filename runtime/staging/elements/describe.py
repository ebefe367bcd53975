"""The specs of values."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backend import ATOMS, LISTS, UNBOUND, fields_of, is_container, is_reference, parts_in
from runtime.core.array_shape import ArrayShape
from runtime.core.inaccessible import is_lost
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.types import Type
from runtime.numpy.array_objects import StagedArray
from runtime.staging.elements.specs import (
    ChosenText,
    Custom,
    Leaf,
    Nested,
    Optional,
    Origins,
    Spec,
    Static,
    type_of,
)
from runtime.staging.values.enum_members import is_number_member
from runtime.staging.values.list import is_staged_list
from runtime.staging.values.optional import MaybeObject, MaybeTensor

__all__ = [
    "absent", "describe", "has_unset", "in_parts", "is_array", "is_atom", "is_text", "is_unset", "leaf_type",
    "parts_of", "shared", "target_of"]


def shared(values: Sequence[Any], i: int) -> int | None:
    """The first variable before `i` that refers to the same list, dict or other mutable object."""
    value = values[i]
    if not is_container(value):
        return None
    return next((j for j in range(i) if values[j] is value), None)


def absent(value: Any) -> bool:
    return value is None or is_unset(value)


def is_unset(value: Any) -> bool:
    """Whether a variable with this value is unbound, or has a tensor, perhaps in a tuple, that an earlier trace left
    there: then it may only be overwritten."""
    return value is UNBOUND or is_lost(value) or (
        issubclass(type(value), tuple) and any(map(is_unset, value)))


def has_unset(value: Any, inside: frozenset[int] = frozenset()) -> bool:
    """Whether a value is unset, or a list, dict, tuple or object by fields with a part that is."""
    if is_unset(value):
        return True
    if issubclass(type(value), (MaybeTensor, MaybeObject)) or id(value) in inside:
        return False
    parts = parts_of(value)
    inside |= {id(value)}
    return parts is not None and any(
        [type(part) not in ATOMS and has_unset(part, inside) for part in parts.values()])


def describe(value: Any, origins: Origins | None = None, inside: frozenset[int] = frozenset()) -> Spec:
    """The spec of `value`, whose leaves are all `Static`.

    The target of a mutable container is itself; with `origins`, its original, or None if it is not a copy.
    """
    if isinstance(value, MaybeTensor):
        presence = value.presence
        return Optional(Static(value.content), presence.bound is not None, presence.present is not None)
    if isinstance(value, MaybeObject):
        presence = value.presence
        child = describe(value.content, origins, inside)
        return Optional(child, presence.bound is not None, presence.present is not None)
    if type(value) is ArrayShape:
        value = tuple(value)
    of_numpy = isinstance(value, StagedArray)
    if (isinstance(value, (Tensor, int, float, str, Text)) and not of_numpy) or value is None or (
            id(value) in inside or is_unset(value)):
        return Static(value)
    target = value if origins is None else origins.get(id(value), (None, None))[1]
    if hasattr(type(value), "__leaves__"):
        leaves = value.__leaves__()
        like = value.__rebuild__(leaves) if hasattr(type(value), "__become__") and (
            hasattr(type(value), "__is_like__")) else value  # what it is like may change
        return Custom(like, tuple(map(Static, leaves)), target if is_container(value) else None)
    if is_reference(value):
        return Custom(value[0], tuple(map(Static, value[0].__leaves__())))
    if is_staged_list(value):
        return Custom(value[0], tuple(map(Static, value[0].__leaves__())), target)
    parts = parts_of(value)
    if parts is None:
        return Static(value)
    inside |= {id(value)}
    if not is_container(value):
        target = None
    distinct = {id(part): part for part in parts.values()}  # a list may hold many numbers, few of them distinct
    specs = {key: Static(part) if type(part) in ATOMS else describe(part, origins, inside)
             for key, part in distinct.items()}
    return Nested(value, tuple(parts), tuple([specs[id(part)] for part in parts.values()]), target)


def parts_of(value: Any) -> dict[Any, Any] | None:
    """The parts of a container by index, key or field; None for other values."""
    kind = type(value)
    is_sequence = kind in (*LISTS, tuple, ArrayShape) or (isinstance(value, tuple) and hasattr(kind, "_fields"))
    if not (is_sequence or isinstance(value, dict) or fields_of(value) is not None):
        return None
    return dict(parts_in(value))


def is_atom(spec: Spec) -> bool:
    """Whether the value is a Python number, text or None, of which a list may have many."""
    return type(spec) is Static and type(spec.value) in ATOMS


def in_parts(spec: Spec) -> Spec:
    """An unchanged immutable container, which is `Static`, decomposed like a changed one."""
    return describe(spec.value, {}) if isinstance(spec, Static) and not is_container(spec.value) else spec


def is_array(spec: Spec) -> bool:
    """Whether the value is an array."""
    return isinstance(spec, Custom) and isinstance(spec.like, StagedArray)


def is_text(spec: Spec) -> bool:
    """Whether the value is text."""
    return isinstance(spec.value, (str, Text)) if isinstance(spec, Static) else isinstance(spec, Custom) and (
        spec.kind is ChosenText)


def target_of(a: Nested | Custom, b: Nested | Custom) -> Any:
    """The object that both write new contents back into, if it is one; else None."""
    return a.target if a.target is b.target else None


def leaf_type(spec: Spec) -> Type | None:
    """The type of the value as a leaf; None if it is no tensor, number or array."""
    if isinstance(spec, Leaf):
        return spec.type
    if isinstance(spec, Custom) and is_number_member(spec.like):
        return type_of(spec.like.__alternatives__()[0])
    return type_of(spec.value) if isinstance(spec, Static) else None
