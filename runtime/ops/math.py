"""Element-wise arithmetic: the ops, and functions composed of them."""
from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.array_mode import need_objects
from runtime.core.array_promotion import is_of_arrays
from runtime.core.errors import (
    DivisionByZeroError,
    DTypeError,
    InvalidArgumentError,
    InvalidNumberError,
    NumberOverflowError,
    ShapeError,
    locate,
)
from runtime.core.op import CAST, Errors, Sample
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located, user_position
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, convert_beside, convert_to_tensor, promoted_arrays, stands_for_array
from runtime.core.types import DType, as_dtype
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, greater_equal, less, less_equal, logical_and, logical_or, not_equal, where
from runtime.ops.op_makers import (
    FLOATS,
    INEXACT,
    INTS,
    NUMERIC,
    REAL,
    apply_one,
    binary,
    check_dtype,
    matching,
    named,
    of_ints,
    random_array,
    unary,
)

# Kernels that are more than a NumPy function.


def _nonzero_divisor(op: str, x: Any, y: Any) -> None:
    if y.dtype.kind in "iu" and x.size and np.count_nonzero(y) != y.size:
        raise DivisionByZeroError(f"{op} of integers by zero")


def _floordiv(x: Any, y: Any) -> Any:
    _nonzero_divisor("division", x, y)
    return np.floor_divide(x, y)


def _mod(x: Any, y: Any) -> Any:
    _nonzero_divisor("modulo", x, y)
    return np.mod(x, y)


def _pow(x: Any, y: Any) -> Any:
    if y.dtype.kind == "i" and x.size and (np.asarray(y) < 0).any():
        raise InvalidArgumentError("an integer to a negative integer power is no integer",
                                   remedy="Cast the base: rt.cast(x, rt.float32).")
    power = np.power(x, y)
    if y.dtype.kind == "f" and y.size == 1 and y == 0.5:  # NumPy uses sqrt, which has other edge cases
        power = np.where(x == -np.inf, x.dtype.type(np.inf), power + x.dtype.type(0))
    return power


_overflow: Final = of_ints(NumberOverflowError)


def _division_errors(node: Any) -> Errors:
    """No errors for floats, nor for a constant divisor without zeros."""
    divisor = node.operands[1]
    known = divisor.constant
    safe = not divisor.type.dtype.is_integer or (known is not None and bool(np.all(known)))
    return () if safe else (DivisionByZeroError,)


def _floordiv_errors(node: Any) -> Errors:
    return *_division_errors(node), *_overflow(node)


def _pow_errors(node: Any) -> Errors:
    """Errors where Python raises for its floats, and where it would return a complex number."""
    type = node.outputs[0].type
    if type.weak and type.dtype.is_floating:
        return DivisionByZeroError, InvalidArgumentError, NumberOverflowError
    exponent = node.operands[1]
    known = exponent.constant
    safe = not exponent.type.dtype.is_integer or (known is not None and bool(np.all(known >= 0)))
    return (() if safe else (InvalidArgumentError,)) + _overflow(node)


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))  # at most 1, so nothing overflows
    return (np.where(x >= 0, x.dtype.type(1), e) / (1 + e)).astype(x.dtype, copy=False)


def _softplus(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x)))


_erf_objects = np.frompyfunc(math.erf, 1, 1)
_erfc_objects = np.frompyfunc(math.erfc, 1, 1)


def _erf(x: Any) -> Any:
    return np.asarray(_erf_objects(x)).astype(x.dtype)


def _erfc(x: Any) -> Any:
    return np.asarray(_erfc_objects(x)).astype(x.dtype)


_ERFINV_NEAR: Final = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                       -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)
_ERFINV_FAR: Final = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                      -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)


