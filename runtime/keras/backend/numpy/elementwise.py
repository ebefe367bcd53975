"""Functions of one array, element by element: mathematics, rounding, predicates and complex numbers."""
from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.promotion import agreed, by_numbers, floating, floats, in_dtype, result, tensor
from runtime.ops import complex_numbers, logic, math, reduction

__all__ = [
    "abs",
    "absolute",
    "allclose",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "cos",
    "cosh",
    "deg2rad",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "i0",
    "imag",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "log",
    "log1p",
    "log2",
    "log10",
    "nan_to_num",
    "negative",
    "rad2deg",
    "real",
    "reciprocal",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]


def _of_floats(function: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    return lambda x: function(floating(x))


arccos = _of_floats(math.acos)
arccosh = _of_floats(math.acosh)
arcsin = _of_floats(math.asin)
arcsinh = _of_floats(math.asinh)
arctan = _of_floats(math.atan)
arctanh = _of_floats(math.atanh)
cbrt = _of_floats(math.cbrt)
cos = _of_floats(math.cos)
cosh = _of_floats(math.cosh)
exp = _of_floats(math.exp)
exp2 = _of_floats(math.exp2)
expm1 = _of_floats(math.expm1)
log = _of_floats(math.log)
log10 = _of_floats(math.log10)
log1p = _of_floats(math.log1p)
log2 = _of_floats(math.log2)
reciprocal = _of_floats(math.reciprocal)
sin = _of_floats(math.sin)
sinh = _of_floats(math.sinh)
sqrt = _of_floats(math.sqrt)
tan = _of_floats(math.tan)
tanh = _of_floats(math.tanh)
deg2rad = _of_floats(lambda x: x * (pi / 180))
rad2deg = _of_floats(lambda x: x * (180 / pi))


@_of_floats
def sinc(x: Tensor) -> Tensor:
    scaled = x * pi
    zero = logic.equal(scaled, 0)
    divisor = logic.where(zero, rnp.ones_like(scaled), scaled)
    return logic.where(zero, 1 - scaled * scaled / 6, math.sin(divisor) / divisor)  # the series gives derivatives at 0


_SMALL = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
_LARGE = (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377)


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total  # type: ignore[no-any-return]


@_of_floats
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of order 0 (Abramowitz and Stegun, "Handbook of Mathematical Functions", 9.8.1 and
    9.8.2)."""
    wide = in_dtype(x, result(x.dtype.name, "float32"))
    size = math.abs(wide)
    near = math.minimum(size, 3.75) / 3.75
    far = math.maximum(size, 3.75)
    large = math.exp(far) / math.sqrt(far) * _polynomial(3.75 / far, _LARGE)
    return in_dtype(logic.where(size < 3.75, _polynomial(near * near, _SMALL), large), x.dtype.name)


# Signs and sizes.

def absolute(x: Any) -> Tensor:
    x = tensor(x)
    return x if x.dtype.is_bool or x.dtype.is_unsigned else math.abs(x)


abs = absolute


def fabs(x: Any) -> Tensor:
    return math.abs(floating(x))


def negative(x: Any) -> Tensor:
    x = tensor(x)
    return logic.logical_not(x) if x.dtype.is_bool else math.negative(x)


def sign(x: Any) -> Tensor:
    x = tensor(x)
    if x.dtype.is_complex:
        size = math.abs(x)
        return math.divide(x, math.cast(logic.where(logic.equal(size, 0), rnp.ones_like(size), size), x.dtype))
    return by_numbers(math.sign, x)  # type: ignore[no-any-return]


def signbit(x: Any) -> Tensor:
    x = tensor(x)
    if not x.dtype.is_floating:
        return logic.less(in_dtype(x, "int32") if x.dtype.is_bool else x, 0)
    return logic.less(math.copysign(rnp.ones_like(x), x), 0)


def square(x: Any) -> Tensor:
    x = tensor(x)
    return math.square(in_dtype(x, "int32") if x.dtype.is_bool else x)


def clip(x: Any, x_min: Any, x_max: Any) -> Tensor:
    x = tensor(x)
    name = "int32" if x.dtype.is_bool else x.dtype.name
    x, low, high = (in_dtype(v if isinstance(v, Tensor) or type(v) in (int, float) else tensor(v), name)
                    if not (type(v) is float and not x.dtype.is_floating) else v for v in (x, x_min, x_max))
    if isinstance(low, float) or isinstance(high, float):  # bounds with fractions, for integers
        x, low, high = agreed(x, low, high)
    return math.minimum(math.maximum(x, low), high)


# Rounding.

ceil = _of_floats(math.ceil)
floor = _of_floats(math.floor)


def trunc(x: Any) -> Tensor:
    x = tensor(x)
    if not x.dtype.is_floating:
        return x  # type: ignore[no-any-return]
    return logic.where(x < 0, math.ceil(x), math.floor(x))


def round(x: Any, decimals: int = 0) -> Tensor:
    x = tensor(x)
    if x.dtype.is_bool:
        x = in_dtype(x, "int32")
    if x.dtype.is_integer:
        if decimals >= 0:
            return x  # type: ignore[no-any-return]
        factor = 10 ** -decimals
        return in_dtype(math.rint(in_dtype(x, "float64") / factor) * factor, x.dtype.name)
    if not decimals:
        return math.rint(x)
    wide = in_dtype(x, result(x.dtype.name, "float32"))
    return in_dtype(math.rint(wide * 10.0 ** decimals) / 10.0 ** decimals, x.dtype.name)


# Predicates.

def _same_for_ints(function: Callable[[Any], Tensor], of_ints: bool) -> Callable[[Any], Tensor]:
    def asked(x: Any) -> Tensor:
        x = tensor(x)
        if x.dtype.level >= 2:
            return function(x)
        return rnp.ones_like(x, bool) if of_ints else rnp.zeros_like(x, bool)

    return asked


def _either_part(function: Callable[[Any], Tensor]) -> Callable[[Any], Tensor]:
    def asked(x: Tensor) -> Tensor:
        if not x.dtype.is_complex:
            return function(x)
        return logic.logical_or(function(complex_numbers.real(x)), function(complex_numbers.imag(x)))

    return asked


isnan = _same_for_ints(_either_part(math.is_nan), of_ints=False)
isinf = _same_for_ints(_either_part(math.is_inf), of_ints=False)
isfinite = _same_for_ints(lambda x: logic.logical_not(logic.logical_or(isnan(x), isinf(x))), of_ints=True)
isposinf = _same_for_ints(lambda x: logic.equal(x, np.inf), of_ints=False)
isneginf = _same_for_ints(lambda x: logic.equal(x, -np.inf), of_ints=False)


def isreal(x: Any) -> Tensor:
    x = tensor(x)
    return logic.equal(complex_numbers.imag(x), 0) if x.dtype.is_complex else rnp.ones_like(x, bool)


def isclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    x, y = floats(x1, x2)
    return rnp.isclose(x, y, rtol, atol, equal_nan)


def allclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    return reduction.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    x = tensor(x)
    if x.dtype.level < 2:
        return x  # type: ignore[no-any-return]
    most = float(x.dtype.max)
    found = logic.where(math.is_nan(x), in_dtype(nan, x.dtype.name), x)
    high = in_dtype(most if posinf is None else posinf, x.dtype.name)
    low = in_dtype(-most if neginf is None else neginf, x.dtype.name)
    return logic.where(isneginf(x), low, logic.where(isposinf(x), high, found))


# Complex numbers.

def real(x: Any) -> Tensor:
    return complex_numbers.real(tensor(x))


def imag(x: Any) -> Tensor:
    x = tensor(x)
    return complex_numbers.imag(x) if x.dtype.is_complex else rnp.zeros_like(x)


def conjugate(x: Any) -> Tensor:
    x = tensor(x)
    return complex_numbers.conj(x) if x.dtype.is_complex else x


conj = conjugate


def angle(x: Any) -> Tensor:
    x = floating(x)
    return complex_numbers.angle(x) if x.dtype.is_complex else math.atan2(rnp.zeros_like(x), x)
