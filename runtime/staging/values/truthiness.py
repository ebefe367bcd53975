"""The truth of values, in Python or in the graph."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.backend import truth_value
from runtime.core.errors import ShapeError
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.logic import bitwise_and, equal
from runtime.ops.shape import size
from runtime.staging.values.iterables import view_of
from runtime.staging.values.optional import Maybe
from runtime.staging.values.strings import any_text

__all__ = ["maybe_truth", "truth"]


def truth(value: Any) -> Any:
    """Python's truth value of `value`: a bool, or a bool scalar tensor.

    ShapeError for a tensor that does not have exactly one element; from the graph, if only that knows their number.
    """
    value = view_of(value)
    if isinstance(value, Maybe):
        return maybe_truth(value, truth)
    if isinstance(value, Text):
        return any_text(value)
    if hasattr(type(value), "__truth__"):
        value = value.__truth__()
    elif hasattr(type(value), "__tensor__"):
        value = convert_to_tensor(value)
    if not isinstance(value, GraphTensor):
        found = truth_value(value)
        return bool(value) if found is value else truth(found)
    if value.type.ndim:
        if any(count not in (1, None) for count in value.type.shape):
            raise _ambiguous("no elements" if 0 in value.type.shape else "more than one element", value)
        if None in value.type.shape:
            raise_unless(equal(size(value), 1), _ambiguous("no or several elements", value))
        value = value[(0,) * value.type.ndim]
    constant = value.value.constant
    if constant is not None:
        return bool(constant)
    return value if value.dtype.is_bool else value != 0


def _ambiguous(what: str, value: GraphTensor) -> ShapeError:
    return located(ShapeError(f"The truth value of an array with {what} is ambiguous: this tensor is {value.type}",
                              remedy="Use rt.reduce_any or rt.reduce_all."))


def maybe_truth(value: Any, truth: Callable[[Any], Any]) -> Any:
    """The truth of a variable that may be None; `truth` gives that of values that are not None."""
    value.presence.check_bound()
    present, is_true = value.presence.has_value, truth(value.content)
    return is_true if present is True else present if is_true is True else bitwise_and(present, is_true)
