"""Recursion that Python decides: calls that repeat an earlier one become calls of one graph."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import autograph as ag
import runtime as rt
from runtime.staging.control import repeated_calls


@pytest.fixture(autouse=True)
def from_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_calls, "_LARGE", 0)


def routines_of(graph: Any, found: set[Any] | None = None) -> set[Any]:
    found = set() if found is None else found
    for node in graph.walk():
        if node.op.name == "call" and node.params["function"] not in found:
            found.add(node.params["function"])
            routines_of(node.params["function"].graph, found)
    return found


def merge_sort(a):
    if len(a) <= 1:
        return a
    m = len(a) // 2
    left, right = merge_sort(a[:m]), merge_sort(a[m:])
    out = np.empty_like(a)
    i = j = 0
    for k in range(len(a)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def summed(x):
    if len(x) == 1:
        return x[0]
    m = len(x) // 2
    return summed(x[:m]) * 2 + summed(x[m:])


def scaled(x, by=1.5):
    if len(x) <= 2:
        return x * by, x
    m = len(x) // 2
    (a, b), (c, d) = scaled(x[:m]), scaled(x[m:], by=1.5)
    return np.concatenate([a, c]), np.concatenate([d, b])


def counted(x):
    """Returns a number of Python's, which the calls must not make a tensor."""
    if len(x) == 1:
        return x, 1
    m = len(x) // 2
    (a, n), (b, k) = counted(x[:m]), counted(x[m:])
    assert type(n) is int
    return a + b, n + k + int(np.zeros(n + k).shape[0])


def writes(x):
    if len(x) > 1:
        m = len(x) // 2
        writes(x[:m])
        writes(x[m:])
    x[0] += x[-1]
    return x


LOG: list[Any] = []


def logs(x):
    LOG.append(x[0])
    if len(x) > 1:
        m = len(x) // 2
        return logs(x[:m]) + logs(x[m:])
    return x[0]


def returns_a_list(x):
    if len(x) == 1:
        return [x[0]]
    m = len(x) // 2
    a, b = returns_a_list(x[:m]), returns_a_list(x[m:])
    a.append(b[0])
    return a


def returns_views(x):
    if len(x) == 1:
        return x[:1]
    m = len(x) // 2
    first = returns_views(x[:m])
    returns_views(x[m:])
    first[0] += 1
    return first


def raises(x):
    if len(x) == 1:
        if x[0] > 100:
            raise ValueError("too large")
        return x[0]
    m = len(x) // 2
    return raises(x[:m]) + raises(x[m:])


PURE = [merge_sort, summed, scaled, raises, counted, returns_a_list]
OTHERS = [writes, logs, returns_views]


@pytest.mark.parametrize("fn", PURE + OTHERS)
@pytest.mark.parametrize("size", [16, 21])
def test_as_in_python(fn: Any, size: int) -> None:
    x = np.random.default_rng(0).permutation(size).astype(float)

    def traced(x):
        x = x.copy()
        LOG.clear()
        return fn(x), x, [*LOG]

    want = traced(x)
    concrete = rt.function(traced).get_concrete_function(x)
    assert bool(routines_of(concrete.graph)) is (fn in PURE)
    for executor, f in on_both(traced).items():
        got = f(x)
        for a, b in zip(_flat(got), _flat(want), strict=True):
            assert np.array_equal(a, b), executor


def _flat(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, (tuple, list)) else [np.asarray(x)]


def merged(left, right):
    out, n, i, j = [], 0, 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
            n += len(left) - i
    return out + left[i:] + right[j:], n


def inversions(xs):
    if len(xs) <= 1:
        return xs, 0
    m = len(xs) // 2
    (left, n), (right, k) = inversions(xs[:m]), inversions(xs[m:])
    out, more = merged(left, right)
    return out, n + k + more


