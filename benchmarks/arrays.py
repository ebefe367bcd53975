"""Programs that write the items of NumPy arrays passed to them, under `rt.function`, in C, built by gcc, and by Numba,
which runs the same text.

The goal is at most 1.2 times the time of gcc's code (`-O3 -march=native`), and of Numba's, where these are installed.
"""
from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, fastest
from benchmarks.peers import peer
from benchmarks.programs.in_c import library

__all__ = ["COLUMNS", "PROGRAMS", "run"]

COLUMNS: Final = (OURS, "C", "numba")
MOST: Final = 1.2
"""The goal: times the time of each of the others."""


class Program(NamedTuple):
    """`make`: the arrays, for a generator of random numbers and a divisor of the sizes. `sizes`: those of their sizes
    that C needs. `restored`: the arrays that get their first contents before each call."""

    name: str
    fn: Callable[..., Any]
    make: Callable[[np.random.Generator, int], list[Any]]
    sizes: Callable[..., tuple[int, ...]]
    restored: tuple[int, ...] = ()


def run(budget: Budget) -> Iterator[Row]:
    for program in PROGRAMS:
        yield _measured(program, 1 if budget.share == 1 else 50, budget)


def _measured(program: Program, less: int, budget: Budget) -> Row:
    first = program.make(np.random.default_rng(0), less)
    arrays = [x.copy() for x in first]  # the same for all: how arrays lie to each other in memory counts
    call = functools.partial(_call, program, first, arrays)
    calls = {OURS: functools.partial(call, rt.function(program.fn))}
    built = library("arrays.c", "strict")
    if built is not None:
        in_c = getattr(built, program.fn.__name__)
        in_c.restype = None
        calls["C"] = functools.partial(call, functools.partial(_with_pointers, in_c, program))
    numba = peer("numba") if budget.peers else None
    if numba is not None:
        calls["numba"] = functools.partial(call, numba.njit(program.fn))
    results = []
    for run in calls.values():
        for x, y in zip(arrays, first, strict=True):
            x[...] = y
        run()
        results.append([x.copy() for x in arrays])
    if not all(np.allclose(x, y) for result in results for x, y in zip(result, results[0], strict=True)):
        raise AssertionError(f"{program.name}: the results differ")
    times = fastest(calls, budget)
    figures = {name: took * 1e3 for name, took in times.items()}
    ratios = {name: times[OURS] / took for name, took in times.items() if name != OURS}
    if not ratios:
        return Row(program.name, "ms", figures, "neither gcc nor Numba to compare with")
    text = ", ".join(f"this / {name} = {ratio:.2f}" for name, ratio in ratios.items())
    return Row(program.name, "ms", figures, f"{text} <= {MOST:g}", max(ratios.values()) <= MOST)


def _call(program: Program, first: list[Any], arrays: list[Any], fn: Callable[..., Any]) -> None:
    for k in program.restored:
        arrays[k][...] = first[k]
    fn(*arrays)


def _with_pointers(in_c: Callable[..., Any], program: Program, *arrays: Any) -> None:
    in_c(*[ctypes.c_void_p(x.ctypes.data) for x in arrays], *map(ctypes.c_long, program.sizes(*arrays)))


def sieve(prime):
    prime[:] = 1
    prime[0] = 0
    prime[1] = 0
    n = len(prime)
    i = 2
    while i * i < n:
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = 0
        i += 1


def product(a, b, c):
    n = len(a)
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total


def histogram(x, counts):
    counts[:] = 0
    for i in range(len(x)):
        counts[x[i]] += 1


def prefix_sums(x, sums):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        sums[i] = total


def running_maximum(x, most):
    best = x[0]
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
        most[i] = best


def occurrences(text, word, found):
    n, m, count = len(text), len(word), 0
    for i in range(n - m + 1):
        j = 0
        while j < m and text[i + j] == word[j]:
            j += 1
        if j == m:
            count += 1
    found[0] = count


def stencil(a, b):
    n = len(a)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


