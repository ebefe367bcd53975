"""Operators and comparisons of counters whose items or counts only the graph knows: as in Python."""
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import plain
from tests.traced_once import on, on_both

EXECUTORS = ["native", "numpy"]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "or": lambda a, b: a | b, "and": lambda a, b: a & b,
    "pos": lambda a, b: +a, "neg": lambda a, b: -a, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "le": lambda a, b: a <= b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b, "gt": lambda a, b: a > b,
    "dict": lambda a, b: a == dict(b), "function": lambda a, b: functools.reduce(operator.and_, [a, b, a]),
    "method": lambda a, b: a.__and__(b), "within": lambda a, b: ((1, a) == (1, b), a in [b]),
}
ITEMS = [([1, 1, 2, 3], [0, 1, 1, 1]), ([2, 1, 1], [1, 2, 1]), ([1], [3, 1, 1, 2]), ([2], [3]), ([5, 4], [4])]


def subtracted(a: Any, b: Any) -> Any:
    """A counter that has counts of zero and below."""
    counts = Counter(a)
    counts.subtract(b)
    return counts


@pytest.mark.parametrize("name", OPERATIONS)
def test_operators(name: str) -> None:
    of = OPERATIONS[name]

    def operated(a, b):
        return [list(found.items()) if isinstance(found, Counter) else found
                for found in (of(Counter(a), Counter(b)), of(subtracted(a, b), Counter(b)))]

    for executor, staged in on_both(operated).items():
        for k, (a, b) in enumerate(ITEMS):
            for x, y in ((rt.constant(a), rt.constant(b)), (rt.constant(a), b) if k % 2 else (a, rt.constant(b))):
                assert plain(staged(x, y)) == plain(operated(a, b)), (executor, a, b)


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {"function", "method"}))
def test_known_items_with_counts_of_the_graph(name: str) -> None:
    of = OPERATIONS[name]

    def operated(n):
        found = of(Counter(a=n, b=2, c=1), Counter(a=3, b=n))
        return dict(found) if isinstance(found, Counter) else found

    for executor, staged in on_both(operated).items():
        for n in (-1, 0, 2, 3):
            assert plain(staged(rt.constant(n))) == plain(operated(n)), executor


class Tally(Counter):
    def top(self):
        return self.most_common(1)[0]


def read(c, n):
    return [c.most_common(1), c.most_common(2), c.most_common(), c.most_common(n), list(c.elements()), c.total(),
            Counter.most_common(c, n=1), [key for key, _ in c.most_common(1)], c.__add__(Counter([1, 7]))]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("of", [
    lambda c, n: read(c, n),
    lambda c, n: Tally(c).top(),
    lambda c, n: [c.update([2, n]), c.subtract({1: n}), type(c.copy()) is Counter, c][-1]])
def test_methods_of_known_items_with_counts_of_the_graph(of: Callable[[Any, Any], Any], executor: str) -> None:
    def called(n):
        c = Counter([1, 2, 2])
        c[2] += n
        return of(c, n)

    staged = on(executor, called)
    for n in (1, 0, -1, -5):
        assert plain(staged(rt.constant(n))) == plain(called(n))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_most_common_of_known_texts(executor: str) -> None:
    def called(n):
        c = Counter("abb")
        c["b"] += n
        return c.most_common(1)[0][0], c.most_common(2)

    staged = on(executor, called)
    for n in (1, -1, -5):
        assert plain(staged(rt.constant(n))) == plain(called(n))


def in_place(a, b):
    c = d = Counter(a)
    c -= Counter(b)
    c += Counter([5, 5])
    c |= Counter([7, 7])
    counters = {"c": c}
    counters["c"] &= Counter([5, 7, 7, 7, *a])
    return d is c, counters["c"] is d, list(d.items())


def anagrams(text, pattern):
    need, window, found = Counter(pattern), Counter(), []
    for i, c in enumerate(text):
        window[c] += 1
        if i >= len(pattern):
            window[text[i - len(pattern)]] -= 1
        if window == need:
            found.append(i)
    return found


def of_a_loop(a, b):
    c = Counter()
    for x in a:
        c[x] += 2
        c -= Counter(b)
    return list(c.items())


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [in_place, anagrams, of_a_loop])
def test_programs(fn: Callable[[Any, Any], Any], executor: str) -> None:
    staged = on(executor, fn)
    for a, b in (([3, 1, 2, 1, 3, 3, 2, 1], [1, 2]), ([1, 1, 1], [1, 1])):
        assert plain(staged(rt.constant(a), rt.constant(b))) == plain(fn(a, b))
        assert plain(staged(a, rt.constant(b))) == plain(fn(a, b))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_key_that_only_the_graph_knows_to_be_there(executor: str) -> None:
    def combined(n):
        c = Counter(a=1)
        if n > 0:
            c["b"] = 1
        return dict(c & Counter(b=2))

    staged = on(executor, combined)
    for n in (1, -1):
        assert plain(staged(rt.constant(n))) == combined(n)
