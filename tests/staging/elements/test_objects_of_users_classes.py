"""Objects of the user's classes where Python asks their special methods: comparisons, `in`, iteration."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest
from plain_values import plain
from traced_once import on

import runtime as rt


class Vector:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: Any) -> Any:
        return self.x == other.x and self.y == other.y


class Plain:
    def __init__(self, v: Any) -> None:
        self.v = v


@dataclasses.dataclass(order=True)
class Job:
    priority: Any
    size: Any = dataclasses.field(compare=False, default=1)


@functools.total_ordering
class Weight:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __eq__(self, other: Any) -> Any:
        return self.v == other.v

    def __lt__(self, other: Any) -> Any:
        return self.v < other.v


def in_lists(x, n):
    vs = [Vector(x, 1.0), Vector(2.0, 2.0)]
    p, q = Plain(x), Plain(x)
    return (Vector(2.0, 2.0) in vs, Vector(0.5, 1.0) in vs, Vector(9.0, 1.0) not in vs, vs.count(Vector(x, 1.0)),
            vs.index(Vector(2.0, 2.0)), p in [q], p in [q, p], [p, q].index(q))


def compared(x, n):
    jobs = [Job(x, 1), Job(2.0, 2), Job(3.0, 3)]
    return (jobs[0] < jobs[1], jobs[0] == Job(2.0, 7), jobs[0] >= jobs[1], jobs[0] != jobs[2],
            Weight(x) > Weight(1.0), Weight(x) <= Weight(2.0))


def extremes(x, n):
    jobs = [Job(x, 1), Job(2.0, 2), Job(1.0, 3)]
    best = None
    for job in jobs:
        if best is None or job < best:
            best = job
    return (min(jobs).priority, min(jobs).size, max(jobs).size, best.priority, best.size,
            max([Weight(x), Weight(1.0)]).v, max(jobs, key=lambda job: job.size * x).priority)


def in_order(x, n):
    jobs = [Job(x, 1), Job(2.0, 2), Job(3.0, 3), Job(2.0, 4)]
    down = sorted(jobs, reverse=True)
    jobs.sort()
    return ([(job.priority, job.size) for job in jobs], [(job.priority, job.size) for job in down],
            [w.v for w in sorted([Weight(x), Weight(1.0), Weight(x * 1.5)])],
            [s for _, s in sorted([(Weight(x), 1), (Weight(2.0), 2)])])


class Stack:
    def __init__(self, x: Any, n: Any) -> None:
        self.items: list[Any] = []
        for i in range(n):
            self.items.append(x * i)

    def __iter__(self) -> Any:
        return iter(self.items)


class Backward(Stack):
    def __iter__(self) -> Any:
        return reversed(self.items)


class Mapped(Stack):
    def __iter__(self) -> Any:
        return iter([v + 1 for v in self.items])


class Generated(Stack):
    def __iter__(self) -> Any:
        for v in self.items:
            yield v * 2


def iterated(x, n):
    found = []
    for kind in (Stack, Backward, Mapped, Generated):
        s = kind(x, n)
        t = 0.0
        for v in s:
            t = t * 2 + v
        found.append((t, sum(s), max(s), x in s))
    return found, [v for v in Stack(x, n)], list(Mapped(x, n))


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [in_lists, compared, extremes, in_order, iterated])
def test_as_in_python(f: Any, executor: str) -> None:
    g = on(executor, f)
    for x, n in ((0.5, 3), (2.0, 1), (3.5, 4)):
        assert plain(g(rt.constant(x), rt.constant(n, rt.int32))) == f(x, n), (x, n)


class Shifted:
    """Its items are no places of their own: setting one sets all."""

    def __init__(self) -> None:
        self.k = 0

    def __getitem__(self, i: Any) -> Any:
        return i + self.k

    def __setitem__(self, i: Any, value: Any) -> None:
        self.k = value


class Doubled(dict):
    def __getitem__(self, key: Any) -> Any:
        return dict.__getitem__(self, key) * 2


SHIFTED = Shifted()


def items_that_a_class_computes(x):
    inner, doubled = {1: Shifted()}, {2: Doubled(a=1)}
    if x > 1:
        SHIFTED[x] = x
        inner[1][x] = x * 2
        doubled[2]["a"] = x + 1
    for i in range(x):
        doubled[2]["a"] += i
    return SHIFTED.k, SHIFTED[x], inner[1].k, doubled[2]["a"]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_items_that_a_class_computes(executor: str) -> None:
    staged = on(executor, items_that_a_class_computes)
    for x in (0, 1, 2, 3):
        SHIFTED.k = 0
        expected = items_that_a_class_computes(x), SHIFTED.k
        SHIFTED.k = 0
        assert (plain(staged(rt.constant(x))), plain(SHIFTED.k)) == expected, x
