"""A `defaultdict` calls its factory for missing keys only, which shows if the factory changes something."""
# The functions are traced, and have no annotations.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from plain_values import plain

import runtime as rt
from runtime.errors import StagingError

COUNT = 0


def counter():
    n = [0]

    def new():
        n[0] += 1
        return n[0]

    return n, new


def numbered(xs):
    ids = defaultdict(itertools.count().__next__)
    return [ids[x] for x in xs]


def by_closure(xs):
    n, new = counter()
    ids = defaultdict(new)
    found = []
    for x in xs:
        found.append(ids[x])
    return found, n[0], list(ids.items())


def without_loop(xs):
    n, new = counter()
    d = defaultdict(new)
    return [d[xs[0]], d[1], d[xs[1]], d[2]], n[0]


def changed_items(xs):
    n, new = counter()
    d = defaultdict(new)
    d[xs[0]] += 10
    d[7] += 20
    if xs[1] > 3:
        d[1] = 5
    return d[1], d[7], d[xs[0]], n[0]


def lists(xs):
    n, new = counter()
    d = defaultdict(lambda: [new()])
    d[xs[0]].append(10)
    d[7].append(20)
    return d[7], d[xs[0]], n[0]


def pool(xs):
    free = [10, 20, 30, 40]
    d = defaultdict(free.pop)
    return [d[x] for x in xs], free


def an_uncertain_key(xs):
    n, new = counter()
    d = defaultdict(new)
    if xs[0] > 3:
        d[1] = 5
    return d[1], n[0]


@pytest.mark.parametrize("fn", [
    numbered, by_closure, without_loop, changed_items, lists, pool, an_uncertain_key], ids=lambda fn: fn.__name__)
def test_the_factory_is_called_for_missing_keys_only(fn) -> None:
    staged = rt.function(fn)
    for xs in ([3, 5, 3, 7], [7, 7, 7, 7], [1, 2, 1, 1]):
        assert plain(staged(rt.constant(xs))) == fn(xs), xs


def test_a_factory_may_count_in_a_global() -> None:
    def new():
        global COUNT
        COUNT += 1
        return COUNT

    def f(x):
        d = defaultdict(new)
        return [d[x], d[1], d[x], d[2]]

    global COUNT
    for x in (5, 1):
        COUNT = 0
        expected = f(x), COUNT
        COUNT = 0
        assert (plain(rt.function(f)(rt.constant(x))), plain(COUNT)) == expected


def test_a_factory_that_prints(capsys) -> None:
    def new():
        print("new")
        return 0

    def f(xs):
        d = defaultdict(new)
        for x in xs:
            d[x] += 1
        return list(d.values())

    assert plain(rt.function(f)(rt.constant([3, 5, 3]))) == [2, 1]
    assert capsys.readouterr().out == "new\nnew\n"


def test_a_factory_that_takes_the_items_of_an_iterator_is_refused() -> None:
    def f(xs):
        d = defaultdict(iter([1, 2, 3]).__next__)
        return [d[x] for x in xs]

    with pytest.raises(StagingError, match=r"test_dict_defaults.py:\d+: staged code takes items of"):
        rt.function(f)(rt.constant([3, 5, 3]))
