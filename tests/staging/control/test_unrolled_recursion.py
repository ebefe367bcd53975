"""Recursion that Python decides, where many calls differ in numbers alone: one graph for them, or none if that would
make tensors of Python's values."""
from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

EXECUTORS = pytest.mark.parametrize("executor", ["native", "numpy"])


def merge(a, lo, mid, hi):  # type: ignore[no-untyped-def]
    found = a[lo:hi].copy()
    i, j = 0, mid - lo
    for k in range(lo, hi):
        if j >= hi - lo or (i < mid - lo and found[i] <= found[j]):
            a[k] = found[i]
            i += 1
        else:
            a[k] = found[j]
            j += 1


def sort(a, lo, hi):  # type: ignore[no-untyped-def]
    if hi - lo < 2:
        return
    mid = (lo + hi) // 2
    sort(a, lo, mid)
    sort(a, mid, hi)
    merge(a, lo, mid, hi)


def sort_whole(a):  # type: ignore[no-untyped-def]
    sort(a, 0, len(a))


def count_exchanges(a):  # type: ignore[no-untyped-def]
    count = 0

    def sorted_by(lo, hi):  # type: ignore[no-untyped-def]
        nonlocal count
        if hi - lo < 2:
            return
        mid = (lo + hi) // 2
        sorted_by(lo, mid)
        sorted_by(mid, hi)
        for i in range(lo, mid):
            for j in range(mid, hi):
                if a[i] > a[j]:
                    count += 1
        merge(a, lo, mid, hi)

    sorted_by(0, len(a))
    return count


def greatest(a, lo, hi):  # type: ignore[no-untyped-def]
    if hi - lo == 1:
        return a[lo]
    mid = (lo + hi) // 2
    left, right = greatest(a, lo, mid), greatest(a, mid, hi)
    if left > right:
        a[mid] += 1
        return left
    a[lo] -= 1
    return right


def greatest_of_all(a):  # type: ignore[no-untyped-def]
    return greatest(a, 0, len(a))


@EXECUTORS
@pytest.mark.parametrize("fn", [sort_whole, count_exchanges, greatest_of_all])
def test_one_graph_for_many_calls(fn: Callable[..., Any], executor: str) -> None:
    staged, sizes = on(executor, fn), []
    for n in (64, 128):
        a = np.random.default_rng(0).integers(0, 99, n)
        want, found = a.copy(), a.copy()
        result, got = fn(want), staged(found)
        assert (want == found).all()
        assert (result is None and got is None) or int(result) == int(got)
        sizes.append(len([*rt.function(fn).get_concrete_function(a).graph.walk()]))
    assert sizes[1] < 1.2 * sizes[0]


CALLS: list[Any] = []


def levels(a, lo, hi):  # type: ignore[no-untyped-def]
    """The result is Python's."""
    if hi - lo < 2:
        a[lo] = a[lo] * 3 % 7 + a[hi - 1] // 2 - a[lo - 1] * 5 % 3
        return 1
    mid = (lo + hi) // 2
    return 1 + max(levels(a, lo, mid), levels(a, mid, hi))


def counted(a):  # type: ignore[no-untyped-def]
    """A number that changes is Python's."""
    calls = 0

    def run(lo, hi):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        if hi - lo < 2:
            a[lo] = a[lo] * 3 % 7 + a[hi - 1] // 2 - a[lo - 1] * 5 % 3
        else:
            run(lo, (lo + hi) // 2)
            run((lo + hi) // 2, hi)

    run(0, len(a))
    return rt.zeros([calls]).shape


def kept(a, lo, hi):  # type: ignore[no-untyped-def]
    """A list that changes is Python's."""
    CALLS.append(hi - lo)
    if hi - lo < 2:
        a[lo] = a[lo] * 3 % 7 + a[hi - 1] // 2 - a[lo - 1] * 5 % 3
    else:
        kept(a, lo, (lo + hi) // 2)
        kept(a, (lo + hi) // 2, hi)


def looked_up(a, lo, hi):  # type: ignore[no-untyped-def]
    """Only Python can do this with the numbers."""
    assert type(hi) is int
    if hi - lo < 2:
        a[lo] = a[lo] * 3 % 7 + a[hi - 1] // 2 - a[lo - 1] * 5 % 3
    else:
        looked_up(a, lo, (lo + hi) // 2)
        looked_up(a, (lo + hi) // 2, hi)


@EXECUTORS
@pytest.mark.parametrize("fn, want_result", [
    (lambda a: rt.zeros([levels(a, 0, len(a))]).shape, [7]), (counted, [127]),
    (lambda a: kept(a, 0, len(a)), None), (lambda a: looked_up(a, 0, len(a)), None)],
    ids=["result", "number", "list", "only in Python"])
def test_what_python_has_stays(fn: Callable[..., Any], want_result: Any, executor: str) -> None:
    a = np.random.default_rng(0).integers(0, 99, 64)
    want, found = a.copy(), a.copy()
    CALLS.clear()
    result = fn(want)
    calls = [*CALLS]
    CALLS.clear()
    got = on(executor, fn)(found)
    assert (want == found).all() and calls == CALLS
    assert result == got == want_result


def beyond(a, lo, hi):  # type: ignore[no-untyped-def]
    if hi - lo < 2:
        a[hi] += a[lo] % 5 - a[lo] // 3
        return
    beyond(a, lo, (lo + hi) // 2)
    beyond(a, (lo + hi) // 2, hi)


@EXECUTORS
def test_an_error_of_a_call(executor: str) -> None:
    def fn(a):  # type: ignore[no-untyped-def]
        beyond(a, 0, len(a))

    a = np.arange(100)
    with pytest.raises(IndexError) as wanted:
        fn(a.copy())
    with pytest.raises(IndexError, match="100"):
        on(executor, fn)(a)
    assert "100" in str(wanted.value)


@pytest.fixture
def high_limit():  # type: ignore[no-untyped-def]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # more than the C stack has room for
    yield
    sys.setrecursionlimit(limit)


@EXECUTORS
def test_python_recursion_that_is_too_deep_to_trace(executor: str, high_limit: None) -> None:
    @rt.function(executor=executor)
    def depth(n: Any) -> Any:
        return 0 if n == 0 else 1 + depth(n - 1)

    def widest(n: Any) -> Any:
        return max([widest(n - 1) + 1 for _ in range(1)]) if n else 0

    @rt.function(executor=executor)
    def f(n: Any, x: Any) -> Any:
        return widest(n) + x

    assert int(depth(50)) == 50 and int(f(50, rt.constant(1))) == 51  # later calls are traced at once
    for call in lambda: depth(5000), lambda: f(5000, rt.constant(1)):
        with pytest.raises(RecursionError) as info:
            call()
        assert re.search(r"test_unrolled_recursion.py:\d+: maximum recursion depth exceeded", str(info.value))
        assert "rt.constant(n) in place of n" in str(info.value)
    assert int(depth(rt.constant(900))) == 900
