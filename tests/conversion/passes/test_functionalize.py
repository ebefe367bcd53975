"""The state that the calls for statements name."""
from __future__ import annotations

from typing import Any

import pytest

import autograph as ag
from tests.plain_values import check_shown, executors


class Record:
    def __init__(self, v: Any) -> None:
        self.v = v


def rebound_in_the_other_branch(x: Any) -> Any:
    a, b = [x], [x * 3]
    m = [a, b]
    d = {"r": Record(a)}
    if x > 0:
        m = m[::-1]
    else:
        m[0][0] = a[0] + x
        d["r"] = d["r"]
    m = [b, a]
    return m, d["r"].v


def rebound_and_read_afterwards(x: Any) -> Any:
    a, b = [x], [x * 3]
    m = [a, b]
    if x > 0:
        m = m[::-1]
    else:
        m[0][0] = a[0] + x
    return m[0], a, b


def index_rebound_in_the_other_branch(x: Any) -> Any:
    a, k = [x, x * 3], 0
    if x > 0:
        k = 1
    else:
        a[k] = x * 5
    k = 0
    return a, k


def rebound_in_a_handler(x: Any) -> Any:
    a, b = [x], [x * 3]
    m = [a, b]
    try:
        m[0][0] = a[0] + x
        if x > 0:
            raise ValueError
    except ValueError:
        m = [b, a]
    m = [b, a]
    return m


PROGRAMS = [
    rebound_in_the_other_branch, rebound_and_read_afterwards, index_rebound_in_the_other_branch, rebound_in_a_handler]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_paths_that_begin_at_different_values(fn: Any, executor: str) -> None:
    for x in (-1, 1):
        check_shown(fn, executor, x)


def test_such_paths_are_not_named() -> None:
    assert "ag__.cond(x > 0, if_true, if_false, \"d['r']\")" in ag.to_code(rebound_in_the_other_branch)
    assert "ag__.cond(x > 0, if_true, if_false, 'm')" in ag.to_code(rebound_and_read_afterwards)
