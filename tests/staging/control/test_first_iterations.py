"""Loops whose first iteration replaces a Python number by an array: `total = 0`, and `total += row`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt


def total(rows):
    s = 0
    for row in rows:
        s += row
    return s


def total_and_items(rows):
    s, n, items, last = 0, 0, [], None
    same = items
    for last, row in enumerate(rows):
        s = s + row * 2
        n += 1
        items.append(s[0])
    return s, n, items, last, items is same


def total_of_pairs(rows):
    s = 0.0
    for a, b in zip(rows, rows[::-1], strict=True):
        s = s + a * b
    return s


def until_enough(rows):
    s, items = 0, []
    for row in rows:
        s += row
        items.append(s[0])
        if s.sum() > 3:
            return s, items
    return s * 10, items


def nested(rows):
    t = 0
    for row in rows:
        s = 0
        for other in rows:
            s = s + other * row
        t = t + s
    return t


def distance(rows):
    before, found = 0, 0.0
    for row in rows:
        found += abs(row - before).sum()
        before = row
    return found, before


class Totals:
    def __init__(self) -> None:
        self.rows, self.by_name = 0, {"s": 0}


def in_objects(rows):
    totals = Totals()
    for row in rows:
        totals.rows += row
        totals.by_name["s"] = totals.by_name["s"] - row
    return totals.rows, totals.by_name["s"]


def sign_of_zero(rows):
    s = 0
    for row in rows:
        s = s + row * -0.0
    return np.copysign(1.0, s)


PROGRAMS = [total, total_and_items, total_of_pairs, until_enough, nested, distance, in_objects, sign_of_zero]


def flat(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in flat(part)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program: Callable[..., Any], executor: str) -> None:
    for count in (3, 1, 4, 5):
        rows = np.arange(2.0 * count).reshape(count, 2)
        wanted, found = flat(program(rows)), flat(on(executor, program)(rows))
        assert len(wanted) == len(found)
        for want, got in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_of_tensors_and_of_no_rows(executor: str) -> None:
    staged = on(executor, total)
    np.testing.assert_array_equal(staged(rt.ones([3, 2])), [3.0, 3.0])
    assert staged(np.ones((0, 2))).shape == () and int(staged(np.ones((0, 2)))) == 0
    assert "reduce" in [node.op.name for node in staged.get_concrete_function(rt.ones([30, 2])).graph.nodes]


def test_effects_come_once(capfd: pytest.CaptureFixture[str]) -> None:
    @rt.function
    def f(rows):
        s = 0
        for row in rows:
            print("row", row[0])
            s += row
        return s

    f(rt.constant([[1, 2], [3, 4], [5, 6]]))
    assert capfd.readouterr().out == "row 1\nrow 3\nrow 5\n"


def test_where_the_loop_may_have_no_iteration() -> None:
    with pytest.raises(rt.errors.StagingError, match="'s' is the int 0 before the loop but float32.2. after one"):
        rt.function(lambda x: total(x[x[:, 0] > 0]))(rt.ones([3, 2]))


def test_a_rank_that_each_iteration_changes() -> None:
    def f(rows):
        s = 0
        for row in rows:
            s = (row + s)[None]
        return s

    with pytest.raises(rt.errors.StagingError, match="'s' is float32.1,2. before the loop but float32.1,1,2. after"):
        rt.function(f)(rt.ones([3, 2]))


def matching_brackets(codes):
    jump, stack = {}, []
    for i in range(len(codes)):
        if codes[i] == 91:
            stack.append(i)
        elif codes[i] == 93:
            j = stack.pop()
            jump[i] = j
            jump[j] = i
    return jump


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_loop_is_rolled_once_its_types_have_settled(executor: str) -> None:
    """The first iteration cannot pop from the list, so only a later one makes the dict a table of the graph."""
    text = b"[[]--[+[]]]--[.]" * 3
    staged = on(executor, matching_brackets)
    found = staged(rt.constant([*text]))
    assert [(int(key), int(value)) for key, value in found.items()] == [*matching_brackets(text).items()]
    concrete = staged.get_concrete_function(rt.constant([*text]))
    assert sum(node.op.name == "hash_find" for node in concrete.graph.walk()) < 20
