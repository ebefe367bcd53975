"""Loops over Python's iterables in traced code: lists that become lists of the graph meanwhile."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_shown, executors


def of_a_list(n: Any) -> Any:
    xs, total = [1, 2], 0
    for x in xs:
        if x < n:
            xs.append(x * 2)
        total += x
    return xs, total


def of_an_iterator(n: Any) -> Any:
    xs, total = [1, 2], 0
    for x in iter(xs):
        if x < n:
            xs.append(x * 2)
        total += x
    return xs, total


def of_a_reversed_list(n: Any) -> Any:
    xs, total = [1, 2, 3, 4], 0
    for x in reversed(xs):
        if x < n:
            xs.pop()
        total += x
    return xs, total


def of_pairs(n: Any) -> Any:
    xs, total = [1], 0
    for (i, x), y in zip(enumerate(xs, 3), [5, 6, 7]):
        if x < n:
            xs.append(x * 2)
        total += x * y + i
    return xs, total


def of_a_map(n: Any) -> Any:
    xs, total = [1, 2], 0
    for x in map(lambda v: v * 2, xs):
        if x < n:
            xs.append(x)
        total += x
    return xs, total


def of_a_list_that_holds_lists(n: Any) -> Any:
    rows = [[1, 2]]
    for row in rows:
        if row[0] < n:
            rows.append([row[0] * 2, row[1] + 1])
    return rows


@executors
@pytest.mark.parametrize(
    "fn", [of_a_list, of_an_iterator, of_a_reversed_list, of_pairs, of_a_map, of_a_list_that_holds_lists])
def test_the_rest_of_a_list_that_becomes_staged(fn: Any, executor: str) -> None:
    for n in (0, 3, 9):
        check_shown(fn, executor, n)


def of_a_generator_expression(xs: Any) -> Any:
    return (v * 2 for v in xs)


def of_a_generator(xs: Any) -> Any:
    def made():
        for x in xs:
            yield x + 1

    return made()


def of_a_chain(xs: Any) -> Any:
    return itertools.chain(xs, [5])


def of_a_strict_zip(xs: Any) -> Any:
    return zip(xs, xs, strict=True)


@pytest.mark.parametrize("make", [of_a_generator_expression, of_a_generator, of_a_chain, of_a_strict_zip])
def test_iterators_whose_position_is_not_known(make: Any) -> None:
    @rt.function
    def f(n: Any) -> Any:
        xs = [1, 2]
        for _ in make(xs):
            if len(xs) < n:
                xs.append(3)
        return xs

    with pytest.raises(rt.errors.StagingError, match="a list from which the items of this loop come is changed in it"):
        f(rt.constant(9))
