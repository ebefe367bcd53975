"""Values that are known at trace time: axes, sizes and shapes given as tensors."""
from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.core.errors import DTypeError, ShapeError, StagingError
from runtime.core.graph import Value
from runtime.core.positions import located
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.core.types import Shape, TensorType, shape_text

__all__ = ["axes_of", "axis_of", "folded", "known_elements", "length_of_range", "merge_shapes", "no_ints",
           "static_int", "static_ints"]

_FOLDED: Final = frozenset({
    "abs", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "cast", "concat", "equal", "expand_dims", "floordiv",
    "gather", "getitem", "greater", "greater_equal", "invert", "less", "less_equal", "maximum", "minimum", "mod",
    "multiply", "negative", "not_equal", "range", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod",
    "reduce_sum", "reshape", "slice", "split", "squeeze", "stack", "subtract", "where"})
"""Ops of which sizes are computed."""
_MOST_FOLDED: Final = 64
"""The most nodes that compute a size, and the most elements of each."""


def static_int(x: Any) -> int | None:
    """The int that `x` is, or None for a tensor whose value is known only at run time. TypeError if it is no int."""
    return _scalar(x.value) if isinstance(x, GraphTensor) else operator.index(x)


def folded(value: Value) -> Any:
    """The array of ints or bools that a value has in each run, if few ops compute it from constants; else None."""
    if value.constant is not None:
        return value.constant
    pending, arrays = [value], dict[Value, Any]()
    while pending:
        current = pending[-1]
        source = _outside(current)
        if source.constant is not None:
            arrays[current] = source.constant
        elif source is not current:
            if source in arrays:
                arrays[current] = arrays[source]
            else:
                pending.append(source)
                continue
        else:
            if not _is_foldable(current) or len(pending) + len(arrays) > _MOST_FOLDED:
                return None
            inputs = current.node.inputs  # type: ignore[union-attr]
            missing = [x for x in inputs if x not in arrays]
            if missing:
                pending += missing
                continue
            arrays[current] = _computed(current, [arrays[x] for x in inputs])
        if arrays[current] is None:
            return None
        pending.pop()
    return arrays[value]


def _outside(value: Value) -> Value:
    """The value of an enclosing graph that a capture passes on; other values themselves."""
    if value.node is not None:
        return value
    found = next((outer for outer, inner in value.graph.captures if inner is value), None)
    return found if isinstance(found, Value) else value


def _is_foldable(value: Value) -> bool:
    type = value.type
    return (value.node is not None and value.node.op.name in _FOLDED and isinstance(type, TensorType)
            and (type.dtype.is_integer or type.dtype.is_bool) and None not in type.shape
            and math.prod(type.shape) <= _MOST_FOLDED)  # type: ignore[arg-type]


def _computed(value: Value, inputs: Sequence[Any]) -> Any:
    """The result of a value's node; None if it raises an error, or is an int of Python's beyond its dtype here."""
    node, type = value.node, value.type
    assert node is not None and isinstance(type, TensorType)
    is_weak = type.weak and type.dtype.is_integer
    if is_weak:
        inputs = [x.astype(np.int64) if x.dtype.kind == "i" else x for x in inputs]
    try:
        with np.errstate(all="ignore"):
            found = node.op.kernel(*inputs, **node.params)
            result = np.asarray(found if node.single else found[node.outputs.index(value)])
    except Exception:
        return None
    if is_weak and (_is_beyond(result, type) or (node.op.name == "cast" and _is_beyond(inputs[0], type))):
        return None
    return result.astype(type.dtype.np, copy=False)


def _is_beyond(array: Any, type: TensorType) -> bool:
    low, high = type.dtype.limits
    return bool(array.size) and not low <= array.min() <= array.max() <= high


def _scalar(value: Value) -> int | None:
    """The int that a value is in each run, such as `shape(x)[0] + 1`, or None where it is not known."""
    known = folded(value)
    if known is not None:
        return operator.index(known[()])
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
    known = folded(value)
    if known is not None:
        return [int(item) for item in known]
    node = value.node
    if node is not None and node.op.name == "getitem":
        index, sizes = node.params["index"], node.inputs[0].type.shape  # type: ignore[union-attr]
        if len(sizes) == len(index) == 1 and sizes[0] is not None and type(index[0]) is tuple and "?" not in index[0]:
            return _elements(node.inputs[0], sizes[0])[slice(*index[0])]
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

    StagingError, with `what` as the subject, if they are known only at run time; DTypeError if they are no ints.
    """
    try:
        known = _ints_in(values)
    except TypeError:
        raise no_ints(what, values) from None
    if known is None or None in known:
        raise StagingError(f"{what} must be known when the function is traced; a tensor is given",
                           remedy="Pass a Python int, or a tensor made of constants.")
    return tuple(known)  # type: ignore[arg-type]


def no_ints(what: str, values: Any) -> Exception:
    """The error for values that are no ints, with `what` as the subject."""
    return located(DTypeError(f"{what} is an int or several ints, not {values!r}",
                              remedy="Give ints of Python's, such as 0 or [0, 1]."))


def _ints_in(values: Any) -> list[int | None] | None:
    if isinstance(values, GraphTensor):
        return [static_int(values)] if not values.type.shape else known_elements(values)
    if isinstance(values, (EagerTensor, np.ndarray)):
        return [operator.index(v) for v in np.asarray(values).reshape(-1)]
    return [static_int(v) for v in values] if isinstance(values, Sequence) else [static_int(values)]


def axis_of(op: str, axis: Any, ndim: int) -> int:
    """`axis`, which may be negative, of a tensor with `ndim` dimensions as 0 to ndim - 1. ShapeError if out of
    range."""
    value = axis if type(axis) is int else static_ints(f"the axis of {op}", axis)[0]
    if not -ndim <= value < ndim:
        raise ShapeError(f"axis {value} is out of range for {op} of a tensor of rank {ndim}")
    return value % ndim


def axes_of(op: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """One axis or several (None: all) as a sorted tuple of axes from 0 to ndim - 1. ShapeError for one that is given
    twice."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    given = static_ints(f"the axis of {op}", axis)
    axes = sorted(axis_of(op, a, ndim) for a in given)
    twice = next((a for a, b in itertools.pairwise(axes) if a == b), None)
    if twice is not None:
        raise located(ShapeError(f"{op} takes each axis once, but axis {twice} is twice in {list(given)}",
                                 remedy="Leave one of them out; a negative axis counts from the end."))
    return tuple(axes)


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
