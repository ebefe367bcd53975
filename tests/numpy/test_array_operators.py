"""Operators of arrays of small dtypes, and of arrays and what is no number: results and dtypes are NumPy's."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt

DTYPES = [bool, np.int8, np.uint8, np.int16, np.int32, np.uint64, np.float16, np.float32]
ARRAYS = [np.array([1, 0, 1, 1], dtype) if dtype is bool else np.array([1, 2, 3, 1], dtype) for dtype in DTYPES]
NUMBERS = [2, -1, True, 2.5, 0, 300]
BINARY: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.eq, divmod,
    np.maximum, np.power, np.float_power, np.fmod, np.fmin, np.arctan2, np.logaddexp, np.copysign, np.heaviside,
    np.ldexp]
UNARY: list[Callable[[Any], Any]] = [
    abs, operator.neg, operator.invert, np.absolute, np.square, np.reciprocal, np.sign, np.logical_not, np.floor,
    np.trunc, np.sqrt, np.exp, np.log1p, np.deg2rad, np.conj, np.positive, np.signbit, np.rint, np.isfinite,
    lambda x: x.sum(), lambda x: x.mean(), lambda x: x.prod(), lambda x: x.max(), lambda x: x @ x,
    lambda x: x[0] + x[1], lambda x: x[0] ** 2, lambda x: x[0] / 2, lambda x: np.outer(x, x), np.median]
INTS = np.array([1, 2, 3])


def results(function: Callable[..., Any], *operands: Any) -> list[Any] | type[BaseException]:
    """NumPy's results, or the class of its error."""
    with np.errstate(all="ignore"):
        try:
            found = function(*operands)
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)
    return [*found] if isinstance(found, tuple) else [found]


def check(function: Callable[..., Any], cases: list[tuple[Any, ...]]) -> None:
    """The function for all of these operands, in one trace for those for which NumPy has a result; each other one is an
    error."""
    wanted = [results(function, *each) for each in cases]
    good = [each for each, want in zip(cases, wanted, strict=True) if isinstance(want, list)]

    def of_all(operands: Any) -> Any:
        return [function(*each) for each in operands]

    for traced in on_both(of_all).values():
        found = traced(good)
        for case, got, want in zip(good, found, [x for x in wanted if isinstance(x, list)], strict=True):
            for one, other in zip(got if isinstance(got, tuple) else [got], want, strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype, case
                np.testing.assert_allclose(np.asarray(one), other, rtol=1e-2, err_msg=str(case))
    for each, want in zip(cases, wanted, strict=True):
        if not isinstance(want, list):
            with pytest.raises((TypeError, ValueError, OverflowError)):
                rt.function(lambda operands: function(*operands), executor="numpy")(each)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_of_two_arrays(function: Callable[[Any, Any], Any]) -> None:
    check(function, [(x, y) for x in ARRAYS for y in ARRAYS])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_beside_a_number(function: Callable[[Any, Any], Any], number: Any) -> None:
    check(function, [pair for x in ARRAYS for pair in ((x, number), (number, x))])


@pytest.mark.parametrize("items", [[0.1, 0.7, 2.0, 3.0], (1, 2, 3, 0), [True, False, True, True], [[1, True, 2, 0]]])
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_beside_a_list(function: Callable[[Any, Any], Any], items: Any) -> None:
    check(function, [pair for x in ARRAYS[:2] for pair in ((x, items), (items, x))])


@pytest.mark.parametrize("function", [np.deg2rad, np.fabs, np.cbrt, np.floor, np.signbit])
def test_complex_numbers_are_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=rf"(?s)test_array_operators.py.*{function.__name__}' not supported"):
        rt.function(lambda x: function(x))(np.array([1j]))


@pytest.mark.parametrize("function", UNARY)
def test_of_one(function: Callable[[Any], Any]) -> None:
    check(function, [(x,) for x in ARRAYS])


@pytest.mark.parametrize("power", [
    lambda x, n: x ** n, lambda x, n: np.power(x, n), lambda x, n: x ** (x * n), lambda x, n: 2 ** (x * n),
    lambda x, n: x[0] ** n, lambda x, n: x ** -1, lambda x, n: x[:2] ** np.int64(-1)])
def test_a_negative_power_of_ints(power: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        power(INTS, -1)
    for given in (-1, np.array(-1)):
        for f in on_both(power).values():
            with pytest.raises(ValueError, match=r"Integers to negative integer powers(.|\n)*astype\(float\)"):
                f(INTS, given)
    np.testing.assert_array_equal(rt.function(lambda x, n: x ** n)(INTS, np.array(2)), INTS ** 2)


class Other:
    """What is no number."""


class Own(Other):
    """What says itself what is equal."""

    def __eq__(self, other: object) -> Any:
        return "equal"

    __hash__ = None  # type: ignore[assignment]


OTHER = Other()


@pytest.mark.parametrize("other", [None, "x", b"x", OTHER, ...])
@pytest.mark.parametrize("compare", [
    lambda x, y: x == y, lambda x, y: x != y, lambda x, y: y == x, lambda x, y: np.copy(x) != y,
    lambda x, y: (x.fill(2.0), x == y)[1], lambda x, y: (x[0] == y, x is y)])
def test_equality_with_no_number(compare: Callable[[Any, Any], Any], other: Any) -> None:
    for f in on_both(lambda x: compare(x, other)).values():
        want, got = (g(np.array([1.0, np.nan, 3.0])) for g in (lambda x: compare(x, other), f))
        for one, two in zip(rt.nest.flatten(want), rt.nest.flatten(got), strict=True):
            assert np.asarray(two).dtype == bool and np.asarray(two).tolist() == np.asarray(one).tolist()


def test_equality_by_the_other() -> None:
    assert rt.function(lambda x: (x == Own(), x != Own()))(INTS) == ("equal", False)
    with pytest.raises(TypeError, match=r"unsupported operands for ==: int64\[3\] and an object of 'dict'"):
        rt.function(lambda x: x == {})(INTS)
    with pytest.raises(ValueError, match="ambiguous"):
        rt.function(lambda x: 1 if x == None else 2)(INTS)  # noqa: E711


def test_equality_of_tensors() -> None:
    assert rt.function(lambda x: (x == None, x != "x"))(rt.constant([1.0])) == (False, True)  # noqa: E711
