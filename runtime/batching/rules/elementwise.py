"""Element-wise ops: lanes are an additional axis, along which only values that all lanes share broadcast."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, aligned, batching


@batching(
    "abs", "acos", "acosh", "add", "add_fits", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_or",
    "bitwise_xor", "cast", "cbrt", "ceil", "check_numerics", "complex", "conj", "copysign", "cos", "cosh", "divide",
    "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "floordiv", "fmod", "gcd", "greater",
    "greater_equal", "hypot", "imag", "invert", "lcm", "left_shift", "less", "less_equal", "log", "log10", "log1p",
    "log2", "maximum",
    "minimum", "mod", "multiply", "multiply_fits", "negative", "next_after", "not_equal", "polygamma", "pow", "real",
    "relu", "right_shift", "rint", "sigmoid", "sign", "sin", "sinh", "softplus", "special_function", "sqrt",
    "stop_gradient", "subtract",
    "subtract_fits", "tan", "tanh", "where")
def _elementwise(call: Call) -> Sequence[Any]:
    rank = max(type.ndim for type in call.types)
    return call.apply(*[aligned(x, type.ndim, rank) if batched else x
                        for x, type, batched in zip(call.inputs, call.types, call.batched, strict=True)])
