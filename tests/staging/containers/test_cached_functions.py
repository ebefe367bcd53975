"""Functions with `functools.lru_cache` and `functools.cache` that are called with tensors."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.core.errors import StagingError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def tensors(x: Any) -> Any:
    if isinstance(x, list):
        return [*map(tensors, x)]
    return rt.constant(x, rt.int64) if isinstance(x, int) else x


@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@functools.cache
def binomial(n, k):
    return 1 if k == 0 or k == n else binomial(n - 1, k - 1) + binomial(n - 1, k)


@functools.lru_cache
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@functools.lru_cache
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@functools.cache
def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n - 1)
    return b, a + b


@functools.cache
def small(n):
    if n > 3:
        raise ValueError(f"{n} is large")
    return n * 2


class Steps:
    def __init__(self, longest):
        self.longest = longest

    @functools.lru_cache(None)
    def ways(self, n):
        if n <= 0:
            return 1 if n == 0 else 0
        return self.ways(n - 1) + self.ways(n - self.longest)


def in_loops(n):
    total = 0
    for i in range(n // 8):
        if i % 2 == 0:
            total += fib(i)
    return fib(n), [fib(k) for k in range(n // 4)], total


def with_two_numbers(n):
    return binomial(n // 4, n // 9), [binomial(5, k) for k in range(6)]


def of_each_other(n):
    return is_even(n), is_odd(n), pair(n // 2)


def of_methods(n):
    return Steps(3).ways(n // 2), Steps(2).ways(5)


def caught(n):
    found = []
    for k in (1, 5, 2, 7):
        try:
            found.append(small(n % 9 * 0 + k))
        except ValueError:
            found.append(-1)
    return found


def grid_paths(n):
    @functools.lru_cache(None)
    def paths(i, j):
        return 1 if i == 0 or j == 0 else paths(i - 1, j) + paths(i, j - 1)

    return paths(n // 10, n // 8)


def with_text(n):
    @functools.cache
    def sum_of(kind, k):
        return 0 if k <= 0 else (1 if kind == "one" else 2) + sum_of(kind, k - 3)

    return sum_of("one", n), sum_of("two", n)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [
    in_loops, with_two_numbers, of_each_other, of_methods, caught, grid_paths, with_text])
def test_recursion_computes_each_value_once(fn: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, fn)
    for n in (60, 41):
        assert plain(traced(tensors(n))) == fn(n)


def knapsack(weights, values, capacity):
    @functools.cache
    def best(i, left):
        if i == len(weights):
            return 0
        found = best(i + 1, left)
        if weights[i] <= left:
            found = max(found, values[i] + best(i + 1, left - weights[i]))
        return found

    return best(0, capacity)


def game(weights, values, capacity):
    @functools.cache
    def lead(i, j):
        return 0 if i > j else max(weights[i] - lead(i + 1, j), values[j] - lead(i, j - 1))

    return lead(0, len(weights) - 1) + capacity


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [knapsack, game])
def test_tensors_of_enclosing_functions(fn: Callable[..., Any], executor: str) -> None:
    args = [1, 3, 4, 5], [1, 4, 5, 7], 7
    traced = on(executor, fn)
    assert plain(traced(*map(tensors, args))) == fn(*args)
    assert plain(traced(*map(tensors, args[:2]), 7)) == fn(*args)
    assert plain(traced(*[rt.constant(x, rt.int64) for x in args])) == fn(*args)


def test_the_function_itself_may_be_traced() -> None:
    assert int(rt.function(fib)(rt.constant(50, rt.int64))) == fib(50)


def test_python_values_use_pythons_cache() -> None:
    calls = []

    @functools.cache
    def double(n):
        calls.append(n)
        return n * 2

    traced = rt.function(lambda x: x + double(3) + double(3))
    assert (int(traced(rt.constant(1))), calls, double(3)) == (13, [3], 6)


@functools.cache
def printing(n):
    print("computes", n)
    return n * 2


@pytest.mark.parametrize(("fn", "error", "message"), [
    (printing, StagingError, "a function with a cache has the effect 'print'"),
    (lambda n: (fib(n), fib.cache_info()), StagingError, "the state of a cache is asked for here"),
    (lambda n: fib([n]), TypeError, "unhashable type: 'list'"),
    (lambda n: fib(rt.ones([3]) * rt.cast(n, rt.float32)), rt.errors.OperatorNotAllowedInGraphError,
     "a tensor cannot be a key of a dict"),
])
def test_refused(fn: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rt.function(fn)(rt.constant(3))
