"""One of several arrays whose sizes only the graph knows: those of an array that is not chosen may not fit, or it may
not be bound."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on


def nested_return(n, m):
    a = np.zeros(m)
    if n > 0:
        if n > 9:
            return a * 2
    return a


def return_in_a_loop(n, m):
    a = np.zeros(m)
    for i in range(n):
        if i > 5:
            return a * 2
        a[0] += 1
    return a


def returns_of_rank_2(n, m):
    a = np.zeros((m, 3))
    if n > 0:
        if n > 9:
            return a * 2, n
    return a, -1


def returns_of_other_arrays(n, m):
    a = np.arange(m)
    if n > 0:
        if n > 9:
            return np.ones(m, int)
    return a


def bound_by_else(n, m):
    a = np.zeros(m)
    for i in range(n):
        if i > 5:
            b = a * 2
            break
    else:
        b = a
    return b


def changes(n, m):
    a, b = np.zeros(m), np.ones(m + 2)
    c = a if n > 0 else b
    c[0] = 5
    c *= 2
    c[1:] += n
    return a, b, c


def changes_by_all_kinds_of_indices(n, m):
    a, b, d = np.zeros(m), np.ones(m + 2), np.full(m + 3, 7.0)
    c = a if n > 9 else b if n > 5 else d
    c[m - 1] = 5
    c[c > 5] -= 1
    c[[0, 1]] = 3
    row = c[1:]
    row += 1
    total = c.sum() + c[-1]
    c.sort()
    return a, b, d, c, total


def an_index_of_the_longest(n, m):
    a, b = np.zeros(m), np.ones(m + 2)
    c = b if n > 5 else a
    if n > 5:
        c[m + 1] = 4
    return a, b, c[-1]


def chosen_in_a_loop(n, m):
    a, b = np.zeros((m, 2)), np.ones((m + 2, 2))
    c = a
    for i in range(n):
        if i == 2:
            c = b
        c[i % m] += i
        c[i % m, 1] = i
    for row in c:
        row[0] += 1
    return a, b, c


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [
    nested_return, return_in_a_loop, returns_of_rank_2, returns_of_other_arrays, bound_by_else, changes,
    changes_by_all_kinds_of_indices, an_index_of_the_longest, chosen_in_a_loop], ids=lambda f: f.__name__)
def test_arrays_of_other_sizes(f: Any, executor: str) -> None:
    staged = on(executor, f)
    for n in 0, 2, 7, 12:
        for m in 1, 3, 4:
            try:
                expected = f(n, m)
            except IndexError as error:
                with pytest.raises(IndexError, match="out of bounds"):
                    staged(rt.constant(n), rt.constant(m))
                assert "out of bounds" in str(error)
                continue
            found = staged(rt.constant(n), rt.constant(m))
            pairs = zip(expected, found, strict=True) if isinstance(expected, tuple) else [(expected, found)]
            for one, other in pairs:
                assert np.shape(one) == np.shape(other)
                np.testing.assert_array_equal(one, other)


def of_an_argument_and_a_new_one(x: Any, n: Any) -> Any:
    by_key, items = {1: n, 2: np.zeros(2)}, [np.zeros(2), n]
    by_key[1 if x > 0 else 2][0] += 5
    chosen = items[x]
    chosen[1] -= 2
    return by_key[2], items[0], chosen, chosen is n


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_one_of_an_argument_and_a_new_array_is_changed(executor: str) -> None:
    traced = on(executor, of_an_argument_and_a_new_one)
    for x in (0, 1):
        given, expected = np.ones(2), np.ones(2)
        *arrays, is_given = traced(rt.constant(x), given)
        *wanted, is_expected = of_an_argument_and_a_new_one(x, expected)
        for one, other in zip((*arrays, given), (*wanted, expected), strict=True):
            np.testing.assert_array_equal(one, other)
        assert bool(is_given) == is_expected
