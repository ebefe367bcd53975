"""Loops that take bits from an int: they run without polls for signals, and give what Python gives."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite.binding", reason="the native executor needs llvmlite")

import runtime as rt

pytestmark = pytest.mark.optimised


def bits(n: Any) -> Any:
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def digits(n: Any) -> Any:
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


def from_below(n: Any) -> Any:
    length = 0
    while 1 <= n and length < 50:
        n >>= 1
        length += 1
    return length


def power(n: Any) -> Any:
    x, result = 3, 1
    while n > 0:
        if n & 1:
            result = result * x % 1000003
        x = x * x % 1000003
        n >>= 1
    return result


def tenths(n: Any) -> Any:
    """Of a negative number it never ends."""
    count = 0
    while n != 0:
        n //= 10
        count += 1
    return count


def thirds(n: Any) -> Any:
    """It may go on for ever."""
    count = 0
    while n > 0:
        n = n // 3 + (1 if n % 7 == 0 else 0)
        count += 1
    return count


def by_argument(n: Any, k: Any) -> Any:
    """With 1 it never ends."""
    count = 0
    while n > 0:
        n //= k
        count += 1
    return count


SHRINKING: list[Callable[[Any], Any]] = [bits, digits, from_below, power]


@pytest.mark.parametrize("fn", [*SHRINKING, tenths])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_as_in_python(fn: Callable[[Any], Any], dtype: Any) -> None:
    f = rt.function(fn, executor="native")
    for n in (0, 1, 2, 3, 7, 10, 12345, 2**31 - 1, *([2**40 + 12345, 2**63 - 1] if dtype is np.int64 else [])):
        assert int(f(rt.constant(n, rt.as_dtype(dtype)))) == fn(n)


@pytest.mark.parametrize("fn", SHRINKING)
def test_without_polls(fn: Callable[[Any], Any]) -> None:
    assert "@runtime_signals" not in _loop(fn)


@pytest.mark.parametrize("fn", [tenths, thirds, by_argument])
def test_what_may_go_on_polls(fn: Callable[..., Any]) -> None:
    assert "@runtime_signals" in _loop(fn)


def test_bits_are_counted_by_an_instruction() -> None:
    def counted(x: Any, counts: Any) -> None:
        for i in range(len(x)):
            n, count = x[i], 0
            while n:
                n &= n - 1
                count += 1
            counts[i] = count

    x, counts = np.tile([0, 1, 7, -1, 2**62 + 5], 100), np.zeros(500, np.int64)
    f = rt.function(counted, executor="native")
    f(x, counts)
    assert counts.tolist() == [0, 1, 3, 64, 3] * 100
    assert "@llvm.ctpop" in f.get_concrete_function(x, counts).inspect_llvm()


def _loop(fn: Callable[..., Any]) -> str:
    """The text of the loop of a function."""
    found = re.search(r"^while\d+:.*?^end\d+:", _traced(fn).inspect_llvm(optimized=False), re.MULTILINE | re.DOTALL)
    assert found
    return found[0]


def _traced(fn: Callable[..., Any]) -> Any:
    spec = rt.TensorSpec([], rt.int64)
    return rt.function(fn, executor="native").get_concrete_function(*[spec] * fn.__code__.co_argcount)
