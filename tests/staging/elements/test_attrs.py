"""Classes of attrs as structures of tensors: as state of loops and branches, as arguments and results."""
from __future__ import annotations

from typing import Any

import pytest

import autograph as ag
import runtime as rt

attrs = pytest.importorskip("attrs")


@attrs.define
class Point:
    x: Any
    y: Any = 0


@attrs.frozen
class Fixed:
    x: Any
    y: Any = 0


@attrs.define(slots=False)
class Open:
    x: Any
    y: Any = attrs.field(default=0, validator=attrs.validators.instance_of(object))


def changed_in_place(n):
    p = Point(n, n)
    while p.x > 0:
        p.x -= 1
        p.y += p.x
    return p


def evolved(n):
    p = Fixed(n, 0)
    while p.x > 0:
        p = attrs.evolve(p, x=p.x - 1, y=p.y + p.x)
    return p


def made_anew_in_for(n):
    p = Open(n, 1)
    for i in range(n):
        p = Open(p.x + i, p.y * 2)
    return p


def made_in_a_branch(n):
    p = Point(n, 1)
    if n > 2:
        p = Point(1, n)
    return p


@pytest.mark.parametrize("n", [4, 1, 0])
@pytest.mark.parametrize("fn", [changed_in_place, evolved, made_anew_in_for, made_in_a_branch])
def test_as_state(fn, n):
    expected = attrs.astuple(fn(n))
    assert attrs.astuple(ag.convert(fn)(n)) == expected
    staged = rt.function(fn)(rt.constant(n))
    assert type(staged) is type(fn(n))
    assert tuple(int(x) for x in attrs.astuple(staged)) == expected


def test_as_argument_a_structure():
    @rt.function
    def moved(p, by):
        return attrs.evolve(p, x=p.x + by)

    for x in 1, 2:
        result = moved(Fixed(rt.constant(x), "name"), rt.constant(3))
        assert isinstance(result, Fixed) and int(result.x) == x + 3 and result.y == "name"
    assert moved.experimental_get_tracing_count() == 1
    moved(Fixed(rt.constant(1), "other"), rt.constant(3))
    assert moved.experimental_get_tracing_count() == 2
