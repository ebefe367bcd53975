"""Ints and bools of NumPy's arrays beside Python's numbers, and divisions by zero, as in NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt

COMPARISONS: dict[str, Callable[[Any], Any]] = {
    "greater": lambda x: x > -1, "less": lambda x: x < -1, "at least": lambda x: x >= 300,
    "at most": lambda x: x <= 300,
    "reflected": lambda x: -1 < x, "equal": lambda x: x == 300, "unequal": lambda x: x[x != 300],
    "ufuncs": lambda x: np.greater(x, -1) & np.not_equal(x, 2**70) & ~np.equal(x, -7), "element": lambda x: x[0] < -3,
    "sum": lambda x: (x > -1).sum(), "in": lambda x: 300 in x, "inside": lambda x: x <= 200,
}

BOOLS: dict[str, Callable[[Any], Any]] = {
    "times": lambda x: (x[0] > 0) * 3_000_000_000, "plus": lambda x: ((x[0] > 0) + 70000) * 70000,
    "quotient": lambda x: (x[0] > 0) / 3, "any": lambda x: (x > 0).any() + 1,
    "several": lambda x: (x[0] > 0) * 70000 * (x[1] > 0) * 70000, "float": lambda x: (x[0] > 0) * 0.5,
    "sum": lambda x: sum(x > 0) * 2_000_000_000,
    "elements": lambda x: (x > 0) * 70000 * 70000, "compared": lambda x: (x[0] > 0) == 1,
}

DIVISIONS: dict[str, Callable[[Any], Any]] = {
    "arrays": lambda x: (x // x[::-1], x % x[::-1]), "zero": lambda x: (x // 0, x % 0), "number": lambda x: 7 // x,
    "ufuncs": lambda x: (np.floor_divide(x, x - x), np.remainder(x, x - x), np.fmod(x, x - x)),
    "elements": lambda x: (x[1] // x[0], x[1] % x[0]), "divmod": lambda x: divmod(x, x[0]), "by 3": lambda x: x // 3,
    "where": lambda x: np.where(x == 0, 9, 12 // x), "floats": lambda x: x // 0.0,
}


def same(want: Any, got: Any) -> None:
    for one, other in zip(*[x if isinstance(x, tuple) else (x,) for x in (want, got)], strict=True):
        np.testing.assert_array_equal(other, one)
        assert isinstance(one, bool) or np.asarray(other).dtype == np.asarray(one).dtype


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8"])
@pytest.mark.parametrize("program", COMPARISONS.values(), ids=COMPARISONS)
def test_ints_that_do_not_fit(program: Callable[[Any], Any], dtype: str, executor: str) -> None:
    x = np.array([3, 0, 100]).astype(dtype)
    same(program(x), on(executor, program)(x))


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", BOOLS.values(), ids=BOOLS)
def test_bools_of_arrays(program: Callable[[Any], Any], executor: str) -> None:
    x = np.array([3, 1, -2])
    same(program(x), on(executor, program)(x))


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
@pytest.mark.parametrize("program", DIVISIONS.values(), ids=DIVISIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_divisions_of_ints(program: Callable[[Any], Any], dtype: str, executor: str) -> None:
    x = np.array([0, 7, 5, 2]).astype(dtype)
    same(program(x), on(executor, program)(x))


def test_tensors_raise() -> None:
    x = rt.constant([0, 7])
    for program in (lambda x: x // x, lambda x: 7 % x):
        with pytest.raises(ZeroDivisionError, match="by zero"):
            rt.function(program)(x)
    with pytest.raises(rt.errors.DTypeError, match="does not fit uint8"):
        rt.function(lambda x: x > -1)(rt.constant([1], rt.uint8))


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_membership_in_several_dimensions(executor: str) -> None:
    def f(x):
        return 3 in x, 7 in x, 7 not in x

    x = np.array([[1, 3], [2, 5]])
    assert [bool(part) for part in on(executor, f)(x)] == [*f(x)]
    with pytest.raises(rt.errors.ShapeError, match="`in` compares items"):
        rt.function(f)(rt.constant(x))