def lists_of_two(xs):
    if len(xs) == 1:
        return [xs[0], xs[0]]
    m = len(xs) // 2
    (a, b), (c, d) = lists_of_two(xs[:m]), lists_of_two(xs[m:])
    return [min(a, c), max(b, d)]


def one_list_twice(xs):
    if len(xs) <= 1:
        return xs, xs
    m = len(xs) // 2
    (left, same), (right, _) = one_list_twice(xs[:m]), one_list_twice(xs[m:])
    same[0] += 1
    out, _ = merged(left, right)
    return out, out


def changes_its_list(xs):
    if len(xs) <= 1:
        return xs
    m = len(xs) // 2
    left, right = changes_its_list(xs[:m]), changes_its_list(xs[m:])
    xs[0] = left[0] + right[0]
    return xs


def returns_another_list(xs):
    log = []

    def halves(xs):
        if len(xs) <= 1:
            return log
        m = len(xs) // 2
        one, other = halves(xs[:m]), halves(xs[m:])
        one.append(xs[0] + len(other))
        return log

    return halves(xs)


def popped(xs):
    if len(xs) <= 1:
        return list(xs)
    left, right = popped(xs[:len(xs) // 2]), popped(xs[len(xs) // 2:])
    out = []
    while left and right:
        out.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return out + left + right


@pytest.mark.parametrize(("fn", "is_shared"), [
    (inversions, True), (lists_of_two, True), (popped, True), (one_list_twice, False), (changes_its_list, False),
    (returns_another_list, False)])
def test_lists_of_tensors(fn: Any, is_shared: bool) -> None:
    xs = [int(x) for x in np.random.default_rng(0).permutation(21)]
    want = fn([*xs])
    concrete = rt.function(fn).get_concrete_function([rt.constant(x) for x in xs])
    assert bool(routines_of(concrete.graph)) is is_shared
    for executor, f in on_both(fn).items():
        got = f([rt.constant(x) for x in xs])
        assert [np.asarray(x).tolist() for x in _flat(got)] == _flat(want), executor


def test_each_length_has_one_graph() -> None:
    x = np.random.default_rng(0).random(64)
    assert len(routines_of(rt.function(merge_sort).get_concrete_function(x).graph)) == 5
    assert np.array_equal(rt.function(merge_sort)(x), np.sort(x))


def test_a_small_recursion_is_traced_into_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert not routines_of(rt.function(summed).get_concrete_function(np.arange(8.0)).graph)


def test_what_the_calls_read_may_change_between_them() -> None:
    def weighted(x):
        factor = [1.0]

        def total(x):
            if len(x) == 1:
                return x[0] * factor[0]
            m = len(x) // 2
            return total(x[:m]) + total(x[m:])

        first = total(x)
        factor[0] = 3.0
        return first, total(x), total(x)

    x = np.arange(8.0)
    for f in on_both(weighted).values():
        assert [float(y) for y in f(x)] == [28, 84, 84]


def test_derivatives() -> None:
    def loss(x):
        return summed(x * x)

    x = rt.constant(np.arange(1.0, 9.0))
    f = rt.function(loss)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert np.array_equal(tape.gradient(y, x), 2 * np.arange(1.0, 9.0) * [8, 4, 4, 2, 4, 2, 2, 1])


def test_an_error_of_the_graph_is_raised() -> None:
    x = np.array([1.0, 200, 3, 4, 5, 6, 7, 8])
    for f in on_both(raises).values():
        with pytest.raises(ValueError, match="too large"):
            f(x)
        assert f(x % 100) == 34


def test_number_of_traces_of_a_recursion_without_end() -> None:
    """Routines are tried within routines; at the error, the outermost call alone is traced again."""
    traces = []

    @ag.do_not_convert
    def note():
        traces.append(1)

    def endless(x):
        note()
        return endless(x + 1)

    with pytest.raises(RecursionError):
        rt.function(endless)(rt.constant(1))
    assert len(traces) <= 12 * sys.getrecursionlimit()