def bubble_sort(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                kept = a[j]
                a[j] = a[j + 1]
                a[j + 1] = kept


def insertion_sort(a):
    for i in range(1, len(a)):
        x = a[i]
        j = i - 1
        while j >= 0 and a[j] > x:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = x


def quicksort(a, stack):
    stack[0] = 0
    stack[1] = len(a) - 1
    top = 2
    while top > 0:
        top -= 2
        low = stack[top]
        high = stack[top + 1]
        if low >= high:
            continue
        pivot = a[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                kept = a[i]
                a[i] = a[j]
                a[j] = kept
                i += 1
                j -= 1
        stack[top] = low
        stack[top + 1] = j
        stack[top + 2] = i
        stack[top + 3] = high
        top += 4


def counting_sort(x, ordered, counts):
    counts[:] = 0
    for i in range(len(x)):
        counts[x[i]] += 1
    for k in range(1, len(counts)):
        counts[k] += counts[k - 1]
    for i in range(len(x) - 1, -1, -1):
        counts[x[i]] -= 1
        ordered[counts[x[i]]] = x[i]


def longest_increasing(x, lengths):
    for i in range(len(x)):
        lengths[i] = 1
        for j in range(i):
            if x[j] < x[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1


def shortest_ways(ways):
    n = len(ways)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                length = ways[i, k] + ways[k, j]
                if length < ways[i, j]:
                    ways[i, j] = length


def bodies(x, v, mass):
    n = len(x)
    for _ in range(3):
        for i in range(n):
            for j in range(n):
                if i != j:
                    dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                    square = dx * dx + dy * dy + dz * dz + 0.01
                    pull = 0.01 * (mass[j] / (square * math.sqrt(square)))
                    v[i, 0] += pull * dx
                    v[i, 1] += pull * dy
                    v[i, 2] += pull * dz
        for i in range(n):
            for k in range(3):
                x[i, k] += 0.01 * v[i, k]


def knapsack(weights, values, best):
    for i in range(len(weights)):
        for c in range(len(best) - 1, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])


def edit_distance(a, b, row):
    n, m = len(a), len(b)
    for j in range(m + 1):
        row[j] = j
    for i in range(1, n + 1):
        before = row[0]
        row[0] = i
        for j in range(1, m + 1):
            here = row[j]
            row[j] = min(before + (1 if a[i - 1] != b[j - 1] else 0), row[j] + 1, row[j - 1] + 1)
            before = here


def life(a, b):
    n = len(a)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            count = -a[i, j]
            for k in range(-1, 2):
                for m in range(-1, 2):
                    count += a[i + k, j + m]
            if count == 3 or (count == 2 and a[i, j] == 1):
                b[i, j] = 1
            else:
                b[i, j] = 0


def mandelbrot(steps):
    n, m = steps.shape
    for i in range(n):
        for j in range(m):
            re, im = -2.0 + 3.0 * j / m, -1.0 + 2.0 * i / n
            x, y, k = 0.0, 0.0, 0
            while k < 100 and x * x + y * y <= 4.0:
                x, y = x * x - y * y + re, 2 * x * y + im
                k += 1
            steps[i, j] = k


def components(parent, edges):
    for i in range(len(parent)):
        parent[i] = i
    for k in range(len(edges)):
        a, b = edges[k, 0], edges[k, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b


def convolution(a, filter, out):
    n, m = len(a), len(filter)
    for i in range(n - m + 1):
        for j in range(n - m + 1):
            total = 0.0
            for k in range(m):
                for q in range(m):
                    total += a[i + k, j + q] * filter[k, q]
            out[i, j] = total


def nearest(x, centres, labels):
    for i in range(len(x)):
        least = 1e300
        for j in range(len(centres)):
            total = 0.0
            for k in range(x.shape[1]):
                t = x[i, k] - centres[j, k]
                total += t * t
            if total < least:
                least = total
                labels[i] = j


def elimination(a, b):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
            b[i] -= factor * b[k]


def change(coins, ways):
    ways[0] = 1
    for i in range(1, len(ways)):
        ways[i] = 0
    for q in range(len(coins)):
        for i in range(coins[q], len(ways)):
            ways[i] = (ways[i] + ways[i - coins[q]]) % 1000000007


def local_alignment(a, b, scores, best):
    most = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = 2 if a[i - 1] == b[j - 1] else -1
            score = max(0, scores[i - 1, j - 1] + same, scores[i - 1, j] - 1, scores[i, j - 1] - 1)
            scores[i, j] = score
            if score > most:
                most = score
    best[0] = most


def collatz_lengths(lengths):
    lengths[1] = 1
    for i in range(2, len(lengths)):
        x, count = i, 0
        while x >= i:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            count += 1
        lengths[i] = count + lengths[x]


def cholesky(a, lower):
    n = len(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = math.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]


def median_filter(a, out, window):
    n = len(a)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            count = 0
            for k in range(-1, 2):
                for m in range(-1, 2):
                    x = a[i + k, j + m]
                    q = count
                    while q > 0 and window[q - 1] > x:
                        window[q] = window[q - 1]
                        q -= 1
                    window[q] = x
                    count += 1
            out[i, j] = window[4]


def run_lengths(x, values, lengths, runs):
    n, k, i = len(x), 0, 0
    while i < n:
        j = i + 1
        while j < n and x[j] == x[i]:
            j += 1
        values[k] = x[i]
        lengths[k] = j - i
        k += 1
        i = j
    runs[0] = k


def heap_sort(a):
    n = len(a)
    start, end = n // 2, n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            a[end], a[0] = a[0], a[end]
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child


def searches(ordered, x, places):
    for i in range(len(x)):
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        places[i] = low


def overlapping_views(x):
    for k in range(1, 20):
        ahead = x[k:]
        here = x[:len(x) - k]
        for i in range(len(ahead)):
            here[i] = 0.5 * (here[i] + ahead[i])


def tridiagonal(a, b, c, d, x, factors):
    n = len(b)
    factors[0] = c[0] / b[0]
    x[0] = d[0] / b[0]
    for i in range(1, n):
        pivot = b[i] - a[i] * factors[i - 1]
        factors[i] = c[i] / pivot
        x[i] = (d[i] - a[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= factors[i] * x[i + 1]


def roots(low, high, found):
    for q in range(len(low)):
        a, b = low[q], high[q]
        for _ in range(40):
            middle = 0.5 * (a + b)
            if math.exp(-middle) - math.sin(middle) > 0:
                a = middle
            else:
                b = middle
        found[q] = a


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.int64)


def _definite(r: np.random.Generator, n: int) -> Any:
    """A symmetric matrix that is positive definite."""
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


def _sizes(*arrays: Any) -> tuple[int, ...]:
    return (len(arrays[0]),)


def _two(x: Any, y: Any, *_: Any) -> tuple[int, ...]:
    return len(x), len(y)


def _first_and_last(*arrays: Any) -> tuple[int, ...]:
    return len(arrays[0]), len(arrays[-1])


MILLION: Final = 1_000_000
PROGRAMS: Final = [
    Program("sieve of 1,000,000 numbers", sieve, lambda r, q: [np.zeros(MILLION // q, np.uint8)], _sizes),
    Program("product of 150x150", product, lambda r, q: [*r.random((2, 150 // q, 150 // q)), np.zeros(
        (150 // q, 150 // q))], _sizes),
    Program("histogram of 1,000,000", histogram, lambda r, q: [r.integers(0, 256, MILLION // q), _zeros(256)], _two),
    Program("prefix sums of 1,000,000", prefix_sums, lambda r, q: [*r.random((2, MILLION // q))], _sizes),
    Program("prefix sums of 10,000", prefix_sums, lambda r, q: [*r.random((2, 10_000 // q))], _sizes),
    Program("running maximum of 1,000,000", running_maximum, lambda r, q: [*r.random((2, MILLION // q))], _sizes),
    Program("a word in a text of 200,000", occurrences, lambda r, q: [
        r.integers(0, 3, 200_000 // q), r.integers(0, 3, 8), _zeros(1)], _two),
    Program("stencil of 800x800", stencil, lambda r, q: [*r.random((2, 800 // q, 800 // q))], _sizes),
    Program("bubble sort of 2000", bubble_sort, lambda r, q: [r.random(2000 // q)], _sizes, (0,)),
    Program("insertion sort of 2000", insertion_sort, lambda r, q: [r.random(2000 // q)], _sizes, (0,)),
    Program("quicksort of 200,000", quicksort, lambda r, q: [r.random(200_000 // q), _zeros(1000)], _sizes, (0,)),
    Program("counting sort of 1,000,000", counting_sort, lambda r, q: [
        r.integers(0, 1000, MILLION // q), _zeros(MILLION // q), _zeros(1000)], _first_and_last),
    Program("longest increasing part of 2000", longest_increasing, lambda r, q: [
        r.random(2000 // q), _zeros(2000 // q)], _sizes),
    Program("shortest ways between 200 places", shortest_ways, lambda r, q: [
        r.random((200 // q, 200 // q))], _sizes, (0,)),
    Program("200 bodies, 3 steps", bodies, lambda r, q: [
        r.random((200 // q, 3)), np.zeros((200 // q, 3)), r.random(200 // q)], _sizes, (0, 1)),
    Program("knapsack of 100 things in 10,000", knapsack, lambda r, q: [
        r.integers(1, 50, 100), r.integers(1, 50, 100), _zeros(10_000 // q)], _first_and_last, (2,)),
    Program("edit distance of 1000 letters", edit_distance, lambda r, q: [
        *r.integers(0, 4, (2, 1000 // q)), _zeros(1000 // q + 1)], _two),
    Program("life on 600x600", life, lambda r, q: [
        r.integers(0, 2, (600 // q, 600 // q)), _zeros(600 // q, 600 // q)], _sizes),
    Program("mandelbrot of 200x300", mandelbrot, lambda r, q: [_zeros(200 // q, 300 // q)], lambda x: x.shape),
    Program("components of 100,000 places", components, lambda r, q: [
        _zeros(100_000 // q), r.integers(0, 100_000 // q, (100_000 // q, 2))], _two),
    Program("convolution of 300x300 by 5x5", convolution, lambda r, q: [
        r.random((300 // q + 5, 300 // q + 5)), r.random((5, 5)), np.zeros((300 // q + 1, 300 // q + 1))], _two),
    Program("nearest of 16 centres for 20,000", nearest, lambda r, q: [
        r.random((20_000 // q, 4)), r.random((16, 4)), _zeros(20_000 // q)], lambda x, y, _: (len(x), len(y), 4)),
    Program("elimination in 200x200", elimination, lambda r, q: [
        r.random((200 // q, 200 // q)) + 10 * np.eye(200 // q), r.random(200 // q)], _sizes, (0, 1)),
    Program("change for 100,000", change, lambda r, q: [
        np.array([1, 2, 5, 10, 20, 50, 100, 200]), _zeros(100_000 // q)], _two),
    Program("local alignment of 500 letters", local_alignment, lambda r, q: [
        *r.integers(0, 4, (2, 500 // q)), _zeros(500 // q + 1, 500 // q + 1), _zeros(1)], _two),
    Program("collatz lengths below 100,000", collatz_lengths, lambda r, q: [_zeros(100_000 // q)], _sizes),
    Program("cholesky of 200x200", cholesky, lambda r, q: [
        _definite(r, 200 // q), np.zeros((200 // q, 200 // q))], _sizes),
    Program("median filter of 200x200", median_filter, lambda r, q: [
        *r.random((2, 200 // q, 200 // q)), np.zeros(9)], _sizes),
    Program("run lengths of 200,000", run_lengths, lambda r, q: [
        r.integers(0, 2, 200_000 // q), *_zeros(2, 200_000 // q), _zeros(1)], _sizes),
    Program("heap sort of 50,000", heap_sort, lambda r, q: [r.random(50_000 // q)], _sizes, (0,)),
    Program("100,000 searches in 100,000", searches, lambda r, q: [
        np.sort(r.random(100_000 // q)), r.random(100_000 // q), _zeros(100_000 // q)], _two),
    Program("19 pairs of views that overlap, of 10,000", overlapping_views, lambda r, q: [
        r.random(10_000 // q)], _sizes, (0,)),
    Program("tridiagonal system of 10,000", tridiagonal, lambda r, q: [
        r.random(10_000 // q), 3 + r.random(10_000 // q), *r.random((4, 10_000 // q))], _sizes),
    Program("1000 roots by bisection", roots, lambda r, q: [
        0.5 * r.random(1000 // q), 1.0 + r.random(1000 // q), np.zeros(1000 // q)], _sizes),
]
