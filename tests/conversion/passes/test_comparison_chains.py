"""Chains of comparisons with `is` and `in`, each of which a tensor may decide."""
from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

import runtime as rt
from tests.traced_once import on


class Mark(Enum):
    X = 1
    O = 2  # noqa: E741


def three_in_a_row(n):
    board = [Mark.O, Mark.X, Mark.X]
    board[n % 3] = Mark.X
    return board[0] is board[1] is board[2] is Mark.X, board[0] is board[1] is not Mark.O


def none_in_the_middle(n):
    best = None
    for i in range(n):
        best = i
    return 1 if best is not None is not False else 0


def same_and_not_none(n):
    x = None if n > 3 else [1]
    y = x
    return 1 if x is y is not None else 2


def text_in_text(n):
    x = ["a", "b", "c"][n % 3]
    return 1 if x in "ab" == "ab" else 0


def members(n):
    total = 0
    for i in range(n):
        if 0 < i < 5 in [5]:
            total += i
    return total, 0 < n in (1, 2, 3), n in (1, 2) in [True, 5]


def operands_are_evaluated_once(n):
    total = 0

    def add(k):
        nonlocal total
        total += k
        return total

    return add(1) < add(n) < add(2) is not add(3), total


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [three_in_a_row, none_in_the_middle, same_and_not_none, text_in_text, members,
                               operands_are_evaluated_once], ids=lambda f: f.__name__)
def test_chains(f: Any, executor: str) -> None:
    staged = on(executor, f)
    for n in 0, 1, 2, 5, 9:
        found, expected = staged(rt.constant(n)), f(n)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        assert all(bool(a == b) for a, b in pairs), n
