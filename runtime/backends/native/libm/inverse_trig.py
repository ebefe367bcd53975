"""asin, acos, atan and atan2.

    atan    of a quotient, which is reduced to |t| <= tan(pi/8) by atan(x) = pi/4 + atan((x - 1)/(x + 1))
            and atan(x) = pi/2 - atan(1/x)
    asin    up to 1/2 a polynomial; above, asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2))
"""
from __future__ import annotations

from typing import Final

from runtime.backends.native.libm.exponentials import INF, NAN
from runtime.backends.native.libm.expressions import (
    BIAS,
    MANTISSA,
    Num,
    copysign,
    fma,
    minus_product,
    polynomial,
    sqrt,
    two_sum,
    where,
)

_PI_HALF: Final = {"float": (1.5707964, -4.371139e-08), "double": (1.5707963267948966, 6.123233995736766e-17)}
# atan(t) = t + t³ (c0 + c1 t² + ...), |t| <= tan(pi/8).
_ATAN: Final = {
    "float": (-0.3333332, 0.19998653, -0.14246126, 0.10608855, -0.061087463),
    "double": (-0.33333333333333187, 0.19999999999950416, -0.14285714279861414, 0.11111110766014587,
               -0.0909089723838965, 0.07692050692723923, -0.06662992863409713, 0.05847060600794802,
               -0.050354889603660476, 0.03796569779456889, -0.01779700498422427),
}
# asin(x) = x + x³ (c0 + c1 x² + ...), |x| <= 1/2.
_ASIN: Final = {
    "float": (0.1666666, 0.07500903, 0.04440117, 0.032970138, 0.00957562, 0.044768315),
    "double": (0.16666666666666766, 0.07499999999969328, 0.04464285716859372, 0.030381943393000592,
               0.02237218564709632, 0.017352290473148714, 0.013971203467832108, 0.011487402667465415,
               0.010240155313728771, 0.005879863832906395, 0.016160065532235875, -0.012856595408965594,
               0.02739175999120805),
}
_TAN_PI_8: Final = 0.41421356237309503


def atan(x: Num) -> Num:
    a = abs(x)
    small, large = a < _TAN_PI_8, a > 1 / _TAN_PI_8
    # t = above / below, the latter with a low word
    below, below_low = two_sum(a, a.constant(1.0))
    above = where(small, a, where(large, -1.0, a - 1.0))
    below = where(small, 1.0, where(large, a, below))
    middle = ~(small | large)
    t = above / below
    # the remainder of the quotient; 1 / below is (1 - t) / 2 in the middle
    error = fma(-t, below_low, minus_product(above, t, below))
    t_low = where(middle, error * fma(t, -0.5, 0.5), 0.0)
    return copysign(_atan_of(t, t_low, small, large), x)


def _atan_of(t: Num, t_low: Num, small: Num, large: Num) -> Num:
    """atan(t + t_low), plus 0 if `small`, pi/2 if `large`, else pi/4."""
    high, low = _PI_HALF[t.kind]
    square = t * t
    tail = fma(t * square, polynomial(square, _ATAN[t.kind]), t_low)
    tail = tail + where(small, t.constant(0.0), where(large, t.constant(low), low / 2))
    base = where(small, t.constant(0.0), where(large, t.constant(high), high / 2))
    return base + (t + tail)


def atan2(y: Num, x: Num) -> Num:
    """The angle of (x, y); for zeros and infinities the limit of the angles of points near them."""
    kind = x.kind
    a, b = abs(y), abs(x)
    both = a.equals(INF) & b.equals(INF)
    a, b = where(both, 1.0, a), where(both, 1.0, b)
    # avoids overflow of sums and underflow of products
    huge = (a > 2.0 ** (BIAS[kind] - 32)) | (b > 2.0 ** (BIAS[kind] - 32))
    tiny = (a < 2.0 ** (2 * MANTISSA[kind] - BIAS[kind])) & (b < 2.0 ** (2 * MANTISSA[kind] - BIAS[kind]))
    scale = where(huge, a.constant(2.0 ** -36), where(tiny, a.constant(2.0 ** (2 * MANTISSA[kind])), 1.0))
    a, b = a * scale, b * scale
    b = where(a.equals(0.0) & b.equals(0.0), 1.0, b)
    small, large = a < b * _TAN_PI_8, a > b * (1 / _TAN_PI_8)
    middle = ~(small | large)
    below, below_low = two_sum(a, b)
    above, above_low = two_sum(a, -b)
    above = where(small, a, where(large, -b, above))
    below = where(small, b, where(large, a, below))
    t = above / below
    error = minus_product(above, t, below) + fma(-t, below_low, above_low)
    angle = _atan_of(t, where(middle, error / below, 0.0), small, large)
    high, low = _PI_HALF[kind]
    angle = where(x.bits() < 0, 2 * high - (angle - 2 * low), angle)
    angle = where(x.is_nan() | y.is_nan(), NAN, angle)
    return copysign(angle, y)


def _halved(x: Num) -> tuple[Num, Num, Num, Num]:
    """|x|, whether it is small, and the square and the root of the polynomial's argument."""
    a = abs(x)
    small = a < 0.5
    square = where(small, x * x, fma(a, -0.5, 0.5))
    return a, small, square, sqrt(square)


def asin(x: Num) -> Num:
    kind = x.kind
    a, small, square, root = _halved(x)
    base = where(small, a, root)
    tail = (base * square) * polynomial(square, _ASIN[kind])
    high, low = _PI_HALF[kind]
    # the rounding error of the root, which matters where the root is not small compared with pi/2
    rest = _root_rest(root, square)
    large = high - 2.0 * (root + ((tail + rest) - low / 2))
    return copysign(where(small, a + tail, large), x)


def acos(x: Num) -> Num:
    kind = x.kind
    _, small, square, root = _halved(x)
    base = where(small, x, root)
    tail = (base * square) * polynomial(square, _ASIN[kind])
    high, low = _PI_HALF[kind]
    tail = tail + where(small, 0.0, _root_rest(root, square))
    near = 2.0 * (base + tail)  # x > 0
    far = 2.0 * (high - (base + (tail - low)))
    return where(small, high - (x + (tail - low)), where(x > 0.0, near, far))


def _root_rest(root: Num, square: Num) -> Num:
    """sqrt(square) - root"""
    return where(root > 0.0, minus_product(square, root, root) * 0.5 / root, 0.0)
