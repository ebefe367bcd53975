"""Loops over staged lists that they change: as in Python, or an error."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from plain_values import plain
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


def appended_backwards(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in reversed(xs):
        total = total * 2 + x
        if x > 2:
            xs.append(x)
    return xs, total


def popped_backwards(n, a):
    xs = grown(n, a)
    total = a * 0
    for x in reversed(xs):
        total = total * 2 + x
        xs.pop()
        xs.pop()
        if len(xs) < 2:
            break
    return xs, total


def zipped(n, a):
    xs, ys = grown(n, a), grown(n, a)
    total = a * 0
    for x, y in zip(xs, ys):
        if len(xs) < 8:
            xs.append(x)
            ys.append(y + 1)
        total += x * y
    return xs, ys, total


def removed(n, a):
    xs = grown(n, a)
    for x in xs:
        if x % 2 == 0:
            xs.remove(x)
    return xs


def cleared(n, a):
    xs, out = grown(n, a), []
    for x in xs:
        out.append(x)
        if x == a + 1:
            xs.clear()
    return xs, out


def of_one(n, a):
    xs = [a]
    for x in xs:
        if x < n * 4:
            xs.append(x * 2)
    return xs


def of_several(n, a):
    xs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    for x in xs:
        if x < n + a:
            xs.append(x * 3)
    return xs


def enumerated(n, a):
    xs, places = [1], []
    for i, x in enumerate(xs, 5):
        places.append(i)
        if x < n * a:
            xs.append(x * 2)
    return xs, places


def zipped_with_a_range(n, a):
    xs, places = [a], []
    for i, x in zip(range(3), xs):
        places.append(i)
        if x < n + 20:
            xs.append(x + 1)
    return xs, places


def left(n, a):
    xs = [a]
    for x in xs:
        if x > n * 10:
            break
        xs.append(x * 2)
        if x % 3 == 0:
            continue
        xs.append(x + 1)
    else:
        xs.append(-1)
    return xs, x


def returned(n, a):
    xs = [a]
    for x in xs:
        if x > n * 10:
            return x, len(xs)
        xs.append(x * 2)
    return -1, 0


def shortened(n, a):
    xs, out = [1, 2, 3, 4, 5], []
    for x in xs:
        out.append(x)
        if x + n * a > 6:
            xs.pop()
    return xs, out


def growing_in_each_other(n, a):
    xs, ys = [a], [a]
    for x in xs:
        for y in ys:
            if y < a + 4:
                ys.append(y + 1)
        if len(xs) < n + 2:
            xs.append(x + len(ys))
    return xs, ys


def of_growing_pairs(n, a):
    xs = [(a, 0)]
    for x, k in xs:
        if k < n:
            xs.append((x + k, k + 2))
    return xs


def breadth_first(n, a):
    queue, seen = [1], {1}
    for x in queue:
        for y in (x * 2 % (n + 7), x * a % (n + 7)):
            if y not in seen:
                seen.add(y)
                queue.append(y)
    return queue


def of_a_product(n, a):
    xs = grown(n, a)
    for x, _ in itertools.product(xs, xs):
        if len(xs) < 8:
            xs.append(x)
    return xs


def of_a_slice(n, a):
    xs = [(a, 1), (a + 1, 2), (n, 3)]
    for i in range(n):
        xs.append((i, i))
    for x, _ in xs[1:]:
        if len(xs) < 8:
            xs.append((x, 0))
    return xs


RIGHT = [
    items_set, set_ahead, backwards, together, twice, removed_and_left, returned_after_append, of_pairs, rebound,
    of_a_copy, appended, popped, appended_in_the_last, appended_backwards, popped_backwards, zipped, removed, cleared,
    of_one, of_several, enumerated, zipped_with_a_range, left, returned, shortened, growing_in_each_other,
    of_growing_pairs, breadth_first, of_a_product, of_a_slice]


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


def test_an_iterator_cannot_be_used_after_the_loop() -> None:
    def f(n):
        xs = [1]
        items = enumerate(xs)
        for _, x in items:
            if x < n:
                xs.append(x * 2)
        return next(items)

    with pytest.raises(rt.errors.StagingError, match="enumerate"):
        rt.function(f)(rt.constant(9))


def test_lists_that_no_iteration_changes_are_not_asked() -> None:
    def f(n, a):
        xs = grown(n, a)
        total = a * 0
        for x in xs:
            total += x
        return total

    graph = rt.function(f).get_concrete_function(rt.constant(1), rt.constant(1)).graph
    assert not [node for node in graph.walk() if node.op.name == "raise_unless"]


class Counted:
    def __init__(self, v: Any) -> None:
        self.v, self.n = v, 0

    def is_other(self, v: Any) -> Any:
        self.n += 1
        return self.v != v


def objects_until(xs, v):
    for x in xs:
        x.n += 1
        if x.v == v:
            break


def methods_until(xs, v):
    for method in [x.is_other for x in xs]:
        if not method(v):
            break


def all_until(xs, v):
    return all(x.is_other(v) for x in xs)


def next_until(xs, v):
    return next((k for k, x in enumerate(xs) if not x.is_other(v)), -1)


@pytest.mark.parametrize("search", [objects_until, methods_until, all_until, next_until])
def test_items_after_the_one_that_ends_a_loop_stay_as_they_are(search: Any) -> None:
    """The loop reaches the objects by its items only."""
    def f(c):
        xs = [Counted(c), Counted(3), Counted(1), Counted(2)]
        return search(xs, 3), [x.n for x in xs]

    for c in (1, 3):
        assert plain(rt.function(f)(rt.constant(c))) == plain(f(c))


def test_lists_and_dicts_after_the_one_that_ends_a_loop_stay_as_they_are() -> None:
    def f(c):
        rows, tables = [[c], [3], [1]], [{"v": c}, {"v": 3}, {"v": 1}]
        for row, table in zip(rows, tables):
            row.append(9)
            table["v"] += 1
            if row[0] == 3:
                break
        return rows, tables

    for c in (1, 3):
        assert plain(rt.function(f)(rt.constant(c))) == plain(f(c))
