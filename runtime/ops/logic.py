"""Comparison, logic, bits and selection."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, InvalidNumberError, NumberOverflowError
from runtime.core.op import CAST, Op, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import TensorType, broadcast_shapes
from runtime.ops.op_makers import (
    ALL,
    BOOL,
    INTS,
    REAL,
    apply_one,
    binary,
    check_dtype,
    named,
    of_ints,
    random_array,
    unary,
)

# Comparison.

equal = binary("equal", np.equal, ALL, strings=True, out=t.bool_, doc="x == y, element-wise (`tf.equal`).")
not_equal = binary("not_equal", np.not_equal, ALL, strings=True, out=t.bool_,
                   doc="x != y, element-wise (`tf.not_equal`).")
less = binary("less", np.less, REAL, out=t.bool_, doc="x < y, element-wise (`tf.less`).")
less_equal = binary("less_equal", np.less_equal, REAL, out=t.bool_, doc="x <= y, element-wise (`tf.less_equal`).")
greater = binary("greater", np.greater, REAL, out=t.bool_, doc="x > y, element-wise (`tf.greater`).")
greater_equal = binary("greater_equal", np.greater_equal, REAL, out=t.bool_,
                       doc="x >= y, element-wise (`tf.greater_equal`).")

# Bits; for bools, logic.

bitwise_and = binary("bitwise_and", np.bitwise_and, BOOL + INTS,
                     doc="x & y, element-wise, of ints or bools (`tf.bitwise.bitwise_and`).")
bitwise_or = binary("bitwise_or", np.bitwise_or, BOOL + INTS,
                    doc="x | y, element-wise, of ints or bools (`tf.bitwise.bitwise_or`).")
bitwise_xor = binary("bitwise_xor", np.bitwise_xor, BOOL + INTS,
                     doc="x ^ y, element-wise, of ints or bools (`tf.bitwise.bitwise_xor`).")
invert = unary("invert", np.invert, BOOL + INTS, doc="~x, of ints or bools (`tf.bitwise.invert`).")
left_shift = binary("left_shift", np.left_shift, INTS, low=0,
                    errors=of_ints(InvalidNumberError, NumberOverflowError),
                    doc="x << y, element-wise (`tf.bitwise.left_shift`).")
right_shift = binary("right_shift", np.right_shift, INTS, low=0, errors=of_ints(InvalidNumberError),
                     doc="x >> y, element-wise (`tf.bitwise.right_shift`).")


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x and y, element-wise, of bools (`tf.logical_and`)."""
    return bitwise_and(_bool(x), _bool(y), name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x or y, element-wise, of bools (`tf.logical_or`)."""
    return bitwise_or(_bool(x), _bool(y), name)


def logical_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether exactly one of x and y holds, element-wise (`tf.math.logical_xor`)."""
    return bitwise_xor(_bool(x), _bool(y), name)


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """not x, element-wise, of bools (`tf.logical_not`)."""
    return invert(_bool(x), name)


def _bool(x: Any) -> Tensor:
    return convert_to_tensor(x, t.bool_)


# Selection.

def _select_rule(condition: TensorType, x: TensorType, y: TensorType) -> TensorType:
    if not condition.dtype.is_bool:
        raise DTypeError(f"where takes a bool condition, not {condition.dtype.name}",
                         remedy="Compare it, for example with x != 0.")
    if x.dtype is not y.dtype:
        raise DTypeError(f"where takes values of one dtype, not {x.dtype.name} and {y.dtype.name}")
    shape = broadcast_shapes(condition.shape, x.shape, y.shape, what="the operands of where")
    return TensorType(x.dtype, shape, x.weak and y.weak)


def _select_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in ALL:
        for shapes in (((), (), ()), ((3,), (), (3,)), ((), (2, 3), (3,)), ((2, 1), (), (1, 3)), ((0,), (1,), ())):
            condition, *values = (random_array(rng, d, shape)
                                  for d, shape in zip((t.bool_, dtype, dtype), shapes, strict=True))
            yield (condition, *values), {}


def _select_kernel(condition: Any, x: Any, y: Any) -> Any:
    if not condition.ndim and x.shape == y.shape:
        return x if condition else y
    return np.where(condition, x, y)


SELECT: Final = Op("where", _select_kernel, _select_rule, agree=slice(1, 3), widens=True, samples=_select_samples,
                   doc="x where the condition holds, else y; all three broadcast.")


def _nonzero_kernel(x: Any) -> Any:
    return np.argwhere(x) if x.ndim else np.zeros((int(bool(x)), 0), np.int64)


def _nonzero_rule(x: TensorType) -> TensorType:
    check_dtype("where", x.dtype, ALL)
    return TensorType(t.int64, (None, x.ndim))


def _nonzero_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for shape in ((), (4,), (2, 3), (0, 2)):
        yield (rng.random(shape) < 0.5,), {}
    yield (np.array([0.0, 1.5, 0.0]),), {}


NONZERO: Final = Op("nonzero", _nonzero_kernel, _nonzero_rule, samples=_nonzero_samples,
                    doc="The indices of the elements that are not zero: int64[?, rank].")


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where `condition` (bool) holds, else y; all three broadcast (`tf.where`).

    Without x and y: the indices of the true elements, int64[n, rank of condition].
    """
    if x is None and y is None:
        return named(apply_one(NONZERO, condition), name)
    if x is None or y is None:
        raise ValueError("where takes both x and y, or neither")
    return named(apply_one(SELECT, condition, _beside(x, y), _beside(y, x)), name)


def _beside(x: Any, other: Any) -> Any:
    """A scalar int tensor beside a Python float as a Python float, as which it can meet ints and floats."""
    is_float = type(other) is float or (isinstance(other, GraphTensor) and other.type.weak and other.dtype.level == 2)
    if not is_float or type(x) is not GraphTensor or x.type.shape or x.type.weak or x.dtype.level != 1:
        return x
    return apply(CAST, x, dtype=t.float64, weak=True)


_BEYOND: Final = {"less": True, "less_equal": True, "greater": False, "greater_equal": False}
"""By comparison: its result for a number and one that is too great for the first one's dtype."""


def _comparison(compare: Callable[..., Tensor], name: str) -> Callable[[Any, Any], Tensor]:
    """A comparison that, for ints of NumPy's arrays and an int of Python's which their dtype cannot hold, has the same
    result for all, as in NumPy."""
    def compared(x: Any, y: Any) -> Tensor:
        if type(y) is not int or not isinstance(x, GraphTensor) or not x.dtype.is_integer or not (
                x.is_object or (x.type.of_arrays and not x.type.weak)):
            return compare(x, y)
        low, high = x.dtype.limits
        if low <= y <= high:
            return compare(x, y)
        is_true = name == "not_equal" if name not in _BEYOND else _BEYOND[name] is (y > high)
        return equal(x, x) if is_true else not_equal(x, x)

    return compared


OPERATIONS.define(
    **{name: _comparison(compare, name) for name, compare in (
        ("less", less), ("less_equal", less_equal), ("greater", greater), ("greater_equal", greater_equal),
        ("equal", equal), ("not_equal", not_equal))},
    bitwise_and=bitwise_and, bitwise_or=bitwise_or, bitwise_xor=bitwise_xor, invert=invert,
    left_shift=left_shift, right_shift=right_shift,
)
