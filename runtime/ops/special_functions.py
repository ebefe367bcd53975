"""Special functions that occur in the derivatives of others."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.errors import InvalidArgumentError
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.types import TensorType
from runtime.ops.op_makers import FLOATS, apply_one, check_dtype, named, random_array

__all__ = ["POLYGAMMA", "digamma"]

_BERNOULLI: Final = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B2, B4, ...
_NEAR: Final = 16  # from here on the asymptotic series is exact, for order 0


def _polygamma_kernel(x: Any, *, order: int) -> Any:
    """Uses the recurrence up to where the asymptotic series holds, and reflection below 1/2 (M. Abramowitz and I.
    Stegun, "Handbook of Mathematical Functions", 6.4)."""
    z = np.asarray(x, np.float64)
    y = np.where(z < 0.5, 1 - z, z)
    total = np.zeros_like(y)
    for _ in range(_NEAR + order):
        near = y < _NEAR + order
        total += np.where(near, 1 / np.where(near, y, 1) ** (order + 1), 0)
        y = y + near
    value = _asymptotic(y, order) - (-1) ** order * math.factorial(order) * total
    result = np.where(z < 0.5, (-1) ** order * value - _of_cotangent(z, order), value)
    return np.where((z <= 0) & (z == np.rint(z)), np.nan, result).astype(x.dtype)


def _asymptotic(y: Any, n: int) -> Any:
    terms = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / y ** (2 * k + n)
             for k, b in enumerate(_BERNOULLI, 1)]
    if n == 0:
        return np.log(y) - 1 / (2 * y) - sum(terms)
    first = math.factorial(n - 1) / y ** n + math.factorial(n) / (2 * y ** (n + 1))
    return (-1) ** (n + 1) * (first + sum(terms))


def _of_cotangent(x: Any, n: int) -> Any:
    """pi times the n-th derivative of cot(pi x), as a polynomial in cot(pi x)."""
    p = np.poly1d([1, 0])
    for _ in range(n):
        p = -math.pi * np.poly1d([1, 0, 1]) * p.deriv()
    with np.errstate(all="ignore"):
        return math.pi * p(1 / np.tan(math.pi * (x - np.rint(x))))


def _polygamma_rule(x: TensorType, *, order: int) -> TensorType:
    check_dtype("polygamma", x.dtype, FLOATS)
    if order < 0:
        raise InvalidArgumentError(f"polygamma takes an order of at least 0, not {order}")
    return x


def _polygamma_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in FLOATS:
        for shape in ((), (3,), (2, 0), (2, 3)):
            for order in (0, 1, 3):
                yield (random_array(rng, dtype, shape, 0.5, 4),), {"order": order}
    yield (np.array([-2.5, -0.3, 0.2, 30.0]),), {"order": 1}


POLYGAMMA: Final = Op("polygamma", _polygamma_kernel, _polygamma_rule, samples=_polygamma_samples,
                      doc="The derivative number `order` of digamma; NaN at its poles.")


def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of lgamma, element-wise, of floats; NaN at 0, -1, -2, ... (`tf.math.digamma`)."""
    return named(apply_one(POLYGAMMA, x, order=0), name)
