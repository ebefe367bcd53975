"""erf, erfc and erfinv.

    erf     up to 1 a polynomial; above, 1 - erfc
    erfc    from 1/2 on exp(-x²) / (1 + 2x) times a polynomial of (x - k) / (x + k), which maps all x into one short
            interval (M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x", 1981)
    erfinv  up to 1/2 a polynomial; above, s = sqrt(-log(1 - x)) times a polynomial of (s - k) / (s + k)

For double, the last steps use two words; for float, everything is computed in double.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.backends.native.libm.exponentials import INF, NAN, exp_words, powers
from runtime.backends.native.libm.expressions import (
    Num,
    copysign,
    fast_two_sum,
    fma,
    minus_product,
    polynomial,
    sqrt,
    two_product,
    two_sum,
    where,
)
from runtime.backends.native.libm.power import exp2_short, log2_short, log_words

# erf(x) = x (c0 + c1 x² + ...), |x| <= 1; for double, c0 is two words.
_ERF: Final = {
    "float": (1.1283791657270403, -0.3761262582390603, 0.11283585143855301, -0.026853811758421445,
              0.005188327383613194, -0.0008010191147011052, 7.853853469952383e-05),
    "double": (-0.37612638903183754, 0.11283791670955123, -0.026866170645110505, 0.005223977625025112,
               -0.0008548326986517669, 0.00012055331122581241, -1.4925591482200492e-05, 1.6460884146354821e-06,
               -1.6348573243450156e-07, 1.464514647171638e-08, -1.130653722528626e-09, 5.830719701493402e-11),
}
_ERF_FIRST: Final = (1.1283791670955126, 1.533545961316588e-17)
# (1 + 2x) exp(x²) erfc(x) = c0 + c1 q + ..., q = (x - k) / (x + k), from 0.46 on; for double, c0 is two words.
_ERFC: Final = {
    "float": (1.2530080589027546, -0.13562110471743888, -0.04756239119046508, 0.1296450685013293,
              -0.11927129478213933, 0.068310086674989, -0.023790931156828725, 0.002509490921765155,
              0.0019610468115155368, -0.0006974571892781507, -0.0001943661397189806),
    "double": (-0.1396211168405625, 0.015379652102619873, 0.06809705425468852, -0.1010390660363128,
               0.0937328349985592, -0.06633036581200742, 0.03716751553306737, -0.016197734060571622,
               0.0050319700274950386, -0.0007577732665443433, -0.00019925702552849088, 0.00015062156487925322,
               -2.4397816054987447e-05, -1.1221672140226756e-05, 5.705897747220793e-06, 2.930753696871256e-07,
               -8.18617705871155e-07, 7.5569763665108e-08, 1.0252091314168427e-07, -1.8601284193448167e-08,
               -9.393795492215061e-09, 2.0584297622865378e-09),
}
_ERFC_FIRST: Final = (1.2329951186255526, -4.5610709787208584e-17)
_ERFC_K: Final = {"float": 3.0, "double": 4.0}
_ERFC_END: Final = {"float": 10.2, "double": 27.4}  # beyond this it is 0
# erfinv(x) = x (c0 + c1 x² + ...), |x| <= 1/2; c0 is two words.
_ERFINV: Final = {
    "float": (0.23201348012274978, 0.12757016369357124, 0.08620486093933553, 0.06886941922183831,
              0.03012062271115374, 0.09721511070103085),
    "double": (0.23201366653465794, 0.12755617530452978, 0.08655212935733819, 0.0649596114315115,
               0.05173148464071472, 0.04283255366258388, 0.03652354916776659, 0.03113905881518635,
               0.031634783588026655, 0.008269335500116748, 0.07391891668756467, -0.07678135180732246,
               0.11360704323987439),
}
_ERFINV_FIRST: Final = (0.886226925452758, -3.8332932499128993e-17)
# erfinv(x) = s (c0 + c1 q + ...), q = (s - k) / (s + k), 1/2 <= x < 1; for double, c0 is two words.
_ERFINV_FAR: Final = {
    "float": (0.8340941578571397, 0.430917742979152, -0.4237631348887417, 0.2019371974075727, 0.006718440412166597,
              -0.12803675148444474, 0.13794705269566573, -0.07399760002400853, -0.015893129603519025,
              0.08230524264896262, -0.06658534847745233),
    "double": (0.5524487453882198, -0.4054902356055623, 0.02606319895483241, 0.17272480877992205,
               -0.15305390773093572, 0.01385081618384436, 0.09160944131877227, -0.09264292613156712,
               0.014963252188119851, 0.05779050766849915, -0.06665245361634259, 0.01616332696562277,
               0.039486526758616566, -0.05195461910275103, 0.01691309591679342, 0.027920050957835715,
               -0.041921115020783196, 0.017137437729524835, 0.01764357546440335, -0.03024077497734641,
               0.018326062809374818, -0.0038688918943802753, -0.0005894737187219205, 0.00011743364077113561),
}
_ERFINV_FAR_FIRST: Final = (0.7633091880364665, -5.173967564915963e-17)
_ERFINV_K: Final = {"float": 2.0, "double": 1.5}


def erf(x: Num) -> Num:
    wide = x.to("double")
    far = 1.0 - _erfc_far(abs(wide), x.kind)
    return copysign(where(abs(wide) < 1.0, _erf_near(wide, x.kind), far).to(x.kind), x)


def erfc(x: Num) -> Num:
    wide = x.to("double")
    far = _erfc_far(abs(wide), x.kind)
    far = where(wide < 0.0, 2.0 - far, far)
    return where(abs(wide) < 0.5, 1.0 - _erf_near(wide, x.kind), far).to(x.kind)


def _erf_near(x: Num, kind: str) -> Num:
    square = x * x
    rest = polynomial(square, _ERF[kind])
    return x * rest if kind == "float" else _multiplied(x, _ERF_FIRST, square * rest)


def _multiplied(x: Num, first: tuple[float, float], rest: Num) -> Num:
    """x (first + rest)"""
    high, low = two_product(x, x.constant(first[0]))
    return high + fma(x, rest + first[1], low)


def _erfc_far(x: Num, kind: str) -> Num:
    """erfc(x) for x >= 0.46, in double; as accurate as `kind` requires."""
    end, k = _ERFC_END[kind], _ERFC_K[kind]
    x = where(x > end, end, x)
    q = (x - k) / (x + k)
    if kind == "float":
        return polynomial(q, _ERFC[kind]) / fma(x, 2.0, 1.0) * exp2_short(x * x * -1.4426950408889634)
    p, p_low = _words(q, _ERFC_FIRST, _ERFC[kind])
    below, below_low = two_sum(x + x, x.constant(1.0))
    g, g_low = _quotient(p, p_low, below, below_low)
    square, square_low = two_product(x, x)
    tail, biased = exp_words(-square, -square_low)
    e, e_low = fast_two_sum(x.constant(1.0), tail)
    product, product_low = two_product(e, g)
    result = product + (product_low + fma(e, g_low, e_low * g))
    power, half = powers(biased, x > 0.0)
    return result * power * half


def erfinv(x: Num) -> Num:
    wide = x.to("double")
    a = abs(wide)
    square = a * a
    near = _multiplied(a, _ERFINV_FIRST, square * polynomial(square, _ERFINV[x.kind]))
    result = where(a < 0.5, near, _erfinv_far(a, x.kind))
    result = where(a < 1.0, result, where(a.equals(1.0), a.constant(INF), NAN))
    return copysign(result.to(x.kind), x)


def _erfinv_far(x: Num, kind: str) -> Num:
    k = _ERFINV_K[kind]
    if kind == "float":
        s = sqrt(log2_short(1.0 - x) * -0.6931471805599453)
        return s * polynomial((s - k) / (s + k), _ERFINV_FAR[kind])
    log, log_low = fast_two_sum(*log_words(1.0 - x))
    s = sqrt(-log)
    s_low = (minus_product(-log, s, s) - log_low) * 0.5 / s
    p, p_low = _words((s - k) / (s + k), _ERFINV_FAR_FIRST, _ERFINV_FAR[kind])
    return fma(s, p, fma(s, p_low, s_low * p))


def _words(q: Num, first: tuple[float, float], rest: Sequence[float]) -> tuple[Num, Num]:
    """first + q (c0 + c1 q + ...) in two words."""
    high, low = fast_two_sum(q.constant(first[0]), q * polynomial(q, rest))
    return high, low + first[1]


def _quotient(above: Num, above_low: Num, below: Num, below_low: Num) -> tuple[Num, Num]:
    """(above + above_low) / (below + below_low) in two words."""
    inverse = 1.0 / below
    quotient = above * inverse
    error = minus_product(above, quotient, below) + fma(-quotient, below_low, above_low)
    return quotient, error * inverse
