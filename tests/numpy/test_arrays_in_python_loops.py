"""Loops over Python ranges that write NumPy arrays are loops of the graph: their size does not depend on the data's."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from traced_once import on


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
