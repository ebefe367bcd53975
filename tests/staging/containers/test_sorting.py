"""`sorted`, `min` and `max` of dicts whose keys only the graph knows, and of views of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def numbers(n):
    made = {}
    for k in range(n):
        made[k] = k * 7 % 5
    return made


def pairs(n):
    made = {}
    for k in range(n):
        made[k % 2, k] = -k
    return made


def by_items(n):
    d = numbers(n)
    return (sorted(d.items()), sorted(d.items(), reverse=True), sorted(d), sorted(d.values()),
            [(v, k) for k, v in sorted(d.items())], max(d.items()))


def by_tuples(n):
    d = pairs(n)
    return sorted(d), sorted(d, reverse=True), sorted(d.items()), sorted(d.keys()), max(d), min(d.items())


def by_values(n):
    d = numbers(n)
    return (sorted(d, key=d.get), sorted(d, key=d.get, reverse=True), sorted(d, key=lambda k: (-d[k], k)),
            max(d, key=d.get))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [by_items, by_tuples, by_values])
def test_dicts_of_the_graph_are_sorted_as_in_python(fn: Callable[..., Any], executor: str) -> None:
    for n in (1, 4):
        assert plain(rt.function(fn, executor=executor)(rt.constant(n))) == fn(n)


def test_a_key_that_is_none_does_not_compare() -> None:
    def f(n):
        d = numbers(n)
        return sorted(range(n + 1), key=d.get)

    with pytest.raises(TypeError, match="None"):
        rt.function(f)(rt.constant(3))
