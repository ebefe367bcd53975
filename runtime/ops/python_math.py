"""Functions of Python's `math` and `statistics` as ops: the kernel is the function itself, with its results and
exceptions.

They have no lowering: native code calls the kernel for each result.
"""
from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError
from runtime.core.op import Op, Sample, Samples
from runtime.core.types import TensorType, Type, dtype_of

__all__ = ["FLOAT_FUNCTIONS", "STATISTICS"]


def _op(
    name: str, function: Callable[..., Any], samples: Samples, *errors: type[Exception], results: str = "f",
    rank: int = 0,
) -> Op:
    """The op of a function of Python numbers, or with `rank` 1 also of lists. `results` spells its results by "f" for
    float and "i" for int; they have 64 bits if an operand has (if there are floats, one of these)."""

    def rule(*operands: Type, **params: Any) -> Any:
        found: list[TensorType] = []
        for x in operands:
            if not isinstance(x, TensorType) or x.dtype.is_complex or len(x.shape) > rank:
                raise DTypeError(f"{name} takes {'vectors or ' * rank}scalars that are real numbers, not {x}")
            found.append(x)
        weak = all(x.weak for x in found)
        types = tuple([TensorType(dtype, (), weak) for dtype in dtypes([x.dtype for x in found])])
        return types if len(results) > 1 else types[0]

    def kernel(*xs: Any, **params: Any) -> Any:
        found = function(*[x.tolist() for x in xs], **params)
        values = found if len(results) > 1 else (found,)
        arrays = tuple([dtype.np.type(x) for dtype, x in zip(dtypes([dtype_of(x) for x in xs]), values, strict=True)])
        return arrays if len(results) > 1 else arrays[0]

    def dtypes(inputs: Sequence[t.DType]) -> list[t.DType]:
        kind = max([dtype.level for dtype in inputs], default=0)
        wide = any(dtype.size == 8 for dtype in inputs if dtype.level == kind)
        return [(t.float32, t.float64)[wide] if result == "f" else (t.int32, t.int64)[wide] for result in results]

    return Op(name, kernel, rule, samples=samples, errors=errors,
              doc=f"What `{name}` of Python's `math` or `statistics` gives.")


def _of(*values: Any) -> Samples:
    """Samples of floats, ints, and lists of floats."""

    def samples(rng: np.random.Generator) -> Iterable[Sample]:
        for dtype in (np.float64, np.float32):
            yield tuple([np.int64(x) if isinstance(x, int) else np.asarray(x, dtype)[()] for x in values]), {}

    return samples


def _flat(values: Iterable[Any]) -> list[Any]:
    return [x for value in values for x in (value if isinstance(value, list) else (value,))]


def _fsum(*values: Any) -> float:
    return math.fsum(_flat(values))


def _sumprod(*values: Any, count: int) -> Any:
    return math.sumprod(_flat(values[:count]), _flat(values[count:]))  # type: ignore[attr-defined]


def _sumprod_ints(*values: Any, count: int) -> int:
    total: int = _sumprod(*values, count=count)
    if total.bit_length() > 63:
        raise OverflowError("the result of sumprod() does not fit int64: ints that Python made have 64 bits in a graph")
    return total


def _steps_after(x: float, y: float, steps: int) -> float:
    return math.nextafter(x, y, steps=steps)  # type: ignore[call-arg]


def _sumprod_samples(number: Callable[[int], Any]) -> Samples:
    x, y, z = number(3), number(5), np.asarray([number(2), number(4)])
    return lambda rng: [((x, y, z), {"count": 2}), ((z, x, y), {"count": 1})]


def _of_data(function: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    return lambda *values: function(_flat(values))


def _made() -> Iterable[Op]:
    yield _op("gamma", math.gamma, _of(2.5), ValueError, OverflowError)
    yield _op("lgamma", math.lgamma, _of(2.5), ValueError, OverflowError)
    yield _op("ulp", math.ulp, _of(1e-30))
    yield _op("frexp", math.frexp, _of(-5.25), results="fi")
    yield _op("ldexp", math.ldexp, _of(0.7, -3), OverflowError)
    yield _op("nextafter", math.nextafter, _of(1.0, 2.0))
    yield _op("fsum", _fsum, _of(0.1, [1e16, -1e16, 0.25], 3.0), ValueError, OverflowError, rank=1)
    for name in STATISTICS:
        yield _op(f"statistics_{name}", _of_data(getattr(statistics, name)), _of(0.1, [2.5, -1.5, 0.25], 3.0),
                  statistics.StatisticsError, OverflowError, rank=1)
    if hasattr(math, "sumprod"):  # as `steps` of `nextafter`, from Python 3.12 on
        yield _op("nextafter_steps", _steps_after, _of(1.0, 2.0, 3), ValueError)
        yield _op("sumprod", _sumprod, _sumprod_samples(np.float64), ValueError, rank=1)
        yield _op("sumprod_ints", _sumprod_ints, _sumprod_samples(np.int64), ValueError, OverflowError, results="i",
                  rank=1)
    if hasattr(math, "fma"):
        yield _op("fma", math.fma, _of(0.1, 0.3, -0.03), ValueError, OverflowError)


STATISTICS: Final = ("mean", "pvariance", "variance", "pstdev", "stdev")
"""Functions of `statistics`, which of floats give a float that is rounded once; the ops are `statistics_mean` etc."""
FLOAT_FUNCTIONS: Final = {op.name: op for op in _made()}
"""The ops by name. `nextafter_steps` is `nextafter` with the steps as a third operand. For `sumprod`, and for
`sumprod_ints`, whose result is an int, the first `count` operands are the items of the first iterable."""
