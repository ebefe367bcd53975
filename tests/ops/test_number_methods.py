"""Methods of Python's numbers, on numbers of the graph."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ways import HAS_LLVM

import runtime as rt
from tests.plain_values import plain
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


def bits(n):
    total = 0
    for i in range(n):
        total = total * 3 + (i * i).bit_length() + (-i).bit_count() + i.numerator - i.denominator + i.conjugate()
    return total


def of_large_ints(n):
    x, found = 1, []
    for _ in range(n):
        x = x * 5
        found.append((x.bit_length(), (-x).bit_count()))
    return found


def floats(n):
    x, found = 0.25, []
    for _ in range(n):
        x = x * 2 + 0.5
        found.append((x.is_integer(), (x / 0.3).is_integer(), (-x).conjugate()))
    return found


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [bits, of_large_ints, floats])
def test_methods_of_numbers(fn: Callable[[Any], Any], executor: str) -> None:
    staged = on(executor, fn)
    for n in (9, 20):
        assert plain(staged(rt.constant(n))) == fn(n)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_floats_without_a_value(executor: str) -> None:
    def f(xs):
        return [float(x).is_integer() for x in xs]

    x = np.array([1.0, 2.5, np.inf, np.nan, -0.0])
    assert plain(on(executor, f)(x)) == f(x)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new in Python 3.12")
def test_ints_are_integers() -> None:
    assert rt.function(lambda n: [i.is_integer() for i in range(n)])(rt.constant(2))


def test_tensors_have_no_methods_of_numbers() -> None:
    with pytest.raises(AttributeError, match=r"test_number_methods.py:\d+: 'Tensor' object has no attribute 'bit_len"):
        rt.function(lambda x: x.bit_length())(rt.constant([1, 2]))
    with pytest.raises(AttributeError, match=r"test_number_methods.py:\d+: 'Tensor' object has no attribute 'to_bytes"):
        rt.function(lambda x: (x + 0).to_bytes())(rt.constant(2))


@pytest.mark.parametrize("given", [rt.constant([1.0]), np.ones(2), np.array(1.0)], ids=["tensor", "array", "scalar"])
def test_an_attribute_that_no_tensor_has(given: Any) -> None:
    with pytest.raises(AttributeError, match=r"test_number_methods.py:\d+: 'Tensor' object has no attribute 'reshap'"
                                             r"(.|\n)*Did you mean 'reshape'\?$"):
        rt.function(lambda x: x.reshap(1))(given)
    with pytest.raises(AttributeError, match=r"no attribute 'q'(.|\n)*Call a function of rt or of NumPy"):
        rt.function(lambda x: x.q)(given)
    assert rt.function(lambda x: (hasattr(x, "q"), getattr(x, "q", 2)))(given) == (False, 2)
