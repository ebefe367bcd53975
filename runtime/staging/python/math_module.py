"""Functions of Python's `math` on tensors in converted code: results and errors as in Python, staged.

As in Python, they take a tensor with one element for a float or int, and return a float or an int, of 64 bits at run
time (`widen_python_numbers`). Where Python raises, because the result is NaN though the operands are not, or infinite
though they are finite, the graph raises, too.
"""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from runtime.core.errors import locate
from runtime.core.formatting import message_of
from runtime.core.op import CAST
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, capture, convert_to_tensor, current_graph, wrap
from runtime.core.types import float64
from runtime.ops import math as ops
from runtime.ops.effects import raise_unless
from runtime.ops.logic import equal, greater_equal, less, less_equal, logical_and, logical_not, logical_or, not_equal
from runtime.ops.logic import where as _where
from runtime.ops.python_math import FLOAT_FUNCTIONS
from runtime.staging.python.builtins import BUILTINS, of_values
from runtime.staging.values.generators import listed
from runtime.staging.values.iterables import Staged, StagedRange, stages
from runtime.staging.values.list import fold, fold_while

__all__ = ["MATH", "captured", "check", "number", "operands", "replacement"]

Function = Callable[..., Any]

_int: Final = BUILTINS[int]


def captured(x: Any) -> Any:
    """A number, as a graph tensor."""
    graph = current_graph()
    assert graph is not None, "an argument is staged"
    return wrap(capture(graph, x))


def _float(x: Any) -> Any:
    """A float, as a graph tensor."""
    return captured(BUILTINS[float](x))


def check(holds: Any, kind: type[Exception], text: Any) -> None:
    """Emit a check that raises Python's error unless the bool `holds`."""
    error = kind(text)
    locate(error, user_position())
    raise_unless(holds, error)


_DOMAIN: Final = "math domain error"


def _domain(result: Any, *operands: Any, text: Any = _DOMAIN) -> None:
    """ValueError for a NaN result of operands that are not NaN."""
    check(functools.reduce(logical_or, map(ops.is_nan, operands), logical_not(ops.is_nan(result))), ValueError, text)


def _is_possible(result: Any, *operands: Any) -> Any:
    """Whether a result is finite, or an operand is infinite."""
    infinite = [logical_not(ops.is_finite(x)) for x in operands]
    return functools.reduce(logical_or, infinite, logical_not(ops.is_inf(result)))


def _finite(result: Any, *operands: Any) -> None:
    """OverflowError for an infinite result of finite operands."""
    check(_is_possible(result, *operands), OverflowError, "math range error")


def _pole(result: Any, *operands: Any, text: Any = _DOMAIN) -> None:
    """ValueError for an infinite result of finite operands, at a pole of the function."""
    check(_is_possible(result, *operands), ValueError, text)


def _of_floats(op: Function, *checks: Function) -> Function:
    def function(*xs: Any) -> Any:
        operands = [_float(x) for x in xs]
        result = op(*operands)
        for check in checks:
            check(result, *operands)
        return result

    return function


def _with_domain(op: Function, outside: float, *checks: Function) -> Function:
    """A function of a float that raises ValueError outside its domain; the number `outside` is not in it.

    The message is obtained from Python by that number: since 3.14 it shows the number, and differs for ints.
    """
    def function(*xs: Any) -> Any:
        operands = [_float(x) for x in xs]
        result = op(*operands)
        is_int = convert_to_tensor(xs[0]).dtype.is_integer and math.isfinite(outside)
        text = message_of(getattr(math, op.__name__), int(outside) if is_int else outside, operands[0])
        for check in checks:
            check(result, *operands, text=text)
        return result

    return function


# Floats

def _log(x: Any, base: Any = None) -> Any:
    logarithm = _with_domain(ops.log, 0.0, _domain, _pole)
    return logarithm(x) if base is None else logarithm(x) / logarithm(base)


def _pow(x: Any, y: Any) -> Any:
    x, y = _float(x), _float(y)
    power = ops.pow(ops.cast(x, float64), ops.cast(y, float64))  # as tensors, since `**` of floats raises other errors
    result = apply(CAST, power, dtype=x.dtype, weak=True)
    _domain(result, x, y)
    pole = logical_and(equal(x, 0.0), logical_and(less(y, 0.0), less(-math.inf, y)))
    check(logical_not(pole), ValueError, "math domain error")
    _finite(result, x, y)
    return result


def _hypot(*coordinates: Any) -> Any:
    xs = [ops.abs(_float(x)) for x in coordinates]
    return functools.reduce(ops.hypot, xs)


def _dist(p: Any, q: Any) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*(_float(x) - _float(y) for x, y in zip(p, q))) if len(p) else 0.0


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    a, b, rel_tol, abs_tol = map(_float, (a, b, rel_tol, abs_tol))
    negative = logical_or(less(rel_tol, 0.0), less(abs_tol, 0.0))
    check(logical_not(negative), ValueError, "tolerances must be non-negative")
    near = ops.maximum(ops.multiply(rel_tol, ops.maximum(ops.abs(a), ops.abs(b))), abs_tol)
    finite = logical_and(ops.is_finite(a), ops.is_finite(b))
    return logical_or(equal(a, b), logical_and(finite, less_equal(ops.abs(a - b), near)))


