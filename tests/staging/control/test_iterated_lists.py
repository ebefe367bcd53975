"""Loops over staged lists that they change: as in Python, or an error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from traced_once import on

import runtime as rt


def grown(n: Any, a: Any) -> Any:
    xs = [a, a + 1, a + 2]
    for i in range(n):
        xs.append(a * i)
    return xs


def items_set(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in xs:
        xs[2] += x
        total += x
    return xs, total


def set_ahead(n, a):
    xs = grown(n, a)
    total = a * 0
    for i, x in enumerate(xs):
        if i + 1 < len(xs):
            xs[i + 1] = x * 2
        total += x
    return xs, total


def backwards(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in reversed(xs):
        xs[0] += x
        total = total * 2 + x
    return xs, total


def together(n, a):
    xs = grown(n, a)
    ys = grown(n, a + 1)
    total = a * 0
    for x, y in zip(xs, ys):
        xs[1] += y
        ys[2] -= x
        total = total * 3 + x - y
    return xs, ys, total


def twice(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in xs:
        for y in xs:
            if y > x:
                xs[0] += 1
            total += y
    return xs, total


def removed_and_left(n, a):
    xs = grown(n, a)
    for x in xs:
        if x == a + 1:
            xs.remove(x)
            break
    return xs


def returned_after_append(n, a):
    xs = grown(n, a)
    for x in xs:
        if x > a:
            xs.append(x)
            return xs
    return xs


def of_pairs(n, a):
    xs = [(a, a + 1), (a + 2, a)]
    for i in range(n):
        xs.append((a * i, a))
    total = a * 0
    for x, y in xs:
        xs[1] = (y, x)
        total = total * 2 + x - y
    return xs, total


def rebound(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in xs:
        xs = [*xs, x]
        total += x
    return xs, total


def of_a_copy(n, a):
    xs = grown(n, a)
    for x in list(xs):
        if x > 1:
            xs.append(x - 1)
    return xs


RIGHT = [items_set, set_ahead, backwards, together, twice, removed_and_left, returned_after_append, of_pairs, rebound,
         of_a_copy]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", RIGHT)
def test_items_are_those_that_the_list_has_then(fn: Callable[..., Any], executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    traced = on(executor, fn)
    for n in (0, 1, 3):
        for a in (1, 4):
            got = rt.nest.map_structure(lambda x: x.numpy().item(), traced(rt.constant(n), rt.constant(a)))
            assert got == fn(n, a), (n, a)


def appended(n, a):
    xs = grown(n, a)
    for x in xs:
        if len(xs) < 8:
            xs.append(x)
    return xs


def popped(n, a):
    xs = grown(n, a)
    for x in xs:
        if x > 2:
            xs.pop()
    return xs


def appended_in_the_last(n, a):
    xs = grown(n, a)
    for i, x in enumerate(xs):
        if i == n + 2:
            xs.append(x)
    return xs


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [appended, popped, appended_in_the_last])
def test_another_length(fn: Callable[..., Any], executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    with pytest.raises(rt.errors.UnimplementedError, match="has another length after an iteration") as raised:
        rt.function(fn, executor=executor)(rt.constant(3), rt.constant(4))
    assert raised.traceback[-1].path.name == "test_iterated_lists.py"


def test_lists_that_no_iteration_changes_are_not_asked() -> None:
    def f(n, a):
        xs = grown(n, a)
        total = a * 0
        for x in xs:
            total += x
        return total

    graph = rt.function(f).get_concrete_function(rt.constant(1), rt.constant(1)).graph
    assert not [node for node in graph.walk() if node.op.name == "raise_unless"]
