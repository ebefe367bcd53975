"""Loops over Python ranges that write NumPy arrays are loops of the graph: their size does not depend on the data's."""
from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from traced_once import on, on_both

import runtime as rt


def shortest_paths(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def factorised(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def prefix_sums(a):
    n, m = a.shape
    table = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            table[i + 1, j + 1] = a[i, j] + table[i, j + 1] + table[i + 1, j] - table[i, j]
    return table


def sorted_in_place(a):
    flat = a.reshape(-1)
    for i in range(1, len(flat)):
        x, j = flat[i], i - 1
        while j >= 0 and flat[j] > x:
            flat[j + 1] = flat[j]
            j -= 1
        flat[j + 1] = x
    return a


@pytest.mark.parametrize("program", [shortest_paths, factorised, prefix_sums, sorted_in_place])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_loops_over_ranges_with_arrays(program, executor):
    given = np.random.default_rng(3).random((24, 24)) + np.eye(24)
    expected, got = given.copy(), given.copy()
    want = program(expected)
    traced = on(executor, program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(np.asarray(traced(got)), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    graph = traced.get_concrete_function(given).graph
    assert len(list(graph.walk())) < 150


# Loops over places: of itertools.product, np.ndindex and np.ndenumerate.

def turned(a):
    out = np.zeros_like(a)
    for i, j in np.ndindex(*a.shape):
        out[i, j] = a[j, i] * i
    return out


def first_above(a):
    for (i, j), x in np.ndenumerate(a):
        if x > 150:
            return i, j, x
    return -1, -1, 0.0


def numbered(a):
    total = 0.0
    for k, (i, j) in enumerate(itertools.product(range(3, 20, 2), range(19, 0, -1))):
        total += a[i, j] * k
    return total


def products_of_floats(a):
    total = 0.0
    for x, j in itertools.product([0.5, 1.5, 2.5, 4.5, 0.25], range(20)):
        total += a[j, j] * x
    return total


def after_the_first(a):
    places = itertools.product(range(20), repeat=2)
    first, total = next(places), 0.0
    for i, j in places:
        total += a[i, j]
    return total, first[0], next(places, None) is None


def until(a):
    total = 0.0
    for i, j in itertools.product(range(20), repeat=2):
        if a[i, j] > 300:
            break
        total += a[i, j]
    return total


def with_names(a, names=(("a", "b") * 10,) * 20):
    total = 0.0
    for i, j in np.ndindex(20, 20):
        if names[i][j] == "a":
            total += a[i, j]
    return total


def written_ahead(a):
    for (i, j), x in np.ndenumerate(a):
        a[j, i] += x
    return a


def of_one_number(a):
    total = 0.0
    for (k,) in np.ndindex(20):
        total += a[k, k]
    for _ in np.ndindex():
        total += 1
    return total


def of_chosen(a):
    total = 0.0
    for (i,), x in np.ndenumerate(a[a > 100]):
        total += x * i
    return total


@pytest.mark.parametrize("f", [
    turned, first_above, numbered, products_of_floats, after_the_first, until, with_names, written_ahead,
    of_one_number, of_chosen])
def test_loops_over_places(f):
    a = np.arange(400.0).reshape(20, 20)
    want = f(a.copy())
    for traced in on_both(f).values():
        for one, other in zip(rt.nest.flatten(want), rt.nest.flatten(traced(a.copy())), strict=True):
            np.testing.assert_allclose(np.asarray(other), np.asarray(one))


@pytest.mark.parametrize("f", [turned, first_above, numbered, products_of_floats, until, of_chosen])
def test_loops_over_places_are_loops_of_the_graph(f):
    graph = rt.function(f).get_concrete_function(np.ones((20, 20))).graph
    assert len(list(graph.walk())) < 120


def test_places_of_a_size_that_the_graph_knows():
    def total(a, n):
        found = 0.0
        for i, j in np.ndindex(n, 20):
            found += a[i, j] * j
        return found

    a = np.arange(400.0).reshape(20, 20)
    assert float(rt.function(total)(a, rt.constant(3))) == total(a, 3)


def in_memory_order(a, is_changed=False):
    total = 0.0
    for x in np.nditer(a):
        total = total * 1.001 + x.item()
        if is_changed:
            a[-1, -1] = total
    return total


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize("view", [
    lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[3:9]])
def test_nditer(view, is_changed):
    a = np.random.default_rng(0).random((20, 20))
    want = in_memory_order(view(expected := a.copy()), is_changed)
    assert np.isclose(rt.function(in_memory_order)(view(a), is_changed), want)
    np.testing.assert_allclose(a, expected)


def test_nditer_of_what_is_not_contiguous():
    with pytest.raises(rt.errors.UnimplementedError, match="takes one contiguous array(.|\n)*Loop over a.flat"):
        rt.function(in_memory_order)(np.ones((4, 4))[:, ::2])
