"""Whether a value counts as true, and whether two are equal: for Python, or for the graph."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph import operators
from runtime.errors import ShapeError, locate
from runtime.iterables import stages_within
from runtime.maybe import Maybe
from runtime.tensor import OPERATORS, GraphTensor
from runtime.text import StagedText
from runtime.texts import any_text
from runtime.trace import convert_to_tensor, user_position

__all__ = ["equals", "maybe_truth", "truth"]


def truth(value: Any) -> Any:
    """Whether Python would count `value` as true: a bool, or a bool scalar tensor.

    ShapeError for a tensor that has not exactly one element.
    """
    if isinstance(value, Maybe):
        return maybe_truth(value, truth)
    if isinstance(value, StagedText):
        return any_text(value)
    if hasattr(type(value), "__truth__"):
        value = value.__truth__()
    elif hasattr(type(value), "__tensor__"):
        value = convert_to_tensor(value)
    if not isinstance(value, GraphTensor):
        return bool(value)
    if value.type.ndim:
        if value.type.size != 1:
            error = ShapeError(
                f"The truth value of an array with more than one element is ambiguous: this tensor is {value.type}",
                remedy="Use rt.reduce_any or rt.reduce_all.")
            locate(error, user_position())
            raise error
        value = value[(0,) * value.type.ndim]
    constant = value.value.constant
    if constant is not None:
        return bool(constant)
    return value if value.dtype.is_bool else value != 0


def maybe_truth(value: Any, truth: Callable[[Any], Any]) -> Any:
    """Whether a variable counts as true, where `truth` says it of what is not None."""
    value.presence.check_bound()
    present, held = value.presence.present, truth(value.content)
    return held if present is None else present if held is True else OPERATORS["and"](present, held)


def equals(value: Any, item: Any) -> Any:
    """Whether an item equals a value, as Python asks it of items: a bool, or a bool scalar tensor. The parts of tuples
    and lists are compared one by one, up to two that differ."""
    for one, other in ((value, item), (item, value)):
        if isinstance(one, Maybe) and other is not None and not isinstance(other, Maybe):
            return maybe_truth(one, lambda content: truth(content == other))  # noqa: B023 (called at once)
    if not isinstance(value, (tuple, list)) or not isinstance(item, (tuple, list)) or not (
            stages_within(value) or stages_within(item)):
        return truth((value is item and not isinstance(value, Maybe)) or value == item)
    if isinstance(value, tuple) is not isinstance(item, tuple) or len(value) != len(item):
        return False
    (one, *rest), (other, *others) = value, item
    return operators.and_(equals(one, other), lambda: equals(rest, others))
