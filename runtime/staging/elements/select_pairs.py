"""Two values, each of which may be a select: their choice, and whether they have the same alternatives."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backend import is_container
from runtime.ops.logic import where
from runtime.staging.elements.select import (
    Select,
    alternatives_of,
    among,
    can_be_chosen,
    choose,
    index_of,
    is_array,
    objects_in_selects,
)

__all__ = ["either", "same_objects"]


def either(pred: Any, a: Any, b: Any) -> Any:
    """`a if pred else b` for arrays, objects or functions, or selects among them; None for other values."""
    if is_array(a) or is_array(b):
        return choose([b, a], where(pred, 1, 0))
    objects = objects_in_selects(a, b)
    if not all(map(can_be_chosen, objects)) and not _are_containers(objects):
        return None
    if len(objects) == 1:
        return a
    made = among(objects)
    return made.__rebuild__([where(pred, index_of(a, made), index_of(b, made))])


def _are_containers(objects: Sequence[Any]) -> bool:
    """Whether all are lists, dicts or records of one type."""
    return len({*map(type, objects)}) == 1 and is_container(objects[0]) and not hasattr(
        type(objects[0]), "__become__")


def same_objects(a: Any, b: Any) -> bool:
    """Whether two values have the same alternatives."""
    if not isinstance(a, Select):
        return True
    return [*map(id, alternatives_of(a)[0])] == [*map(id, alternatives_of(b)[0])]
