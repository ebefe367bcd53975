"""fmod, mod and floordiv of floats, as in NumPy.

The remainder of a division is exact. If the quotient has few bits, it is rounded, and FMA multiplies it back; in the
other, rare case each lane divides integers, some bits at a time.
"""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.libm.exponentials import INF, NAN
from runtime.backends.native.libm.expressions import MANTISSA, Num, copysign, floor, fma, rint, trunc, where
from runtime.backends.native.libm.vector_abi import any_lane, lane_by_lane
from runtime.backends.native.llvm.builder import Index, Val, bits_of


def fmod(x: Num, y: Num) -> Num:
    """The remainder of x / y rounded towards zero; it has the sign of x."""
    a, c = abs(x), abs(y)
    less = a < c
    quotient = trunc(a / c)
    # if rounding made the quotient one too large, the remainder is negative
    rest = fma(-quotient, c, a)
    near = where(less, a, where(rest < 0.0, rest + c, rest))
    exact = less | (quotient < 2.0 ** (MANTISSA[x.kind] - 1)) if x.b.module.fma else less

    def slow() -> Sequence[Val]:
        (far,) = lane_by_lane("fmod_far", _fmod_far, 1, a, c)
        return [where(exact, near, far).v]

    (value,) = x.b.either(any_lane(~exact).v, slow, lambda: [near.v])
    return copysign(Num(x.b, value), x)


def _fmod_far(a: Num, c: Num) -> tuple[Num]:
    """The remainder of non-negative scalars, by (2^s p) mod q = ((2^s mod q) p) mod q with integers p and q."""
    b, width = a.b, bits_of(a.ty)
    (p, p_exponent), (q, q_exponent) = _whole(a), _whole(c)
    q = where(q.equals(0), 1, q)
    step = width - 1 - MANTISSA[a.kind]  # unused bits of a remainder
    distance = p_exponent - q_exponent
    distance = where(distance > 0, distance, 0)
    first = Num(b, b.urem((p << Num(b, b.urem(distance.v, p.operand(step)))).v, q.v))
    count: Index = Num(b, b.udiv(distance.v, p.operand(step))).to("i64").v
    (rest,) = b.folded(0, count, [first.v], lambda _, values: [b.urem((Num(b, values[0]) << step).v, q.v)])
    # c / q is the last bit of c
    result = Num(b, rest).to(a.kind) * (c / q.to(a.kind))
    return (where((a < INF) & (c > 0.0), result, NAN),)


def _whole(x: Num) -> tuple[Num, Num]:
    """The integer p and the exponent e of x = p 2^e times the smallest positive number."""
    mantissa = MANTISSA[x.kind]
    bits = x.bits()
    exponent = bits >> mantissa
    normal = exponent > 0
    p = (bits & ((1 << mantissa) - 1)) | where(normal, bits.constant(1 << mantissa), 0)
    return p, where(normal, exponent - 1, 0)


def mod(x: Num, y: Num) -> Num:
    """The remainder of x / y rounded down; it has the sign of y."""
    rest = fmod(x, y)
    return where(rest.equals(0.0), copysign(rest, y), where(_opposite(rest, y), rest + y, rest))


def floordiv(x: Num, y: Num) -> Num:
    """The floor of x / y."""
    rest = fmod(x, y)
    ratio = x / y
    quotient = (x - rest) / y
    quotient = where(_opposite(rest, y), quotient - 1.0, quotient)
    # an integer except for rounding errors, so its floor may be one too small
    whole = floor(quotient)
    whole = where(quotient - whole > 0.5, whole + 1.0, whole)
    return where(y.equals(0.0), ratio, where(quotient.equals(0.0), copysign(quotient, ratio), whole))


def divided(x: Num, y: int) -> tuple[Num, Num]:
    """The quotient of signed 64-bit integers rounded down, and the remainder, for |y| > 1: x times 1 / y rounded to
    nearest, then the same for the remainder, which has about 12 bits more than y."""
    quotient, rest = _nearest(x, y)
    more, rest = _nearest(rest, y)  # the remainder now is at most about half of y
    quotient += more
    below = rest < 0 if y > 0 else rest > 0
    return where(below, quotient - 1, quotient), where(below, rest + y, rest)


def _nearest(x: Num, y: int) -> tuple[Num, Num]:
    quotient = rint(x.to("double") * (1 / y)).to("i64")
    return quotient, x - quotient * y


def _opposite(rest: Num, y: Num) -> Num:
    """Whether `rest` is not 0 and has the opposite sign of y."""
    return rest.differs(0.0) & ((rest < 0.0) ^ (y < 0.0))
