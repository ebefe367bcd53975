"""OrderedDicts, and dicts with a default factory, whose keys or values only the graph knows."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
XS = [4, 7, 1, 7, 3, 4, 2, 7]


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return type(x).__name__, [(plain(key), plain(value)) for key, value in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


class Cache:
    def __init__(self, size):
        self.size, self.values = size, OrderedDict()

    def get(self, key):
        if key not in self.values:
            return -1
        self.values.move_to_end(key)
        return self.values[key]

    def put(self, key, value):
        if key in self.values:
            self.values.move_to_end(key)
        self.values[key] = value
        if len(self.values) > self.size:
            self.values.popitem(last=False)


def least_recently_used(xs):
    cache, found = Cache(3), []
    for i, x in enumerate(xs):
        found.append(cache.get(x))
        cache.put(x, i)
    return found, cache.values


def last_first(xs):
    counts = OrderedDict()
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
        counts.move_to_end(x, last=False)
    return counts, list(counts)


def of_known_keys(xs):
    squares = OrderedDict((k, k * k) for k in range(1, 8))
    for x in xs:
        squares.move_to_end(x)
    squares.move_to_end(xs[0], False)
    return squares


def with_lists(xs):
    places = OrderedDict()
    for i, x in enumerate(xs):
        places.setdefault(x, []).append(i)
        places.move_to_end(x)
    return [(key, list(value)) for key, value in places.items()]


def a_missing_key(xs):
    squares = OrderedDict((k, k * k) for k in range(1, 5))
    found = []
    for x in xs:
        try:
            squares.move_to_end(x)
            found.append(x)
        except KeyError as error:
            found.append(-error.args[0])
    return found


def no_ordered_dict(xs):
    d = {}
    for x in xs:
        d[x] = 1
    try:
        d.move_to_end(1)
    except AttributeError as error:
        return str(error)


def regrouped(xs):
    groups = defaultdict(list)
    for key, count in Counter(xs).items():
        groups[count].append(key)
    return groups


def factories_of_the_function(xs):
    def start():
        return 10 if xs[0] > 3 else 20

    rows, sums = defaultdict(lambda: [0] * 2), defaultdict(start)
    for i, x in enumerate(xs):
        rows[i % 2].append(x)
        sums[i % 2] += x
    return rows, sums


def sets_by_place(xs):
    seen = defaultdict(set)
    for i in range(len(xs)):
        place = i // 4, i % 2
        if xs[i] == 1:
            continue
        items = seen[place]
        if xs[i] in items:
            return False, i
        items.add(xs[i])
    return True, len(seen)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [
    least_recently_used, last_first, of_known_keys, with_lists, a_missing_key, no_ordered_dict, regrouped,
    factories_of_the_function, sets_by_place])
def test_programs(fn: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, fn)
    for xs in (XS, XS[::-1], [1, 2, 1, 2]):
        assert plain(traced(rt.constant(xs))) == plain(fn(xs))
        assert plain(traced([rt.constant(x) for x in xs])) == plain(fn(xs))


def test_numbers_that_are_keys_of_results_stay_numbers() -> None:
    def made(xs):
        return defaultdict(int, {1: 2, (3, 2.5): xs, None: 5}), regrouped([3, 1, 3])

    assert plain(rt.function(made)(rt.constant(6))) == plain(made(6))