def _erfinv(x: Any) -> Any:
    """M. Giles, "Approximating the erfinv function" (2010), refined by Newton's method to double precision."""
    y = np.asarray(np.abs(x), np.float64)
    w = -np.log((1 - y) * (1 + y))
    guess = y * np.where(w < 5, np.polyval(_ERFINV_NEAR, w - 2.5), np.polyval(_ERFINV_FAR, np.sqrt(w) - 3))
    for _ in range(4):
        rest = _erfc(guess)
        # of erf, or of log(erfc), so that neither y nor 1 - y loses digits
        error = np.where(y < 0.5, y - _erf(guess), np.log(rest / (1 - y)) * rest)
        guess = guess + error * (math.sqrt(math.pi) / 2) * np.exp(guess * guess)
    return np.copysign(np.where(y == 1, np.inf, guess), x).astype(x.dtype)


def _divisor_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in REAL:
        for left, right in (((), ()), ((3,), ()), ((2, 1), (3,)), ((0, 3), (1, 1))):
            yield (random_array(rng, dtype, left), random_array(rng, dtype, right, 1, 4)), {}


def _pow_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in NUMERIC:
        for left, right in (((), ()), ((3,), ()), ((2, 1), (3,)), ((0, 3), (1, 1))):
            yield (random_array(rng, dtype, left, 0, 4), random_array(rng, dtype, right, 0, 3)), {}


# Arithmetic.

add = binary("add", np.add, NUMERIC, errors=_overflow, doc="x + y, element-wise (`tf.add`).")
subtract = binary("subtract", np.subtract, NUMERIC, errors=_overflow, doc="x - y, element-wise (`tf.subtract`).")
multiply = binary("multiply", np.multiply, NUMERIC, errors=_overflow, doc="x * y, element-wise (`tf.multiply`).")
_divide = binary("divide", np.true_divide, INEXACT, doc="x / y, element-wise, of floats or complex numbers.")
floordiv = binary("floordiv", _floordiv, REAL, samples=_divisor_samples, errors=_floordiv_errors, doc="""\
The floor of x / y, element-wise, as Python's `//` (`tf.math.floordiv`).

DivisionByZeroError if integers are divided by zero.""")
mod = binary("mod", _mod, REAL, samples=_divisor_samples, errors=_division_errors, doc="""\
x modulo y, element-wise, with the sign of y as Python's `%` (`tf.math.floormod`).

DivisionByZeroError if integers are divided by zero.""")
pow = binary("pow", _pow, NUMERIC, samples=_pow_samples, errors=_pow_errors, doc="""\
x to the power y, element-wise (`tf.pow`).

InvalidArgumentError for an integer to a negative integer power. The derivative by y is 0 where x is not positive; that
of x ** 0 by x is 0, also at x = 0.""")
maximum = binary("maximum", np.maximum, REAL, doc="""\
The greater of x and y, element-wise (`tf.maximum`). Where they are equal, x has the derivative.""")
minimum = binary("minimum", np.minimum, REAL, doc="""\
The smaller of x and y, element-wise (`tf.minimum`). Where they are equal, x has the derivative.""")
_ATAN2: Final = binary("atan2", np.arctan2, FLOATS, doc="The angle of the point (y, x).").op
hypot = binary("hypot", np.hypot, FLOATS, doc="""\
The distance of the point (x, y) from 0, without overflow on the way. The derivative there is 0.""")
fmod = binary("fmod", np.fmod, FLOATS, doc="The remainder of x / y rounded towards zero: with the sign of x.")
copysign = binary("copysign", np.copysign, FLOATS, doc="The absolute value of x, with the sign of y.")
_NEXT_AFTER: Final = binary("next_after", np.nextafter, FLOATS, doc="The float next to x towards y.").op
gcd = binary("gcd", np.gcd, INTS, doc="The greatest common divisor of ints, element-wise (`numpy.gcd`).")
lcm = binary("lcm", np.lcm, INTS, doc="The least common multiple of ints, element-wise (`numpy.lcm`).")

