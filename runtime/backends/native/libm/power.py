"""x to the power y: exp(y log x), with the logarithm in two words (for double) or in double (for float)."""
from __future__ import annotations

from typing import Final

from runtime.backends.native.libm.exponentials import (
    INF,
    NAN,
    clamp,
    exp_words,
    limited,
    magic,
    powers,
    split_exponent,
    split_subnormal,
)
from runtime.backends.native.libm.expressions import (
    BIAS,
    MANTISSA,
    Num,
    copysign,
    fast_two_sum,
    fma,
    minus_product,
    polynomial,
    rint,
    sqrt,
    two_product,
    where,
)

# log((1+s)/(1-s)) = 2s + s³ (2/3 + s² (c0 + c1 s² + ...)); 2/3 and ln 2 in two words.
_LOG: Final = (0.3999999999999998, 0.2857142857144385, 0.22222222217785276, 0.1818181884469114, 0.15384558373378046,
               0.1333626684230692, 0.1167572960035268, 0.11982203034702006)
_TWO_THIRDS: Final = (0.6666666666666666, 3.700743415417188e-17)
_LN2: Final = (0.6931471805598903, 5.497923018708371e-14)  # the high one times any exponent is exact
# log2((1+s)/(1-s)) = s (c0 + c1 s² + ...) and 2^f = 1 + f (c0 + c1 f + ...), |f| <= 1/2, to 2^-28.
_LOG2: Final = (2.885390081790167, 0.9617966732479734, 0.5770836018561375, 0.4116717493624725, 0.3407474487524446)
_EXP2: Final = (0.6931472077098438, 0.24022650731674153, 0.05550325130459139, 0.009618096363113633,
                0.0013401242217102364, 0.0001544605292016704)


def log_words(x: Num) -> tuple[Num, Num]:
    """log(x) in two words of double, for positive finite x; the second may be some thousand units in the last place of
    the first."""
    k, m = split_subnormal(x)
    above, below = m - 1.0, m + 1.0
    below_low = above - (below - 2.0)
    inverse = 1.0 / below
    s = above * inverse
    s_low = fma(-s, below_low, minus_product(above, s, below)) * inverse
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    c, c_low = fast_two_sum(z.constant(_TWO_THIRDS[0]), z * polynomial(z, _LOG))
    c_low = c_low + _TWO_THIRDS[1]
    cube, cube_low = two_product(s, z)
    cube_low = cube_low + fma(s, z_low, s_low * z)
    w, w_low = two_product(cube, c)
    w_low = w_low + fma(cube, c_low, cube_low * c)
    high, low = fast_two_sum(k * _LN2[0], s + s)
    low = low + fma(s_low, 2.0, k * _LN2[1])
    high, rest = fast_two_sum(high, w)
    return high, (low + w_low) + rest


def pow(x: Num, y: Num) -> Num:
    a = abs(x)
    size = _double_size(a, y) if x.kind == "double" else _float_size(a, y)
    half = y * 0.5
    whole = rint(y).equals(y)
    odd = whole & rint(half).differs(half)
    one = x.equals(1.0) | y.equals(0.0) | (a.equals(1.0) & whole)
    invalid = ((x < 0.0) & ~whole & (a < INF)) | x.is_nan()
    size = where(one | invalid, where(one, x.constant(1.0), NAN), size)
    return copysign(size, where(odd, x, 1.0))


MULTIPLES_OF_HALF: Final = {twice / 2: f"pow.{twice}" for twice in range(-16, 17) if twice}
"""By exponent, the name of the function `multiple_of_half` of it."""


def multiple_of_half(x: Num, twice: int) -> Num:
    """x to the power twice/2, by products of two words: closer than `pow`, in few instructions for small `twice`."""
    if x.kind == "float":
        return _product(x.to("double"), twice).to("float")
    return _product(x, twice)


def _product(x: Num, twice: int) -> Num:
    count, half = divmod(abs(twice), 2)
    words = None
    if half:
        x = where(x.equals(-INF), x.constant(INF), x + 0.0)  # C's `pow` of -inf is as that of inf, of -0.0 as of 0.0
        root = sqrt(x)
        words = root, minus_product(x, root, root) / (root + root)
    base = x, x.constant(0.0)
    if twice < 0:  # powers of the inverse: these overflow and underflow only where the result does
        base = _inverse(*base)
        words = words and _inverse(*words)
    while count:
        if count & 1:
            words = base if words is None else _words_product(words, base)
        count >>= 1
        if count:
            base = _words_product(base, base)
    assert words is not None
    high, low = words
    total = high + low
    return where(total.is_nan() | total.equals(0.0), high, total)  # the low word of 0 and infinity is none of these


def _inverse(high: Num, low: Num) -> tuple[Num, Num]:
    inverse = 1.0 / high
    error = (minus_product(high.constant(1.0), inverse, high) - low * inverse) * inverse
    return inverse, where(abs(error) < INF, error, 0.0)  # unfused products of great numbers overflow


def _words_product(x: tuple[Num, Num], y: tuple[Num, Num]) -> tuple[Num, Num]:
    high, low = two_product(x[0], y[0])
    return high, low + (x[0] * y[1] + x[1] * y[0])


def _double_size(a: Num, y: Num) -> Num:
    high, low = log_words(a)
    z, z_low = two_product(y, high)
    p, biased = exp_words(z, fma(y, low, z_low))
    power, half = powers(biased, z < 0.0)
    z = where((a > 0.0) & (a < INF), z, y * where(a.equals(0.0), a.constant(-INF), a))
    return limited(z, fma(power, p, power) * half)


def _float_size(a: Num, y: Num) -> Num:
    wide = a.to("double")
    log2 = log2_short(wide)
    log2 = where(wide.equals(0.0), wide.constant(-INF), where(wide < INF, log2, wide))
    return exp2_short(y.to("double") * log2).to("float")


def log2_short(x: Num) -> Num:
    """log2(x) to about 37 bits, for normal positive doubles."""
    k, m = split_exponent(x)
    s = (m - 1.0) / (m + 1.0)
    return fma(s, polynomial(s * s, _LOG2), k.to("double"))


def exp2_short(x: Num) -> Num:
    """2^x to about 28 bits, for doubles whose result becomes a float."""
    x = clamp(x, -160.0, 140.0)
    shift = magic("double") + BIAS["double"]
    whole = x + shift
    f = x - (whole - shift)
    return fma(polynomial(f, _EXP2), f, 1.0) * (whole.bits() << MANTISSA["double"]).from_bits("double")
