"""The specs of lists, deques and dicts, and which of them are of the same kind."""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, TypeGuard

from autograph.backend import DICTS, ListItems, is_list
from runtime.staging.elements.describe import describe
from runtime.staging.elements.specs import Custom, Nested, Spec, Static, kind_of_container
from runtime.staging.elements.tuple import StagedTuple
from runtime.staging.values.list import StagedItems

__all__ = [
    "both_dicts", "both_lists", "empty_like", "is_container_reference", "is_container_spec", "is_dict_spec",
    "is_list_spec", "is_staged_spec", "list_of_tuple", "representatives", "text_of_kind"]


def is_list_spec(spec: Spec) -> TypeGuard[Nested | Custom]:
    """Whether the value is a list or deque, with Python or staged items."""
    return (isinstance(spec, Nested) and is_list(spec.like)) or (
        isinstance(spec, Custom) and isinstance(spec.like, StagedItems) and is_list(spec.like.empty))


def is_container_spec(spec: Spec) -> bool:
    """Whether the value is a list, deque or dict by value."""
    return is_list_spec(spec) or is_dict_spec(spec)


def is_container_reference(spec: Spec) -> TypeGuard[Custom]:
    """Whether the value is a list or dict by reference."""
    return isinstance(spec, Custom) and isinstance(spec.like, ListItems) and spec.like.refers


def is_staged_spec(spec: Spec) -> TypeGuard[Custom]:
    """Whether the value is a list, deque or dict whose items only the graph knows."""
    return isinstance(spec, Custom) and isinstance(spec.like, StagedItems)


def both_lists(a: Spec, b: Spec) -> tuple[Nested | Custom, Nested | Custom] | None:
    """The two specs, if of lists, or of deques with the same `maxlen`; else None."""
    if is_list_spec(a) and is_list_spec(b) and kind_of_container(a.like) == kind_of_container(b.like):
        return a, b
    return None


def both_dicts(a: Spec, b: Spec) -> tuple[Nested | Custom, Nested | Custom] | None:
    """The two specs, if of dicts of the same class and default factory; else None."""
    if is_dict_spec(a) and is_dict_spec(b) and kind_of_container(a.like) == kind_of_container(b.like):
        return a, b
    return None


def is_dict_spec(spec: Spec) -> TypeGuard[Nested | Custom]:
    """Whether the value is a dict, with Python or staged items."""
    return _kind_of_dict(spec) in DICTS


def _kind_of_dict(spec: Spec) -> type | None:
    like = spec.like if isinstance(spec, Nested) else spec.like.empty if isinstance(spec, Custom) and isinstance(
        spec.like, StagedItems) else None
    return type(like) if isinstance(like, dict) else None


def list_of_tuple(spec: Spec) -> Nested | Custom | None:
    """The spec of a list with the items of a tuple; None for other values."""
    if isinstance(spec, Custom) and isinstance(spec.like, StagedTuple):
        return Custom(spec.like.items, spec.children)
    if isinstance(spec, Static) and type(spec.value) is tuple:
        spec = describe(spec.value, {})
    return Nested([*spec.like], spec.keys, spec.children) if isinstance(spec, Nested) and type(
        spec.like) is tuple else None


def empty_like(spec: Nested | Custom) -> Any:
    """An empty list or deque of the spec's kind."""
    if isinstance(spec, Custom):
        return spec.like.empty
    return deque(maxlen=spec.like.maxlen) if type(spec.like) is deque else []


def text_of_kind(x: Any) -> str:
    """How messages name a list, deque or dict."""
    most, factory = getattr(x, "maxlen", None), getattr(x, "default_factory", None)
    if most is not None:
        return f"deque with maxlen={most}"
    name = type(x).__name__
    return name if factory is None else f"{name} of {getattr(factory, '__name__', factory)}"


def representatives(specs: Sequence[Spec]) -> list[Spec]:
    """Fewer specs with the same join: of Python numbers, only the smallest and the largest of each type."""
    others: list[Spec] = []
    numbers: dict[Any, set[Any]] = {bool: set(), int: set(), float: set()}
    for spec in specs:
        if type(spec) is Static and type(spec.value) in numbers:
            numbers[type(spec.value)].add(spec.value)
        else:
            others.append(spec)
    some = [choose(found) for found in numbers.values() if found for choose in (min, max)]
    return [*others, *map(Static, some)]
