"""Sorting by comparisons: `functools.cmp_to_key`, objects with `__lt__`, lists, and texts beside tensors."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.core.errors import StagingError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
NUMBERS = [5, 4, 1, 2, 3, 9, 8, 7, 6, 12]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def by_quarters(a, b):
    if a % 4 != b % 4:
        return -1 if a % 4 < b % 4 else 1
    return b - a


KEY = functools.cmp_to_key(by_quarters)


def largest_number(xs):
    def compared(a, b):
        one = a * 10 + b if b < 10 else a * 100 + b
        other = b * 10 + a if a < 10 else b * 100 + a
        return other - one
    return sorted(xs, key=functools.cmp_to_key(compared))


def in_place(xs):
    ys = [x for x in xs if x > 3]
    ys.sort(key=functools.cmp_to_key(lambda a, b: -1 if a > b else 1 if a < b else 0))
    return ys, max(ys, key=functools.cmp_to_key(lambda a, b: a - b)), min(xs, key=KEY)


def stable(xs):
    key = functools.cmp_to_key(lambda a, b: a % 3 - b % 3)
    return sorted(xs, key=key), sorted(xs, key=key, reverse=True), sorted([x for x in xs if x > 2], key=key)


def within_a_key(xs):
    key = functools.cmp_to_key(lambda a, b: b - a)
    return sorted(xs, key=lambda x: (x % 3, key(x))), sorted([x for x in xs if x > 2], key=lambda x: (x % 3, key(x)))


def of_the_module(xs):
    return sorted(xs, key=KEY), sorted(range(10), key=KEY)


def of_known_items(xs):
    return (sorted([1, 2, 3, 4], key=functools.cmp_to_key(lambda a, b: (a - b) * xs[0])),
            max("abc", key=functools.cmp_to_key(lambda a, b: (ord(b) - ord(a)) * xs[0])) == "a")


class Item:
    def __init__(self, value, weight=0):
        self.value, self.weight = value, weight

    def __lt__(self, other):
        return self.value % 3 < other.value % 3


def objects(xs):
    items = [Item(x) for x in xs if x > 2]
    found = [item.value for item in sorted(items)], [item.value for item in sorted(items, reverse=True)]
    items.sort()
    return found, [item.value for item in items], min(items).value, [item.value for item in sorted(map(Item, xs))]


def objects_by_reference(xs):
    items = [Item(x) for x in xs if x > 2]
    found = sorted(items)
    found[0].weight = 7
    return [item.value for item in found], [item.weight for item in items]


@dataclass(order=True)
class Pair:
    first: int
    second: int


def records_by_reference(xs):
    items = [Pair(x % 3, x) for x in xs if x > 2]
    found = sorted(items)
    found[0].second += 100
    return [item.second for item in found], [item.second for item in items]


def lists(xs):
    rows = [[x % 3] * (x % 4) for x in xs if x > 2]
    return sorted(rows), max(rows)


PROGRAMS = [largest_number, in_place, stable, within_a_key, of_the_module, of_known_items, objects,
            objects_by_reference, records_by_reference, lists]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", PROGRAMS)
def test_items_are_sorted_as_in_python(fn: Callable[[Any], Any], executor: str) -> None:
    for given in (rt.constant(NUMBERS), [rt.constant(x) for x in NUMBERS]):
        assert plain(on(executor, fn)(given)) == fn(NUMBERS)


def by_values(d):
    return (sorted(d.items(), key=lambda pair: pair[1]), sorted(d.items(), key=operator.itemgetter(1), reverse=True),
            sorted(d, key=d.get), sorted(d.items(), key=lambda pair: (-pair[1], pair[0]))[0])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_items_of_dicts_with_text_are_sorted_by_their_tensors(executor: str) -> None:
    known = {"a": 3, "bb": 1, "": 3, "d": 2}
    found = on(executor, by_values)({key: rt.constant(value) for key, value in known.items()})
    assert plain(found) == by_values(known)


def printing(xs):
    def compared(a, b):
        print(a, b)
        return a - b
    return sorted(xs, key=functools.cmp_to_key(compared))


def counting(xs):
    calls = [0]

    def compared(a, b):
        calls[0] += 1
        return a - b
    return sorted([xs[0], 3, 2], key=functools.cmp_to_key(compared)), calls


class Counting:
    compared = 0

    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        Counting.compared += 1
        return self.v < other.v


def counting_objects(xs):
    return [x.v for x in sorted([Counting(xs[0]), Counting(3), Counting(2)])], Counting.compared


@pytest.mark.parametrize("program", [printing, counting, counting_objects])
def test_comparisons_have_no_effects(program: Callable[..., Any]) -> None:
    with pytest.raises(StagingError, match="the comparison of items prints, raises or assigns, and Python may compare"):
        rt.function(program)(rt.constant(NUMBERS))
    assert Counting.compared == 0
