"""Bessel functions and integrals that are not elementary (`tf.math.special`), by NumPy in float64.

The results are exact to about 1e-15, relative to the result or, where the function oscillates, to its amplitude. Bessel
functions of moderate arguments are integrals of periodic functions, for which the trapezoidal rule converges
exponentially (L. N. Trefethen and J. A. C. Weideman, SIAM Review, 2014); others are power series and asymptotic series
(M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", chapters 5, 7, 9 and 27).
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.types import TensorType
from runtime.ops.op_makers import FLOATS, apply_one, check_dtype, named, random_array

__all__ = [
    "SPECIAL", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0",
    "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin",
    "spence",
]

_FAR: Final = 30.0  # from here on the asymptotic series of Bessel functions are exact
_THETA: Final = (np.arange(160) + 0.5) * (math.pi / 160)


def _pieces(x: Any, *pieces: tuple[Any, Callable[[Any], Any]]) -> Any:
    """For a vector, the function of each piece where its mask holds, NaN elsewhere."""
    found = np.full_like(x, np.nan)
    with np.errstate(all="ignore"):
        for mask, function in pieces:
            if mask.any():
                found[mask] = function(x[mask])
    return found


def _hankel_terms(x: Any, n: int, sign: int) -> tuple[Any, Any]:
    """The sums of the even and the odd terms of the asymptotic series of order n; `sign` -1: they alternate."""
    term = np.ones_like(x)
    sums = [np.ones_like(x), np.zeros_like(x)]
    for k in range(1, 31):
        term = term * ((4 * n * n - (2 * k - 1) ** 2) / (8 * k * x))
        sums[k % 2] += term * (sign ** (k // 2))
    return sums[0], sums[1]


def _ie(x: Any, n: int) -> Any:
    """exp(-|x|) I_n(x)."""
    y = np.abs(x)

    def near(y: Any) -> Any:
        return y ** n * (np.exp(y[:, None] * (np.cos(_THETA) - 1)) * np.sin(_THETA) ** (2 * n)).mean(1)

    def far(y: Any) -> Any:
        even, odd = _hankel_terms(y, n, 1)
        return (even - odd) / np.sqrt(2 * math.pi * y)

    return _pieces(y, (y <= _FAR, near), (y > _FAR, far)) * np.sign(x) ** n


def _j(x: Any, n: int) -> Any:
    """J_n of any order; for orders 0 and 1 there are integrals that are exact for small arguments, too."""
    return (np.cos(n * _THETA - x[:, None] * np.sin(_THETA))).mean(1)


def _oscillating(x: Any, n: int, second: bool) -> Any:
    """J_n or (`second`) Y_n of large arguments."""
    p, q = _hankel_terms(x, n, -1)
    phase = x - (n / 2 + 0.25) * math.pi
    parts = (p * np.sin(phase) + q * np.cos(phase)) if second else (p * np.cos(phase) - q * np.sin(phase))
    return np.sqrt(2 / (math.pi * x)) * parts


def _bessel_j(x: Any, n: int) -> Any:
    y = np.abs(x)

    def near(y: Any) -> Any:
        return y ** n * (np.cos(y[:, None] * np.cos(_THETA)) * np.sin(_THETA) ** (2 * n)).mean(1)

    return _pieces(y, (y <= _FAR, near), (y > _FAR, lambda y: _oscillating(y, n, False)),
                   (np.isinf(y), np.zeros_like)) * np.where(x < 0, (-1) ** n, 1)


def _bessel_y(x: Any, n: int) -> Any:
    def near(x: Any) -> Any:
        """By Neumann's series of Bessel functions (9.1.88, and its derivative)."""
        log = np.log(x / 2) + np.euler_gamma
        if n == 0:
            rest = sum((-1) ** k / k * _j(x, 2 * k) for k in range(1, 40))
            return 2 / math.pi * log * _j(x, 0) - 4 / math.pi * rest
        rest = sum((-1) ** k / k * (_j(x, 2 * k - 1) - _j(x, 2 * k + 1)) for k in range(1, 40))
        return 2 / math.pi * (log * _bessel_j(x, 1) - _bessel_j(x, 0) / x + rest)

    return _pieces(x, (x <= 0, lambda x: np.full_like(x, -np.inf)), ((x > 0) & (x <= _FAR), near),
                   (x > _FAR, lambda x: _oscillating(x, n, True)), (x == np.inf, np.zeros_like))


