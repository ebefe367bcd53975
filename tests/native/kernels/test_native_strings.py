"""Text that native code makes: of ints and other texts without Python, the rest by its kernel."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt


@rt.function(executor="native")
def shown(x: Any) -> Any:
    return f"<{x:d}|é{x:d}>"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_ints(dtype: str) -> None:
    limits = np.iinfo(dtype)
    numbers = {0, 1, -1, limits.min, limits.max, limits.min + 1} | {
        sign * 10 ** k + more for k in range(20) for sign in (1, -1) for more in (-1, 0, 1)}
    for number in sorted(numbers):
        if limits.min <= number <= limits.max:
            assert shown(rt.constant(np.array(number, dtype))) == f"<{number}|é{number}>"


def texts_in_a_loop(n: Any) -> Any:
    out, whole = [], ""
    for i in range(n):
        word = "even" if i % 2 == 0 else f"odd {-i}"
        out.append(f"{i}: {word}")
        whole = whole + word + ","
    return out, whole, "x" * 300 + f"{n:d}"


def formats_in_a_loop(n: Any) -> Any:
    out = []
    for i in range(n):
        out.append(f"{i:5d} {i / 4}")
    return out


@pytest.mark.parametrize(("fn", "calls_python"), [(texts_in_a_loop, False), (formats_in_a_loop, True)])
def test_what_calls_python(fn: Any, calls_python: bool) -> None:
    function = rt.function(fn, executor="native")
    for n in (3, 11):
        assert function(rt.constant(n)) == fn(n)
    concrete = function.get_concrete_function(rt.constant(3))
    assert ("render_text calls Python" in concrete.explain_native()) is calls_python
