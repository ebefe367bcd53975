"""The truth of a tensor with axes: that of its only element, which the graph may be the first to count."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt


def decided(x: Any) -> Any:
    if x:
        return 1
    return 0


def repeated(x: Any) -> Any:
    count = 0
    while x:
        count += 1
        x = rt.logical_and(x, count < 3)
    return count


def negated(x: Any) -> Any:
    return not x


def asserted(x: Any) -> Any:
    assert x, "it is false"
    return 1


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [decided, repeated, negated, asserted])
def test_of_one_element(fn: Callable[[Any], Any], executor: str) -> None:
    for shape in ([1, None], [None], None, [1, 1]):
        traced = rt.function(fn, input_signature=[rt.TensorSpec(shape, rt.bool)], executor=executor)
        for value in (True, False):
            x = rt.reshape(rt.constant(value), [1] * len(shape or ()))
            if fn is asserted and not value:
                with pytest.raises(AssertionError, match="it is false"):
                    traced(x)
            else:
                assert int(traced(x)) == int(fn(x))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_of_another_number_of_elements(executor: str) -> None:
    traced = rt.function(decided, input_signature=[rt.TensorSpec([1, None], rt.bool)], executor=executor)
    for values in ([], [True, True]):
        with pytest.raises(ValueError, match=r"(?s)no or several elements is ambiguous: this tensor is bool\[1,\?\]\n"
                                             r".*if x:.*Use rt\.reduce_any or rt\.reduce_all"):
            traced(rt.constant([values], rt.bool))
    for shape, what in (([2, None], "more than one element"), ([0, None], "no elements"), ([3], "more than one")):
        function = rt.function(decided, input_signature=[rt.TensorSpec(shape, rt.bool)])
        with pytest.raises(ValueError, match=f"array with {what}.* is ambiguous"):
            function.get_concrete_function()
