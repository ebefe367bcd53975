"""Rules for element-wise arithmetic. At kinks the derivatives are those of TF2."""
from __future__ import annotations

import math as python_math
from collections.abc import Sequence
from typing import Any, Final

from runtime.autodiff.rules.elementwise import elementwise
from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.tensor import GraphTensor
from runtime.core.types import DType
from runtime.ops.complex_numbers import conj, real
from runtime.ops.logic import equal, greater, greater_equal, less_equal, logical_and, not_equal, where
from runtime.ops.math import (
    cast,
    copysign,
    cos,
    cosh,
    divide,
    exp,
    floordiv,
    log,
    negative,
    pow,
    rint,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
)

LOG_2: Final = python_math.log(2)
LOG_10: Final = python_math.log(10)
TWO_BY_ROOT_PI: Final = 2 / python_math.sqrt(python_math.pi)

# Arithmetic.


def _same(t: Any, *rest: Any) -> Any:
    return t


def _negated(t: Any, *rest: Any) -> Any:
    return negative(t)


def _power_by_base(t: Any, x: Any, y: Any, out: Any) -> Any:
    """The partial derivative by the base; for x**0 it is 0, also at x = 0."""
    known = y.value.constant if isinstance(y, GraphTensor) else None
    if known is None or known.ndim:
        flat = logical_and(equal(x, 0), equal(y, 0))
        return t * (y * pow(x, where(flat, 1, y - 1)))
    exponent = known[()]
    if exponent == 0:
        return t * 0
    return t * (x * 2) if exponent == 2 else t * (pow(x, exponent - 1) * exponent)


def _power_by_exponent(t: Any, x: Any, y: Any, out: Any) -> Any:
    """The partial derivative by the exponent; 0 where the base is not positive (if complex, where it is 0)."""
    has_log = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
    return t * (out * where(has_log, log(where(has_log, x, 1)), 0))


def _share(x: Any, length: Any) -> Any:
    """x / length, and 0 where both are 0."""
    return divide(x, where(equal(length, 0), 1, length))


def _of_root(t: Any, x: Any, out: Any) -> Any:
    """The derivative of a root, 0 at 0 for a `t` of 0, as in TF: what is not selected contributes nothing."""
    return where(logical_and(equal(t, 0), equal(out, 0)), 0, divide(t * 0.5, out))


def _zero(t: Any, *_: Any) -> Any:
    return where(False, t, 0)


elementwise("add", _same, _same)
elementwise("subtract", _same, _negated)
elementwise("multiply", lambda t, x, y, out: t * y, lambda t, x, y, out: t * x)
elementwise("divide", lambda t, x, y, out: divide(t, y), lambda t, x, y, out: negative(divide(t, y) * out))
elementwise("mod", _same, lambda t, x, y, out: negative(t * floordiv(x, y)))
elementwise("fmod", _same, lambda t, x, y, out: negative(t * rint(divide(x - out, y))))
elementwise("pow", _power_by_base, _power_by_exponent)
elementwise("maximum", lambda t, x, y, out: where(greater_equal(x, y), t, 0),
            lambda t, x, y, out: where(greater_equal(x, y), 0, t))
elementwise("minimum", lambda t, x, y, out: where(less_equal(x, y), t, 0),
            lambda t, x, y, out: where(less_equal(x, y), 0, t))
elementwise("atan2", lambda t, y, x, out: divide(t * x, x * x + y * y),
            lambda t, y, x, out: negative(divide(t * y, x * x + y * y)))
elementwise("hypot", lambda t, x, y, out: t * _share(x, out), lambda t, x, y, out: t * _share(y, out))
elementwise("copysign", lambda t, x, y, out: t * (sign(x) * copysign(1.0, y)), None)
elementwise("next_after", _same, _zero)
elementwise("negative", _negated)
elementwise("sign", _zero)  # TF has no derivative of `floor` and the like, but this one

# Roots, exponentials and logarithms.

elementwise("sqrt", _of_root)
elementwise("cbrt", lambda t, x, out: divide(t, out * out * 3))
elementwise("exp", lambda t, x, out: t * out)
elementwise("expm1", lambda t, x, out: t * exp(x))
elementwise("exp2", lambda t, x, out: t * (out * LOG_2))
elementwise("log", lambda t, x, out: divide(t, x))
elementwise("log1p", lambda t, x, out: divide(t, x + 1))
elementwise("log2", lambda t, x, out: divide(t, x * LOG_2))
elementwise("log10", lambda t, x, out: divide(t, x * LOG_10))
elementwise("sigmoid", lambda t, x, out: t * (out * (1 - out)))
elementwise("softplus", lambda t, x, out: t * sigmoid(x))
elementwise("erf", lambda t, x, out: t * (exp(negative(x * x)) * TWO_BY_ROOT_PI))
elementwise("erfc", lambda t, x, out: t * (exp(negative(x * x)) * -TWO_BY_ROOT_PI))
elementwise("erfinv", lambda t, x, out: t * divide(exp(out * out), TWO_BY_ROOT_PI))

# Trigonometry.

elementwise("sin", lambda t, x, out: t * cos(x))
elementwise("cos", lambda t, x, out: negative(t * sin(x)))
elementwise("tan", lambda t, x, out: t * (out * out + 1))
elementwise("asin", lambda t, x, out: divide(t, sqrt(1 - x * x)))
elementwise("acos", lambda t, x, out: negative(divide(t, sqrt(1 - x * x))))
elementwise("atan", lambda t, x, out: divide(t, x * x + 1))
elementwise("sinh", lambda t, x, out: t * cosh(x))
elementwise("cosh", lambda t, x, out: t * sinh(x))
elementwise("tanh", lambda t, x, out: t * (1 - out * out))
elementwise("asinh", lambda t, x, out: divide(t, cosh(out)))
elementwise("acosh", lambda t, x, out: divide(t, sinh(out)))
elementwise("atanh", lambda t, x, out: divide(t, 1 - x * x))

# Activations.

elementwise("relu", lambda t, x, out: where(greater(out, 0), t, 0))

constant("a step function: its derivative is 0 wherever it has one", "floordiv", "floor", "ceil", "rint")
constant("it is a constant by its definition", "stop_gradient")


# The absolute value is not holomorphic.

@vjp("abs")
def _abs_vjp(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]
    return [cast(ct, x.dtype) * _direction(x, node.outputs[0]) if x.dtype.is_complex else ct * sign(x)]


@jvp("abs")
def _abs_jvp(node: Applied, t: Any) -> Sequence[Any]:
    x = node.inputs[0]
    return [real(conj(_direction(x, node.outputs[0])) * t) if x.dtype.is_complex else t * sign(x)]


def _direction(x: Any, length: Any) -> Any:
    """x / |x|, and 0 at 0."""
    return _share(x, cast(length, x.dtype))


# Dtypes.

@vjp("cast")
def _cast_vjp(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]
    return [cast(ct, x.dtype) if _smooth(x.dtype) and _smooth(ct.dtype) else None]


@jvp("cast")
def _cast_jvp(node: Applied, t: Any) -> Sequence[Any]:
    dtype = node.outputs[0].dtype
    return [cast(t, dtype) if _smooth(dtype) else None]


def _smooth(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex
