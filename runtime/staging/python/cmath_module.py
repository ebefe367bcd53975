"""Functions of Python's `cmath` on tensors in converted code: results and errors as in Python, staged.

As in Python, they take a tensor with one element for a complex number, float or int, and return a complex number, a
float or a bool.
"""
from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from runtime.ops import complex_numbers
from runtime.ops import math as ops
from runtime.ops.logic import equal, logical_and, logical_not, logical_or
from runtime.staging.python.builtins import BUILTINS
from runtime.staging.python.math_module import MATH, captured, check, replacement

__all__ = ["CMATH"]

Function = Callable[..., Any]


def _complex(x: Any) -> Any:
    """A complex number, as a graph tensor."""
    return captured(BUILTINS[complex](x))


def _is_finite(z: Any) -> Any:
    return logical_and(ops.is_finite(complex_numbers.real(z)), ops.is_finite(complex_numbers.imag(z)))


def _of_complex(op: Function, kind: type[Exception] | None = None, text: str = "math domain error") -> Function:
    """A staged function of a complex number, with an error for a non-finite result of a finite operand."""

    def function(z: Any) -> Any:
        z = _complex(z)
        result = op(z)
        if kind is not None:
            check(logical_or(_is_finite(result), logical_not(_is_finite(z))), kind, text)
        return result

    return function


_logarithm: Final = _of_complex(ops.log, ValueError)


def _log(z: Any, base: Any = None) -> Any:
    return _logarithm(z) if base is None else _logarithm(z) / _logarithm(base)


def _phase(z: Any) -> Any:
    return complex_numbers.angle(_complex(z))


def _polar(z: Any) -> Any:
    return ops.abs(_complex(z)), _phase(z)


def _rect(r: Any, phi: Any) -> Any:
    return BUILTINS[complex](r * MATH[math.cos](phi), r * MATH[math.sin](phi))


def _parts(test: Function, join: Function) -> Function:
    def function(z: Any) -> Any:
        z = _complex(z)
        return join(test(complex_numbers.real(z)), test(complex_numbers.imag(z)))

    return function


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    a, b = _complex(a), _complex(b)
    sizes = ops.maximum(ops.abs(a), ops.abs(b))
    near = ops.abs(a - b) <= ops.maximum(rel_tol * sizes, abs_tol)
    return logical_or(equal(a, b), logical_and(near, logical_and(_is_finite(a), _is_finite(b))))


def _too_large(op: Function) -> Function:
    return _of_complex(op, OverflowError, "math range error")


_STAGED: Final[Mapping[str, Function]] = {
    "exp": _too_large(ops.exp), "log": _log, "log10": lambda z: _logarithm(z) / math.log(10.0),
    "sqrt": _of_complex(ops.sqrt), "sin": _too_large(ops.sin), "cos": _too_large(ops.cos), "tan": _of_complex(ops.tan),
    "asin": _of_complex(ops.asin), "acos": _of_complex(ops.acos), "atan": _of_complex(ops.atan, ValueError),
    "sinh": _too_large(ops.sinh), "cosh": _too_large(ops.cosh), "tanh": _of_complex(ops.tanh),
    "asinh": _of_complex(ops.asinh), "acosh": _of_complex(ops.acosh), "atanh": _of_complex(ops.atanh, ValueError),
    "phase": _phase, "polar": _polar, "rect": _rect, "isclose": _isclose,
    "isnan": _parts(ops.is_nan, logical_or), "isinf": _parts(ops.is_inf, logical_or),
    "isfinite": _parts(ops.is_finite, logical_and)}
CMATH: Final[Mapping[Any, Function]] = {
    getattr(cmath, name): replacement(getattr(cmath, name), staged) for name, staged in _STAGED.items()}
"""By function of `cmath`: its replacement in traced code."""
