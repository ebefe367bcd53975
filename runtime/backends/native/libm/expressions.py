"""Expressions over LLVM values, written as arithmetic, for the elementary functions.

A `Num` is a `Val` with its builder; operators on it write instructions, for each lane of a vector. A Python number
among the operands is a constant of the other's type. Comparisons are false for NaN.

The end of the file has polynomials and error-free sums and products, from which values of two words (high and low) are
made: D. E. Knuth, "The Art of Computer Programming", vol. 2, 4.2.2; T. J. Dekker, "A floating-point technique for
extending the available precision" (1971).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.backends.native.llvm.builder import Builder, Val, const, element, int_like, is_float, like
from runtime.backends.native.llvm.values import BITS

__all__ = ["BIAS", "MANTISSA", "Num", "copysign", "fast_two_sum", "floor", "fma", "horner", "minus_product",
           "polynomial", "rint", "sqrt", "trunc", "two_product", "two_sum", "where"]

MANTISSA: Final = {"float": 23, "double": 52}  # stored bits
BIAS: Final = {"float": 127, "double": 1023}  # of the exponent


class Num:
    """A value of a float, int or i1 type, or a vector of those."""

    __slots__ = ("b", "v")

    def __init__(self, b: Builder, v: Val) -> None:
        self.b = b
        self.v = v

    @property
    def ty(self) -> str:
        return self.v.ty

    @property
    def kind(self) -> str:
        """The type of one lane."""
        return element(self.v.ty)

    def constant(self, value: float, kind: str | None = None) -> Num:
        """`value` in each lane, of this type or of lanes of another kind."""
        return Num(self.b, const(like(self.ty, kind or self.kind), value))

    def operand(self, y: Num | float) -> Val:
        return y.v if isinstance(y, Num) else const(self.ty, y)

    def __add__(self, y: Num | float) -> Num:
        operation = self.b.fadd if is_float(self.ty) else self.b.add
        return Num(self.b, operation(self.v, self.operand(y)))

    def __sub__(self, y: Num | float) -> Num:
        operation = self.b.fsub if is_float(self.ty) else self.b.sub
        return Num(self.b, operation(self.v, self.operand(y)))

    def __mul__(self, y: Num | float) -> Num:
        operation = self.b.fmul if is_float(self.ty) else self.b.mul
        return Num(self.b, operation(self.v, self.operand(y)))

    def __truediv__(self, y: Num | float) -> Num:
        return Num(self.b, self.b.fdiv(self.v, self.operand(y)))

    def __radd__(self, x: float) -> Num:
        return self.constant(x) + self

    def __rsub__(self, x: float) -> Num:
        return self.constant(x) - self

    def __rmul__(self, x: float) -> Num:
        return self * x

    def __rtruediv__(self, x: float) -> Num:
        return self.constant(x) / self

    def __neg__(self) -> Num:
        return Num(self.b, self.b.fneg(self.v)) if is_float(self.ty) else self.constant(0) - self

    def __abs__(self) -> Num:
        return Num(self.b, self.b.intrinsic("fabs", self.v))

    def __lshift__(self, count: Num | int) -> Num:
        return Num(self.b, self.b.shl(self.v, self.operand(count)))

    def __rshift__(self, count: Num | int) -> Num:
        """The arithmetic shift."""
        return Num(self.b, self.b.ashr(self.v, self.operand(count)))

    def __and__(self, y: Num | int) -> Num:
        return Num(self.b, self.b.and_(self.v, self.operand(y)))

    def __or__(self, y: Num | int) -> Num:
        return Num(self.b, self.b.or_(self.v, self.operand(y)))

    def __xor__(self, y: Num | int) -> Num:
        return Num(self.b, self.b.xor(self.v, self.operand(y)))

    def __invert__(self) -> Num:
        return Num(self.b, self.b.not_(self.v))

    def _compare(self, floats: str, ints: str, y: Num | float) -> Num:
        if is_float(self.ty):
            return Num(self.b, self.b.fcmp(floats, self.v, self.operand(y)))
        return Num(self.b, self.b.icmp(ints, self.v, self.operand(y)))

    def __lt__(self, y: Num | float) -> Num:
        return self._compare("olt", "slt", y)

    def __le__(self, y: Num | float) -> Num:
        return self._compare("ole", "sle", y)

    def __gt__(self, y: Num | float) -> Num:
        return self._compare("ogt", "sgt", y)

    def __ge__(self, y: Num | float) -> Num:
        return self._compare("oge", "sge", y)

    def equals(self, y: Num | float) -> Num:
        return self._compare("oeq", "eq", y)

    def differs(self, y: Num | float) -> Num:
        """Not equal: true for NaN."""
        return self._compare("une", "ne", y)

    def is_nan(self) -> Num:
        return Num(self.b, self.b.fcmp("uno", self.v, self.v))

    def bits(self) -> Num:
        """The bits of a float, as an integer."""
        return Num(self.b, self.b.bitcast(self.v, int_like(self.ty)))

    def from_bits(self, kind: str) -> Num:
        """The float of `kind` that has these bits."""
        return Num(self.b, self.b.bitcast(self.v, like(self.ty, kind)))

    def to(self, kind: str) -> Num:
        """The same number as `kind`: between floats, and from and to signed integers (which must hold it)."""
        if kind == self.kind:
            return self
        wider = BITS[kind] > BITS[self.kind]
        if is_float(self.ty) and is_float(kind):
            how = "fpext" if wider else "fptrunc"
        elif is_float(self.ty):
            how = "fptosi"
        elif is_float(kind):
            how = "sitofp"
        else:
            how = "sext" if wider else "trunc"
        return Num(self.b, self.b.convert(how, self.v, kind))


def where(condition: Num, x: Num | float, y: Num | float) -> Num:
    """x where the condition holds, else y; at least one of the two is a Num."""
    one = x if isinstance(x, Num) else y
    assert isinstance(one, Num)
    return Num(one.b, one.b.select(condition.v, one.operand(x), one.operand(y)))


def fma(x: Num, y: Num | float, z: Num | float) -> Num:
    """x * y + z, rounded once where the target can."""
    return Num(x.b, x.b.fma(x.v, x.operand(y), x.operand(z)))


def sqrt(x: Num) -> Num:
    return Num(x.b, x.b.intrinsic("sqrt", x.v))


def rint(x: Num) -> Num:
    """The nearest integer, halves to even."""
    return Num(x.b, x.b.intrinsic("rint", x.v))


def trunc(x: Num) -> Num:
    return Num(x.b, x.b.intrinsic("trunc", x.v))


def floor(x: Num) -> Num:
    return Num(x.b, x.b.intrinsic("floor", x.v))


def copysign(x: Num, sign: Num) -> Num:
    """|x| with the sign of `sign`."""
    return Num(x.b, x.b.intrinsic("copysign", x.v, sign.v))


def horner(x: Num, coefficients: Sequence[float]) -> Num:
    """c0 + c1 x + c2 x² + ..., in the fewest instructions."""
    *lower, last = coefficients
    value = x.constant(last)
    for c in reversed(lower):
        value = fma(value, x, c)
    return value


def polynomial(x: Num, coefficients: Sequence[float], square: Num | None = None) -> Num:
    """c0 + c1 x + c2 x² + ...: as even and odd part, one more instruction at half the latency; a long one by the fourth
    power, with another instruction at a third of it."""
    if len(coefficients) < 5:
        return horner(x, coefficients)
    if square is None:
        square = x * x
    if len(coefficients) < 7:
        return fma(horner(square, coefficients[1::2]), x, horner(square, coefficients[::2]))
    fourth = square * square
    value: Num | None = None
    for k in reversed(range(0, len(coefficients), 4)):
        part = _linear(x, coefficients[k:k + 2])
        if k + 2 < len(coefficients):
            part = fma(square, _linear(x, coefficients[k + 2:k + 4]), part)
        value = part if value is None else fma(fourth, value, part)
    assert value is not None
    return value


def _linear(x: Num, coefficients: Sequence[float]) -> Num:
    first, *second = coefficients
    return fma(x, second[0], first) if second else x.constant(first)


# Sums and products without error: the pairs (high, low) stand for high + low.

def two_sum(x: Num, y: Num) -> tuple[Num, Num]:
    """x + y exactly."""
    high = x + y
    part = high - x
    return high, (x - (high - part)) + (y - part)


def fast_two_sum(x: Num, y: Num) -> tuple[Num, Num]:
    """x + y exactly, if |x| >= |y| or x is 0."""
    high = x + y
    return high, y - (high - x)


def _split(x: Num) -> tuple[Num, Num]:
    """x in two halves, whose products are exact."""
    scaled = x * {"float": 4097.0, "double": 134217729.0}[x.kind]
    high = scaled - (scaled - x)
    return high, x - high


def two_product(x: Num, y: Num) -> tuple[Num, Num]:
    """x * y exactly, unless it underflows or overflows."""
    high = x * y
    if x.b.module.fma:
        return high, fma(x, y, -high)
    (a, a_low), (c, c_low) = _split(x), _split(y)
    return high, ((a * c - high) + a * c_low + a_low * c) + a_low * c_low


def minus_product(x: Num, y: Num, z: Num) -> Num:
    """x - y * z where that is a float of this type: an exact reduction, or the remainder of a quotient or root."""
    if x.b.module.fma:
        return fma(-y, z, x)
    high, low = two_product(y, z)
    return (x - high) - low