def _ke(x: Any, n: int) -> Any:
    """exp(x) K_n(x)."""
    def small(x: Any) -> Any:
        """By the power series (9.6.11), for x <= 1."""
        quarter, log = x * x / 4, np.log(x / 2)
        total, term = np.zeros_like(x), np.ones_like(x)
        for k in range(20):
            harmonic = sum(1 / i for i in range(1, k + 1)) - np.euler_gamma
            if n == 0:
                total += term * (harmonic - log)
                term = term * quarter / (k + 1) ** 2
            else:
                total += term * (2 * log - 2 * harmonic - 1 / (k + 1))
                term = term * quarter / ((k + 1) * (k + 2))
        return np.exp(x) * (total if n == 0 else 1 / x + x / 4 * total)

    t = np.arange(-60, 61) * 0.1

    def medium(x: Any) -> Any:
        weights = np.cosh(n * t)
        return 0.05 * (np.exp(x[:, None] * (1 - np.cosh(t))) * weights).sum(1)

    def far(x: Any) -> Any:
        even, odd = _hankel_terms(x, n, 1)
        return np.sqrt(math.pi / (2 * x)) * (even + odd)

    return _pieces(x, (x <= 0, lambda x: np.full_like(x, np.inf)), ((x > 0) & (x <= 1), small),
                   ((x > 1) & (x <= _FAR), medium), (x > _FAR, far))


def _dawsn(x: Any) -> Any:
    """By a sum of Gaussians at odd multiples of a step (G. Rybicki, Computers in Physics, 1989); near 0 by the power
    series, from 10 on by the asymptotic one."""
    y = np.abs(x)
    step = 0.2

    def near(y: Any) -> Any:
        start, row = 2 * np.rint(y / (2 * step)), np.arange(-61, 62, 2)
        distance = y - start * step
        return (np.exp(-(distance[:, None] - row * step) ** 2) / (start[:, None] + row)).sum(1) / math.sqrt(math.pi)

    def far(y: Any) -> Any:
        term = total = 1 / (2 * y)
        for k in range(1, 20):
            term = term * ((2 * k - 1) / (2 * y * y))
            total = total + term
        return total

    def small(y: Any) -> Any:
        term = total = y
        for k in range(1, 16):
            term = term * (-2 * y * y / (2 * k + 1))
            total = total + term
        return total

    return _pieces(y, (y < 0.5, small), ((y >= 0.5) & (y <= 10), near), (y > 10, far)) * np.sign(x)


def _expint(x: Any) -> Any:
    def series(x: Any) -> Any:
        term = total = x.copy()
        for k in range(2, 140):
            term = term * x / k
            total = total + term / k
        return np.euler_gamma + np.log(np.abs(x)) + total

    def far(x: Any) -> Any:
        term = total = np.ones_like(x)
        for k in range(1, 40):
            term = term * (k / x)
            total = total + term
        return np.exp(x) / x * total

    return _pieces(x, (x == 0, lambda x: np.full_like(x, -np.inf)), ((x > 0) & (x <= 40), series), (x > 40, far),
                   (x == np.inf, lambda x: x))


@functools.cache
def _gauss_legendre() -> tuple[Any, Any]:
    """96 nodes and weights for integrals from -1 to 1."""
    return np.polynomial.legendre.leggauss(96)


def _fresnel(x: Any, trigonometric: Callable[[Any], Any], shift: float) -> Any:
    """The integral of cos or sin of pi t**2 / 2 from 0 to x; from 6 on by the auxiliary functions (7.3.27)."""
    y = np.abs(x)

    def near(y: Any) -> Any:
        nodes, weights = _gauss_legendre()
        t = y[:, None] * (nodes + 1) / 2
        return y / 2 * (trigonometric(math.pi / 2 * t * t) * weights).sum(1)

    def far(y: Any) -> Any:
        z = math.pi * y * y
        f, g, term = np.zeros_like(y), np.zeros_like(y), 1 / (math.pi * y)
        for k in range(12):
            f += (-1) ** k * term
            g += (-1) ** k * term * ((4 * k + 1) / z)
            term = term * ((4 * k + 1) * (4 * k + 3) / (z * z))
        angle = math.pi / 2 * np.remainder(y * y, 4)
        return 0.5 + f * np.sin(angle - shift) - g * np.cos(angle - shift)

    return _pieces(y, (y <= 6, near), (y > 6, far), (np.isinf(y), lambda y: np.full_like(y, 0.5))) * np.sign(x)


