"""Comparisons that lists make run the program's `__eq__` and `__gt__` as often, and in the order, as Python's."""
from __future__ import annotations

from typing import Any

import pytest
from plain_values import plain

import runtime as rt


class Noted:
    def __init__(self, v: Any, log: Any) -> None:
        self.v, self.log = v, log

    def __eq__(self, other: Any) -> Any:
        v = other.v if isinstance(other, Noted) else other
        self.log.append((self.v, v))
        return self.v == v

    def __lt__(self, other: Any) -> Any:
        self.log.append(("lt", self.v, other.v))
        return self.v < other.v

    def __gt__(self, other: Any) -> Any:
        self.log.append(("gt", self.v, other.v))
        return self.v > other.v

    __hash__ = None  # type: ignore[assignment]


def removed(xs, c, log):
    xs.remove(Noted(1, log))
    return [x.v for x in xs]


CASES = {
    "in": lambda xs, c, log: (Noted(1, log) in xs, 7 not in xs, c in xs, xs[1] in xs),
    "in a tuple": lambda xs, c, log: (2, Noted(3, log)) in [(2, xs[0]), (2, xs[1]), (2, xs[2])],
    "index": lambda xs, c, log: xs.index(Noted(1, log)),
    "index from": lambda xs, c, log: [5, c, 1, 1].index(1, 2),
    "count": lambda xs, c, log: xs.count(Noted(1, log)),
    "remove": removed,
    "min, max": lambda xs, c, log: (min(xs).v, max(xs).v),
}


@pytest.mark.parametrize("name", CASES)
def test_of_a_list(name: str) -> None:
    def f(c):
        log: list[Any] = []
        xs = [Noted(c, log), Noted(3, log), Noted(1, log), Noted(2, log)]
        return CASES[name](xs, c, log), log

    for c in (1, -1, 3):
        assert plain(rt.function(f)(rt.constant(c))) == plain(f(c))


@pytest.mark.parametrize("name", ["in", "==", "== of other lengths"])
def test_of_a_list_that_grew_in_the_graph(name: str) -> None:
    def f(c):
        log: list[Any] = []
        xs = []
        for i in range(c):
            xs.append(Noted(i % 3, log))
        if name == "in":
            return Noted(1, log) in xs, log
        return xs == [Noted(k, log) for k in range(1 if "other" in name else c)], log

    for c in (4, 5):
        assert plain(rt.function(f)(rt.constant(c))) == plain(f(c))
