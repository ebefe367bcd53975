"""A loop that may add keys to a dict is unrolled; one that sets items that are there in all iterations is rolled."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt

N = 200


def as_many_new_keys(x: Any) -> Any:
    d = {i: 0 for i in range(N)}
    for i in range(1, N + 1):
        d[-i] = x * i
    return len(d), d[-3], d[3]


def the_last_key_is_new(x: Any) -> Any:
    d = {i: x for i in range(N)}
    for i in range(1, N + 1):
        d[i] = x * i
    return len(d), d[N]


def a_counter_of_the_state(x: Any) -> Any:
    d, k = {i: 0 for i in range(N)}, 1
    for i in range(N):
        k += 1
        d[k] = x * i
    return len(d), d[N + 1]


def new_texts(x: Any) -> Any:
    d = {f"a{i}": 0 for i in range(N)}
    for i in range(N):
        d[f"a{2 * i}"] = x * i
    return len(d), d["a4"]


def in_a_nested_loop(x: Any) -> Any:
    d = {i: 0 for i in range(30)}
    for i in range(16):
        for j in range(16):
            d[i + j] = x * j
    return len(d), d[30]


NEW: list[Callable[[Any], Any]] = [
    as_many_new_keys, the_last_key_is_new, a_counter_of_the_state, new_texts, in_a_nested_loop]


@pytest.mark.parametrize("fn", NEW)
def test_new_keys(fn: Callable[[Any], Any]) -> None:
    traced = rt.function(fn)
    assert [int(x) for x in traced(rt.constant(3))] == [*fn(3)]
    assert "it adds keys to a dict" in traced.explain()


def at_all_places(x: Any) -> Any:
    d = dict.fromkeys(range(N), 0)
    for i in range(N):
        d[N - 1 - i] = x * i
    return d[3]


def again_and_again(x: Any) -> Any:
    d = {k * k: 0 for k in range(7)}
    for i in range(N):
        d[(i % 7) * (i % 7)] += x
    return d[4]


def by_tensors(x: Any) -> Any:
    d = dict.fromkeys(range(7), 0)
    for i in range(N):
        d[x + i % 4] += 1
    return d[4]


def of_nested_loops(x: Any) -> Any:
    d = dict.fromkeys(range(31), 0)
    for i in range(16):
        for j in range(16):
            d[i + j] += x * j
    return d[30]


def of_a_list(x: Any) -> Any:
    d, keys = dict.fromkeys((2, 3, 5), 0), [2, 3, 5] * 40
    for key in keys:
        d[key] += x
    return d[5]


@pytest.mark.parametrize("fn", [at_all_places, again_and_again, by_tensors, of_nested_loops, of_a_list])
def test_known_keys(fn: Callable[[Any], Any]) -> None:
    traced = rt.function(fn)
    assert int(traced(rt.constant(3))) == fn(3)
    assert "adds keys" not in traced.explain()
    assert sum(1 for _ in traced.concrete_functions[0].graph.walk()) < 900  # rolled: not 200 times all keys
