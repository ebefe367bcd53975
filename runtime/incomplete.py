"""The incomplete gamma and beta functions, and the zeta function (`tf.math`), by series and continued fractions.

They are computed in float64, in loops that end when all elements have converged. Derivatives are those of the loops.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import convert_beside, convert_to_tensor, init_scope
from runtime.core.types import DType, float64
from runtime.ops import math
from runtime.ops.logic import equal, greater, less, logical_and, logical_or, where
from runtime.ops.op_makers import FLOATS, apply_one, check_dtype, matching, named
from runtime.ops.reduction import reduce_any, reduce_sum
from runtime.ops.segments import lgamma
from runtime.ops.special_functions import POLYGAMMA

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = ["betainc", "igamma", "igammac", "lbeta", "polygamma", "zeta"]

_PRECISION: Final = 2.0 ** -53
_TINY: Final = 1e-300
_STEPS: Final = 100_000
_BERNOULLI: Final = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)  # B2k / (2k)!


def _operands(op: str, *values: Any) -> tuple[DType, list[Tensor]]:
    """The operands' common dtype, and the operands in float64, each of the common shape."""
    tensors = matching(*values)
    first = tensors[0]
    for x in tensors:
        check_dtype(op, x.dtype, FLOATS)
        if x.dtype is not first.dtype:
            math.add(first, x)  # raises the error about different dtypes
    wide = [math.cast(x, float64) for x in tensors]
    zero: Any = 0.0
    for x in wide:
        zero = zero + 0.0 * math.stop_gradient(where(equal(x - x, 0.0), x, 0.0))
    return first.dtype, [x + zero for x in wide]


def _until_converged(step: Callable[..., tuple[Tensor, ...]], *state: Tensor) -> Tensor:
    """Repeat `*state, goes_on = step(n, *state)`, from n = 1 on, until `goes_on` holds nowhere; returns the last part
    of the state."""
    n = convert_to_tensor(1.0, float64)
    going = less(math.abs(state[0]), np.inf)
    result = control_flow.while_loop(lambda n, going, *state: logical_and(n < _STEPS, reduce_any(going)),
                        lambda n, going, *state: _after(n, step(n, *state)), (n, going, *state))
    return result[-1]  # type: ignore[no-any-return]


def _after(n: Tensor, stepped: tuple[Tensor, ...]) -> tuple[Any, ...]:
    *state, going = stepped
    return n + 1.0, going, *state


# The incomplete gamma functions.

def _scale(a: Tensor, x: Tensor) -> Tensor:
    return math.exp(a * math.log(x) - x - lgamma(a))


def _lower_series(a: Tensor, x: Tensor) -> Tensor:
    """P(a, x) for x < a + 1."""
    def step(n: Tensor, term: Tensor, total: Tensor) -> tuple[Tensor, ...]:
        term = term * (x / (a + n))
        return term, total + term, greater(term, total * _PRECISION)

    return _until_converged(step, 1.0 / a, 1.0 / a) * _scale(a, x)


def _nonzero(x: Tensor) -> Tensor:
    return where(less(math.abs(x), _TINY), _TINY, x)


