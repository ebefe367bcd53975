"""LLVM's values and types as text."""
from __future__ import annotations

import struct
from typing import Any, Final

__all__ = ["BITS", "Index", "Val", "bits_of", "const", "element", "int_like", "is_float", "lanes", "like"]


class Val:
    """An LLVM value. `str` gives the operand with its type, `.ref` without."""

    __slots__ = ("ref", "ty")

    def __init__(self, ty: str, ref: str) -> None:
        self.ty = ty
        self.ref = ref

    def __str__(self) -> str:
        return f"{self.ty} {self.ref}"

    __repr__ = __str__


Index = int | Val  # an index or a size: a Python int where it is known, else an i64

BITS: Final = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32, "double": 64}


def element(ty: str) -> str:
    """The type of one lane."""
    return ty[1:-1].split(" x ")[1] if ty[0] == "<" else ty


def lanes(ty: str) -> int:
    """The number of lanes of a type; 1 for a scalar."""
    return int(ty[1:-1].split(" x ")[0]) if ty[0] == "<" else 1


def like(ty: str, other: str) -> str:
    """The type with lanes of `other`, as many as `ty` has: `like("<4 x float>", "i1")` is `<4 x i1>`."""
    return f"<{lanes(ty)} x {other}>" if ty[0] == "<" else other


def bits_of(ty: str) -> int:
    """The number of bits of one lane."""
    return BITS[element(ty)]


def is_float(ty: str) -> bool:
    return element(ty) in ("half", "float", "double")


def int_like(ty: str) -> str:
    """The integer type of the same width and lanes."""
    return like(ty, f"i{bits_of(ty)}")


def _literal(kind: str, value: Any) -> str:
    if kind == "i1":
        return "true" if value else "false"
    if kind[0] == "i":
        bits = BITS[kind]
        value = int(value) & ((1 << bits) - 1)
        return str(value - (1 << bits) if value >> (bits - 1) else value)
    if kind == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if kind == "float":
        value = _single(float(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _single(value: float) -> float:
    """The float32 next to `value`, as a Python float. NaN keeps its sign and payload."""
    if value != value:
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def const(ty: str, value: Any) -> Val:
    """A constant; for a vector type, a splat."""
    kind = element(ty)
    text = _literal(kind, value)
    return Val(ty, f"splat ({kind} {text})" if ty[0] == "<" else text)
