"""Lists, dicts and records that a branch or loop chooses: a write by one name is seen by all that lead to the same."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from traced_once import on

import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import executors, plain


def append_to_either(t: Any) -> Any:
    a, b = [1], [2]
    xs = a if t > 0 else b
    xs.append(3)
    return a, b


def item_of_either(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    if t > 0:
        xs = a
    else:
        xs = b
    xs[0] = 9
    return a, b, xs, len(xs), sum(xs), xs[-1], 9 in xs


def other_in_a_loop(t: Any) -> Any:
    a, b = [1, 2], [3, 4, 5]
    cur = a
    for i in range(t + 2):
        if i > 1:
            cur = b
        cur.append(i)
    return a, b, cur


def either_dict(t: Any) -> Any:
    a, b = {"k": 1}, {"k": 2}
    d = a if t > 0 else b
    d["k"] += 5
    return a, b, d


class Holder:
    items: Any


def attribute_in_a_branch(t: Any) -> Any:
    a, b = [1], [2]
    o = Holder()
    if t > 0:
        o.items = a
    else:
        o.items = b
    o.items.append(4)
    return a, b


def pick(t: Any, a: Any, b: Any) -> Any:
    if t > 0:
        return a
    return b


def returned_early(t: Any) -> Any:
    a, b = [1], [2]
    c = pick(t, a, b)
    c.append(t)
    a.append(7)
    return a, b, c


def pop_and_iterate(t: Any) -> Any:
    a, b = [1, 2], [3, 4, 5]
    xs = a if t > 0 else b
    y = xs.pop()
    for v in xs:
        y = y + v
    return a, b, y, xs


def row_of_a_grid(t: Any) -> Any:
    grid = [[0] * 3 for _ in range(3)]
    row = grid[1] if t > 0 else grid[2]
    row[0] = 4
    return grid


def in_a_tuple(t: Any) -> Any:
    a, b = [1, 2], [3, 4, 5]
    t3 = (a, 1) if t > 0 else (b, 2)
    t3[0].append(t)
    return a, b, t3


def item_of_a_list(t: Any) -> Any:
    a, b = [1, 2], [3, 4, 5]
    m = [a, b]
    if t > 0:
        m[0] = b
    m[0].append(5)
    return a, b, m


def read_and_written_in_a_loop(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    xs = a if t > 0 else b
    if t > 2:
        xs[1] = 7
    for i in range(t):
        xs[0] += i
        a[1] += xs[0]
    return a, b, xs, xs is a, xs is b


def either_or_a_new_one(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    xs = a if t > 0 else [5]
    xs.append(7)
    return a, b, xs


def may_be_none(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    xs = None
    if t > 0:
        xs = a
    if xs is not None:
        xs.append(7)
    return a, b


def swapped_in_a_loop(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    for i in range(t):
        a, b = b, a
        a[0] += i
    return a, b


def one_of_several_of_several(t: Any) -> Any:
    a, b, c = [1, 2], [3, 4], [5, 6, 7]
    xs = a if t > 0 else b
    ys = xs if t > 2 else c
    ys.append(1)
    xs.append(2)
    return a, b, c, xs, ys


def read_only(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    xs = a if t > 0 else b
    made = xs + a, xs[:1], xs * 2, tuple(xs), list(enumerate(xs)), list(zip(xs, a)), sorted(xs), [v * 2 for v in xs]
    return xs, made, str(xs), f"{xs}", max(xs), xs == a, 3 in xs, xs.index(xs[1])


def swapped_with_other_names(t: Any) -> Any:
    a, b = [1, 2], [3, 4]
    cur, other = a, b
    for i in range(t + 1):
        if i % 2 == 1:
            cur, other = other, cur
        cur[0] += i
    return a, b, cur, other


def best_of_a_loop(t: Any) -> Any:
    best, out = [0, 0], []
    for i in range(t + 3):
        p = [i * 7 % 5, i]
        if p[0] > best[0]:
            best = p
        best[1] += 1
        out.append(p[1])
    return best, out


def changed_and_put_where_it_may_be(t: Any) -> Any:
    rows = [[5, 0], [t, 0]]
    row = [0, 0]
    if t < 3:
        row = other = rows[0] if t < 1 else rows[1]
        other[0] = 2
        rows[0] = other
        row[1] = 4
        row = [1, 1]
    else:
        rows[1][0] = 7
    rows[0][0] += 1
    return rows, row


def rows_swapped_by_tensors(t: Any) -> Any:
    grid = [[0, 1], [2, 3], [4, 5]]
    first = grid[0]
    r, k = t % 3, (t + 1) % 3
    grid[k], grid[r] = grid[r], grid[k]
    first[0] = 8
    grid[1][1] += t
    grid[0], grid[r] = grid[r], grid[0]
    return grid, first


def pivots(t: Any) -> Any:
    m = [[2.0, 1.0, t * 1.0], [1.0, 3.0, 2.0], [t * 2.0, 1.0, 4.0]]
    for c in range(3):
        p = c
        for r in range(c + 1, 3):
            if abs(m[r][c]) > abs(m[p][c]):
                p = r
        m[c], m[p] = m[p], m[c]
        for r in range(c + 1, 3):
            m[r][c] -= m[c][c] / 2
    return m


def rows_of_several_lengths(t: Any) -> Any:
    rows, dicts = [[0, 1], [2], [4, 5, 6]], [{"a": 1}, {"a": 2}]
    rows[t % 3] = [7, 8]
    rows[1].append(t)
    dicts[t % 2], dicts[0] = dicts[0], dicts[t % 2]
    dicts[0]["a"] += 5
    return rows, dicts


PROGRAMS = [
    append_to_either, item_of_either, other_in_a_loop, either_dict, attribute_in_a_branch, returned_early,
    pop_and_iterate, row_of_a_grid, in_a_tuple, item_of_a_list, read_and_written_in_a_loop, either_or_a_new_one,
    may_be_none, swapped_in_a_loop, one_of_several_of_several, read_only, swapped_with_other_names,
    best_of_a_loop, changed_and_put_where_it_may_be, rows_swapped_by_tensors,
    pivots, rows_of_several_lengths,
]


@executors
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_as_in_python(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for t in (3, 0, 1):
        assert plain(traced(rt.constant(t))) == plain(program(t))


def another_in_each_iteration(x):
    a, c = [x], [x]
    for i in rt.range(3.0):
        a = [i]
        if x > i:
            c = a
    return a is c


def in_a_loop_of_a_branch(x):
    a = [x]
    b = a
    if x > 0:
        for _ in rt.range(x):
            a = [x]
    return a is b


@pytest.mark.parametrize("f", [another_in_each_iteration, in_a_loop_of_a_branch])
def test_which_list_it_is_after_a_loop(f: Any) -> None:
    with pytest.raises(StagingError, match=r"the same list here as another name is known only .*asked here \(`is`\)"):
        rt.function(f)(rt.constant(1.0))
