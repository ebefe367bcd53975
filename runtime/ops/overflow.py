"""Whether element-wise arithmetic on ints fits their dtype: for checks of Python ints in graphs."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core.op import Sample
from runtime.core.types import bool_, int64
from runtime.ops.op_makers import binary

__all__ = ["add_fits", "multiply_fits", "subtract_fits"]


def _add(x: Any, y: Any) -> Any:
    total = np.add(x, y)
    return np.greater_equal((x ^ total) & (y ^ total), 0)  # the sum has the sign of an operand


def _subtract(x: Any, y: Any) -> Any:
    return np.greater_equal((x ^ y) & (x ^ np.subtract(x, y)), 0)


def _multiply(x: Any, y: Any) -> Any:
    """A wrapped product differs by a multiple of 2**64, far more than rounding errors do."""
    near = np.multiply(np.asarray(x, np.float64), np.asarray(y, np.float64))
    return np.less(np.abs(near - np.asarray(np.multiply(x, y), np.float64)), 2.0 ** 62)


def _samples(rng: np.random.Generator) -> Iterable[Sample]:
    edges = np.array([0, 1, -1, 3, 2**31, -2**31, 3037000499, 3037000500, 2**62, -2**62, 2**63 - 1, -2**63])
    yield (edges[:, None], edges), {}
    yield (rng.integers(-2**63, 2**63 - 1, 40), rng.integers(-4, 4, 40)), {}
    for x, y in ((2**62, 2), (2**62, -2), (-2**63, -1), (3, 5)):
        yield (np.int64(x), np.int64(y)), {}


_OF: Final = {"out": bool_, "samples": _samples}
add_fits = binary("add_fits", _add, (int64,), **_OF, doc="Whether x + y fits int64.")  # type: ignore[arg-type]
subtract_fits = binary("subtract_fits", _subtract, (int64,), **_OF,  # type: ignore[arg-type]
                       doc="Whether x - y fits int64.")
multiply_fits = binary("multiply_fits", _multiply, (int64,), **_OF,  # type: ignore[arg-type]
                       doc="Whether x * y fits int64.")
