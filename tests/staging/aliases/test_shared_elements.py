"""Elements of lists that are made of others, such as `sorted(rows)` and `rows[1:]`: they may be changed if the code can
reach only one of the lists."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import pytest

from tests.plain_values import check_places, check_sizes, executors


@dataclass
class Body:
    x: Any
    life: Any = 3


def filtered(n: Any) -> Any:
    ps = [Body(i, 1 + i % 4) for i in range(n)]
    total = 0
    for step in range(4):
        for p in ps:
            p.life -= 1
            p.x += step
        ps = [p for p in ps if p.life > 0]
        total = total * 10 + len(ps)
    return total, ps


def taken_from_sorted(n: Any) -> Any:
    todo = sorted([Body(i * 7 % 5, i) for i in range(n)], key=lambda t: t.x)
    done, clock = [], 0
    while todo:
        t = todo.pop(0)
        clock += t.x
        t.life = clock
        done.append(t)
    return done


def sorted_in_a_branch(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    if n > 2:
        rows = sorted(rows, key=lambda r: -r[0])
    rows[0][1] = 5
    return rows


def round_robin(n: Any) -> Any:
    q = deque([Body(i, i) for i in range(n)])
    order = []
    while q:
        p = q.popleft()
        p.life -= 1
        order.append(p.x)
        if p.life > 0:
            q.append(p)
    return order


def joined_lists(n: Any) -> Any:
    a = [[i, 0] for i in range(n)]
    b = [[i, 1] for i in range(n)]
    c = a + b
    a = b = None
    for r in c:
        r[1] += 2
    return c


# Slices that only a loop has.

def best_of_a_slice(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    best = ps[0]
    for p in ps[1:]:
        if p.x > best.x:
            best = p
    best.life = 5
    return best.x, best.life, ps


def best_of_the_first_half(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    best = None
    for p in ps[:n // 2]:
        if best is None or p.x > best.x:
            best = p
    if best is not None:
        best.life = 5
    return ps


def compared_with_the_next(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    t = 0
    for p, q in zip(ps, ps[1:]):  # noqa: RUF007  this is how it is written
        t += (q.x - p.x) * (p is q)
        t += q.x * 2
    return t


def changed_by_a_slice(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    for p in ps[1:]:
        p.x += 1
    return ps


def replaced_in_the_list(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    t = 0
    for p in ps[1:]:
        ps[0] = Body(3)
        t += p.x
    return t, ps


def best_of_slices_in_turn(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    for k in range(3):
        best = ps[0]
        for p in ps[1:]:
            if p.x - p.life > best.x - best.life:
                best = p
        best.life += 2
    return ps


def changed_in_a_branch(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    best = ps[0]
    for i, p in enumerate(ps[1:]):
        if p.x > best.x:
            best = p
            best.life += i
    return ps


# Lists of Python with elements that have other names, which statements make staged lists.

def named_and_in_a_list(n: Any) -> Any:
    first = Body(1)
    rows = [first]
    while len(rows) < n:
        rows.append(Body(len(rows)))
    for r in rows:
        r.life += 1
    first.x = 8
    return rows, first


def named_and_in_a_list_of_a_branch(n: Any) -> Any:
    row = [0, 0]
    rows = [row]
    if n > 2:
        rows.append([1, 1])
    row[0] = 5
    return rows


def best_one_kept(n: Any) -> Any:
    pop = [Body(i * 7 % 5) for i in range(n)]
    for g in range(n):
        pop = sorted(pop, key=lambda b: -b.x)
        best = pop[0]
        new = [best]
        while len(new) < n:
            new.append(Body(best.x + len(new) + g))
        pop = new
        for p in pop:
            p.life += 1
    return pop


def first_of_the_old_list(n: Any) -> Any:
    rows = [Body(i) for i in range(n)]
    first = rows[0]
    new = [first]
    while len(new) < n:
        new.append(Body(len(new)))
    rows = new
    for r in rows:
        r.life += 1
    return rows, first


# Elements that a loop changes and puts in another list.

def put_in_another_list(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        r.x += 1
        out.append(r)
    return rows, out


def put_at_the_front(n: Any) -> Any:
    rows, out = [[i, 0] for i in range(n)], []
    for r in rows:
        r[0] += 1
        out.insert(0, r)
    return rows, out


def put_in_a_dict(n: Any) -> Any:
    rows, found = [Body(i) for i in range(n)], {}
    for i, r in enumerate(rows):
        r.x += 1
        found[i] = r
    return rows, found


def put_by_index(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for i in range(n):
        rows[i].x += 1
        out.append(rows[i])
    return rows, out


def put_from_the_end(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in reversed(rows):
        r.x += 1
        out.append(r)
    return rows, out


def divided(n: Any) -> Any:
    rows, odd, even = [Body(i) for i in range(n)], [], []
    for r in rows:
        r.x += 1
        if r.x % 2:
            odd.append(r)
        else:
            even.append(r)
    return rows, odd, even


def alive(n: Any) -> Any:
    ps = [Body(i, i % 4) for i in range(n)]
    for step in range(n):
        left = []
        for p in ps:
            p.x += step
            p.life -= 1
            if p.life > 0:
                left.append(p)
            else:
                left.append(Body(step, 3))
        ps = left
        ps[0].x += 7
    return ps


def moved(r: Any) -> Any:
    r.x += 1
    return r


def results_of_a_function(n: Any) -> Any:
    rows = [Body(i) for i in range(n)]
    for k in range(n):
        rows = [moved(r) for r in rows if r.x >= k]
    return rows


def first_list_left_alone(n: Any) -> Any:
    rows, best = [Body(i) for i in range(n)], []
    for r in rows:
        if r.x == 1:
            best.append(r)
    rows = None
    for r in best:
        r.life += 1
    return best


@executors
@pytest.mark.parametrize("fn", [
    filtered, taken_from_sorted, sorted_in_a_branch, round_robin, joined_lists,
    best_of_a_slice, best_of_the_first_half, compared_with_the_next, changed_by_a_slice,
    replaced_in_the_list, best_of_slices_in_turn, changed_in_a_branch,
    put_in_another_list, put_at_the_front, put_in_a_dict, put_by_index, put_from_the_end, divided, alive,
    results_of_a_function, first_list_left_alone,
    named_and_in_a_list, named_and_in_a_list_of_a_branch, best_one_kept, first_of_the_old_list,
])
def test_elements_in_one_list_that_is_left_change(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 8, 1, 4)


def half_is_kept(n: Any) -> Any:
    pop = [[i * 7 % 5, i] for i in range(n)]
    for gen in range(5):
        pop = sorted(pop, key=lambda r: r[0])
        half = pop[:n // 2]
        kids = []
        for r in half:
            kids.append([r[0] + gen, r[1]])
        pop = half + kids
        for r in pop:
            if r[1] % 2:
                r[0] += 1
    return pop


def element_kept_by_a_name(n: Any) -> Any:
    pop = [Body(i * 7 % 5) for i in range(n)]
    best = pop[0]
    for gen in range(3):
        for p in pop:
            if p.x > best.x:
                best = p
        pop = [p for p in pop if p.x > 0]
        for p in pop:
            p.x -= 1
    return pop


def two_lists(n: Any) -> Any:
    ps = [Body(i) for i in range(n)]
    qs = sorted(ps, key=lambda p: -p.x)
    qs[0].life = 9
    return ps, qs


def slice_of_the_iteration_before(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    top = rows[:2]
    for i in range(n):
        top[0][1] += 1
        top = rows[i:]
    return rows


def slice_kept_for_the_next_iteration(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    top = []
    for i in range(n):
        for r in top:
            r[1] += 1
        top = rows[:2]
    return rows


def slice_of_the_list_before(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    top = rows[:2]
    rows = rows[1:]
    rows[0][1] = 7
    return rows, top


def list_before_the_branch(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    old = rows
    if n > 2:
        rows = sorted(rows, key=lambda r: -r[0])
    rows[0][1] = 5
    return rows, old


def element_of_the_list_before(n: Any) -> Any:
    ps = sorted([Body(i * 3 % 5) for i in range(n)], key=lambda p: p.x)
    x = ps[0]
    ps = sorted(ps, key=lambda p: -p.x)
    x.life = 8
    return ps, x


def list_of_the_caller(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def step(rs: Any) -> Any:
        rs = sorted(rs, key=lambda r: -r[0])
        rs[0][1] += 3
        return rs
    out = step(rows)
    return rows, out


def twice_in_one_list(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    rows.append(rows[0])
    rows = sorted(rows, key=lambda r: r[0])
    rows[0][1] = 4
    return rows


def operand_without_a_name(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]

    def change(rows: Any) -> Any:
        rows[1][1] = 5
        return 0

    def first(rows: Any, k: Any) -> Any:
        return rows[0][1] + k

    return first(
        rows[1:],
        change(rows))


def sorted_operand(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]

    def change(rows: Any) -> Any:
        rows[1][1] = 5
        return [[7, 7]]

    return sorted(rows, key=lambda r: r[0]) + change(rows)


def best_of_a_slice_with_a_name(n: Any) -> Any:
    ps = [Body(i * 7 % 5) for i in range(n)]
    rest = ps[1:]
    best = ps[0]
    for p in rest:
        if p.x > best.x:
            best = p
    rest = None
    best.life = 5
    return ps


def first_of_a_new_list(n: Any) -> Any:
    rows = [[i, i] for i in range(n)]
    others = [rows[1]]
    for i in range(n):
        others.append([i, 5])
    others[0][0] = 99
    return rows, others


def one_put_again(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for i in range(n):
        rows[i].x += 1
        out.append(rows[n - 1])
    return rows, out


def next_one_put(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for i in range(n - 1):
        rows[i].x += 1
        out.append(rows[i + 1])
    return rows, out


def put_twice_from_the_end(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for i in range(n + 2):
        rows[i - 2].x += 1
        out.append(rows[i - 2])
    return rows, out


def first_one_changed(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        out.append(r)
        out[0].x += 1
    return rows, out


def first_one_changed_by_its_list(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        r.x += 1
        rows[0].life += 1
        out.append(r)
    return rows, out


def changed_after_it_was_put(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        if r.x > 1:
            out.append(r)
        r.x += 1
    return rows, out


def put_in_each_round(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for _ in range(n):
        for r in rows:
            r.x += 1
            out.append(r)
    return rows, out


def list_kept_by_the_body(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        r.x += 1
        out.append(r)
        copy = list(rows)
    return rows, copy


def changed_after_the_loop(n: Any) -> Any:
    rows, out = [Body(i) for i in range(n)], []
    for r in rows:
        r.x += 1
        out.append(r)
    out[0].x = 5
    return rows, out


def begins_with_an_element(n: Any) -> Any:
    rows = [Body(i) for i in range(n)]
    out = [rows[0]]
    for _ in range(n):
        rows[0].x += 1
        out.append(Body(1))
    return rows, out


def dict_begins_with_an_element(n: Any) -> Any:
    rows = [Body(i) for i in range(n)]
    out = {0: rows[0]}
    for i in range(n):
        rows[0].x += 5
        out[i + 1] = Body(i)
    return rows, out


def row_begins_with_an_element(n: Any) -> Any:
    rows = [Body(i) for i in range(n)]
    out = [[rows[0]], [Body(5)]]
    for i in range(n):
        rows[0].x += 5
        out.append([Body(i)])
    return rows, out


BY_REFERENCE = [
    element_kept_by_a_name, two_lists, element_of_the_list_before, best_of_a_slice_with_a_name, one_put_again,
    next_one_put, put_twice_from_the_end, first_one_changed, first_one_changed_by_its_list,
    changed_after_it_was_put, put_in_each_round, list_kept_by_the_body, changed_after_the_loop,
    begins_with_an_element, dict_begins_with_an_element, row_begins_with_an_element,
]
"""Programs whose objects are elements of several lists, or of one list twice."""


@executors
@pytest.mark.parametrize("fn", BY_REFERENCE)
def test_objects_in_several_places_are_had_by_reference(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 3, 4, 5)


@executors
@pytest.mark.parametrize("fn", [
    half_is_kept, slice_of_the_iteration_before, slice_kept_for_the_next_iteration, slice_of_the_list_before,
    list_before_the_branch, list_of_the_caller, twice_in_one_list, first_of_a_new_list, operand_without_a_name,
    sorted_operand,
])
def test_elements_in_two_lists_that_are_left_change_in_both(fn: Any, executor: str) -> None:
    check_places(fn, executor, (3,), (4,), (5,))
