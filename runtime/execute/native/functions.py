"""The elementary functions: one writer each, for any number of lanes of float or double.

`call` writes a call of a function that the module defines once for each type. It is inlined always, and has neither a
branch, nor a call or a table: loops over it are vectorised. The few in `BRANCHING` have a rare case, and are called
(see variants.py). tests/test_native_functions.py holds each to its error.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Final

from runtime.execute.native import arcs, error_functions, exponentials, power, remainders, trigonometry
from runtime.execute.native.arithmetic import Num, sqrt
from runtime.execute.native.emit import Builder, Val
from runtime.execute.native.variants import called, symbol

__all__ = ["FUNCTIONS", "call"]

FUNCTIONS: Final[dict[str, Callable[..., Num]]] = {
    "sqrt": sqrt,
    "exp": exponentials.exp,
    "expm1": exponentials.expm1,
    "log": exponentials.log,
    "log1p": exponentials.log1p,
    "sigmoid": exponentials.sigmoid,
    "softplus": exponentials.softplus,
    "tanh": exponentials.tanh,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "asinh": exponentials.asinh,
    "acosh": exponentials.acosh,
    "atanh": exponentials.atanh,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
    "asin": arcs.asin,
    "acos": arcs.acos,
    "atan": arcs.atan,
    "atan2": arcs.atan2,
    "pow": power.pow,
    "erf": error_functions.erf,
    "erfc": error_functions.erfc,
    "erfinv": error_functions.erfinv,
    "fmod": remainders.fmod,
    "mod": remainders.mod,
    "floordiv": remainders.floordiv,
}

BRANCHING: Final = ("sin", "cos", "tan", "fmod", "mod", "floordiv")  # what has a rare, long case


def call(b: Builder, name: str, *xs: Val) -> Val:
    """`name` of `xs`, which are of one type: float, double, or a vector of those."""
    ty = xs[0].ty

    def write(inner: Builder, *args: Val) -> Val:
        return FUNCTIONS[name](*[Num(inner, arg) for arg in args]).v

    if name in BRANCHING:
        return called(b, name, write, *xs)
    return b.call(ty, b.module.define(symbol(name, ty), ty, [ty] * len(xs), write), *xs)
