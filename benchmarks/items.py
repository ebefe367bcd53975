"""Loops that read and set array items one by one, and recursion, compared with Python and numba, which checks no index.

All run the same text; in Python and numba the arrays are NumPy's.
"""
from __future__ import annotations

import functools
import importlib.util
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, fastest

__all__ = ["PROGRAMS", "run"]


def run(budget: Budget) -> Iterator[Row]:
    for name, fn, make in PROGRAMS:
        sizes, arrays = make(np.random.default_rng(0))
        tensors = [*[rt.constant(size, rt.int64) for size in sizes], *map(rt.constant, arrays)]
        subjects: dict[str, Callable[[], Any]] = {OURS: functools.partial(rt.function(fn), *tensors)}
        if budget.peers:
            subjects["Python"] = functools.partial(_on_copies, fn, sizes, arrays)
            if importlib.util.find_spec("numba") is not None:
                subjects["numba"] = functools.partial(_on_copies, _compiled(fn), sizes, arrays)
        want = _on_copies(fn, sizes, arrays) if budget.peers else None
        for subject in subjects.values():
            got = subject()
            assert want is None or np.allclose(got, want), name
        times = fastest(subjects, budget)
        peer = times.get("numba")
        yield Row(name, "ms", {k: v * 1e3 for k, v in times.items()},
                  "" if peer is None else f"this / numba = {times[OURS] / peer:.2f}")


def _compiled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled by numba; it calls itself by its own name."""
    import numba

    copy = types.FunctionType(fn.__code__, {**fn.__globals__}, fn.__name__)
    found: Callable[..., Any] = numba.njit(copy)
    copy.__globals__[fn.__name__] = found
    return found


def _on_copies(fn: Callable[..., Any], sizes: list[int], arrays: list[Any]) -> Any:
    """The result for copies of the arrays, since a traced function leaves its arguments unchanged."""
    return fn(*sizes, *[x.copy() for x in arrays])


def sieve(n, found):
    count = 0
    for i in range(2, n):
        if found[i] == 0:
            count += 1
            j = i * i
            while j < n:
                found[j] = 1
                j += i
    return count


def quicksort(n, stack, x):
    stack[0] = 0
    stack[1] = n - 1
    top = 2
    while top > 0:
        top -= 2
        low = stack[top]
        high = stack[top + 1]
        if low >= high:
            continue
        pivot = x[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                kept = x[i]
                x[i] = x[j]
                x[j] = kept
                i += 1
                j -= 1
        stack[top] = low
        stack[top + 1] = j
        stack[top + 2] = i
        stack[top + 3] = high
        top += 4
    return x


def edit_distance(n, m, a, b, row):
    for i in range(1, n + 1):
        before = row[0]
        row[0] = i
        for j in range(1, m + 1):
            here = row[j]
            if a[i - 1] == b[j - 1]:
                row[j] = before
            else:
                row[j] = min(before, here, row[j - 1]) + 1
            before = here
    return row[m]


def shortest_ways(n, ways):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                length = ways[i, k] + ways[k, j]
                if length < ways[i, j]:
                    ways[i, j] = length
    return ways


def triangular(n, a):
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return a


def knapsack(n, capacity, weights, values, best):
    for i in range(n):
        weight = weights[i]
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + values[i])
    return best[capacity]


def common_subsequence(n, m, a, b, lengths):
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                lengths[i, j] = lengths[i - 1, j - 1] + 1
            else:
                lengths[i, j] = max(lengths[i - 1, j], lengths[i, j - 1])
    return lengths[n, m]


def edit_distance_of_lists(n, m, a, b):
    table = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        table[i][0] = i
    for j in range(m + 1):
        table[0][j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return table[n][m]


def neighbours(n, starts, ends):
    """The most ways of two steps from one place."""
    nexts = [[0] for _ in range(n)]
    for k in range(len(starts)):
        nexts[starts[k]].append(ends[k])
    most = 0
    for i in range(n):
        ways = 0
        for j in nexts[i]:
            ways += len(nexts[j])
        most = max(most, ways)
    return most


def bodies(n, steps, x, v, mass):
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i != j:
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    square = dx * dx + dy * dy + dz * dz + 0.01
                    pull = 0.001 * mass[j] / (square * square ** 0.5)
                    v[i, 0] += pull * dx
                    v[i, 1] += pull * dy
                    v[i, 2] += pull * dz
        for i in range(n):
            for k in range(3):
                x[i, k] += 0.001 * v[i, k]
    return x


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def queens(row, columns, left, right, n):
    """The number of ways to place queens from a row on; bits mark attacked squares."""
    if row == n:
        return 1
    count = 0
    for k in range(n):
        square = 1 << k
        if (columns | left | right) & square == 0:
            count += queens(row + 1, columns | square, (left | square) << 1, (right | square) >> 1, n)
    return count


Make = Callable[[np.random.Generator], tuple[list[int], list[Any]]]
PROGRAMS: list[tuple[str, Callable[..., Any], Make]] = [
    ("sieve of 1,000,000 numbers", sieve, lambda r: ([1_000_000], [np.zeros(1_000_000, np.int64)])),
    ("quicksort of 100,000 float64", quicksort, lambda r: ([100_000], [np.zeros(4000, np.int64), r.random(100_000)])),
    ("edit distance of 800 and 800 letters", edit_distance, lambda r: (
        [800, 800], [r.integers(0, 4, 800), r.integers(0, 4, 800), np.arange(801)])),
    ("shortest ways between 120 places", shortest_ways, lambda r: ([120], [r.random((120, 120))])),
    ("LU decomposition of 150x150", triangular, lambda r: ([150], [r.random((150, 150)) + 150 * np.eye(150)])),
    ("knapsack of 100 things, capacity 1000", knapsack, lambda r: (
        [100, 1000], [r.integers(1, 50, 100), r.integers(1, 100, 100), np.zeros(1001, np.int64)])),
    ("common subsequence of 500 and 600", common_subsequence, lambda r: (
        [500, 600], [r.integers(0, 4, 500), r.integers(0, 4, 600), np.zeros((501, 601), np.int64)])),
    ("recursion: fib(25)", fib, lambda r: ([25], [])),
    ("recursion: Ackermann's function of 2 and 300", ackermann, lambda r: ([2, 300], [])),
    ("recursion: 10 queens", queens, lambda r: ([0, 0, 0, 0, 10], [])),
    ("edit distance of 800 and 800 letters, a list of lists", edit_distance_of_lists, lambda r: (
        [800, 800], [r.integers(0, 4, 800), r.integers(0, 4, 800)])),
    ("100,000 ways between 5,000 places, a list of lists", neighbours, lambda r: (
        [5000], [r.integers(0, 5000, 100_000), r.integers(0, 5000, 100_000)])),
    ("40 bodies, 50 steps", bodies, lambda r: ([40, 50], [r.random((40, 3)), np.zeros((40, 3)), r.random(40)])),
]
