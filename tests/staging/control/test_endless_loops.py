"""`while True` that only an exception leaves is a loop of the graph if that may raise, else one of Python."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import executors, plain
from tests.traced_once import on


class Found(Exception):
    pass


def until_the_end(a, i):
    try:
        while True:
            a[i] += 1
            i += 1
    except IndexError:
        return a, i


def removed(a, k):
    n = 0
    try:
        while True:
            a.remove(k)
            n += 1
    except ValueError:
        return n, a


def followed(_, k):
    links, path = {1: 2, 2: 3, 3: 7}, []
    try:
        while True:
            path.append(k)
            k = links[k]
    except KeyError:
        return path, k


def divided(_, k):
    total = 0
    try:
        while 1:
            total += 10 // k
            k -= 1
    except ZeroDivisionError:
        return total


def raised(_, n):
    i = 0
    try:
        while True:
            i += 1
            if i * i > n * 10:
                raise Found(i)
    except Found as error:
        return error.args[0]


def ended_by_python(a, k):
    items = iter(a)
    try:
        while True:
            k += next(items) * k
    except StopIteration:
        return k


@executors
@pytest.mark.parametrize("fn", [until_the_end, removed, followed, divided, raised, ended_by_python])
def test_programs(fn: Callable[..., Any], executor: str) -> None:
    staged = on(executor, fn)
    for a, k in (([1, 2, 1, 4], 1), ([3, 1, 4, 1, 5], 3), ([1, 1], 0)):
        assert plain(staged(copy.copy(a), rt.constant(k))) == fn(copy.copy(a), k)


def test_they_are_loops_of_the_graph() -> None:
    graph = rt.function(raised).get_concrete_function(None, rt.constant(3)).graph
    assert "while_loop" in [node.op.name for node in graph.walk()] and len([*graph.walk()]) < 100


def test_an_error_that_leaves_the_function() -> None:
    def squares(n):
        i = 0
        while True:
            i += 1
            if i * i > n:
                raise Found(i)

    with pytest.raises(Found, match="8"):
        rt.function(squares)(rt.constant(50))
