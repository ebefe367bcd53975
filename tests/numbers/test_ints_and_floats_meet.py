"""Int tensors and Python's floats that meet in branches, loops, `min`, `max` and `where`: a float, as in arithmetic."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import DTypeError, StagingError
from tests.traced_once import on


def least(xs):
    best = math.inf
    for x in xs:
        best = min(best, x)
    return best


def least_by_if(xs):
    best = math.inf
    for x in xs:
        if x < best:
            best = x
    return best


def greatest_difference(xs):
    best = -math.inf
    for i in range(len(xs)):
        best = max(best, xs[i] - i)
    return best


def total(xs):
    t = 0.0
    for x in xs:
        t += x
    return t


def total_in_a_while(xs):
    t, i = 0.5, 0
    while t < 5 + xs[0]:
        t = xs[i % 3] + t * 1
        i += 1
    return t


def of_a_python_list(xs):
    m = [0.0] * 4
    for i in range(1, 4):
        m[i] = m[i - 1] + xs[i - 1]
    return m[3]


def of_a_list_of_the_graph(xs):
    m = [0.25]
    for x in xs:
        m.append(m[-1] - x)
    return m[len(xs)]


def of_a_table(xs):
    best = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            best[i][j] = math.inf
            for x in xs:
                cost = x * (i + j)
                if cost < best[i][j]:
                    best[i][j] = cost
    return best[1][2]


def median(xs):
    n = xs[0]
    return xs[1] if n % 2 else (xs[1] + xs[2]) / 2


def halved(xs):
    n = xs[0]
    for _ in range(3):
        n = n / 2
    return n


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "min in a loop": (least, [3, 1, 2]), "if in a loop": (least_by_if, [3, 1, 2]),
    "max in a loop": (greatest_difference, [3, 9, 2]),
    "total": (total, [4, 5, 6]), "total in a while": (total_in_a_while, [3, 1, 2]),
    "of a Python list": (of_a_python_list, [4, 5, 6]), "of a list of the graph": (of_a_list_of_the_graph, [4, 5, 6]),
    "of a table": (of_a_table, [3, 1, 2]), "median, int": (median, [3, 1, 2]), "median, float": (median, [4, 1, 2]),
    "halved": (halved, [3, 1, 2]),
    "max": (lambda n: max(n, 2.5), 2), "min": (lambda n: min(n, math.inf), 3),
    "ternary, int": (lambda n: n if n > 1 else 2.5, 3), "ternary, float": (lambda n: n if n > 1 else 2.5, 0),
    "where": (lambda n: np.where(n > 1, n, 2.5), 3), "sum": (lambda n: (n if n > 1 else 0.5) + n / 2, 3),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str, executor: str) -> None:
    function, x = PROGRAMS[name]
    found = on(executor, function)(rt.constant(x))
    assert float(found) == float(function(x)) and found.dtype is rt.float64


def test_what_ints_and_floats_make_is_a_number_of_python() -> None:
    def precise(n, x):
        t = 0.1 + n
        return t * 3, t * x

    number, beside = rt.function(precise)(rt.constant(2), rt.constant(2.0))
    assert (number.dtype, number.numpy(), beside.dtype) == (rt.float64, (0.1 + 2) * 3, rt.float32)


@pytest.mark.parametrize("other", [rt.constant(1.5), rt.constant(1.5, rt.float64)], ids=lambda x: x.dtype.name)
def test_tensors_of_ints_and_floats_do_not_mix(other: Any) -> None:
    for function in (lambda n, x: n + x, lambda n, x: x < n, lambda n, x: (0.5 + x) * n):
        with pytest.raises(DTypeError, match="have different dtypes: "):
            rt.function(function)(rt.constant(2), other)
    if other.dtype is rt.float32:
        with pytest.raises(StagingError, match=r"is int32\[\] .*, but float32\[\]"):
            rt.function(lambda n, x: n if n > 1 else x)(rt.constant(2), other)


def test_a_vector_of_ints_beside_a_float() -> None:
    found = rt.function(lambda v: rt.where(v > 1, v, 0.5))(rt.constant([1, 2]))
    assert [*found.numpy()] == [0.5, 2.0] and found.dtype is rt.float64


def test_an_array_of_ints_divided_by_an_int_tensor() -> None:
    function = rt.function(lambda a, n: (a / n, a[0] / n, a.sum() / n))
    found = function(np.array([1, 2, 3]), rt.constant(2))
    assert [np.asarray(x).tolist() for x in found] == [[0.5, 1.0, 1.5], 0.5, 3.0]
    assert all(x.dtype == rt.float64 for x in found)
