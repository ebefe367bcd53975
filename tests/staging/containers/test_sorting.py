"""`sorted`, `min` and `max` of dicts whose keys only the graph knows, and of views of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ways import HAS_LLVM

import runtime as rt
from tests.traced_once import on

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
        assert plain(on(executor, fn)(rt.constant(n))) == fn(n)


def test_a_key_that_is_none_does_not_compare() -> None:
    def f(n):
        d = numbers(n)
        return sorted(range(n + 1), key=d.get)

    with pytest.raises(TypeError, match="None"):
        rt.function(f)(rt.constant(3))


NAN = float("nan")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_does_not_compare_and_zeros(executor: str) -> None:
    def of_array(x):
        return max(x), min(x), sorted(x), sorted(x, reverse=True), max(x, default=None), sorted(x, key=lambda v: -v)

    def of_list(x):
        xs = []
        for v in x:
            xs.append(v)
        xs.sort()
        return max(xs), min(xs), xs, max(xs, key=lambda v: v), sorted(xs, key=lambda v: -v)

    for fn in of_array, of_list:
        staged = on(executor, fn)
        for values in ([1, NAN, 5, 2], [NAN, 1, 0], [3, 1, NAN, 0], [-0.0, 0.0], [0.0, -0.0], [NAN], [NAN, NAN, 1], [
                -np.inf, NAN, np.inf], [2.0, 1.0, 2.0]):
            x = np.array(values, np.float64)
            assert repr(rt.nest.map_structure(float, staged(x))) == repr(rt.nest.map_structure(float, fn(x))), values
