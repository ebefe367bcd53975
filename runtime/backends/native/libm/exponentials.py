"""exp, log and functions made from them: expm1, log1p, sigmoid, softplus, the hyperbolic functions and their inverses.

    exp     x = n ln 2 + r with |r| <= ln(2)/2, exp(x) = 2^n exp(r), and exp(r) is a polynomial
    log     x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), log(x) = k ln 2 + log(1 + f)

The polynomials are minimax fits (Remez' algorithm), with an error below a tenth of the last bit. Each function is
branch-free code for any number of lanes of float or double.
"""
from __future__ import annotations

from typing import Final, NamedTuple

from runtime.backends.native.libm.expressions import (
    BIAS,
    MANTISSA,
    Num,
    copysign,
    fast_two_sum,
    fma,
    horner,
    minus_product,
    polynomial,
    sqrt,
    two_product,
    two_sum,
    where,
)

INF: Final = float("inf")
NAN: Final = float("nan")
LOG2E: Final = 1.4426950408889634
# ln 2 in two parts; the high one times any exponent is exact.
LN2: Final = {"float": (0.693359375, -2.12194440e-4), "double": (0.6931471803691238, 1.9082149292705877e-10)}

# exp(r) = 1 + r + r² (c0 + c1 r + ...), |r| <= ln(2)/2.
EXP: Final = {
    "float": (0.49999994, 0.16666517, 0.04166825, 0.0083690947, 0.0013819013),
    "double": (0.5, 0.16666666666666688, 0.041666666666666824, 0.008333333333313946, 0.0013888888888778795,
               0.00019841269903019261, 2.4801587552406964e-05, 2.755722941156273e-06, 2.755708412968326e-07,
               2.5113459112869928e-08, 2.0966021747229907e-09),
}
# For float, log(1 + f) = f - f²/2 + f³ (c0 + c1 f + ...); for double, log((1+s)/(1-s)) = 2s + s³ (c0 + c1 s² + ...).
LOG: Final = {
    "float": (0.3333333, -0.25000823, 0.20001267, -0.16623318, 0.14200768, -0.1315962, 0.12768655, -0.076450653),
    "double": (0.6666666666666711, 0.3999999999953572, 0.285714287299903, 0.2222219839796851, 0.18183639796303647,
               0.15310657116408966, 0.14842448886582504),
}
# tanh(x) = x + x³ (c0 + c1 x² + ...), |x| <= 0.55.
TANH: Final = {
    "float": (-0.33332935, 0.13320443, -0.05265287, 0.016400035),
    "double": (-0.33333333333333315, 0.1333333333332843, -0.053968253964496525, 0.02186948840110495,
               -0.00886323278394847, 0.003592093362793778, -0.001455548836833754, 0.0005884604658070741,
               -0.00023340376116443622, 8.332561382619826e-05, -1.948816135395865e-05),
}
# sinh(r) = r + r³ (c0 + c1 r² + ...), cosh(r) = 1 + r²/2 + r⁴ (c0 + c1 r² + ...), |r| <= 0.53.
SINH: Final = {
    "float": (0.16666667, 0.008333154, 0.00019989067),
    "double": (0.16666666666666666, 0.008333333333333876, 0.0001984126984021452, 2.7557320162380068e-06,
               2.505168936481851e-08, 1.6150218033841458e-10),
}
COSH: Final = {
    "float": (0.04166553, 0.0013997848),
    "double": (0.04166666666666794, 0.0013888888888427503, 2.480158790579756e-05, 2.755695225599986e-07,
               2.0981845231104243e-09),
}


def magic(kind: str) -> float:
    """1.5 times the number from which on all floats are integers: added to x, it leaves rint(x) in the lowest bits."""
    return 1.5 * 2.0 ** MANTISSA[kind]


class Reduced(NamedTuple):
    """x = n ln 2 + r."""

    n: Num
    r: Num
    biased: Num  # an integer; n + bias in its lowest bits

    def power(self) -> Num:
        """2^(n + bias - BIAS), if that is a normal number."""
        return (self.biased << MANTISSA[self.r.kind]).from_bits(self.r.kind)


