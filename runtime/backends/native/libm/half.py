"""Conversion of float64 to float16, for which LLVM calls a library function on x86-64.

Lowerings never write that conversion, but LLVM's instruction selection can make it, for example from the sign of a
float32 that came from float64 through float16 (`copysign(x, fpext(fptrunc(y)))`). An undefined name would resolve to
address 0.
"""
from __future__ import annotations

from typing import Final

from runtime.backends.native.llvm.builder import Builder, Module, Val, const

__all__ = ["TO_HALF", "define_half"]

TO_HALF: Final = "__truncdfhf2"


def define_half(module: Module) -> None:
    """`half __truncdfhf2(double)`, to the nearest, ties to even."""
    module.define(TO_HALF, "half", ["double"], _to_half, "nounwind", linkage="")


def _to_half(b: Builder, x: Val) -> Val:
    """Round to odd in float32, which has two bits more than twice those of float16, then to nearest: equal to rounding
    once (Boldo, Melquiond: "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
    2008)."""
    near = b.convert("fptrunc", x, "float")
    back = b.convert("fpext", near, "double")
    away = b.fcmp("ogt", b.intrinsic("fabs", back), b.intrinsic("fabs", x))
    bits = b.bitcast(near, "i32")
    toward_zero = b.sub(bits, b.convert("zext", away, "i32"))
    odd = b.op("i32", f"or {toward_zero}, {const('i32', 1).ref}")
    exact = b.fcmp("ueq", back, x)  # includes NaN
    return b.convert("fptrunc", b.bitcast(b.select(exact, bits, odd), "float"), "half")
