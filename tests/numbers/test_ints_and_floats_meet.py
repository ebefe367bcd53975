"""Int tensors and Python's floats that meet in branches, loops, `min`, `max` and `where`: a float, as in arithmetic."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt


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


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "min in a loop": (least, [3, 1, 2]), "if in a loop": (least_by_if, [3, 1, 2]),
    "max in a loop": (greatest_difference, [3, 9, 2]),
    "max": (lambda n: max(n, 2.5), 2), "min": (lambda n: min(n, math.inf), 3),
    "ternary, int": (lambda n: n if n > 1 else 2.5, 3), "ternary, float": (lambda n: n if n > 1 else 2.5, 0),
    "where": (lambda n: np.where(n > 1, n, 2.5), 3), "sum": (lambda n: (n if n > 1 else 0.5) + n / 2, 3),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str, executor: str) -> None:
    function, x = PROGRAMS[name]
    found = rt.function(function, executor=executor)(rt.constant(x))
    assert float(found) == float(function(x)) and found.dtype is rt.float64


def test_a_vector_of_ints_beside_a_float() -> None:
    found = rt.function(lambda v: rt.where(v > 1, v, 0.5))(rt.constant([1, 2]))
    assert [*found.numpy()] == [0.5, 2.0] and found.dtype is rt.float64


def test_an_array_of_ints_divided_by_an_int_tensor() -> None:
    function = rt.function(lambda a, n: (a / n, a[0] / n, a.sum() / n))
    found = function(np.array([1, 2, 3]), rt.constant(2))
    assert [np.asarray(x).tolist() for x in found] == [[0.5, 1.0, 1.5], 0.5, 3.0]
    assert all(x.dtype == rt.float64 for x in found)