def reduced(x: Num, bias: int) -> Reduced:
    """n = rint(x / ln 2)."""
    shift = magic(x.kind) + bias
    whole = fma(x, LOG2E, shift)
    n = whole - shift
    high, low = LN2[x.kind]
    return Reduced(n, fma(n, -low, fma(n, -high, x)), whole.bits())


def clamp(x: Num, low: float, high: float) -> Num:
    """x clipped to `low` and `high`; NaN stays NaN."""
    x = where(x < low, low, x)
    return where(x > high, high, x)


def exp(x: Num) -> Num:
    if x.kind == "float":  # by the fewest instructions and registers, which bound loops over arrays
        x = clamp(x, *_EXP_RANGE["float"])
        e = reduced(x, 2 * BIAS["float"])
        p = fma(fma(polynomial(e.r, EXP["float"]), e.r, 1.0), e.r, 1.0)
        power, half = powers(e.biased, x < 0.0)
        return p * power * half
    e = reduced(x, 2 * BIAS["double"])
    p = fma(polynomial(e.r, EXP["double"]), e.r, 1.0)
    power, half = powers(e.biased, x < 0.0)
    return limited(x, fma(power * e.r, p, power) * half)


# Beyond these exp is 0, and infinite.
_EXP_RANGE: Final = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}


def limited(x: Num, result: Num) -> Num:
    """exp(x) of a double: `result`, but where x is beyond the numbers for which that can be neither 0 nor infinite. So
    x need not be clamped first, which takes longer if nothing else is computed meanwhile."""
    low, high = _EXP_RANGE["double"]
    return where(x < low, 0.0, where(x > high, INF, result))


def exp_words(x: Num, low: Num) -> tuple[Num, Num]:
    """p and n, as argument of `powers`, with exp(x + low) = 2^n (1 + p), for x within the range of `exp`."""
    e = reduced(x, 2 * BIAS[x.kind])
    r, rest = fast_two_sum(e.r, low)
    return r + fma(r * r, polynomial(r, EXP[x.kind]), rest), e.biased


