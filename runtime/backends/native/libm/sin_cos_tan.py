"""sin, cos and tan.

x = q pi/2 + r with |r| <= pi/4; the result is sin or cos of r, by q mod 4. r has two words, however large x is:

- up to `_FAST`, q is rounded from x times 2/pi, and q times pi/2, of three words, is subtracted from x;
- above, x times 2/pi is needed modulo 4 only: x = X 2^(8j) with an integer X, and a table has 2^(8j) times 2/pi modulo
  4 (M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions", 1983).

The second method is a scalar function, called for each lane if any lane needs it.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.backends.native.libm.exponentials import INF, NAN, magic
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
    two_product,
    two_sum,
    where,
)
from runtime.backends.native.libm.vector_abi import any_lane, lane_by_lane
from runtime.backends.native.llvm.builder import Val, bits_of, const

_FAST: Final = {"float": 2.0 ** 17, "double": 2.0 ** 45}
_TWO_OVER_PI: Final = 0.6366197723675814
# pi/2 in words.
_PI_HALF: Final = {
    "float": (1.5707964, -4.371139e-08, -1.7151245e-15),
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
# sin(r) = r + r³ (c0 + c1 r² + ...), cos(r) = 1 - r²/2 + r⁴ (c0 + c1 r² + ...), |r| <= 0.8.
_SIN: Final = {
    "float": (-0.16666654, 0.008332098, -0.00019506023),
    "double": (-0.16666666666666624, 0.008333333333320323, -0.00019841269828063817, 2.7557313067961415e-06,
               -2.5050658036078714e-08, 1.5890881450281411e-10),
}
_COS: Final = {
    "float": (0.04166664, -0.0013887105, 2.4407438e-05),
    "double": (0.041666666666666574, -0.0013888888888869706, 2.4801587286715805e-05, -2.755731355319253e-07,
               2.0875614826140886e-09, -1.1354048155668516e-11),
}


def _sin_words(r: Num, low: Num) -> tuple[Num, Num]:
    square = r * r
    tail = fma(r * square, polynomial(square, _SIN[r.kind]), low * fma(square, -0.5, 1.0))
    return fast_two_sum(r, tail)


def _cos_words(r: Num, low: Num) -> tuple[Num, Num]:
    square = r * r
    half = square * 0.5
    high = 1.0 - half
    tail = fma(square * square, polynomial(square, _COS[r.kind]), -(r * low))
    return fast_two_sum(high, ((1.0 - high) - half) + tail)


def sin(x: Num) -> Num:
    q, r, low = reduced(x)
    return where(abs(x) < 2.0 ** -(MANTISSA[x.kind] // 2 + 2), x, _quadrant(q, r, low))


def cos(x: Num) -> Num:
    q, r, low = reduced(x)
    return _quadrant(q + 1, r, low)


def _quadrant(q: Num, r: Num, low: Num) -> Num:
    """sin(q pi/2 + r)"""
    value = where((q & 1).equals(0), _sin_words(r, low)[0], _cos_words(r, low)[0])
    sign = (q & 2) << (MANTISSA[r.kind] + BIAS[r.kind].bit_length())
    return (value.bits() ^ sign).from_bits(r.kind)


def tan(x: Num) -> Num:
    q, r, low = reduced(x)
    even = (q & 1).equals(0)
    (s, s_low), (c, c_low) = _sin_words(r, low), _cos_words(r, low)
    above, above_low = where(even, s, -c), where(even, s_low, -c_low)
    below, below_low = where(even, c, s), where(even, c_low, s_low)
    inverse = 1.0 / below
    quotient = above * inverse
    error = minus_product(above, quotient, below) + fma(-quotient, below_low, above_low)
    return where(abs(x) < 2.0 ** -(MANTISSA[x.kind] // 2 + 2), x, fma(error, inverse, quotient))


# Reduction.

def reduced(x: Num) -> tuple[Num, Num, Num]:
    """q, an integer of which only the lowest two bits are used, and r in two words, with x = q pi/2 + r."""
    fast = _reduced_fast(x)
    large = ~(abs(x) < _FAST[x.kind])

    def slow() -> Sequence[Val]:
        n, r, low = lane_by_lane("reduced_large", _reduced_large, 3, x.to("double"))
        narrow = r.to(x.kind)
        words = ((n + magic("double")).bits().to(f"i{bits_of(x.ty)}"), narrow,
                 ((r - narrow.to("double")) + low).to(x.kind))
        return [where(large, word, other).v for word, other in zip(words, fast, strict=True)]

    values = x.b.either(any_lane(large).v, slow, lambda: [one.v for one in fast])
    q, r, low = [Num(x.b, value) for value in values]
    return q, r, low


def _reduced_fast(x: Num) -> tuple[Num, Num, Num]:
    one, two, three = _PI_HALF[x.kind]
    whole = fma(x, _TWO_OVER_PI, magic(x.kind))
    n = whole - magic(x.kind)
    product, product_low = two_product(n, n.constant(two))
    # Where the first is smaller, it is a multiple of the second's last place, so that nothing is lost either:
    # S. M. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation", part I (2008), lemma 2.6.
    r, low = fast_two_sum(minus_product(x, n, n.constant(one)), -product)
    return whole.bits(), r, low + fma(n, -three, -product_low)


def _reduced_large(x: Num) -> tuple[Num, Num, Num]:
    """q as a float, and r in two words, for a scalar."""
    bits = abs(x).bits()
    above = (bits >> 52) - (BIAS["double"] + 52)
    row = where(above > 0, above, 0) >> 3
    whole = (bits - (row << 55)).from_bits("double")
    words = _table_row(row)
    first, first_low = two_product(whole, words[0])
    second, second_low = two_product(whole, words[1])
    third, third_low = two_product(whole, words[2])
    first = first - rint(first * 0.25) * 4.0
    turn, turn_low = two_sum(first, first_low)
    turn, turn_lower = two_sum(turn, second)
    n = rint(turn)
    high = turn - n
    low = fma(whole, words[3], third_low)
    for term in (turn_low, turn_lower, second_low, third):
        high, error = two_sum(high, term)
        low = low + error
    one, two, _ = _PI_HALF["double"]
    r, r_low = two_product(high, high.constant(one))
    r, r_low = fast_two_sum(r, fma(high, two, fma(low, one, r_low)))
    sign = copysign(x.constant(1.0), x)
    return n * sign, where(abs(x) < INF, r * sign, NAN), r_low * sign


_TABLE: Final = "two_over_pi"
_WORDS: Final = 4
_ROWS: Final = (1024 - 52) // 8 + 1


def _table_row(row: Num) -> list[Num]:
    """The words of 2^(8 row) 2/pi modulo 4."""
    b = row.b
    if _TABLE not in b.module.globals:
        rows = []
        for j in range(_ROWS):
            words = ", ".join(str(const("double", word)) for word in two_over_pi(8 * j))
            rows.append(f"[{_WORDS} x double] [{words}]")
        kind = f"[{_ROWS} x [{_WORDS} x double]]"
        b.module.globals[_TABLE] = f"internal unnamed_addr constant {kind} [{', '.join(rows)}]"
    start = b.op("ptr", f"getelementptr inbounds [{_WORDS} x double], ptr @{_TABLE}, {row.v}")
    return [Num(b, b.load("double", b.offset(start, word, "double"))) for word in range(_WORDS)]


def two_over_pi(exponent: int) -> list[float]:
    """2^exponent times 2/pi, modulo 4 and between -2 and 2, in four words."""
    rest = (_TWO_OVER_PI_BITS << exponent) % (1 << (_FRACTION + 2))
    if rest >> (_FRACTION + 1):
        rest -= 1 << (_FRACTION + 2)
    words = []
    for _ in range(_WORDS):
        word = rest / (1 << _FRACTION)  # correctly rounded, as Python divides integers
        words.append(word)
        numerator, denominator = word.as_integer_ratio()
        rest -= (numerator << _FRACTION) // denominator
    return words


def _pi(bits: int) -> int:
    """pi times 2^bits, rounded down, by Machin's formula: pi/4 = 4 atan(1/5) - atan(1/239)."""
    guard = 64

    def atan_inverse(n: int) -> int:
        term = total = (1 << (bits + guard)) // n
        sign, k = -1, 3
        while term:
            term //= n * n
            total += sign * (term // k)
            sign, k = -sign, k + 2
        return total

    return (4 * (4 * atan_inverse(5) - atan_inverse(239))) >> guard


_FRACTION: Final = 1024 + 4 * 53 + 64  # bits of 2/pi after the binary point
_TWO_OVER_PI_BITS: Final = (1 << (2 * _FRACTION + 1)) // _pi(_FRACTION)
