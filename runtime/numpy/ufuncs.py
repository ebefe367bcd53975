"""NumPy's universal functions on tensors, by NumPy's names. Those on floats accept ints, too, as float64."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.core.op import CAST
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_beside, convert_to_tensor
from runtime.core.types import float64
from runtime.ops import complex_numbers, logic, math
from runtime.ops.linalg import matmul

__all__ = ["UFUNCS", "inexact"]

Function = Callable[..., Any]


def inexact(x: Any) -> Tensor:
    """A tensor of floats or complex numbers: ints are converted as in `/`, bools to float64."""
    given = convert_to_tensor(x)
    if given.dtype.kind >= 2:
        return given
    result: Tensor = apply(CAST, given, dtype=float64 if given.dtype.is_bool else given.dtype.widened(2))
    return result


def _of_floats(function: Function) -> Function:
    return lambda x: function(inexact(x))


def _both_floats(function: Function) -> Function:
    def on_both(x: Any, y: Any) -> Any:
        x, y = _beside(x, y)
        return function(inexact(x), inexact(y))

    return on_both


def _beside(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, of which those that are not tensors adapt to the dtype of the other."""
    if isinstance(x, Tensor) and not isinstance(y, Tensor):
        return x, convert_beside(y, x.dtype) if x.dtype.kind >= 2 else y
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        return convert_beside(x, y.dtype) if y.dtype.kind >= 2 else x, y
    return x, y


def _operator(name: str, reflected: str = "") -> Function:
    """An operator of tensors that also handles array arguments (`runtime.core.array_writes`)."""
    forward, backward = f"__{name}__", reflected or f"__r{name}__"

    def operate(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor):
            return getattr(x, forward)(y)
        return getattr(y, backward)(x)

    return operate


def _whole(function: Function) -> Function:
    """A rounding function, which returns ints unchanged."""
    def rounded(x: Any) -> Any:
        x = convert_to_tensor(x)
        return x if x.dtype.kind < 2 else function(x)

    return rounded


def _truth(function: Function, of_ints: bool) -> Function:
    """A predicate of floats, which has the same answer for all ints."""
    def asked(x: Any) -> Any:
        x = convert_to_tensor(x)
        return function(x) if x.dtype.kind >= 2 else logic.equal(x, x) if of_ints else logic.not_equal(x, x)

    return asked


def _number_of(x: Any) -> Any:
    return logic.not_equal(x, 0) if not convert_to_tensor(x).dtype.is_bool else x


def _logical(function: Function) -> Function:
    return lambda *xs: function(*map(_number_of, xs))


