"""Loops that replace the rows of a list of lists in place, where the rows may have other names."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from tests.plain_values import plain
from tests.traced_once import on_both


def whole(g, n):
    for _ in range(n):
        g[:] = [[x + 1 for x in row] for row in g]
    return g


def one_row(g, n):
    for _ in range(n):
        g[0] = [x + 1 for x in g[0]]


def from_its_neighbours(g, n):
    for _ in range(n):
        new = [row[:] for row in g]
        for r in range(3):
            new[r][0] = g[r][0] + g[r - 1][1]
        g[:] = new


def by_two_names(g, n):
    h = g
    for _ in range(n):
        g[:] = [[x + 1 for x in row] for row in h]
    return h is g, h


def row_changes_afterwards(g, n):
    row = g[0]
    for _ in range(n):
        g[:] = [[x + 1 for x in each] for each in g]
    row.append(5)
    return g, row


def item_of_a_row_changes_afterwards(g, n):
    row = g[0]
    for _ in range(n):
        g[0] = [x + 1 for x in g[0]]
    row[0] = 9
    return g, row


def new_row_changes_afterwards(g, n):
    row = g[0]
    for _ in range(n):
        g[:] = [[x + 1 for x in each] for each in g]
    g[0].append(7)
    return g, row


def row_changes_in_the_loop(g, n):
    row = g[0]
    for _ in range(n):
        g[:] = [[x + 1 for x in each] for each in g]
        row[0] = 9
    return g, row


def of_the_function(g, n):
    rows = [[1, 2], [3, n]]
    row = rows[0]
    for _ in range(n):
        rows[:] = [[x + 1 for x in each] for each in rows]
    row.append(5)
    return rows, row


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("program", [
    whole, one_row, from_its_neighbours, by_two_names, row_changes_afterwards, item_of_a_row_changes_afterwards,
    new_row_changes_afterwards, row_changes_in_the_loop, of_the_function])
def test_as_in_python(program: Any, n: int) -> None:
    expected = [[1, 2], [3, 4], [5, 6]]
    want = program(expected, n)
    for traced in on_both(program).values():
        given = [[1, 2], [3, 4], [5, 6]]
        assert plain(traced(given, rt.constant(n))) == plain(want)
        assert given == expected
