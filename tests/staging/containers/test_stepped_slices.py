"""Slices with steps of lists, assigned and deleted where only the graph knows bounds or lengths: as in Python."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import executors, plain
from tests.traced_once import on


def assigned(xs, start, stop, step):
    out = list(xs)
    out[start:stop:step] = [10 * x for x in range(len(out[start:stop:step]))]
    return out


def deleted(xs, start, stop, step):
    out = list(xs)
    del out[start:stop:step]
    return out


def of_other_length(xs, start, stop, step):
    out = list(xs)
    try:
        out[start:stop:step] = [1, 2, 3]
    except ValueError as error:
        return str(error), out
    return "", out


BOUNDS = list(itertools.product((-8, -2, 0, 3, 9), (-9, -1, 4, 8), (-3, -1, 2, 5)))


@executors
@pytest.mark.parametrize("fn", [assigned, deleted, of_other_length])
def test_bounds(fn: Callable[..., Any], executor: str) -> None:
    staged = on(executor, fn)
    xs = [1, 2, 3, 4, 5, 6, 7]
    for bounds in BOUNDS:
        wanted = fn(xs, *bounds)
        assert plain(staged(rt.constant(xs), *map(rt.constant, bounds))) == wanted, bounds
        assert plain(staged(xs, *map(rt.constant, bounds))) == wanted, bounds


@executors
@pytest.mark.parametrize("fn", [assigned, deleted])
@pytest.mark.parametrize("bounds", [(None, None, 2), (None, None, -2), (1, None, 3), (None, -1, 2), (0, 5, 1)])
def test_known_bounds(fn: Callable[..., Any], bounds: tuple[Any, ...], executor: str) -> None:
    staged = on(executor, lambda xs: fn(xs, *bounds))
    for xs in ([], [4], [1, 2, 3, 4, 5, 6]):
        assert plain(staged(rt.constant(xs, rt.int32))) == fn(xs, *bounds)


def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[:2] = [False] * 2
    for i in range(2, n):
        if is_prime[i]:
            is_prime[i * i::i] = [False] * len(is_prime[i * i::i])
    return [i for i in range(n + 1) if is_prime[i]]


def exchanged(n):
    xs = [k * k for k in range(n)]
    xs[::2], xs[1::2] = xs[1::2], xs[::2]
    xs[::-1] = xs
    return xs


def rows(n):
    table = [[k, k + 1] for k in range(n)]
    table[::2] = [[9, 9] for _ in table[::2]]
    del table[1::3]
    return table


def of_a_dict(n):
    d = {"a": [*range(8)]}
    del d["a"][n % 3::2]
    d["a"][::n] = (0.5 for _ in range(len(d["a"][::n])))
    return d["a"]


def pairs_with_text(n):
    xs = [(k, "a") for k in range(n)]
    xs[::2] = [(7, "b")] * len(xs[::2])
    return xs


@executors
@pytest.mark.parametrize("fn", [sieve, exchanged, rows, of_a_dict, pairs_with_text])
def test_programs(fn: Callable[[Any], Any], executor: str) -> None:
    staged = on(executor, fn)
    for n in (30, 4, 8):
        assert plain(staged(rt.constant(n))) == fn(n)


@executors
def test_errors(executor: str) -> None:
    def steps(n):
        xs = [1] * 10
        xs[::n] = [2, 3]
        return xs

    staged = on(executor, steps)
    with pytest.raises(ValueError, match="^slice step cannot be zero$") as caught:
        staged(rt.constant(0))
    lines = [frame.lineno for frame in caught.traceback if str(frame.path) == __file__]
    assert lines[-1] + 1 == steps.__code__.co_firstlineno + 2
    with pytest.raises(ValueError, match="attempt to assign sequence of size 2 to extended slice of size 4"):
        staged(rt.constant(3))
    with pytest.raises(ValueError, match="to a slice of size 10, whose step of 1 only the graph knows"):
        staged(rt.constant(1))
    assert plain(staged(rt.constant(9))) == [2, *[1] * 8, 3]
