"""The elementary functions: one writer each, for any number of lanes of float or double.

`call` writes a call of a function that the module defines once per type. It is always inlined, and has no branches,
calls or tables, so loops over it are vectorised. The few in `BRANCHING` have a rare slow case, and are called (see
vector_abi.py).
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from runtime.backends.native.libm import erf, exponentials, fmod, inverse_trig, power, sin_cos_tan
from runtime.backends.native.libm.expressions import Num, sqrt
from runtime.backends.native.libm.vector_abi import called, symbol
from runtime.backends.native.llvm.builder import Builder, Val

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
    "sin": sin_cos_tan.sin,
    "cos": sin_cos_tan.cos,
    "tan": sin_cos_tan.tan,
    "asin": inverse_trig.asin,
    "acos": inverse_trig.acos,
    "atan": inverse_trig.atan,
    "atan2": inverse_trig.atan2,
    "pow": power.pow,
    "erf": erf.erf,
    "erfc": erf.erfc,
    "erfinv": erf.erfinv,
    "fmod": fmod.fmod,
    "mod": fmod.mod,
    "floordiv": fmod.floordiv,
    **{name: functools.partial(power.multiple_of_half, twice=int(2 * exponent))
       for exponent, name in power.MULTIPLES_OF_HALF.items()},
}

BRANCHING: Final = ("sin", "cos", "tan", "fmod", "mod", "floordiv")  # functions with a rare, slow case


def call(b: Builder, name: str, *xs: Val) -> Val:
    """`name` of `xs`, which are of one type: float, double, or a vector of those."""
    ty = xs[0].ty

    def write(inner: Builder, *args: Val) -> Val:
        return FUNCTIONS[name](*[Num(inner, arg) for arg in args]).v

    if name in BRANCHING:
        return called(b, name, write, *xs)
    return b.call(ty, b.module.define(symbol(name, ty), ty, [ty] * len(xs), write), *xs)
