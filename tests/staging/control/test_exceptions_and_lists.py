"""What the lists and dicts of the variables are to the handlers of a staged `try`: what the body has left."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from tests.plain_values import plain

N = (0, 1, 2, 3, 4, 5)


def rows_of_a_table(n: Any) -> Any:
    g = [[1, 2], [4, 5], [7, 8]]
    s = 0
    try:
        g[s % 3] = [g[n % 3][0], s]
        if n > 2:
            raise ValueError
    except ValueError:
        for i in range(n):
            g[i % 3].append(g[s % 3][0])
    return g


def a_row_that_a_branch_replaced(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    h = g[0]
    try:
        if n > 1:
            g[0] = [5, 6]
            if n > 2:
                raise ValueError
    except ValueError:
        g[n % 2].append(100)
    return g, h[:]


def a_row_that_the_body_replaced(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    h = g[0]
    try:
        g[0] = [5, n]
        if n > 2:
            raise ValueError
    except ValueError:
        g[n % 2].append(100)
    return g, h


def rows_of_a_branch(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    if n > 1:
        g[0] = [5, n]
        g[n % 2].append(3)
    return g


def rows_of_an_iteration(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    for i in range(n):
        g[0] = [5, i]
        g[i % 2].append(3)
    return g


def changed_in_a_branch(n: Any) -> Any:
    g = [1, 2]
    h = g
    try:
        if n > 1:
            g[0] = n
            if n > 2:
                raise ValueError
    except ValueError:
        g[1] += 6
    return g, h, g is h


def only_kept(n: Any) -> Any:
    g = [1, 2]
    h = g
    try:
        if n > 1:
            g[0] = n
            if n > 2:
                raise ValueError
    except ValueError:
        pass
    return g, h, g is h


def changed_in_a_loop(n: Any) -> Any:
    g = [1, 2]
    h = g
    try:
        for i in range(n):
            g.append(i)
            if i > 1:
                raise ValueError
    except ValueError:
        h.append(7)
    return g, h, g is h


def in_a_loop(n: Any) -> Any:
    g = [1, 2]
    h = g
    for i in range(n):
        try:
            if i > 1:
                g[0] += n
                if i > 2:
                    raise ValueError
        except ValueError:
            g.append(i)
    return g, h, g is h


def two_places(n: Any) -> Any:
    a = [1, 2]
    g = [a, a]
    try:
        a[0] = n
        if n > 2:
            raise ValueError
        a[1] = n
    except ValueError:
        g[0][0] += 100
    return g, a, g[0] is a


def two_names_for_a_new_list(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    h = [1]
    try:
        m = [n, 4]
        g[0] = m
        h = m
        if n > 2:
            raise ValueError
    except ValueError:
        g[0][0] += 100
    return g, h[:]


def rows_that_a_branch_grows(n: Any) -> Any:
    g = [[1, 2], [2, 3]]
    h = g[0]
    try:
        if n > 1:
            g[0][0] += n
            if n > 2:
                raise ValueError
    except ValueError:
        g[n % 2].append(100)
    return g, h, g[0] is h


def else_after_lists_that_grew(n: Any) -> Any:
    log = [[1, 2], [3, 4]]
    ds = [{"l": [1, 2]}, {"l": [3, 4]}]
    try:
        for _ in range(n):
            log[-1].append(5)
        if n > 3:
            raise ValueError
    except ValueError:
        log[0].append(6)
    else:
        ds[n % 2]["l"][1] = n
    return log, ds


def finally_after_lists_that_grew(n: Any) -> Any:
    log = [[1, 2], [3, 4]]
    ds = [{"l": [1, 2]}, {"l": [3, 4]}]
    try:
        for _ in range(n):
            log[-1].append(5)
        if n > 3:
            raise ValueError
    except ValueError:
        log[0].append(6)
    finally:
        ds[n % 2]["l"][1] = n
    return log, ds


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", [
    rows_of_a_table, a_row_that_a_branch_replaced, a_row_that_the_body_replaced, rows_of_a_branch, rows_of_an_iteration,
    changed_in_a_branch, only_kept, changed_in_a_loop, in_a_loop, two_places, two_names_for_a_new_list,
    rows_that_a_branch_grows, else_after_lists_that_grew, finally_after_lists_that_grew,
])
def test_as_in_python(program: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, program)
    for n in N:
        assert plain(traced(rt.constant(n))) == plain(program(n)), n


def another_list(n: Any) -> Any:
    g = [1, 2]
    h = g
    try:
        if n > 3:
            raise ValueError
        g = [3, 4]
        if n > 2:
            raise ValueError
    except ValueError:
        g[1] = 6
    return g, h


def one_of_two(n: Any) -> Any:
    g, k = [1, 2], [3, 4]
    h = g
    try:
        if n > 3:
            raise ValueError
        g = k
        if n > 2:
            raise ValueError
    except ValueError:
        k[1] = 5
    return g, h, k


def another_dict(n: Any) -> Any:
    g = {"k": 1}
    h = g
    try:
        if n > 3:
            raise ValueError
        g = {"k": 4}
        if n > 2:
            raise ValueError
    except ValueError:
        g["k"] += 50
    return g, h


def another_row(n: Any) -> Any:
    g = [[1], [2]]
    h = g[0]
    try:
        if n > 3:
            raise ValueError
        g[0] = [5]
        if n > 1:
            raise ValueError
    except ValueError:
        g[0][0] = 7
    return g, h


def swapped_by_a_loop(n: Any) -> Any:
    g, k = [1, 2], [3, 4]
    h = k
    try:
        for i in range(n):
            g, k = k, g
            if i > 2:
                raise ValueError
    except ValueError:
        g[0] = 9
    return g, k, h


def swapped_and_swapped_back(n: Any) -> Any:
    k, h = [3, 4], [5, 6]
    try:
        for i in range(n):
            k, h = h, k
            if i > 1:
                raise ValueError
        h = k
        k, h = h, k
    except ValueError:
        h[1] = h[0] + n
        h = k
    return k, h


def after_the_handler(n: Any) -> Any:
    g = [1, 2]
    h = g
    try:
        if n > 3:
            raise ValueError
        g = [3, 4]
        if n > 2:
            raise ValueError
    except ValueError:
        n = n + 1
    g[0] = n
    return g, h


@pytest.mark.parametrize("program", [
    another_list, one_of_two, another_dict, another_row, swapped_by_a_loop, swapped_and_swapped_back,
    after_the_handler])
def test_a_list_that_only_the_graph_knows(program: Callable[[Any], Any]) -> None:
    with pytest.raises(rt.errors.StagingError, match="is the same (list|dict) here as another name is known only when"):
        rt.function(program)(rt.constant(3))


def given_up(n: Any) -> Any:
    g = [1, 2]
    try:
        if n > 3:
            raise ValueError
        g = [3, 4]
        if n > 2:
            raise ValueError
    except ValueError:
        g[1] = 6
    return g


def test_a_list_that_no_other_name_has() -> None:
    traced = rt.function(given_up)
    for n in N:
        assert plain(traced(rt.constant(n))) == given_up(n)


class Item:
    def __init__(self, x: float) -> None:
        self.x = x


def sorted_and_raised(items, moves):
    try:
        for move in moves:
            if items[0].x + move < 0:
                raise ValueError
            items[0].x += move
        items.sort(key=lambda item: -item.x)
        return items[0].x
    except ValueError:
        return -1.0


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_the_order_of_objects_is_saved_before_each_error(executor: str) -> None:
    staged = on(executor, sorted_and_raised)
    for moves in ([0.5, -3.0, 1.0], [3.0, 1.0], [-3.0], [0.5]):
        got, expected = ([Item(1.0), Item(2.0)] for _ in range(2))
        assert float(staged(got, np.array(moves))) == sorted_and_raised(expected, moves), moves
        assert [float(item.x) for item in got] == [item.x for item in expected], moves


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_appended_text_raises_no_error_that_a_handler_catches(executor: str) -> None:
    def taken(xs):
        log, found = [], []
        for x in xs:
            try:
                log.append("long" if x > 2 else "")
                if x < 0:
                    raise ValueError(x)
                y = x
            except ValueError as error:
                y = error.args[0]
            found.append(y)
        return log, found

    staged = on(executor, taken)
    for xs in [1, -2, 3], [-1]:
        assert plain(staged(rt.constant(xs))) == taken(xs)
