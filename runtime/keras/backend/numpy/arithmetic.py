"""Functions of two arrays, element by element: arithmetic, comparisons, logic and bits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import (
    FLOAT_NAMES,
    INT_NAMES,
    agreed,
    by_numbers,
    floats,
    in_dtype,
    is_scalar,
    name_of,
    result,
    tensor,
)
from runtime.ops import logic, math

__all__ = [
    "add", "arctan2", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "divide", "divide_no_nan", "equal", "floor_divide", "fmax", "fmin", "fmod",
    "gcd", "greater", "greater_equal", "heaviside", "hypot", "lcm", "ldexp", "left_shift", "less", "less_equal",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod",
    "multiply", "nextafter", "not_equal", "power", "right_shift", "subtract", "true_divide",
]


# Arithmetic.

def add(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return logic.logical_or(x, y) if x.dtype.is_bool else math.add(x, y)


def subtract(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return logic.logical_xor(x, y) if x.dtype.is_bool else math.subtract(x, y)


def multiply(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return logic.logical_and(x, y) if x.dtype.is_bool else math.multiply(x, y)


def divide(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    return math.divide(x, y)


true_divide = divide


def divide_no_nan(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    return math.divide_no_nan(x, y)


def _divided(function: Callable[..., Any], x: Tensor, y: Tensor, by_zero: Any) -> Tensor:
    """`function` of x and a divisor; for integers, `by_zero(x)` where the divisor is 0."""
    if not x.dtype.is_integer:
        return function(x, y)  # type: ignore[no-any-return]
    none = logic.equal(y, 0)
    return logic.where(none, by_zero(x), function(x, logic.where(none, rnp.ones_like(y), y)))


def floor_divide(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    if x.dtype.is_bool:
        x, y = in_dtype(x, "int8"), in_dtype(y, "int8")
    return _divided(math.floordiv, x, y, lambda x: -rnp.ones_like(x) if not x.dtype.is_unsigned else rnp.zeros_like(x))


def mod(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    if x.dtype.is_bool:
        x, y = in_dtype(x, "int32"), in_dtype(y, "int32")
    return _divided(math.mod, x, y, lambda x: x)


def fmod(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    if x.dtype.is_bool:
        x, y = in_dtype(x, "int32"), in_dtype(y, "int32")
    if not x.dtype.is_integer:
        return math.fmod(x, y)
    rest = _divided(math.mod, x, y, rnp.zeros_like)  # has the sign of y
    if x.dtype.is_unsigned:
        return rest
    other = logic.logical_and(logic.not_equal(rest, 0), logic.less(x, 0) ^ logic.less(y, 0))
    return logic.where(other, rest - y, rest)


def power(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    if x.dtype.is_bool:
        x, y = in_dtype(x, "int32"), in_dtype(y, "int32")
    if not x.dtype.is_integer or (is_scalar(x2) and x2 >= 0) or x.dtype.is_unsigned:
        return math.pow(x, y)
    found = math.pow(x, math.maximum(y, 0))
    negative = logic.where(math.abs(x) <= 1, math.pow(x, -math.minimum(y, 0) % 2), rnp.zeros_like(x))
    return logic.where(y < 0, negative, found)


def _larger(function: Callable[..., Any], x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return by_numbers(function, x, y)  # type: ignore[no-any-return]


def maximum(x1: Any, x2: Any) -> Tensor:
    return _larger(math.maximum, x1, x2)


def minimum(x1: Any, x2: Any) -> Tensor:
    return _larger(math.minimum, x1, x2)


def fmax(x1: Any, x2: Any) -> Tensor:
    return _larger(rnp.fmax, x1, x2)  # type: ignore[attr-defined]


def fmin(x1: Any, x2: Any) -> Tensor:
    return _larger(rnp.fmin, x1, x2)  # type: ignore[attr-defined]


def arctan2(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    return math.atan2(x, y)


def hypot(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    return math.hypot(x, y)


def heaviside(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    step = logic.where(x < 0, rnp.zeros_like(x), rnp.ones_like(x))
    return logic.where(math.is_nan(x), x, logic.where(logic.equal(x, 0), y, step))


def logaddexp(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    greatest = math.maximum(x, y)
    distance = logic.where(logic.equal(x, y), rnp.zeros_like(greatest), math.abs(x - y))
    return greatest + math.log1p(math.exp(-distance))


def logaddexp2(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    greatest = math.maximum(x, y)
    distance = logic.where(logic.equal(x, y), rnp.zeros_like(greatest), math.abs(x - y))
    return greatest + math.log2(math.exp2(-distance) + 1)


def ldexp(x1: Any, x2: Any) -> Tensor:
    x, exponent = tensor(x1), tensor(x2)
    if not (exponent.dtype.is_integer or exponent.dtype.is_bool):
        raise TypeError(f"ldexp takes exponents of an integer dtype, not {exponent.dtype.name}")
    x = in_dtype(x, result(x.dtype.name, exponent.dtype.name, float))
    wide = in_dtype(x, result(x.dtype.name, "float32"))
    half = in_dtype(exponent, "int32") // 2  # in two steps, so that neither factor overflows
    rest = in_dtype(exponent, "int32") - half
    scaled = wide * math.exp2(in_dtype(half, wide.dtype.name)) * math.exp2(in_dtype(rest, wide.dtype.name))
    return in_dtype(scaled, x.dtype.name)


def nextafter(x1: Any, x2: Any) -> Tensor:
    x, y = floats(x1, x2)
    return math.nextafter(x, y)


def gcd(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return by_numbers(math.gcd, x, y)  # type: ignore[no-any-return]


def lcm(x1: Any, x2: Any) -> Tensor:
    x, y = agreed(x1, x2)
    return by_numbers(math.lcm, x, y)  # type: ignore[no-any-return]


# Comparisons and logic.

def _comparing(function: Callable[..., Tensor], orders: bool = True) -> Callable[[Any, Any], Tensor]:
    def compare(x1: Any, x2: Any) -> Tensor:
        x, y = agreed(x1, x2)
        if orders and x.dtype.is_bool:
            x, y = in_dtype(x, "int32"), in_dtype(y, "int32")
        return function(x, y)

    return compare


equal = _comparing(logic.equal, orders=False)
not_equal = _comparing(logic.not_equal, orders=False)
less = _comparing(logic.less)
less_equal = _comparing(logic.less_equal)
greater = _comparing(logic.greater)
greater_equal = _comparing(logic.greater_equal)


def _logical(function: Callable[..., Tensor]) -> Callable[[Any, Any], Tensor]:
    def combined(x1: Any, x2: Any) -> Tensor:
        return function(in_dtype(tensor(x1), "bool"), in_dtype(tensor(x2), "bool"))

    return combined


logical_and = _logical(logic.logical_and)
logical_or = _logical(logic.logical_or)
logical_xor = _logical(logic.logical_xor)


def logical_not(x: Any) -> Tensor:
    return logic.logical_not(in_dtype(tensor(x), "bool"))


# Bits.

def _of_bits(function: Callable[..., Any], name: str) -> Callable[[Any, Any], Tensor]:
    def operate(x: Any, y: Any) -> Tensor:
        if any(name_of(tensor(v)) in FLOAT_NAMES for v in (x, y)):
            raise TypeError(f"{name} takes ints or bools, not floats")
        return function(*agreed(x, y))  # type: ignore[no-any-return]

    return operate


bitwise_and = _of_bits(lambda x, y: x & y, "bitwise_and")
bitwise_or = _of_bits(lambda x, y: x | y, "bitwise_or")
bitwise_xor = _of_bits(lambda x, y: x ^ y, "bitwise_xor")


def _shifted(function: Callable[..., Any]) -> Callable[[Any, Any], Tensor]:
    def shift(x: Any, y: Any) -> Tensor:
        x, y = agreed(x, y)
        if x.dtype.is_bool:
            x, y = in_dtype(x, "int32"), in_dtype(y, "int32")
        return function(x, y)  # type: ignore[no-any-return]

    return shift


bitwise_left_shift = _shifted(lambda x, y: x << y)
bitwise_right_shift = _shifted(lambda x, y: x >> y)
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift


def bitwise_invert(x: Any) -> Tensor:
    x = tensor(x)
    if x.dtype.name not in INT_NAMES and not x.dtype.is_bool:
        raise TypeError(f"bitwise_invert takes ints or bools, not {x.dtype.name}")
    return ~x  # type: ignore[no-any-return]


bitwise_not = bitwise_invert