def _remainder(x: Any, y: Any) -> Any:
    x, y = _float(x), _float(y)
    size = ops.abs(y)
    rest = ops.fmod(ops.abs(x), 2.0 * size)  # modulo 2 |y|, for the parity of the quotient
    less_one = rest - size
    less_one = _where(less_equal(size, less_one + less_one), less_one - size, less_one)
    result = ops.copysign(1.0, x) * _where(less(size, rest + rest), less_one, rest)
    _domain(result, x, y)
    return result


def _modf(x: Any) -> Any:
    x = _float(x)
    whole = ops.copysign(ops.floor(ops.abs(x)), x)
    return ops.copysign(_where(ops.is_inf(x), 0.0, x - whole), x), whole


def _of_python(name: str, arity: int = 1) -> Function:
    """Python's function, called once per result at run time."""

    def function(*xs: Any) -> Any:
        if len(xs) != arity:
            getattr(math, name)(*[0.0] * len(xs))  # raises the TypeError about its arguments
        return apply(FLOAT_FUNCTIONS[name], *map(_float, xs))

    return function


def _ldexp(x: Any, i: Any) -> Any:
    return apply(FLOAT_FUNCTIONS["ldexp"], _float(x), _index(i))


def _nextafter(x: Any, y: Any, *, steps: Any = None) -> Any:
    if steps is None:
        return apply(FLOAT_FUNCTIONS["nextafter"], _float(x), _float(y))
    return apply(FLOAT_FUNCTIONS["nextafter_steps"], _float(x), _float(y), _index(steps))


# Sums

def number(x: Any) -> Any:
    """A float or an int as a graph tensor; a bool stays one."""
    dtype = convert_to_tensor(x).dtype
    return captured(x if dtype.is_bool else _int(x) if dtype.is_integer else BUILTINS[float](x))


def operands(iterable: Any, number: Function) -> list[Any]:
    """The items of an iterable as scalars, or as one vector if their number is unknown."""
    items = listed(iterable) if stages(iterable) and not isinstance(iterable, Tensor) else iterable
    if not stages(items):
        return [number(x) for x in items]
    rows = convert_to_tensor(items)
    if rows.ndim != 1:
        raise TypeError(f"the items are no numbers: they are rows of {rows.type}")
    dtype = number(captured(rows.dtype.as_numpy_dtype(0))).dtype  # the dtype of one item
    return [rows if dtype.is_bool else apply(CAST, rows, dtype=dtype, weak=True)]


def _fsum(iterable: Any, /) -> Any:
    return apply(FLOAT_FUNCTIONS["fsum"], *operands(iterable, _float))


def _sumprod(p: Any, q: Any, /) -> Any:
    ps, qs = operands(p, number), operands(q, number)
    if not any(x.ndim for x in (*ps, *qs)) and len(ps) != len(qs):
        raise ValueError("Inputs are not the same length")
    exact = not any(x.dtype.is_floating for x in (*ps, *qs))
    return apply(FLOAT_FUNCTIONS["sumprod_ints" if exact else "sumprod"], *ps, *qs, count=len(ps))


# Floats to ints

def _rounded(op: Function | None) -> Function:
    def function(x: Any) -> Any:
        x = convert_to_tensor(x)
        if not x.dtype.is_floating:
            return _int(x)
        x = _float(x)
        check(logical_not(ops.is_inf(x)), OverflowError, "cannot convert float infinity to integer")
        check(logical_not(ops.is_nan(x)), ValueError, "cannot convert float NaN to integer")
        return _int(x if op is None else op(x))

    return function


# Ints

def _index(x: Any) -> Any:
    """An int, or a tensor of ints or bools as an int. TypeError for others."""
    if not isinstance(x, Tensor):
        return operator.index(x)
    if not (x.dtype.is_integer or x.dtype.is_bool):
        raise TypeError(f"a tensor of {x.dtype.name} cannot be interpreted as an integer")
    return _int(x)


def _gcd(*integers: Any) -> Any:
    return functools.reduce(_gcd_of_two, map(_index, integers))


def _gcd_of_two(a: Any, b: Any) -> Any:
    def step(a: Any, b: Any) -> tuple[Any, Any]:
        return b, ops.mod(a, b)

    return fold_while(lambda a, b: not_equal(b, 0), step, (abs(a), abs(b)), ("a", "b"))[0]


def _lcm(*integers: Any) -> Any:
    return functools.reduce(_lcm_of_two, map(_index, integers))


def _lcm_of_two(a: Any, b: Any) -> Any:
    divisor = _gcd_of_two(a, b)
    return abs(a) // _where(equal(divisor, 0), 1, divisor) * abs(b)


