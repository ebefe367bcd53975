"""Tracebacks of errors that a graph raises are those of Python, to the frame, the line and the column."""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.traced_once import on

ITEMS = [4, 5, 6]


class Thing:
    def __init__(self, x: Any) -> None:
        self.x = x

    def check(self, limit: Any) -> Any:
        if self.x > limit: raise ValueError("too much") from None  # noqa: E701
        return self.x

    @property
    def checked(self) -> Any:
        return self.check(
            limit=3)


def here(x):
    raise ValueError(x)


def in_a_branch(x):
    if x > 2:
        raise ValueError("ä", "ö") from None
    return x


def in_a_callee(x):
    if x > 1:
        return 1 + in_a_branch(x) * 2
    return 0


def in_a_loop(x):
    for i in range(x):
        while i > 3:
            if i < 9: i = "ü" and in_a_callee(i)  # noqa: E701
    return x


def through_several_lines(x):
    return [in_a_callee(
        x), (
            x)]


def in_a_method(x):
    thing = Thing(x)
    return thing.checked, 1


def in_a_closure(x):
    def inner(y):
        def innermost():
            if y > 2:
                if x > 2: raise KeyError("key")  # noqa: E701
            return y
        return innermost()

    f = lambda y: inner(y)
    if x > 0:
        return f(x)
    return x


def recursive(x, depth=3):
    if x > 0:
        if depth == 0:
            raise ValueError("deep")
        return recursive(x, depth - 1)
    return x


def of_an_item(x):
    if x > 4:
        return 7, ITEMS[x]
    return 7, x


def popped(x):
    items = [1, 2, 3]
    y = items.pop(0) + items.pop(x)
    return y


def asserted(x):
    y = x + 1
    if x > 0:
        assert y < 3, "less"
    return y


def raised_again(x):
    try:
        if x > 2:
            in_a_branch(x)
    except ValueError:
        x += 1
        raise
    return x


def shown(fn: Callable[[Any], Any], x: Any) -> list[Any]:
    """The frames below the call: names, lines and what the carets are under."""
    try:
        fn(x)
    except Exception as error:
        _, *frames = traceback.extract_tb(error.__traceback__)
        return [(f.name, f.lineno, getattr(f, "colno", None), getattr(f, "end_lineno", None),
                 getattr(f, "end_colno", None)) for f in frames]
    raise AssertionError("no error")


@pytest.mark.parametrize("executor", ["numpy", None])
@pytest.mark.parametrize("fn", [
    here, in_a_branch, in_a_callee, in_a_loop, through_several_lines, in_a_method, in_a_closure, recursive, of_an_item,
    popped, asserted, raised_again,
])
def test_tracebacks_are_those_of_python(fn: Callable[[Any], Any], executor: str | None) -> None:
    assert shown(on(executor, fn), rt.constant(5)) == shown(fn, 5)


def divided(x, n):
    return x // n


def through_a_callee(x, n):
    for i in rt.range(3):
        x = x + divided(x, n - i)
    return x


def outside_the_range(x, n):
    total = 0
    for i in range(n + 9):
        total += x[i]
    return total


def frames(call: Callable[[], Any], kind: type[Exception]) -> list[tuple[str, str]]:
    """The functions and source lines of the traceback, but for that of this function."""
    with pytest.raises(kind) as caught:
        call()
    return [(entry.name, entry.line or "") for entry in traceback.extract_tb(caught.value.__traceback__)[2:]]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_the_error_of_an_op_has_a_frame_of_the_function_that_computes_it(executor: str) -> None:
    traced = on(executor, through_a_callee)
    for _ in range(2):  # the second call is found by native code
        assert frames(lambda: traced(rt.constant(4), rt.constant(1)), rt.errors.DivisionByZeroError) == [
            ("divided", "return x // n")]
    indexed = on(executor, outside_the_range)
    assert frames(lambda: indexed(rt.zeros(5), rt.constant(1)), IndexError) == [("outside_the_range", "total += x[i]")]
    concrete = traced.get_concrete_function(rt.TensorSpec([], rt.int32), rt.TensorSpec([], rt.int32))
    assert frames(lambda: concrete(rt.constant(4), rt.constant(1)), rt.errors.DivisionByZeroError) == [
        ("divided", "return x // n")]


def test_the_error_of_an_argument_has_only_the_frame_of_the_call() -> None:
    traced = rt.function(divided)
    concrete = traced.get_concrete_function(rt.TensorSpec([], rt.int32), rt.TensorSpec([], rt.int32))
    assert frames(lambda: traced(rt.constant(4)), TypeError) == []
    assert frames(lambda: concrete(rt.constant(4.5), rt.constant(1)), TypeError) == []


def test_an_error_of_an_op_is_pickled_with_its_text() -> None:
    with pytest.raises(rt.errors.DivisionByZeroError) as caught:
        rt.function(divided)(rt.constant(4), rt.constant(0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)