def _fmax(x: Any, y: Any) -> Any:
    x, y = _beside(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    return math.maximum(x, y) if x.dtype.kind < 2 else logic.where(
        math.is_nan(x), y, logic.where(math.is_nan(y), x, math.maximum(x, y)))


def _fmin(x: Any, y: Any) -> Any:
    x, y = _beside(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    return math.minimum(x, y) if x.dtype.kind < 2 else logic.where(
        math.is_nan(x), y, logic.where(math.is_nan(y), x, math.minimum(x, y)))


def _logaddexp(x: Any, y: Any) -> Any:
    greatest = math.maximum(x, y)
    return greatest + math.log1p(math.exp(-math.abs(x - y)))


def _reciprocal(x: Any) -> Any:
    x = convert_to_tensor(x)
    return 1 / x if x.dtype.kind >= 2 else 1 // x


def _trunc(x: Any) -> Any:
    return logic.where(x < 0, math.ceil(x), math.floor(x))


def _heaviside(x: Any, at_zero: Any) -> Any:
    x = inexact(x)
    one = x * 0 + 1
    return logic.where(x < 0, 0 * one, logic.where(x > 0, one, logic.where(math.is_nan(x), x, one * at_zero)))


_QUARTER: Final = 180 / np.pi

UFUNCS: Final[dict[str, Function]] = {
    "add": _operator("add"), "subtract": _operator("sub"), "multiply": _operator("mul"),
    "divide": _operator("truediv"), "true_divide": _operator("truediv"), "floor_divide": _operator("floordiv"),
    "remainder": _operator("mod"), "mod": _operator("mod"), "power": _operator("pow"), "pow": _operator("pow"),
    "divmod": divmod, "fmod": _both_floats(math.fmod), "float_power": _both_floats(math.pow),
    "bitwise_and": _operator("and"), "bitwise_or": _operator("or"), "bitwise_xor": _operator("xor"),
    "left_shift": _operator("lshift"), "right_shift": _operator("rshift"),
    "bitwise_left_shift": _operator("lshift"), "bitwise_right_shift": _operator("rshift"),
    "invert": operator.invert, "bitwise_not": operator.invert, "bitwise_invert": operator.invert,
    "less": _operator("lt", "__gt__"), "less_equal": _operator("le", "__ge__"),
    "greater": _operator("gt", "__lt__"), "greater_equal": _operator("ge", "__le__"),
    "equal": logic.equal, "not_equal": logic.not_equal,
    "logical_and": _logical(logic.logical_and), "logical_or": _logical(logic.logical_or),
    "logical_xor": _logical(logic.logical_xor), "logical_not": _logical(logic.logical_not),
    "maximum": lambda x, y: math.maximum(*_beside(x, y)), "minimum": lambda x, y: math.minimum(*_beside(x, y)),
    "fmax": _fmax, "fmin": _fmin,
    "negative": operator.neg, "positive": operator.pos, "absolute": operator.abs, "abs": operator.abs,
    "fabs": _of_floats(math.abs), "sign": math.sign, "square": math.square, "reciprocal": _reciprocal,
    "conjugate": complex_numbers.conj, "conj": complex_numbers.conj,
    "sqrt": _of_floats(math.sqrt), "cbrt": _of_floats(math.cbrt), "exp": _of_floats(math.exp),
    "exp2": _of_floats(math.exp2), "expm1": _of_floats(math.expm1), "log": _of_floats(math.log),
    "log2": _of_floats(math.log2), "log10": _of_floats(math.log10), "log1p": _of_floats(math.log1p),
    "logaddexp": _both_floats(_logaddexp),
    "sin": _of_floats(math.sin), "cos": _of_floats(math.cos), "tan": _of_floats(math.tan),
    "arcsin": _of_floats(math.asin), "arccos": _of_floats(math.acos), "arctan": _of_floats(math.atan),
    "sinh": _of_floats(math.sinh), "cosh": _of_floats(math.cosh), "tanh": _of_floats(math.tanh),
    "arcsinh": _of_floats(math.asinh), "arccosh": _of_floats(math.acosh), "arctanh": _of_floats(math.atanh),
    "asin": _of_floats(math.asin), "acos": _of_floats(math.acos), "atan": _of_floats(math.atan),
    "asinh": _of_floats(math.asinh), "acosh": _of_floats(math.acosh), "atanh": _of_floats(math.atanh),
    "arctan2": _both_floats(math.atan2), "atan2": _both_floats(math.atan2), "hypot": _both_floats(math.hypot),
    "copysign": _both_floats(math.copysign), "heaviside": _heaviside,
    "degrees": lambda x: inexact(x) * _QUARTER, "rad2deg": lambda x: inexact(x) * _QUARTER,
    "radians": lambda x: inexact(x) / _QUARTER, "deg2rad": lambda x: inexact(x) / _QUARTER,
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(_trunc), "rint": _of_floats(math.rint),
    "isnan": _truth(math.is_nan, False), "isinf": _truth(math.is_inf, False), "isfinite": _truth(math.is_finite, True),
    "signbit": lambda x: math.copysign(inexact(x) * 0 + 1, inexact(x)) < 0,
    "matmul": lambda x, y: matmul(*_beside(x, y)) if convert_to_tensor(x).ndim > 1 < convert_to_tensor(y).ndim
    else _operator("matmul")(x, y),
}
"""By the name of a ufunc of NumPy (and of the array API): its implementation for tensors."""