def _isqrt(n: Any) -> Any:
    n = _index(n)
    check(greater_equal(n, 0), ValueError, "isqrt() argument must be nonnegative")
    root = _int(ops.sqrt(_float(n)))
    root = _where(less(n // ops.maximum(root, 1), root), root - 1, root)  # rounding made it one too large
    return _where(less_equal(root + 1, n // (root + 1)), root + 1, root)  # or too small


def _factorial(n: Any) -> Any:
    n = _index(n)
    check(greater_equal(n, 0), ValueError, "factorial() not defined for negative values")
    return fold(StagedRange(2, n + 1), lambda i, found: (found * i,), (1,), ("factorial",))[0]


def _perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return _factorial(n)
    n, k = _counts(n, k)
    return fold(StagedRange(k), lambda i, found: (found * (n - i),), (1,), ("perm",))[0]


def _comb(n: Any, k: Any) -> Any:
    n, k = _counts(n, k)
    k = _where(less(n, k), k, ops.minimum(k, n - k))
    return fold(StagedRange(k), lambda i, found: (found * (n - i) // (i + 1),), (1,), ("comb",))[0]


def _counts(n: Any, k: Any) -> tuple[Any, Any]:
    n, k = _index(n), _index(k)
    for name, x in ("n", n), ("k", k):
        check(greater_equal(x, 0), ValueError, f"{name} must be a non-negative integer")
    return n, ops.minimum(k, n + 1)  # no factors after the first 0


def _prod(iterable: Any, /, *, start: Any = 1) -> Any:
    if isinstance(iterable, (list, tuple)):
        return math.prod(iterable, start=start)
    return fold(iterable, lambda item, product: (product * item,), (start,), ("prod",))[0]


# The table

def replacement(python: Function, staged: Function) -> Function:
    """`staged` for graph tensors, else `python`."""

    @functools.wraps(python)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple([[*arg] if isinstance(arg, Iterator) and not isinstance(arg, Staged) else arg for arg in args])
        items = [x for arg in args if isinstance(arg, (list, tuple)) for x in arg]
        if not stages(*args, *items, *kwargs.values()):
            return python(*args, **kwargs)
        return staged(*args, **kwargs)

    return of_values(python, function)


_STAGED: Final[Mapping[str, Function]] = {
    "sqrt": _with_domain(ops.sqrt, -1.0, _domain), "cbrt": _of_floats(ops.cbrt), "exp": _of_floats(ops.exp, _finite),
    "exp2": _of_floats(ops.exp2, _finite), "expm1": _of_floats(ops.expm1, _finite), "log": _log,
    "log2": _with_domain(ops.log2, 0.0, _domain, _pole), "log10": _with_domain(ops.log10, 0.0, _domain, _pole),
    "log1p": _with_domain(ops.log1p, -1.0, _domain, _pole),
    "sin": _with_domain(ops.sin, math.inf, _domain), "cos": _with_domain(ops.cos, math.inf, _domain),
    "tan": _with_domain(ops.tan, math.inf, _domain), "asin": _with_domain(ops.asin, 2.0, _domain),
    "acos": _with_domain(ops.acos, 2.0, _domain), "atan": _of_floats(ops.atan), "atan2": _of_floats(ops.atan2),
    "sinh": _of_floats(ops.sinh, _finite), "cosh": _of_floats(ops.cosh, _finite),
    "tanh": _of_floats(ops.tanh), "asinh": _of_floats(ops.asinh), "acosh": _with_domain(ops.acosh, 0.0, _domain),
    "atanh": _with_domain(ops.atanh, 1.0, _domain, _pole), "erf": _of_floats(ops.erf), "erfc": _of_floats(ops.erfc),
    "fabs": _of_floats(ops.abs), "copysign": _of_floats(ops.copysign), "fmod": _of_floats(ops.fmod, _domain),
    "pow": _pow, "hypot": _hypot, "dist": _dist, "isclose": _isclose,
    "degrees": _of_floats(lambda x: x * (180 / math.pi)), "radians": _of_floats(lambda x: x * (math.pi / 180)),
    "isnan": _of_floats(ops.is_nan), "isinf": _of_floats(ops.is_inf), "isfinite": _of_floats(ops.is_finite),
    "floor": _rounded(ops.floor), "ceil": _rounded(ops.ceil), "trunc": _rounded(None),
    "remainder": _remainder, "modf": _modf, "ldexp": _ldexp, "nextafter": _nextafter, "fsum": _fsum,
    "sumprod": _sumprod, **{name: _of_python(name) for name in ("gamma", "lgamma", "ulp", "frexp")},
    "fma": _of_python("fma", 3),
    "gcd": _gcd, "lcm": _lcm, "isqrt": _isqrt, "factorial": _factorial, "perm": _perm, "comb": _comb, "prod": _prod,
}
MATH: Final[Mapping[Any, Function]] = {
    python: replacement(python, staged) for name, staged in _STAGED.items()
    if (python := getattr(math, name, None)) is not None}  # cbrt and exp2 exist from Python 3.11 on, others later
"""By function of `math`: its replacement in traced code."""
