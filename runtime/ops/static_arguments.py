"""Values that are known at trace time: axes, sizes and shapes given as tensors."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.core.errors import ShapeError, StagingError
from runtime.core.graph import Value
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.core.types import Shape, TensorType, shape_text

__all__ = ["axes_of", "axis_of", "known_elements", "length_of_range", "merge_shapes", "static_int", "static_ints"]


def static_int(x: Any) -> int | None:
    """The int that `x` is, or None for a tensor whose value is known only at run time. TypeError if it is no int."""
    return _scalar(x.value) if isinstance(x, GraphTensor) else operator.index(x)


def _scalar(value: Value) -> int | None:
    """The int in a constant, or in a known item of a tensor, such as `shape(x)[0]`; else None."""
    constant = value.constant
    if constant is not None:
        return operator.index(constant[()])
    node = value.node
    if node is None or node.op.name != "getitem" or not isinstance(value.type, TensorType):
        return None
    of, index = node.inputs[0].type, node.params["index"]
    if not isinstance(of, TensorType) or not of.dtype.is_integer or len(of.shape) != 1 or of.shape[0] is None:
        return None
    if len(index) != 1 or type(index[0]) is not int or not -of.shape[0] <= index[0] < of.shape[0]:
        return None
    return _elements(node.inputs[0], of.shape[0])[index[0]]


def known_elements(x: GraphTensor) -> list[int | None] | None:
    """The known elements of a rank-1 int tensor, None where unknown; None if even their number is unknown."""
    shape = x.type.shape
    return None if len(shape) != 1 or shape[0] is None else _elements(x.value, shape[0])


def _elements(value: Value, count: int) -> list[int | None]:
    constant = value.constant
    if constant is not None:
        return [int(item) for item in constant]
    node = value.node
    if node is not None and node.op.name == "stack":
        return [_scalar(item) for item in node.inputs]
    if node is not None and node.op.name == "cast" and value.type.dtype.is_integer:  # type: ignore[union-attr]
        return _elements(node.inputs[0], count)
    if node is not None and node.op.name == "concat":
        parts: list[int | None] = []
        for item in node.inputs:
            size = item.type.shape[0]  # type: ignore[union-attr]
            if size is None:
                return [None] * count
            parts += _elements(item, size)
        return parts
    return [None] * count


def length_of_range(x: GraphTensor) -> int | None:
    """How many elements `range(i, i + n)` has, for an `i` of the graph and a known `n`, unless a sum overflows."""
    node = x.value.node
    while node is not None and node.op.name == "cast":
        node = node.inputs[0].node
    if node is None or node.op.name != "range" or not x.dtype.is_integer:
        return None
    step = node.inputs[2].constant
    (base, first), (other, limit) = _as_sum(node.inputs[0]), _as_sum(node.inputs[1])
    return max(0, -((first - limit) // int(step))) if base is other and step else None


def _as_sum(value: Value) -> tuple[Value, int]:
    """A value as one plus a known int."""
    node = value.node
    if node is None or node.op.name not in ("add", "subtract", "minimum"):
        return value, 0
    left, right = node.inputs
    if node.op.name == "minimum":  # of a start and its limit
        (base, first), (other, second) = _as_sum(left), _as_sum(right)
        return (base, min(first, second)) if base is other else (value, 0)
    known = right.constant if right.constant is not None or node.op.name == "subtract" else left.constant
    if known is None or known.ndim:
        return value, 0
    base, amount = _as_sum(left if known is right.constant else right)
    return base, amount + int(known) * (-1 if node.op.name == "subtract" else 1)


def static_ints(what: str, values: Any) -> tuple[int, ...]:
    """`values`, an int, a sequence of ints or a tensor of them, as ints.

    StagingError, with `what` as the subject, if they are known only at run time.
    """
    if isinstance(values, GraphTensor):
        known = [static_int(values)] if not values.type.shape else known_elements(values)
    elif isinstance(values, (EagerTensor, np.ndarray)):
        known = [operator.index(v) for v in np.asarray(values).reshape(-1)]
    elif isinstance(values, Sequence):
        known = [static_int(v) for v in values]
    else:
        known = [static_int(values)]
    if known is None or None in known:
        raise StagingError(f"{what} must be known when the function is traced; a tensor is given",
                           remedy="Pass a Python int, or a tensor made of constants.")
    return tuple(known)  # type: ignore[arg-type]


def axis_of(op: str, axis: Any, ndim: int) -> int:
    """`axis`, which may be negative, of a tensor with `ndim` dimensions as 0 to ndim - 1. ShapeError if out of
    range."""
    value = axis if type(axis) is int else static_ints(f"the axis of {op}", axis)[0]
    if not -ndim <= value < ndim:
        raise ShapeError(f"axis {value} is out of range for {op} of a tensor of rank {ndim}")
    return value % ndim


def axes_of(op: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """One axis or several (None: all) as a sorted tuple of distinct axes from 0 to ndim - 1."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    return tuple(sorted({axis_of(op, a, ndim) for a in static_ints(f"the axis of {op}", axis)}))


def merge_shapes(what: str, *shapes: Shape) -> Shape:
    """The join of static `shapes` of one tensor. ShapeError, with `what` as the subject, if they are incompatible."""
    merged = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(merged) or any(
                a is not None and b is not None and a != b for a, b in zip(merged, shape, strict=True)):
            texts = " and ".join(dict.fromkeys(shape_text(s) for s in shapes))
            raise ShapeError(f"{what} have different shapes: {texts}")
        merged = tuple(b if a is None else a for a, b in zip(merged, shape, strict=True))
    return merged
