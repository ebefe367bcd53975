"""Loops over `itertools.count` that a tensor leaves."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import plain
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def left(start, limit):
    for i in itertools.count(start):
        if i * i > limit:
            break
    return i


def returned(start, limit):
    total = 0
    for i in itertools.count(start, 2):
        if total > limit:
            return i
        total += i


def collected(start, limit):
    out = []
    for i in itertools.count(1, 3):
        if i > limit:
            break
        if i % 2:
            continue
        out.append(i + start)
    return out, i


def nested(start, limit):
    total = 0
    for x in range(start, start + 4):
        for k in itertools.count(1):
            if k * k > x + limit:
                break
        total += k
    return total


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [left, returned, collected, nested])
def test_a_loop_over_a_count_is_one_loop_of_the_graph(fn: Callable[..., Any], executor: str) -> None:
    staged = on(executor, fn)
    for start, limit in ((2, 5000), (0, -1), (1, 30)):
        expected = fn(start, limit)
        assert plain(staged(rt.constant(start), rt.constant(limit))) == expected
        assert plain(staged(start, rt.constant(limit))) == expected


def test_floats_count_as_in_python() -> None:
    def f(limit):
        for x in itertools.count(0.5, 0.25):
            if x * x > limit:
                return x

    assert float(rt.function(f)(rt.constant(1000.0))) == f(1000.0)


def test_a_count_that_a_variable_has_keeps_its_position() -> None:
    def f(limit):
        count = itertools.count()
        for i in count:
            if i > 3:
                break
        return next(count) + limit

    def of_tensor(limit):
        count = itertools.count()
        for i in count:
            if i > limit:
                break
        return next(count)

    assert int(rt.function(f)(rt.constant(1))) == f(1)
    assert int(rt.function(of_tensor)(rt.constant(3))) == of_tensor(3)


def test_a_count_from_before_the_call_is_refused() -> None:
    numbers = itertools.count()

    def f(limit):
        for i in numbers:
            if i > limit:
                break
        return next(numbers)

    with pytest.raises(StagingError):
        rt.function(f)(rt.constant(3))
