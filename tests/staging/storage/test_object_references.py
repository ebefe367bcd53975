"""What objects that are had by reference show to code that has them."""
from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.plain_values import Job, check_shown, executors
from tests.traced_once import on


class Base:
    def __init__(self, x): self.x = x
    @property
    def double(self): return self.x * 2
    @double.setter
    def double(self, v): self.x = v // 2


class Sub(Base):
    count = 3
    def __init__(self, x):
        super().__init__(x)
        self.index = x + 1
        self.arena = 0
    def bump(self):
        self.index += self.count
        return self


class Slots:
    __slots__ = ("n", "x")
    def __init__(self, x):
        self.x = x
        self.n = 0


class Box:
    def __init__(self, items):
        self.items = items
        self.x = 0


def pick(rows):
    others = [r for r in rows if r.x >= 0]
    best = rows[0]
    for r in others:
        if r.x > 1:
            best = r
    best.x += 100
    return best


def attributes_by_vars(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = pick(rows)
    return sorted(vars(best)), vars(best)["x"], best.__dict__["n"]


def deep_copy(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = pick(rows)
    c = copy.deepcopy(best)
    c.x = -1
    return best.x, c.x, [r.x for r in rows]


def their_class(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = pick(rows)
    return type(best) is Job, isinstance(best, Job), best.__class__ is Job, type(best).__name__, (
        hasattr(best, "x"), hasattr(best, "q"), getattr(best, "q", 7))


def inherited(n: Any) -> Any:
    rows = [Sub(i) for i in range(n)]
    best = pick(rows)
    best.double = 50
    best.bump().arena += 2
    return [r.x for r in rows], [r.index for r in rows], [r.arena for r in rows], best.double, best.count


def slotted(n: Any) -> Any:
    rows = [Slots(i) for i in range(n)]
    best = pick(rows)
    best.n = 4
    return [(r.x, r.n) for r in rows]


def one_list_in_several(n: Any) -> Any:
    common = [n]
    rows = [Box(common) for i in range(3)]
    best = rows[0]
    for r in rows:
        if n > 2:
            best = r
    best.items.append(5)
    best.x = 1
    return [list(r.items) for r in rows], common


def a_list_in_each(n: Any) -> Any:
    rows = [Box([i]) for i in range(n)]
    best = rows[0]
    for r in rows:
        if r.items[0] > 1:
            best = r
    best.items.append(5)
    best.items[0] += 10
    xs = best.items
    xs.append(6)
    return [list(r.items) for r in rows]


def rows_in_each(n: Any) -> Any:
    rows = [Box([[i, i], [0, 0]]) for i in range(n)]
    best = rows[0]
    for r in rows:
        if r.items[0][0] > 1:
            best = r
    best.items[1][0] += 10
    return [[list(q) for q in r.items] for r in rows]


def made_before_an_error(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = pick(rows)
    try:
        new = Job(50)
        rows.append(new)
        best.n = 7 // (n - 5)
    except ZeroDivisionError:
        best.n = 1
    return [(r.x, r.n) for r in rows]


def none_and_numbers(n: Any) -> Any:
    rows = [Job(i, None) for i in range(n)]
    best = pick(rows)
    best.n = 4
    rows[0].n = None
    return [r.n is None for r in rows], sum(r.n for r in rows if r.n is not None)


def objects_in_objects(n: Any) -> Any:
    outer = [Box(Job(i)) for i in range(n)]
    best = outer[0]
    for r in outer:
        if r.items.x > 2:
            best = r
    j = best.items
    j.x = 77
    best.items = Job(5)
    j.x += 1
    return [r.items.x for r in outer], j.x


def closures(n: Any) -> Any:
    rows = [Job(i) for i in range(n)]
    best = pick(rows)
    def bump():
        nonlocal best
        best.n += 1
        best = rows[0]
    bump()
    bump()
    return [r.n for r in rows]


class Ordered(Base):
    def __lt__(self, other): return self.x < other.x


def three(): return [Ordered(3), Ordered(1), Ordered(2)]


def insert_at(n):
    rows, new = three(), Ordered(9)
    rows.insert(n - 3, new)
    new.x = 7
    return [row.x for row in rows], rows[1] is new


def pop_at(n):
    rows = three()
    first = rows[0]
    last = rows.pop(n - 4)
    last.x = 8
    return last.x, last is first, first.x, [row.x for row in rows]


def delete_at(n):
    rows = three()
    del rows[n - 3]
    return [row.x for row in rows]


def remove_chosen(n):
    rows = three()
    best = max(rows, key=lambda row: row.x * n)
    at = rows.index(best)
    rows.remove(best)
    return at, [row.x for row in rows], best in rows


def sort_by_their_order(n):
    rows = three()
    rows.append(Ordered(n))
    rows.sort()
    rows[0].x = 11
    return [row.x for row in rows], max(rows).x, min(rows).x, [row.x for row in sorted(rows)]


PROGRAMS = [
    attributes_by_vars,
    deep_copy,
    their_class,
    inherited,
    slotted,
    one_list_in_several,
    a_list_in_each,
    rows_in_each,
    made_before_an_error,
    none_and_numbers,
    objects_in_objects,
    closures,
    insert_at,
    pop_at,
    delete_at,
    remove_chosen,
    sort_by_their_order,
]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    check_shown(fn, executor, 4)


def function_as_an_attribute(n: Any) -> Any:
    rows = [Job(i, lambda v: v + 1) for i in range(n)]
    return pick(rows).n(1)


def test_refused() -> None:
    with pytest.raises(rt.errors.StagingError):
        rt.function(function_as_an_attribute)(rt.constant(4))


def test_an_item_of_a_tensor_cannot_be_set_by_an_attribute() -> None:
    def f(x: Any, n: Any) -> Any:
        rows = [Job(x * i) for i in range(n)]
        best = pick_by_first(rows, Job(-x))
        best.x[0] = 9.0
        return [row.x for row in rows]

    def pick_by_first(rows: Any, best: Any) -> Any:
        for row in rows:
            if row.x[0] > 1.0:
                best = row
        best.n = 5
        return best

    with pytest.raises(rt.errors.StagingError):
        rt.function(f)(rt.constant([1.0, 2.0]), rt.constant(3))


@executors
def test_arrays_of_objects_change_in_loops_over_parts_of_a_list(executor: str) -> None:
    def f(points: Any) -> Any:
        bodies = [Base(point.copy()) for point in points]
        for i, body in enumerate(bodies):
            body.x[0] += 9.0
            for other in bodies[i + 1:]:
                other.x[1] += body.x[0]
        part, same = bodies[1:], list(bodies)
        for body in part + same.copy():
            body.x[1] *= 2.0
        return [body.x for body in bodies]

    points = np.arange(6.0).reshape(3, 2)
    found = on(executor, f)(points)
    assert [x.tolist() for x in found] == [x.tolist() for x in f(points)]


@executors
def test_two_objects_with_one_array_in_parts_of_a_list(executor: str) -> None:
    def f(points: Any) -> Any:
        one = points[0].copy()
        bodies = [Base(one), Base(one), Base(points[1].copy())]
        for body in bodies:
            body.x[0] += 9.0
        for body in bodies[1:]:
            body.x[1] += 1.0
        return [body.x for body in bodies]

    points = np.arange(6.0).reshape(3, 2)
    found = on(executor, f)(points)
    assert [x.tolist() for x in found] == [x.tolist() for x in f(points)]


def test_a_refused_change_of_an_object_is_reported_once() -> None:
    def f(points: Any) -> Any:
        bodies = [Base(point.copy()) for point in points]
        for body in bodies[1:]:
            body.x, bodies[0].x = bodies[0].x, body.x
            body.x[1] += 1
        return [body.x for body in bodies]

    with pytest.raises(rt.errors.StagingError, match=r"^[^:]*test_object_references.py:\d+: a Base is changed after"):
        rt.function(f)(np.ones((3, 2)))
