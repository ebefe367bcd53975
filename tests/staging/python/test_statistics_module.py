"""Functions of `statistics` on data that only the graph knows: Python's results, to the last bit, and errors."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.core.errors import StagingError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
DATA = [0.1, 0.1, 0.1, 0.3, 1e3, 2.5, 0.7]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def of_all(xs):
    return [np.float64(each(xs)) for each in (
        statistics.mean, statistics.pvariance, statistics.variance, statistics.pstdev, statistics.stdev,
        statistics.fmean, statistics.median, statistics.median_low, statistics.median_high, statistics.mode)]


def of_some(xs):
    some = [x for x in xs if x > 0.2]
    return [np.float64(x) for x in (
        statistics.mean(some), statistics.median(some), statistics.stdev(x * 2 for x in some),
        statistics.fmean(map(abs, some)), statistics.mode(x for x in xs if x < 1))]


def of_ints(xs):
    ks = [int(x) for x in xs]
    return (np.float64(statistics.stdev(ks)), statistics.median(ks), statistics.median_low(ks), statistics.mode(ks),
            np.float64(statistics.mean(float(k) for k in ks)))


def of_rows(xs):
    rows = [xs[:3], xs[3:6]]
    return [np.float64(statistics.mean(column)) for column in zip(*rows)], statistics.mean([1, 2]) * xs[0] > 0


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [of_all, of_some, of_ints, of_rows])
def test_results_are_pythons(fn: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, fn)
    for given in (rt.constant(DATA, rt.float64), [rt.constant(x, rt.float64) for x in DATA]):
        assert plain(traced(given)) == plain(fn(DATA))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_arrays_of_floats(executor: str) -> None:
    data = np.array(DATA)
    found = on(executor, lambda x: (statistics.mean(x), statistics.stdev(x)))(data)
    assert plain(found) == (statistics.mean(data), statistics.stdev(data))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", ["mean", "stdev", "fmean", "median", "median_high", "mode"])
def test_too_few_data(name: str, executor: str) -> None:
    function = getattr(statistics, name)
    with pytest.raises(statistics.StatisticsError) as want:
        function([])
    traced = on(executor, lambda xs: function([x for x in xs if x > 5.0]))
    with pytest.raises(statistics.StatisticsError, match=str(want.value)):
        traced(rt.constant([1.0, 2.0]))

    def caught(xs):
        try:
            return function([x for x in xs if x > 5.0])
        except statistics.StatisticsError:
            return -1.0

    assert float(on(executor, caught)(rt.constant([1.0, 2.0]))) == -1.0


@pytest.mark.parametrize("name", ["mean", "pvariance", "variance"])
def test_the_type_of_results_of_ints_depends_on_their_values(name: str) -> None:
    with pytest.raises(StagingError, match=f"whether statistics.{name} gives an int or a float depends on the values"):
        rt.function(lambda xs: getattr(statistics, name)(xs))(rt.constant([1, 2, 3]))


def test_weights() -> None:
    with pytest.raises(StagingError, match=r"statistics\.fmean has weights here"):
        rt.function(lambda xs: statistics.fmean(xs, weights=[1, 2, 3]))(rt.constant([1.0, 2.0, 3.0]))
