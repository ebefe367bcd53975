"""What operators on tensors call: functions on tensors, which `runtime.ops` defines."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from autograph.backend import Late

__all__ = ["OPERATIONS", "Operations"]

Unary = Callable[..., Any]
Binary = Callable[..., Any]


class Operations(Late):
    """Forward declarations of what tensors, and the trace that makes tensors of values, call."""

    # runtime.ops.math
    add: Binary
    subtract: Binary
    multiply: Binary
    truediv: Binary
    floordiv: Binary
    mod: Binary
    pow: Binary
    negative: Unary
    abs: Unary
    round: Callable[..., Any]
    """Of a tensor, and perhaps a number of digits."""
    with_numbers: Callable[[str, Any, Any], Any]
    """Any of these operators, by its name, where an operand is bools: beside numbers, these are numbers."""

    # runtime.ops.logic
    bitwise_and: Binary
    bitwise_or: Binary
    bitwise_xor: Binary
    invert: Unary
    left_shift: Binary
    right_shift: Binary
    less: Binary
    less_equal: Binary
    greater: Binary
    greater_equal: Binary
    equal: Binary
    not_equal: Binary

    # other modules of runtime.ops
    matmul: Binary
    getitem: Callable[[Any, Any], Any]
    equal_text: Binary
    unequal_text: Binary
    stack: Callable[[Any], Any]
    """Of a list with tensors in it, along a new first axis."""

    # runtime.core.array_writes
    made: Callable[[Any, tuple[Any, ...]], Any]
    """The result of an operator on operands, which may be an array that can be written to."""
    item_of: Callable[[Any, Any, Any], Any]
    """A part of a tensor at an index, which may be a view of an array."""
    in_place: Callable[[Any, Any, Any], Any]
    """`x += y` and the like, of an array."""
    copied: Callable[[Any], Any]
    check_current: Callable[[Any], None]
    """An error if an array has been written to through another name."""

    # runtime.core.trace
    check_reach: Callable[[Any], None]
    """An error for a tensor of a graph that is not being traced here."""

    # runtime.staging.containers.sequence_methods, for lists of the graph
    count: Callable[..., Any]
    index: Callable[..., Any]
    remove: Callable[..., None]
    sort: Callable[..., None]
    repeat: Callable[..., Any]
    """`sequence * tensor`; NotImplemented where that is arithmetic."""


OPERATIONS: Final = Operations()
