"""Items that are set in a slice of an array are written to the array's memory, if nothing reads its old contents."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding", reason="the native executor needs llvmlite")

import runtime as rt

pytestmark = pytest.mark.optimised


def behind(x: Any, n: int) -> None:
    w = x[1:]
    for i in range(len(w)):
        w[i] = w[i] * 0.5 + i


def from_number(x: Any, n: int) -> None:
    for k in range(n):
        w = x[k:]
        for i in range(len(w)):
            w[i] = w[i] * 0.5 + k


def overlapping(x: Any, n: int) -> None:
    for k in range(n):
        v, w = x[k:], x[:len(x) - k]
        for i in range(len(v)):
            w[i] = w[i] * 0.5 + v[i]


def backwards(x: Any, n: int) -> None:
    w = x[::-2]
    for i in range(len(w)):
        w[i] += i


def slice_of_slice(x: Any, n: int) -> None:
    w = x[n:][1:-1]
    for i in range(len(w)):
        w[i] = -w[i]


def from_the_end(x: Any, n: int) -> None:
    w = x[2:]
    for i in range(n):
        w[-1 - i] = w[i - n] + 1.0


def columns(x: Any, n: int) -> None:
    table = x.reshape(-1, 2)
    inner = table[1:, 1:]
    for i in range(len(inner)):
        inner[i, 0] = inner[i, 0] + i
        inner[i] *= 2.0


IN_PLACE: list[Callable[[Any, int], None]] = [
    behind, from_number, overlapping, backwards, slice_of_slice, from_the_end]


@pytest.mark.parametrize("size", [14, 300])
@pytest.mark.parametrize("fn", [*IN_PLACE, columns])
def test_as_in_numpy(fn: Callable[[Any, int], None], size: int) -> None:
    want, got = np.arange(float(size)), np.arange(float(size))
    fn(want, 3)
    rt.function(fn, executor="native")(got, 3)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("fn", IN_PLACE)
def test_nothing_is_copied(fn: Callable[[Any, int], None]) -> None:
    traced = rt.function(fn, executor="native").get_concrete_function(np.arange(1000.0), 3)
    assert "@llvm.memcpy" not in traced.inspect_llvm()


@pytest.mark.parametrize("fn", [behind, from_number, overlapping])
def test_items_are_checked_before_the_loop(fn: Callable[[Any, int], None]) -> None:
    """Then LLVM makes vectors."""
    traced = rt.function(fn, executor="native").get_concrete_function(np.arange(1000.0), 3)
    assert re.search(r"store <\d+ x double>", traced.inspect_llvm())


def test_a_part_of_itself_is_read_first() -> None:
    def shifted(x: Any) -> None:
        w = x[1:]
        for _ in range(2):
            w[1:] = w[:-1]

    want, got = np.arange(9.0), np.arange(9.0)
    shifted(want)
    rt.function(shifted, executor="native")(got)
    np.testing.assert_array_equal(got, want)


def test_copies_of_the_slice_and_the_array_stay() -> None:
    def copies(x: Any, kept: Any) -> None:
        w = x[1:]
        for i in range(len(w)):
            part, whole = w.copy(), x.copy()
            w[i] = -1.0
            kept[i, 0], kept[i, 1], kept[i, 2] = part[i], whole[i + 1], w[i]

    want, got = (np.arange(5.0), np.zeros((4, 3))), (np.arange(5.0), np.zeros((4, 3)))
    copies(*want)
    rt.function(copies, executor="native")(*got)
    for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("at", [3, -4, 50])
def test_index_out_of_the_slice(at: int) -> None:
    """An item that the array has, but not the slice."""
    def past(x: Any, at: Any) -> None:
        w = x[1:4]
        w[0] = 7.0
        w[at] = 8.0

    want, got = np.arange(9.0), np.arange(9.0)
    with pytest.raises(IndexError) as wanted:
        past(want, at)
    with pytest.raises(IndexError) as found:
        rt.function(past, executor="native")(got, rt.constant(at))
    assert str(wanted.value) in str(found.value)
    np.testing.assert_array_equal(got, want)


def test_error_in_a_loop_leaves_what_was_written() -> None:
    def many(x: Any, n: Any) -> None:
        w = x[2:]
        for i in range(n):
            w[i] = -1.0

    want, got = np.arange(6.0), np.arange(6.0)
    with pytest.raises(IndexError):
        many(want, 7)
    with pytest.raises(IndexError):
        rt.function(many, executor="native")(got, rt.constant(7))
    np.testing.assert_array_equal(got, want)


def test_handler_sees_what_was_written() -> None:
    def handled(x: Any, n: Any) -> None:
        w = x[2:]
        try:
            for i in range(n):
                w[i] = -1.0
        except IndexError:
            pass
        x[0] = x[3] + x[5]

    want, got = np.arange(6.0), np.arange(6.0)
    handled(want, 7)
    rt.function(handled, executor="native")(got, rt.constant(7))
    np.testing.assert_array_equal(got, want)
