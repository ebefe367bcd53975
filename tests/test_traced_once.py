"""Which functions of tests share a trace: those of the same code that close over the same objects."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.traced_once import on


def reading(k: Any) -> Callable[[Any], Any]:
    def inner(x):
        return x + k

    return lambda x: inner(x)


def recursive(k: Any) -> Callable[[Any], Any]:
    def f(x):
        return f(x - 1) + k if x > 0 else x

    return f


def with_default(k: Any) -> Callable[..., Any]:
    return lambda x, k=k: x + k


def assigning(k: Any) -> Callable[[Any], Any]:
    def f(x):
        def add():
            nonlocal k
            k += 1

        add()
        return x + k

    return f


@pytest.mark.parametrize(("made", "other", "shares"), [
    (reading, 2, True), (reading, 3, False), (recursive, 2, True), (recursive, 3, False), (with_default, 2, True),
    (with_default, 3, False), (assigning, 2, False)])
def test_on(made: Callable[[Any], Any], other: int, shares: bool) -> None:
    reference, native = on("numpy", made(2)), on("native", made(other))
    assert (native._traced is reference) is shares
    assert int(reference(rt.constant(1))) == made(2)(1) and int(native(rt.constant(1))) == made(other)(1)
