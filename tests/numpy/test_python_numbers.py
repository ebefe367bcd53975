"""Arrays that NumPy makes of Python's numbers in traced functions have 64 bits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

BIG = 70_000


def counted(x: Any) -> Any:
    """A Python number and a list of such that depend on the elements of `x`, and a float."""
    n, numbers, share = 0, [], 0.0
    for v in x:
        if v > 0:
            n += BIG
            share += 0.5
            numbers.append(n)
    return n, numbers, share


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "array": lambda x: np.array([counted(x)[0], 1]) ** 2,
    "array_of_list": lambda x: np.array(counted(x)[1]) ** 2,
    "asarray": lambda x: np.asarray(counted(x)[1]) ** 2,
    "comprehension": lambda x: np.array([i * BIG for i in range(len(x)) if x[i] > 0]) ** 2,
    "full": lambda x: np.full(2, counted(x)[0]) ** 2,
    "arange": lambda x: np.arange(counted(x)[0])[-1:] ** 2,
    "where": lambda x: np.where(x > 0, BIG, 0) ** 2,
    "where_staged": lambda x: np.where(x > 0, counted(x)[0], 0) ** 2,
    "square": lambda x: np.square(counted(x)[0]),
    "square_of_list": lambda x: np.square(counted(x)[1]),
    "outer": lambda x: np.outer(counted(x)[1], counted(x)[1]),
    "cumprod": lambda x: np.cumprod(counted(x)[1]),
    "prod": lambda x: np.prod(counted(x)[1]),
    "dot": lambda x: np.dot(counted(x)[1], counted(x)[1]),
    "concatenate": lambda x: np.concatenate([counted(x)[1], counted(x)[1]]) ** 2,
    "append": lambda x: np.append(np.zeros(1), counted(x)[2]),
    "floats": lambda x: np.array([counted(x)[2], 1.0]) / 3,
    "thirds": lambda x: np.array(counted(x)[1]) / 3,
    "of_ints": lambda x: np.array([int(v) for v in x]) / 3,
    "root": lambda x: np.sqrt(counted(x)[0]),
    "beside_an_array": lambda x: np.maximum(x.astype(np.int16), counted(x)[0] // BIG),
    "clip": lambda x: np.clip(x.astype(np.float32), 0, counted(x)[0]),
}


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_pythons_numbers_have_64_bits(name: str, executor: str) -> None:
    x = np.array([1.5, 2.0, -1.0, 4.0])
    expected = FUNCTIONS[name](x)
    found = rt.function(FUNCTIONS[name], executor=executor)(x)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_beside_a_tensor_they_adapt() -> None:
    @rt.function
    def f(x: Any) -> Any:
        return np.where(x > 0, 1, 0) * x, np.maximum(x, counted(x)[0])

    assert [each.dtype for each in f(rt.constant([1, -2]))] == [rt.int32, rt.int32]


def counted_to(o: Any, n: int) -> None:
    for i in range(n):
        o[i] = i


def floats(o: Any, n: int) -> None:
    for i in range(n):
        o[i] = i * 1.5


def below_zero(o: Any, n: int) -> None:
    for i in range(n):
        o[i] = 100 - i


def many_at_once(o: Any, n: int) -> None:
    k = 0
    for _ in range(n):
        k += 1
    o[:2] = k


def doubled(o: Any, n: int) -> None:
    k = 1
    for i in range(n):
        k = k * 2 % 2**40
        o[i] = k


def caught(o: Any, n: int) -> None:
    for i in range(n):
        try:
            o[i] = i
        except OverflowError:
            o[i] = 7


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.uint64])
@pytest.mark.parametrize("given", [int, rt.constant])
@pytest.mark.parametrize("f", [counted_to, floats, below_zero, many_at_once, doubled, caught])
def test_python_numbers_that_do_not_fit_an_array_are_errors(
    f: Callable[[Any, int], None], given: Callable[[int], Any], dtype: Any, executor: str
) -> None:
    want, got = np.zeros(300, dtype), np.zeros(300, dtype)
    staged = rt.function(f, executor=executor)
    try:
        f(want, 300)
    except OverflowError:
        with pytest.raises(OverflowError, match=f"(does not fit|out of bounds for) {np.dtype(dtype)}"):
            staged(got, given(300))
    else:
        staged(got, given(300))
        np.testing.assert_array_equal(got, want)