def _upper_fraction(a: Tensor, x: Tensor) -> Tensor:
    """Q(a, x) for x > a + 1, by the modified method of Lentz."""
    def step(n: Tensor, c: Tensor, d: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        factor, b = n * (a - n), x + 1.0 - a + 2.0 * n
        d = 1.0 / _nonzero(factor * d + b)
        c = _nonzero(b + factor / c)
        return c, d, h * (d * c), greater(math.abs(d * c - 1.0), 4 * _PRECISION)

    d = 1.0 / _nonzero(x + 1.0 - a)
    return _until_converged(step, 1.0 / _TINY + 0.0 * x, d, d) * _scale(a, x)


def _of_gamma(a: Any, x: Any, op: str, is_lower: bool, name: str | None) -> Tensor:
    dtype, (a, x) = _operands(op, a, x)
    is_valid = logical_and(greater(a, 0.0), x >= 0.0)
    is_inside = logical_and(is_valid, logical_and(greater(x, 0.0), less(x, np.inf)))
    by_series = logical_and(is_inside, less(x, a + 1.0))
    by_fraction = logical_and(is_inside, x >= a + 1.0)
    below = _lower_series(where(by_series, a, 1.0), where(by_series, x, 0.5))
    above = _upper_fraction(where(by_fraction, a, 1.0), where(by_fraction, x, 3.0))
    below, above = (below, 1.0 - above) if is_lower else (1.0 - below, above)
    is_one = equal(x, np.inf if is_lower else 0.0)
    ends = math.cast(is_one, float64)
    found = where(by_series, below, where(by_fraction, above, where(is_valid, ends, np.nan)))
    return named(math.cast(found, dtype), name)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(a, x), for a > 0 and x >= 0, else nan (`tf.math.igamma`)."""
    return _of_gamma(a, x, "igamma", True, name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x) (`tf.math.igammac`)."""
    return _of_gamma(a, x, "igammac", False, name)


# The incomplete beta function.

def _beta_fraction(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    def step(n: Tensor, c: Tensor, d: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        even = n * (b - n) * x / ((a + 2.0 * n - 1.0) * (a + 2.0 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2.0 * n) * (a + 2.0 * n + 1.0))
        for factor in (even, odd):
            d = 1.0 / _nonzero(1.0 + factor * d)
            c = _nonzero(1.0 + factor / c)
            h = h * (d * c)
        return c, d, h, greater(math.abs(d * c - 1.0), 4 * _PRECISION)

    d = 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return _until_converged(step, 1.0 + 0.0 * x, d, d) * math.exp(front) / a


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1, else nan
    (`tf.math.betainc`)."""
    dtype, (a, b, x) = _operands("betainc", a, b, x)
    is_valid = logical_and(logical_and(greater(a, 0.0), greater(b, 0.0)), logical_and(x >= 0.0, x <= 1.0))
    is_inside = logical_and(is_valid, logical_and(greater(x, 0.0), less(x, 1.0)))
    is_left = logical_or(less(x, (a + 1.0) / (a + b + 2.0)), equal(is_inside, False))
    first, second = where(is_left, a, b), where(is_left, b, a)
    place = where(is_left, x, 1.0 - x)
    found = _beta_fraction(where(is_inside, first, 1.0), where(is_inside, second, 1.0), where(is_inside, place, 0.25))
    found = where(is_left, found, 1.0 - found)
    return named(math.cast(where(is_inside, found, where(is_valid, x, np.nan)), dtype), name)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the elements along the last axis (`tf.math.lbeta`)."""
    x = convert_to_tensor(x)
    return named(reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1)), name)


# Zeta and polygamma.

def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (q + n)^-x over n >= 0, for x > 1 (`tf.math.zeta`). It is inf at x = 1 and
    for q = 0, -1, -2, ..., and nan for x < 1, and for negative q if x is not whole."""
    dtype, (x, q) = _operands("zeta", x, q)
    is_pole = logical_or(equal(x, 1.0), logical_and(greater(x, 1.0), logical_and(q <= 0.0, _is_whole(q))))
    is_inside = logical_and(greater(x, 1.0), logical_or(greater(q, 0.0), logical_and(_is_whole(x), q > -np.inf)))
    is_inside = logical_and(is_inside, equal(is_pole, False))
    s, start = where(is_inside, x, 2.0), where(is_inside, q, 1.0)
    end, total = control_flow.while_loop(
        lambda end, _: reduce_any(end < 10.0),
        lambda end, total: (where(end < 10.0, end + 1.0, end), total + where(end < 10.0, end ** -s, 0.0)),
        (start, 0.0 * start))
    power = end ** -s
    total = total + power * end / (s - 1.0) + 0.5 * power
    factor, power = s, power / end
    for k, coefficient in enumerate(_BERNOULLI):
        total = total + coefficient * factor * power
        factor = factor * (s + (2.0 * k + 1.0)) * (s + (2.0 * k + 2.0))
        power = power / (end * end)
    outside = where(is_pole, convert_to_tensor(np.inf, float64), np.nan)
    return named(math.cast(where(is_inside, total, outside), dtype), name)


def _is_whole(x: Tensor) -> Tensor:
    return equal(x, math.floor(x))


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivatives of orders `a` of digamma, element-wise, of floats; nan for an order that is negative or not whole
    (`tf.math.polygamma`)."""
    with init_scope():
        order = convert_to_tensor(a) if isinstance(a, Tensor) else convert_beside(a, convert_to_tensor(x).dtype)
    known = np.unique(np.asarray(order)) if isinstance(order, EagerTensor) else np.array([])
    dtype, (n, at) = _operands("polygamma", order, x)
    if known.size == 1 and known[0] >= 0 and known[0] == np.rint(known[0]):
        return named(math.cast(apply_one(POLYGAMMA, at, order=int(known[0])), dtype), name)
    above = (2.0 * (n % 2.0) - 1.0) * math.exp(lgamma(n + 1.0)) * zeta(n + 1.0, at)
    found = where(equal(n, 0.0), apply_one(POLYGAMMA, at, order=0), above)
    return named(math.cast(where(logical_and(n >= 0.0, _is_whole(n)), found, np.nan), dtype), name)
