"""NumPy's universal functions on tensors, by NumPy's names. Those on floats accept ints, too: of tensors as in `/`, of
arrays as NumPy does."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.core.errors import DTypeError
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, holds_tensor, promoted_arrays
from runtime.core.types import int32, int64, uint8
from runtime.numpy.arrays import astype, floats, inexact, operands, together
from runtime.numpy.reductions import is_array
from runtime.ops import complex_numbers, creation, logic, math

__all__ = ["UFUNCS"]

Function = Callable[..., Any]


def _of_floats(function: Function) -> Function:
    return lambda x: function(inexact(x))


def _both_floats(function: Function) -> Function:
    return lambda x, y: function(*map(inexact, promoted_arrays([x, y], False) or floats(x, y)))


def _operator(name: str, reflected: str = "") -> Function:
    """An operator of tensors that also handles array arguments (`runtime.core.tensor_writes`)."""
    forward, backward = f"__{name}__", reflected or f"__r{name}__"

    def operate(x: Any, y: Any) -> Any:
        x, y = (np.asarray(v) if isinstance(v, (list, tuple)) and not holds_tensor(v) else v for v in (x, y))
        if isinstance(x, Tensor):
            return getattr(x, forward)(y)
        return getattr(y, backward)(x)

    return operate


def _equality(name: str) -> Function:
    def compare(x: Any, y: Any) -> Any:
        return getattr(OPERATIONS, name)(x, y) if isinstance(x, Tensor) else getattr(OPERATIONS, name)(y, x)

    return compare


def _whole(function: Function) -> Function:
    """A rounding function, which returns ints unchanged."""
    def rounded(x: Any) -> Any:
        x = convert_to_tensor(x)
        return x if x.dtype.level < 2 else function(x)

    return rounded


def _truth(function: Function, of_ints: bool) -> Function:
    """A predicate of floats, which has one constant answer for all ints. If that is true, it holds for a complex number
    if it does for both parts, else for either."""
    def asked(x: Any) -> Any:
        x = convert_to_tensor(x)
        if x.dtype.is_complex:
            parts = function(complex_numbers.real(x)), function(complex_numbers.imag(x))
            return logic.logical_and(*parts) if of_ints else logic.logical_or(*parts)
        return function(x) if x.dtype.level >= 2 else logic.equal(x, x) if of_ints else logic.not_equal(x, x)

    return asked


def _logical(function: Function) -> Function:
    return lambda *xs: function(*[astype(x, bool) for x in xs])


def _unless_nan(function: Function) -> Function:
    """The operand that is a number, if the other is NaN; otherwise `function` of both."""
    def chosen(x: Any, y: Any) -> Any:
        x, y = operands(x, y)
        if x.dtype.level < 2:
            return function(x, y)
        return logic.where(math.is_nan(x), y, logic.where(math.is_nan(y), x, function(x, y)))

    return chosen


def _extreme(function: Function) -> Function:
    """`maximum` or `minimum`, which of bool arrays is `or` or `and`."""
    def chosen(x: Any, y: Any) -> Any:
        arrays = promoted_arrays([x, y], False)
        return math.of_bool_arrays(function.__name__, *arrays) if arrays and arrays[0].dtype.is_bool else function(x, y)

    return chosen


def _fmod(x: Any, y: Any) -> Any:
    x, y = operands(x, y)
    if x.dtype.level >= 2 or y.dtype.level >= 2:
        x, y = floats(x, y)
        return math.fmod(x, y)
    rest = x % y
    return logic.where(logic.logical_and(logic.not_equal(rest, 0), logic.not_equal(x < 0, y < 0)), rest - y, rest)


def _logaddexp(x: Any, y: Any) -> Any:
    distance = logic.where(logic.equal(x, y), 0, math.abs(x - y))  # of equal infinities it is nan
    return math.maximum(x, y) + math.log1p(math.exp(-distance))


def _reciprocal(x: Any) -> Any:
    """1 / x, of ints without the fraction; of 0 of an array what this machine's NumPy makes of that."""
    x = convert_to_tensor(x)
    if x.dtype.level >= 2:
        return 1 / x
    found = logic.where(x < -1, 0, 1 // x)
    if not is_array(x):
        return found
    with np.errstate(all="ignore"):
        return logic.where(logic.equal(x, 0), np.reciprocal(x.dtype.np.type(0)), found)


def _trunc(x: Any) -> Any:
    return logic.where(x < 0, math.ceil(x), math.floor(x))


def _bitwise_count(x: Any) -> Any:
    """How many bits of the absolute value are 1."""
    x = convert_to_tensor(x)
    rest: Any = math.abs(x)
    found: Any = 0
    for _ in range(x.dtype.size * 8):
        found, rest = found + rest % 2, rest // 2
    return astype(found, uint8)


def _heaviside(x: Any, at_zero: Any) -> Any:
    x = inexact(x)
    return logic.where(x < 0, 0.0, logic.where(x > 0, 1.0, logic.where(math.is_nan(x), x, at_zero)))


def _modf(x: Any) -> tuple[Any, Any]:
    x = inexact(x)
    whole = _trunc(x)
    return math.copysign(logic.where(math.is_inf(x), creation.zeros_like(x), x - whole), x), whole


def _scaled(x: Any, exponent: Any) -> Any:
    """`x` times 2 to a whole power, in two steps, as the power alone may not be finite."""
    half = math.floor(exponent / 2)
    return x * math.exp2(half) * math.exp2(exponent - half)


def _frexp(x: Any) -> tuple[Any, Any]:
    x = inexact(x)
    is_plain = _is_plain(x)
    size = math.abs(logic.where(is_plain, x, creation.ones_like(x)))
    exponent = math.floor(math.log2(size)) + 1
    share = _scaled(size, -exponent)
    exponent = exponent + astype(share >= 1, x.dtype) - astype(share < 0.5, x.dtype)  # the logarithm is rounded
    found = math.copysign(_scaled(size, -exponent), x)
    return logic.where(is_plain, found, x), astype(logic.where(is_plain, exponent, 0 * exponent), int32)


def _ldexp(x: Any, exponent: Any) -> Any:
    x, exponent = inexact(x), convert_to_tensor(exponent)
    if exponent.dtype.level > 1:
        raise located(DTypeError(f"np.ldexp takes exponents that are ints, not {exponent.dtype.name}",
                                 remedy="Cast them, n.astype(int), or write x * 2.0 ** n."))
    power = math.maximum(math.minimum(astype(exponent, int64), _MOST), -_MOST)
    return logic.where(_is_plain(x), _scaled(x, astype(power, x.dtype)), x)


_MOST: Final = 4400
"""An exponent of 2 by which each float becomes 0 or infinite, and of which half does no more."""


def _is_plain(x: Any) -> Any:
    """Whether a float is neither 0 nor infinite nor NaN."""
    return logic.logical_and(logic.not_equal(x, 0), math.is_finite(x))


def _vecdot(x: Any, y: Any) -> Any:
    x, y = operands(x, y)
    return (complex_numbers.conj(x)[..., None, :] @ y[..., None])[..., 0, 0]


_DEGREES: Final = 180 / np.pi

_FUNCTIONS: Final[dict[str, Function]] = {
    "add": _operator("add"), "subtract": _operator("sub"), "multiply": _operator("mul"),
    "divide": _operator("truediv"), "true_divide": _operator("truediv"), "floor_divide": _operator("floordiv"),
    "remainder": _operator("mod"), "mod": _operator("mod"), "power": _operator("pow"), "pow": _operator("pow"),
    "divmod": _operator("divmod"), "fmod": _fmod, "float_power": _both_floats(math.pow),
    "bitwise_and": _operator("and"), "bitwise_or": _operator("or"), "bitwise_xor": _operator("xor"),
    "left_shift": _operator("lshift"), "right_shift": _operator("rshift"),
    "bitwise_left_shift": _operator("lshift"), "bitwise_right_shift": _operator("rshift"),
    "invert": operator.invert, "bitwise_not": operator.invert, "bitwise_invert": operator.invert,
    "less": _operator("lt", "__gt__"), "less_equal": _operator("le", "__ge__"),
    "greater": _operator("gt", "__lt__"), "greater_equal": _operator("ge", "__le__"),
    "equal": _equality("equal"), "not_equal": _equality("not_equal"),
    "logical_and": _logical(logic.logical_and), "logical_or": _logical(logic.logical_or),
    "logical_xor": _logical(logic.logical_xor), "logical_not": _logical(logic.logical_not),
    "maximum": _extreme(math.maximum), "minimum": _extreme(math.minimum),
    "fmax": _unless_nan(_extreme(math.maximum)), "fmin": _unless_nan(_extreme(math.minimum)),
    "negative": operator.neg, "positive": operator.pos, "absolute": abs, "abs": abs,
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
    "copysign": _both_floats(math.copysign), "nextafter": _both_floats(math.nextafter),
    "bitwise_count": _bitwise_count, "gcd": math.gcd, "lcm": math.lcm, "heaviside": _heaviside,
    "degrees": lambda x: inexact(x) * _DEGREES, "rad2deg": lambda x: inexact(x) * _DEGREES,
    "radians": lambda x: inexact(x) / _DEGREES, "deg2rad": lambda x: inexact(x) / _DEGREES,
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(_trunc), "rint": _of_floats(math.rint),
    "isnan": _truth(math.is_nan, False), "isinf": _truth(math.is_inf, False), "isfinite": _truth(math.is_finite, True),
    "signbit": lambda x: math.copysign(creation.ones_like(inexact(x)), inexact(x)) < 0,
    "matmul": lambda x, y: operator.matmul(*together(x, y)), "vecdot": _vecdot, "modf": _modf, "frexp": _frexp,
    "ldexp": _ldexp,
}


def _in_loop_dtypes(name: str) -> Function:
    """The ufunc of that name, whose operands are cast, if these are arrays, to the dtypes in which NumPy computes."""
    ufunc: Any = getattr(np, name, None)
    function = _FUNCTIONS[name]
    if not hasattr(ufunc, "resolve_dtypes"):  # before NumPy 1.25, or NumPy has the function by another name
        return function

    def computed(*operands: Any) -> Any:
        if not any(map(is_array, operands)):
            return function(*operands)
        values = [np.asarray(x) if isinstance(x, (list, tuple)) and not holds_tensor(x) else x for x in operands]
        kinds = [*map(_kind, values)]
        if any(kind is None for kind in kinds):
            return function(*operands)
        try:
            dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
        except TypeError as error:
            raise located(DTypeError(str(error), remedy="Give other dtypes, for example a.astype(float).")) from None
        return function(*map(_in_dtype, values, kinds, dtypes))

    return computed


def _in_dtype(x: Any, kind: Any, dtype: np.dtype[Any]) -> Any:
    """An operand in a dtype of NumPy's choice; ints of Python's beside ints need not fit it."""
    if kind == dtype if isinstance(kind, np.dtype) else dtype.kind not in "fc":
        return x
    return astype(x, dtype) if isinstance(x, Tensor) else np.asarray(x, dtype)


def _kind(x: Any) -> Any:
    """The dtype of an operand as NumPy sees it, or the type of a number of Python's; None for a tensor."""
    if isinstance(x, GraphTensor):
        if x.type.weak:
            return _NUMBERS[x.dtype.level]
        return x.dtype.np if is_array(x) and not x.dtype.is_narrow and x.dtype.level >= 0 else None
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype if x.dtype.kind in "biufc" else None
    return np.dtype(bool) if type(x) is bool else type(x) if type(x) in _NUMBERS else None


_NUMBERS: Final = bool, int, float, complex
"""The types of Python's numbers, by the level of their dtype."""

UFUNCS: Final[dict[str, Function]] = {name: _in_loop_dtypes(name) for name in _FUNCTIONS}
"""By the name of a NumPy ufunc (also in the array API): its implementation for tensors."""
