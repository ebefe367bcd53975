"""Functions of Python's `statistics` on data that only the graph knows."""
# The code that converts has no annotations: the data may be anything.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, type-arg"
from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from autograph.backend import convert_file
from runtime.core.positions import staging_error
from runtime.core.trace import apply
from runtime.numpy.array_objects import StagedArray
from runtime.numpy.reductions import is_array
from runtime.ops.python_math import FLOAT_FUNCTIONS, STATISTICS
from runtime.staging.python.math_module import number, operands

__all__ = ["STATISTICS_FUNCTIONS"]

convert_file(__file__)


def _ordered(data, what):
    found = sorted(data)
    if len(found) == 0:
        raise statistics.StatisticsError(f"no {what} for empty data")
    return found


def _median(data):
    found = _ordered(data, "median")
    half = len(found) // 2
    return found[half] if len(found) % 2 == 1 else (found[half - 1] + found[half]) / 2


def _median_low(data):
    found = _ordered(data, "median")
    return found[(len(found) - 1) // 2]


def _median_high(data):
    found = _ordered(data, "median")
    return found[len(found) // 2]


def _mode(data):
    pairs = Counter(data).most_common(1)
    if len(pairs) == 0:
        raise statistics.StatisticsError("no mode for empty data")
    return pairs[0][0]


def _fmean(data, weights=None):
    if weights is not None:
        raise staging_error("statistics.fmean has weights here, and the data is known only when the graph runs",
                            "Write the sums: math.fsum.")
    items = list(data)
    if len(items) == 0:
        raise statistics.StatisticsError("fmean requires at least one data point")
    return math.fsum(items) / len(items)


def _rounded_once(name: str) -> Callable[..., Any]:
    def function(data: Any) -> Any:
        values = operands(data, number)
        if not all(value.dtype.is_floating for value in values) and (
                name in _OF_THE_TYPE_OF_DATA or isinstance(data, StagedArray) or is_array(data)):
            raise staging_error(
                f"whether statistics.{name} gives an int or a float depends on the values of ints",
                "Give it floats: (float(x) for x in data).")
        return apply(FLOAT_FUNCTIONS[f"statistics_{name}"], *values)

    return function


_OF_THE_TYPE_OF_DATA: Final = frozenset({"mean", "pvariance", "variance"})
STATISTICS_FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    **{getattr(statistics, name): _rounded_once(name) for name in STATISTICS},
    statistics.median: _median,
    statistics.median_low: _median_low, statistics.median_high: _median_high, statistics.mode: _mode,
    statistics.fmean: _fmean}
"""By function: its replacement in traced functions, which converts."""