def powers(biased: Num, negative: Num) -> tuple[Num, Num]:
    """Two factors of 2^n, where `biased` has n plus twice the bias in its lowest bits, and `negative` says whether n is
    negative. What is multiplied by the first is normal, so that a subnormal result is rounded once, by the second."""
    kind = {"i32": "float", "i64": "double"}[biased.kind]
    bias = BIAS[kind]
    half = where(negative, biased.constant(0.5 ** (bias // 2 + 1), kind), 2.0 ** (bias // 2 + 1))
    return ((biased << MANTISSA[kind]) - half.bits()).from_bits(kind), half


def expm1(x: Num) -> Num:
    kind = x.kind
    e = reduced(clamp(x, *_EXPM1_RANGE[kind]), BIAS[kind] - 1)
    tail = polynomial(e.r, EXP[kind]) * (e.r * e.r)
    half = e.power()  # 2^(n-1)
    high, low = fast_two_sum(half - 0.5, half * e.r)
    result = high + fma(half, tail, low)
    return where(abs(x) < 2.0 ** -(MANTISSA[kind] + 2), x, result + result)


_EXPM1_RANGE: Final = {"float": (-18.0, 89.0), "double": (-38.0, 710.0)}


def sigmoid(x: Num) -> Num:
    e = exp(-abs(x))
    below, low = fast_two_sum(e.constant(1.0), e)
    inverse = 1.0 / below
    above = where(x < 0.0, e, 1.0)
    quotient = above * inverse
    return fma(fma(-quotient, low, minus_product(above, quotient, below)), inverse, quotient)


def softplus(x: Num) -> Num:
    return where(x < 0.0, 0.0, x) + log1p(exp(-abs(x)))


def tanh(x: Num) -> Num:
    kind = x.kind
    limit = {"float": 10.0, "double": 20.0}[kind]  # beyond this it is 1
    a = abs(x)
    square = a * a
    small = fma(a * square, polynomial(square, TANH[kind]), a)
    # 1 - 2 / (exp(2a) + 1): 2a = n ln 2 + 2r
    bounded = where(a > limit, limit, a)
    shift = magic(kind) + BIAS[kind]
    whole = fma(bounded, 2 * LOG2E, shift)
    n = whole - shift
    high, low = LN2[kind]
    r = fma(n, -low / 2, fma(n, -high / 2, bounded))
    large = 1.0 - 2.0 / fma(_exp_twice(r), (whole.bits() << MANTISSA[kind]).from_bits(kind), 1.0)
    return copysign(where(a < 0.55, small, large), x)


def _exp_twice(r: Num) -> Num:
    """exp(2r) for |r| <= ln(2)/4."""
    if r.kind == "float":
        return fma(horner(r, _EXP_TWICE), r, 1.0)
    r = r + r
    return fma(fma(polynomial(r, EXP[r.kind]), r, 1.0), r, 1.0)


_EXP_TWICE: Final = (2.0, 1.9999998, 1.3333212, 0.6666888, 0.2678207, 0.08860788)  # (exp(2r) - 1) / r, of float


def _hyperbolic(x: Num, offset: float) -> tuple[Num, Num, Num, Num]:
    """2^n / 16 and 2^-n / 16, sinh(r) and cosh(r) - 1, where |x| = n ln 2 + r and n = rint(|x| / ln 2 + offset).

    A sixteenth, so that nothing overflows before the result does.
    """
    kind = x.kind
    bias = BIAS[kind]
    limit = {"float": 90.0, "double": 711.0}[kind]  # beyond this both are infinite
    a = abs(x)
    a = where(a > limit, limit, a)
    shift = magic(kind)
    n = (fma(a, LOG2E, offset) + shift) - shift
    high, low = LN2[kind]
    r = fma(n, -low, fma(n, -high, a))
    square = r * r
    s = fma(r * square, polynomial(square, SINH[kind]), r)
    c = square * fma(square, polynomial(square, COSH[kind]), 0.5)
    whole = (n + (shift + bias)).bits()
    up = ((whole - 4) << MANTISSA[kind]).from_bits(kind)
    down = (((n.constant(shift + bias) - n).bits() - 4) << MANTISSA[kind]).from_bits(kind)
    down = where(n > float(MANTISSA[kind] + 5), 0.0, down)
    return up, down, s, c


def sinh(x: Num) -> Num:
    """(2^n - 2^-n)/2 cosh(r) + (2^n + 2^-n)/2 sinh(r)"""
    up, down, s, c = _hyperbolic(x, -0.25)  # n is 0 up to |x| = 0.52: above, nothing cancels
    less = up - down
    result = (less + fma(up + down, s, less * c)) * 8.0
    return where(abs(x) < 2.0 ** -(MANTISSA[x.kind] // 2 + 2), x, copysign(result, x))


def cosh(x: Num) -> Num:
    """2^n/2 exp(r) + 2^-n/2 exp(-r)"""
    up, down, s, c = _hyperbolic(x, 0.0)
    return (up + fma(up, c + s, down * ((c - s) + 1.0))) * 8.0


# Logarithms.

_ROOT_HALF: Final = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}  # the bits of sqrt(1/2)


def split_exponent(x: Num) -> tuple[Num, Num]:
    """k, an integer, and m between sqrt(1/2) and sqrt(2) with x = 2^k m, for normal positive x."""
    kind = x.kind
    bits = x.bits()
    k = (bits - _ROOT_HALF[kind]) >> MANTISSA[kind]
    return k, (bits - (k << MANTISSA[kind])).from_bits(kind)


def split_subnormal(x: Num) -> tuple[Num, Num]:
    """`split_exponent` of any positive x; k is a float.

    The selects are of integers: of those of floats LLVM makes, for scalars under AVX-512, code that sets a byte of a
    register, so that each iteration of a loop waits for the one before.
    """
    kind = x.kind
    stored, scale = MANTISSA[kind], MANTISSA[kind] + 2
    bits = x.bits()
    is_tiny = bits < 2 << stored
    k, m = split_exponent(where(is_tiny, (x * 2.0 ** scale).bits(), bits).from_bits(kind))
    return (k - where(is_tiny, k.constant(scale), 0)).to(kind), m


def log_reduced(k: Num, f: Num, above: Num, low: Num | None = None) -> Num:
    """k ln 2 + log(1 + f + low) for sqrt(1/2) <= 1 + f <= sqrt(2) and a `low` below the last bit of 1 + f. `above` is
    f + 2: of float64 only."""
    kind = f.kind
    ln2_high, ln2_low = LN2[kind]
    square = f * f
    high, rest = fast_two_sum(k * ln2_high, f)
    rest = fma(k, ln2_low, rest)
    if kind == "float":
        if low is not None:
            rest = fma(low, 1.0 - f + square, rest)
        return high + fma(square * f, polynomial(f, LOG["float"], square), fma(square, -0.5, rest))
    s = f / above
    z = s * s
    half = square * 0.5
    # log(1 + f) = 2s + s R = f - (f²/2 - s (f²/2 + R))
    if low is not None:
        rest = fma(low, fma(fma(s, 2.0, -2.0), s, 1.0), rest)
    return high + fma(s, fma(z, polynomial(z, LOG["double"]), half), rest - half)


def log(x: Num) -> Num:
    k, m = split_subnormal(x)
    result = log_reduced(k, m - 1.0, m + 1.0)
    result = where(x < INF, result, x)
    return where(x > 0.0, result, where(x.equals(0.0), x.constant(-INF), where(x < 0.0, NAN, x)))


def log1p(x: Num) -> Num:
    result = log1p_sum(x)
    result = where(x < INF, result, x)
    result = where(x > -1.0, result, where(x.equals(-1.0), x.constant(-INF), where(x < -1.0, NAN, x)))
    return copysign(result, x)


def log1p_sum(x: Num, low: Num | None = None, more: Num | None = None) -> Num:
    """log(1 + x + low) + more ln 2 for finite x > -1 and a `low` below the last bit of x."""
    kind = x.kind
    k, m = split_exponent(x + 1.0)
    scale = (x.constant(1.0).bits() - (k << MANTISSA[kind])).from_bits(kind)  # 2^-k
    far = x > 2.0 ** (MANTISSA[kind] + 4)
    f = where(far, m - 1.0, fma(x, scale, scale - 1.0))
    if low is not None:
        low = where(far, 0.0, low * scale)
    count = k.to(kind)
    return log_reduced(count if more is None else count + more, f, f + 2.0, low)


# Inverse hyperbolic functions.

def asinh(x: Num) -> Num:
    """log1p(|x| + x² / (1 + sqrt(1 + x²)))"""
    a = abs(x)
    large = a > 2.0 ** (BIAS[x.kind] // 2 - 4)
    square = a * a
    high, low = two_sum(a, square / (sqrt(square + 1.0) + 1.0))
    more = where(large, x.constant(1.0), 0.0)
    result = log1p_sum(where(large, a, high), where(large, 0.0, low), more)
    return copysign(where(a < INF, result, a), x)


def acosh(x: Num) -> Num:
    """log1p(t + sqrt(2t + t²)) with t = x - 1"""
    large = x > 2.0 ** (BIAS[x.kind] // 2 - 4)
    t, t_low = two_sum(x, x.constant(-1.0))
    square, square_low = two_product(t, t)
    w, w_low = two_sum(t + t, square)
    root = sqrt(w)
    error = minus_product(w, root, root) + (w_low + square_low)
    root_low = where(root > 0.0, error * 0.5 / root, 0.0)
    high, low = two_sum(root, t)
    more = where(large, x.constant(1.0), 0.0)
    result = log1p_sum(where(large, x, high), where(large, 0.0, low + (root_low + t_low * 2.0)), more)
    return where(x < 1.0, NAN, where(x < INF, result, x))


def atanh(x: Num) -> Num:
    """log1p(2 |x| / (1 - |x|)) / 2"""
    a = abs(x)
    rest, rest_low = two_sum(x.constant(1.0), -a)
    quotient = (a + a) / rest
    low = fma(-quotient, rest_low, minus_product(a + a, quotient, rest)) / rest
    result = log1p_sum(quotient, low) * 0.5
    result = where(a < 2.0 ** -(MANTISSA[x.kind] // 2 + 2), a, result)
    return copysign(where(a < 1.0, result, where(a.equals(1.0), a.constant(INF), where(a > 1.0, NAN, a))), x)