def _spence(x: Any) -> Any:
    """The dilogarithm of 1 - x, whose series converges quickly once the argument is at most 1/2 (27.7)."""
    def series(z: Any) -> Any:
        power, total = np.ones_like(z), np.zeros_like(z)
        for k in range(1, 100):
            power = power * z
            total += power / (k * k)
        return total

    sixth = math.pi ** 2 / 6
    return _pieces(
        x, (x == 0, lambda x: np.full_like(x, sixth)),
        ((x > 0) & (x < 0.5), lambda x: sixth - np.log(x) * np.log1p(-x) - series(x)),
        ((x >= 0.5) & (x <= 1.5), lambda x: series(1 - x)),
        (x > 1.5, lambda x: -np.log(x) ** 2 / 2 - sixth - np.log(x) * np.log1p(-1 / x) + series(1 / x)))


_FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "bessel_i0e": lambda x: _ie(x, 0), "bessel_i1e": lambda x: _ie(x, 1),
    "bessel_i0": lambda x: _ie(x, 0) * np.exp(np.abs(x)), "bessel_i1": lambda x: _ie(x, 1) * np.exp(np.abs(x)),
    "bessel_j0": lambda x: _bessel_j(x, 0), "bessel_j1": lambda x: _bessel_j(x, 1),
    "bessel_y0": lambda x: _bessel_y(x, 0), "bessel_y1": lambda x: _bessel_y(x, 1),
    "bessel_k0e": lambda x: _ke(x, 0), "bessel_k1e": lambda x: _ke(x, 1),
    "bessel_k0": lambda x: _ke(x, 0) * np.exp(-x), "bessel_k1": lambda x: _ke(x, 1) * np.exp(-x),
    "dawsn": _dawsn, "expint": _expint, "fresnel_cos": lambda x: _fresnel(x, np.cos, 0.0),
    "fresnel_sin": lambda x: _fresnel(x, np.sin, math.pi / 2), "spence": _spence}


def _kernel(x: Any, *, function: str) -> Any:
    wide = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        return _FUNCTIONS[function](wide.reshape(-1)).reshape(wide.shape).astype(x.dtype)


def _rule(x: TensorType, *, function: str) -> TensorType:
    check_dtype(function, x.dtype, FLOATS)
    return x


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    for function in _FUNCTIONS:
        for dtype in FLOATS:
            yield (random_array(rng, dtype, (2, 3), 0.3, 4),), {"function": function}
    yield (np.zeros((0, 2)),), {"function": "dawsn"}
    yield (np.array(0.5, np.float32),), {"function": "expint"}


SPECIAL: Final = Op("special_function", _kernel, _rule, samples=_samples,
                    doc="A Bessel function, or an integral that is not elementary: `function`.")


def _named(function: str, text: str) -> Callable[..., Tensor]:
    def special(x: Any, name: str | None = None) -> Tensor:
        return named(apply_one(SPECIAL, x, function=function), name)

    special.__name__ = special.__qualname__ = function
    special.__doc__ = f"{text}, element-wise, of floats (`tf.math.special.{function}`)."
    return special


bessel_i0 = _named("bessel_i0", "The modified Bessel function I of order 0")
bessel_i0e = _named("bessel_i0e", "exp(-|x|) times the modified Bessel function I of order 0")
bessel_i1 = _named("bessel_i1", "The modified Bessel function I of order 1")
bessel_i1e = _named("bessel_i1e", "exp(-|x|) times the modified Bessel function I of order 1")
bessel_j0 = _named("bessel_j0", "The Bessel function J of order 0")
bessel_j1 = _named("bessel_j1", "The Bessel function J of order 1")
bessel_y0 = _named("bessel_y0", "The Bessel function Y of order 0, -inf up to 0")
bessel_y1 = _named("bessel_y1", "The Bessel function Y of order 1, -inf up to 0")
bessel_k0 = _named("bessel_k0", "The modified Bessel function K of order 0, inf up to 0")
bessel_k0e = _named("bessel_k0e", "exp(x) times the modified Bessel function K of order 0, inf up to 0")
bessel_k1 = _named("bessel_k1", "The modified Bessel function K of order 1, inf up to 0")
bessel_k1e = _named("bessel_k1e", "exp(x) times the modified Bessel function K of order 1, inf up to 0")
dawsn = _named("dawsn", "Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x")
expint = _named("expint", "The exponential integral Ei, NaN below 0")
fresnel_cos = _named("fresnel_cos", "Fresnel's integral of cos(pi t**2 / 2) from 0 to x")
fresnel_sin = _named("fresnel_sin", "Fresnel's integral of sin(pi t**2 / 2) from 0 to x")
spence = _named("spence", "Spence's function, the integral of log(t) / (1 - t) from 1 to x, NaN below 0")