negative = unary("negative", np.negative, NUMERIC, errors=_overflow, doc="-x (`tf.negative`).")
abs = unary("abs", np.abs, NUMERIC, real=True, errors=_overflow,
            doc="""\
The absolute value; of complex x the real modulus (`tf.abs`). The derivative at 0 is 0.""")
_sign = unary("sign", np.sign, REAL, doc="-1, 0 or 1 by the sign of x.")
floor = unary("floor", np.floor, FLOATS, doc="The greatest integer not above x (`tf.floor`).")
ceil = unary("ceil", np.ceil, FLOATS, doc="The least integer not below x (`tf.math.ceil`).")
rint = unary("rint", np.rint, FLOATS, doc="The nearest integer, halves to even (`tf.math.rint`).")

# Roots, exponentials and logarithms.

sqrt = unary("sqrt", np.sqrt, INEXACT, low=0, doc="""\
The square root (`tf.sqrt`). The derivative at 0 is infinite.""")
exp = unary("exp", np.exp, INEXACT, doc="e to the power x (`tf.exp`).")
expm1 = unary("expm1", np.expm1, INEXACT, doc="exp(x) - 1, exact near 0 (`tf.math.expm1`).")
log = unary("log", np.log, INEXACT, low=0.1, doc="The natural logarithm (`tf.math.log`).")
log1p = unary("log1p", np.log1p, INEXACT, low=-0.9, doc="log(1 + x), exact near 0 (`tf.math.log1p`).")
exp2 = unary("exp2", np.exp2, FLOATS, doc="2 to the power x.")
log2 = unary("log2", np.log2, FLOATS, low=0.1, doc="The logarithm to base 2.")
log10 = unary("log10", np.log10, FLOATS, low=0.1, doc="The logarithm to base 10.")
cbrt = unary("cbrt", np.cbrt, FLOATS, doc="The cube root. The derivative at 0 is infinite.")
sigmoid = unary("sigmoid", _sigmoid, FLOATS, doc="1 / (1 + exp(-x)) (`tf.sigmoid`).")
softplus = unary("softplus", _softplus, FLOATS, doc="log(1 + exp(x)), without overflow (`tf.math.softplus`).")
erf = unary("erf", _erf, FLOATS, doc="The error function (`tf.math.erf`).")
erfc = unary("erfc", _erfc, FLOATS, doc="1 - erf(x), exact for great x (`tf.math.erfc`).")
erfinv = unary("erfinv", _erfinv, FLOATS, low=-0.9, high=0.9, doc="The inverse of erf (`tf.math.erfinv`).")

# Trigonometry.

sin = unary("sin", np.sin, INEXACT, doc="The sine of x (`tf.sin`).")
cos = unary("cos", np.cos, INEXACT, doc="The cosine of x (`tf.cos`).")
tan = unary("tan", np.tan, INEXACT, low=-1.5, high=1.5, doc="The tangent of x (`tf.tan`).")
asin = unary("asin", np.arcsin, INEXACT, low=-0.9, high=0.9, doc="The inverse sine (`tf.asin`).")
acos = unary("acos", np.arccos, INEXACT, low=-0.9, high=0.9, doc="The inverse cosine (`tf.acos`).")
atan = unary("atan", np.arctan, INEXACT, doc="The inverse tangent (`tf.atan`).")
sinh = unary("sinh", np.sinh, INEXACT, doc="The hyperbolic sine (`tf.sinh`).")
cosh = unary("cosh", np.cosh, INEXACT, doc="The hyperbolic cosine (`tf.cosh`).")
tanh = unary("tanh", np.tanh, INEXACT, doc="The hyperbolic tangent (`tf.tanh`).")
asinh = unary("asinh", np.arcsinh, INEXACT, doc="The inverse hyperbolic sine (`tf.asinh`).")
acosh = unary("acosh", np.arccosh, INEXACT, low=1.1, doc="The inverse hyperbolic cosine (`tf.acosh`).")
atanh = unary("atanh", np.arctanh, INEXACT, low=-0.9, high=0.9, doc="The inverse hyperbolic tangent (`tf.atanh`).")


