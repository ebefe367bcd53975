"""Arrays that are changed, returned or read on some paths through a staged statement only."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.plain_values import shown
from tests.traced_once import on

EXECUTORS = ("numpy", "native")


def with_a_count(b, x, tol):
    for k in range(50):
        x += b
        if x @ x > tol:
            return x, k
    return x, 50


def in_a_dict(b, x, tol):
    k = 0
    while k < 40:
        x += b
        if x @ x > tol:
            return {"x": x, "k": k}
        k += 1
    return {"x": x, "k": k}


def in_a_list(b, x, tol):
    for k in range(50):
        x[0] += 1
        if x @ x > tol:
            return [x, k]
    return [x, 50]


def or_raises(b, x, tol):
    for _ in range(50):
        x += b
        if x @ x > tol:
            return x, True
    raise RuntimeError("it does not converge")


def of_a_copy(b, x, tol):
    x = x.copy()
    for _ in range(50):
        x += b
        if x @ x > tol:
            return x, x[0]
    return x, x[0]


def both_arrays(b, x, tol):
    for _ in range(50):
        x += b
        if x @ x > tol:
            return x, b
    return x, b


def changed_after(b, x, tol):
    for _ in range(50):
        x += b
        if x @ x > tol:
            found = x, 1
            break
    else:
        found = x, 2
    x[0] = -1
    return found


def or_none(b, x, tol):
    for k in range(50):
        x += b
        if x @ x > tol:
            return x, k
    return None, 50


def of_a_helper(b, x, tol):
    y, k = with_a_count(b, x, tol)
    y[1] = 100
    return x, k


def outcome(f: Callable[..., Any], tol: Any) -> Any:
    """The result, or the class of the error, and the arguments afterwards."""
    b, x = np.arange(3.0) + 1, np.zeros(3)
    try:
        found = f(b, x, tol)
    except RuntimeError as error:
        found = str(type(error).__mro__[-4:])
    return shown((found, b, x))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", [with_a_count, in_a_dict, in_a_list, or_raises, of_a_copy, both_arrays, changed_after,
                               or_none, of_a_helper])
def test_loops_change_an_array_and_return_it_with_something_else(f: Any, executor: str) -> None:
    traced = on(executor, f)
    for tol in (10.0, 1e3, 1e9):
        assert outcome(traced, rt.constant(tol, rt.float64)) == outcome(f, tol)


def guarded(g, x):
    if x < len(g):
        g[x][0] = 2
    return g


def guarded_slice(g, x):
    if x < 3:
        g[x][:] = 2
    return g


def guarded_column(g, x):
    if x < 2:
        g[0][x] = 2
    return g


def after_a_return(g, x):
    if x >= 3:
        return g
    g[x][0] = 7
    return g


def of_a_new_array(g, x):
    g = g * 1
    if x < 3:
        g[x][0] = 2
    return g


def caught(g, x):
    try:
        if x < 30:
            g[x][0] += 2
    except IndexError:
        return g * 0
    return g


def by_a_test(g, x):
    while x < len(g) and g[x][0] == 1:
        g[x][0] = 2
        x += 1
    return g


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", [guarded, guarded_slice, guarded_column, after_a_return, of_a_new_array, caught,
                               by_a_test])
def test_items_of_rows_are_set_under_a_condition_on_the_index(f: Any, executor: str) -> None:
    def called(f: Any, x: Any) -> Any:
        g = np.ones((3, 2), int)
        try:
            found = f(g, x)
        except IndexError:
            found = "IndexError"
        return shown((found, g))

    traced = on(executor, f)
    for x in (0, 1, 2, 3, 5, -1, -9):
        assert called(traced, rt.constant(x)) == called(f, x)
