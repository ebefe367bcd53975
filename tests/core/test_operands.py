"""Operands that a tensor does not take: the error says where, and other objects' own methods are asked first."""
from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import runtime as rt


def below(x: Any, limit: Any = None) -> Any:
    steps = x * 0
    while x > limit:
        x = x - 1
        steps = steps + 1
    return steps


def test_the_error_says_where_what_and_what_to_do() -> None:
    with pytest.raises(TypeError) as caught:
        rt.function(below)(rt.constant(5.0))
    line = below.__code__.co_firstlineno + 2
    assert str(caught.value).splitlines()[0] == f"{__file__}:{line}: unsupported operands for >: float32[] and None"
    assert str(caught.value).splitlines()[1] == f"    {line} |     while x > limit:"
    assert str(caught.value).splitlines()[-1] == "Test `is None` before, or give a number or a tensor."
    assert rt.function(below)(rt.constant(5.0), 2.0).numpy() == 3


NUMBER = "Give a number, an array or a tensor."


@pytest.mark.parametrize(("fn", "other", "what", "remedy"), [
    (lambda x, y: x + y, None, "+: float32[2] and None", "Test `is None` before, or give a number or a tensor."),
    (lambda x, y: y - x, {}, "-: an object of 'dict' and float32[2]", NUMBER),
    (lambda x, y: x @ y, object(), "@: float32[2] and an object of 'object'", NUMBER),
    (lambda x, y: x <= y, "text", "<=: float32[2] and an object of 'str'",
     "A tensor of strings takes text, one of numbers does not: rt.strings.as_string(x) makes text of numbers, int(text)"
     " and float(text) make numbers of text."),
    (lambda x, y: y ** x, len, "**: an object of 'builtin_function_or_method' and float32[2]", NUMBER),
    (lambda x, y: y * x, Decimal(3), "*: an object of 'Decimal' and float32[2]", NUMBER),
    (lambda x, y: divmod(x, y), None, "divmod(): float32[2] and None",
     "Test `is None` before, or give a number or a tensor."),
])
@pytest.mark.parametrize("traced", [True, False])
def test_operators(fn: Callable[..., Any], other: Any, what: str, remedy: str, traced: bool) -> None:
    x = rt.constant([1.0, 2.0])
    with pytest.raises(TypeError) as caught:
        (rt.function(lambda x: fn(x, other)) if traced else lambda x: fn(x, other))(x)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{__file__}:{fn.__code__.co_firstlineno}: unsupported operands for {what}"
    assert lines[-1] == remedy


class Other:
    """Takes tensors from the right, and numbers only by `__radd__`."""

    def __radd__(self, other: Any) -> Any:
        return ("radd", other.shape.rank)

    def __lt__(self, other: Any) -> Any:
        return ("lt", other.shape.rank)

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented


def test_the_method_of_the_other_object_is_asked_first() -> None:
    x, other = rt.constant(1.0), Other()
    assert x + other == ("radd", 0) and (x > other) == ("lt", 0)  # type: ignore[comparison-overlap]
    with pytest.raises(TypeError, match="unsupported operands for -: .*and an object of 'Other'"):
        x - other
    assert (x == other) is False and (other != x) is True


def test_an_array_that_is_changed_in_place_leaves_the_operator_to_the_other_object() -> None:
    @rt.function
    def added(a: Any) -> Any:
        a += Other()
        return a[1]

    assert added(np.ones(3, np.float32)).numpy() == 1