_STOP_GRADIENT = unary("stop_gradient", np.asarray, t.ALL, doc="x, as a constant to gradients.")


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The value of `input`, treated as a constant by derivatives (`tf.stop_gradient`)."""
    x = convert_to_tensor(input, strings=True)
    return x if x.dtype.is_string else _STOP_GRADIENT(x, name)


# Dtypes.

def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`x` in another dtype (`tf.cast`). Float to int truncates towards zero; complex to real keeps the real part. A
    sparse tensor stays sparse."""
    want = as_dtype(dtype)
    if hasattr(type(x), "__cast__"):
        return x.__cast__(want)  # type: ignore[no-any-return]
    value = convert_to_tensor(x, dtype_hint=want if want.level > 1 else None)  # Python's floats keep all of their bits
    if value.dtype is want and not value.type.weak:
        return value
    return named(_cast(value, want), name)


def _cast(x: Tensor, dtype: DType) -> Tensor:
    constant = x.value.constant if isinstance(x, GraphTensor) else None
    if constant is not None and not constant.ndim:  # stays a known constant
        return convert_to_tensor(CAST.kernel(constant, dtype=dtype))
    return apply_one(CAST, x, dtype=dtype)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` in another dtype, clipped to its range (`tf.saturate_cast`)."""
    x, want = convert_to_tensor(value), as_dtype(dtype)
    if want.is_floating and x.dtype.is_floating and want.size < x.dtype.size:
        return cast(maximum(minimum(x, _like(want.max, x)), _like(want.min, x)), want, name)
    if not want.is_integer or x.dtype.level not in (1, 2):
        return cast(x, want, name)
    low, high = want.limits
    if x.dtype.is_integer:
        bounds = x.dtype.limits
        return cast(maximum(minimum(x, min(high, bounds[1])), max(low, bounds[0])), want, name)
    # as floats the bounds may be rounded outwards: values beyond them become the bound itself
    inside = where(logical_or(less_equal(x, _like(low, x)), greater_equal(x, _like(high, x))), _like(0, x), x)
    kind = want.as_numpy_dtype
    result = where(less_equal(x, _like(low, x)), kind(low), cast(inside, want))
    return named(where(greater_equal(x, _like(high, x)), kind(high), result), name)


# Composed of the ops above.

_TO_FLOAT32 = (t.int8, t.int16, t.uint8, t.uint16)  # TF2's truediv converts these to float32, not float64


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, element-wise, as Python's `/` (`tf.truediv`).

    Integers become floats first: float32 for 8 and 16 bits, else float64.
    """
    if not (_is_inexact(x) or _is_inexact(y)):
        x, y = _as_floats(x, y)
    return _divide(x, y, name)


def _is_inexact(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fc"
    return x.dtype.level >= 2 if isinstance(x, Tensor) else type(x) in (float, complex)


def _as_floats(x: Any, y: Any) -> tuple[Any, Any]:
    """Converts int operands of `/`, neither of them a float or float tensor, to floats."""
    if (found := _arrays_as_floats(x, y)) is not None:
        return found
    hint = next((v.dtype for v in (x, y) if isinstance(v, Tensor)), None)
    x, y = (v if isinstance(v, int) else convert_to_tensor(v) if hint is None else convert_beside(v, hint)
            for v in (x, y))
    strong = [v.dtype for v in (x, y) if isinstance(v, Tensor) and not v.type.weak]
    differ = len(set(strong)) > 1
    if any(dtype.level != 1 for dtype in strong) or (differ and not any(
            isinstance(v, GraphTensor) and is_of_arrays(v.type) for v in (x, y))):
        return x, y  # floats; or operands that `divide` refuses
    if not strong:  # made of Python numbers alone, and stays weak
        return tuple(apply(CAST, v, dtype=t.float32, weak=True) if isinstance(v, Tensor) else float(v)
                     for v in (x, y))  # type: ignore[return-value]
    dtype = t.float32 if strong[0] in _TO_FLOAT32 and not differ else t.float64
    return tuple(_cast(v, dtype) if isinstance(v, Tensor) else v for v in (x, y))  # type: ignore[return-value]


def _arrays_as_floats(x: Any, y: Any) -> tuple[Any, Any] | None:
    """The operands of `/` as floats, if they are ints or bools of arrays, or these and a number; None for others."""
    if type(x) is int and stands_for_array(y):  # the int need not fit the dtype of the array
        return float(x), _float64(y, y.dtype)
    if type(y) is int and stands_for_array(x):
        return _float64(x, x.dtype), float(y)
    arrays = promoted_arrays([x, y], joins=False)
    return None if arrays is None else (_float64(arrays[0], arrays[0].dtype), _float64(arrays[1], arrays[0].dtype))


def _float64(x: Tensor, dtype: DType) -> Tensor:
    """An operand of `/` of ints or bools of arrays, whose common dtype is `dtype`, as float64."""
    if dtype.is_bool or dtype in _TO_FLOAT32:
        need_objects(located(DTypeError(f"arrays of {dtype.name} are divided here")))
    return _cast(x, t.float64)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, element-wise: `truediv` (`tf.divide`)."""
    return truediv(x, y, name)


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, but 0 where y is 0 (`tf.math.divide_no_nan`)."""
    dtype = getattr(x, "dtype", None)
    y = convert_to_tensor(y, dtype_hint=t.float32) if dtype is None else convert_beside(y, t.as_dtype(dtype))
    zero = equal(y, 0)
    quotient = truediv(x, where(zero, _like(1, y), y))
    return named(where(zero, _like(0, quotient), quotient), name)


def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of x; of complex x, x / abs(x), and 0 for 0 (`tf.sign`)."""
    if not (x.dtype.is_complex if isinstance(x, Tensor) else np.iscomplexobj(x)):
        return _sign(x, name)
    x = convert_to_tensor(x)
    return divide_no_nan(x, cast(abs(x), x.dtype), name)


def _like(value: complex, x: Tensor) -> Tensor:
    """The scalar `value` in the dtype of `x`."""
    return convert_to_tensor(x.dtype.as_numpy_dtype(value))


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), element-wise, of floats (`tf.atan2`)."""
    return named(apply_one(_ATAN2, y, x), name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The float next to x1 towards x2, element-wise (`tf.math.nextafter`)."""
    return named(apply_one(_NEXT_AFTER, *matching(x1, x2)), name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards zero, element-wise, as in C (`tf.truncatediv`). DivisionByZeroError for ints."""
    quotient = floordiv(x, y)
    if not quotient.dtype.is_integer:
        quotient = truediv(x, y)
        return named(where(less(quotient, 0), ceil(quotient), floor(quotient)), name)
    is_below = logical_and(not_equal(multiply(quotient, y), x), less(quotient, 0))
    return add(quotient, cast(is_below, quotient.dtype), name)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y * truncatediv(x, y), element-wise: with the sign of x, as in C (`tf.truncatemod`). DivisionByZeroError for
    ints."""
    quotient = truncatediv(x, y)
    return subtract(x, multiply(quotient, y), name) if quotient.dtype.is_integer else fmod(x, y, name)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """x times a scalar, element-wise (`tf.scalar_mul`). ShapeError if that is none."""
    if np.ndim(scalar) if not isinstance(scalar, Tensor) else scalar.ndim:
        raise located(ShapeError(f"scalar_mul takes a scalar, not {convert_to_tensor(scalar).type}"))
    return multiply(scalar, x, name)


def square(x: Any, name: str | None = None) -> Tensor:
    """x * x (`tf.square`)."""
    x = convert_to_tensor(x)
    return multiply(x, x, name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """|x - y|², element-wise, in their dtype (`tf.math.squared_difference`)."""
    difference = subtract(x, y)
    if difference.dtype.is_complex:
        return cast(square(abs(difference)), difference.dtype, name)
    return square(difference, name)


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x, of floats (`tf.math.reciprocal`)."""
    return _divide(1, convert_to_tensor(x), name)


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x) (`tf.math.rsqrt`)."""
    return reciprocal(sqrt(x), name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """`t` clipped to at least `clip_value_min` and at most `clip_value_max` (`tf.clip_by_value`).

    The derivative with respect to `t` is 1 at the bounds, too. Of `IndexedSlices` the rows' values are clipped."""
    if hasattr(type(t), "__with_rows__"):
        return t.__with_rows__(clip_by_value(t.values, clip_value_min, clip_value_max, name))  # type: ignore[no-any-return]
    return maximum(minimum(t, clip_value_max), clip_value_min, name)


def round(x: Any, ndigits: int = 0, name: str | None = None) -> Tensor:
    """The nearest integer, halves to even (`tf.round`); with `ndigits` to that many decimals, like Python's `round`."""
    value = convert_to_tensor(x)
    if value.dtype.is_integer and ndigits >= 0:
        return value
    if not ndigits:
        return rint(value, name)
    if value.dtype.is_integer:
        raise DTypeError(f"round does not take a negative ndigits for {value.dtype.name}")
    scale = 10.0 ** builtins.abs(ndigits)
    if ndigits > 0:
        return _divide(rint(multiply(value, scale)), scale, name)
    return multiply(rint(_divide(value, scale)), scale, name)


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Whether x is NaN, element-wise (`tf.math.is_nan`)."""
    x = _float(x, "is_nan")
    return not_equal(x, x, name)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Whether x is infinite, element-wise (`tf.math.is_inf`)."""
    return equal(abs(_float(x, "is_inf")), math.inf, name)


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN, element-wise (`tf.math.is_finite`)."""
    return less(abs(_float(x, "is_finite")), math.inf, name)


def _float(x: Any, op: str) -> Tensor:
    value = convert_to_tensor(x)
    check_dtype(op, value.dtype, FLOATS)
    return value


def _dividing(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator for `function`; also raises for a division by zero of values derived from Python numbers."""

    def operator(x: Any, y: Any) -> Any:
        if _is_pythons(x) and _is_pythons(y) and (function is truediv or _is_inexact(x) or _is_inexact(y)):
            _check_divisor(y)
        arrays = None if function is truediv or (isinstance(y, (int, float)) and y) else promoted_arrays([x, y], False)
        return function(x, y) if arrays is None or not arrays[0].dtype.is_integer else _unless_zero(function, *arrays)

    return operator


def _power(x: Any, y: Any) -> Tensor:
    """`x ** y`, which for ints of arrays and a negative y is a ValueError, as in NumPy."""
    arrays = None if isinstance(y, (int, float)) and y >= 0 else promoted_arrays([x, y], False)
    if arrays is None or not arrays[0].dtype.is_integer or 0 in arrays[0].type.shape:
        return pow(x, y)
    raise_unless(greater_equal(arrays[1], 0).all(), located(InvalidNumberError(
        "Integers to negative integer powers are not allowed.",
        remedy="Make the base an array of floats: a.astype(float) ** n, or np.float_power(a, n).")))
    return pow(arrays[0], arrays[1])


def _positive(x: Any) -> Any:
    """`+x`: a tensor itself, and of an array a copy."""
    if stands_for_array(x) and x.dtype.is_bool:
        raise located(DTypeError("`+` does not take an array of bools, as in NumPy", remedy="Use x.astype(int)."))
    return convert_to_tensor(x)


def _absolute(x: Any) -> Any:
    """`abs(x)`; bools of arrays are their own absolute values, as in NumPy."""
    return convert_to_tensor(x) if stands_for_array(x) and x.dtype.is_bool else abs(x)


def _unless_zero(function: Callable[..., Tensor], x: Tensor, y: Tensor) -> Tensor:
    """The quotient or remainder of ints of arrays, which is 0 where the divisor is, as in NumPy."""
    is_zero = equal(y, 0)
    found: Tensor = where(is_zero, 0, function(x, where(is_zero, 1, y)))
    return found


def _is_pythons(x: Any) -> bool:
    return x.type.weak if isinstance(x, GraphTensor) else isinstance(x, (int, float))


def _check_divisor(y: Any) -> None:
    if isinstance(y, GraphTensor):
        error = DivisionByZeroError("division by zero")
        locate(error, user_position())
        raise_unless(not_equal(y, 0), error)
    elif not y:
        raise ZeroDivisionError("division by zero")


# Combined with numbers, bools are the numbers 0 and 1, as in Python.

_OF_PYTHON: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "left_shift": operator.lshift,
    "right_shift": operator.rshift, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
}


def _with_numbers(name: str, x: Any, y: Any) -> Any:
    """The operator `name` for two operands, at least one of dtype bool.

    A bool scalar is treated as a Python int, weak in a graph. Bools of higher rank take the dtype of the numbers that
    they are combined with; if both operands are bools, the operator decides whether it accepts them. Arrays and their
    elements follow NumPy.
    """
    arrays = promoted_arrays([x, y], joins=False)
    x, y = _operand(x), _operand(y)
    if arrays is not None:
        if name == "pow" and type(y) is int and y == 2 and _is_bool(x) and _rank(x):
            return _cast(x, t.int8)  # NumPy squares it
        return of_bool_arrays(name, *arrays) if arrays[0].dtype.is_bool else _OF_PYTHON[name](*arrays)
    if _is_bool(x) and _is_bool(y) and (name in ("equal", "not_equal") or _rank(x) or _rank(y)):
        return getattr(OPERATIONS, name)(x, y)
    return _OF_PYTHON[name](_number(x, y), _number(y, x))


def of_bool_arrays(name: str, x: Tensor, y: Tensor) -> Any:
    """An operator for two bool arrays: as in NumPy `+` and `*` are `or` and `and`, and most others take ints."""
    if name in ("equal", "not_equal"):
        return getattr(OPERATIONS, name)(x, y)
    if name == "subtract":
        raise located(DTypeError("numpy boolean subtract, the `-` operator, is not supported",
                                 remedy="Use `x ^ y`, or np.logical_xor(x, y)."))
    need_objects(located(DTypeError(f"{name} does not take bool")))
    if name in _OF_BOOLS:
        return _OF_BOOLS[name](x, y)
    kind = t.float64 if name == "truediv" else t.int8
    return _OF_PYTHON[name](_cast(x, kind), _cast(y, kind))


_OF_BOOLS: Final[Mapping[str, Callable[[Any, Any], Tensor]]] = {
    "add": logical_or, "multiply": logical_and, "maximum": logical_or, "minimum": logical_and}


def _operand(x: Any) -> Any:
    return x if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic) else convert_to_tensor(x)


def _is_bool(x: Any) -> bool:
    return x.dtype.is_bool if isinstance(x, Tensor) else isinstance(x, bool)


def _rank(x: Any) -> int:
    return x.ndim if isinstance(x, Tensor) else 0


def _number(x: Any, other: Any) -> Any:
    """The operand as numbers, in the dtype that suits the other one."""
    if not _is_bool(x):
        return x
    if isinstance(x, Tensor) and x.ndim:
        if isinstance(other, Tensor):
            return apply(CAST, x, dtype=other.dtype, **({"weak": True} if other.type.weak else {}))
        return apply(CAST, x, dtype=as_dtype(type(other)))
    return apply(CAST, x, dtype=t.int32, weak=True) if isinstance(x, GraphTensor) else int(x)


OPERATIONS.define(
    add=add, subtract=subtract, multiply=multiply, truediv=_dividing(truediv), floordiv=_dividing(floordiv),
    mod=_dividing(mod), pow=_power, negative=negative, positive=_positive, abs=_absolute, round=round,
    with_numbers=_with_numbers,
)
