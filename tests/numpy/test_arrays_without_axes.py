"""Arrays of rank 0, which `+=` changes for all their names, beside NumPy's scalars, which it does not."""
from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt


def each(ys: Any) -> None:
    for y in ys:
        y += 1


def rest(ys: Any) -> None:
    for y in ys[1:]:
        y[()] = 3.0


def whole(ys: Any) -> None:
    for y in ys:
        y[...] = ys[-1] + 1


def until(y: Any) -> Any:
    z = y
    while y < 5:
        y += 1.5
    return z


def operators(y: Any) -> Any:
    z = y
    y *= 6
    y -= 1
    y **= 2
    y //= 3
    return z, z + 1


def in_dict(d: Any) -> Any:
    d["x"] += d["y"]
    return d["x"]


def copies(y: Any) -> Any:
    a, b, c = np.asarray(y), np.array(y), y.copy()
    a += 1
    b += 2
    c += 3
    return y, a, b, c


def with_ellipsis(x: Any) -> Any:
    y = x[0, ...]
    y += x[1]
    return y


def reshaped(x: Any) -> Any:
    y, z = x[:1].reshape(()), np.squeeze(x[1:2])
    y += 5
    z += y
    return y, z


def scalars(x: Any) -> Any:
    y = z = x[0]
    y += x[1]
    total = 0.0
    for item in x:
        total += item
    return y, z, total


def made(x: Any) -> Any:
    y = z = np.zeros_like(x[0])
    for item in x:
        y += item
    return z


def made_of_number(x: Any) -> Any:
    y = z = np.array(x[0] * 2)
    y += x[1]
    return z


def zero() -> Any:
    return np.array(1.0)


CASES: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    *[(f, lambda: [zero(), np.array(2.0), np.array(4.0)]) for f in (each, rest, whole)],
    (each, lambda: [zero()] * 2), (each, lambda: (zero(), zero())), (each, lambda: np.arange(3.0)),
    (each, lambda: np.ones((2, 2))), *[(f, zero) for f in (until, operators, copies)],
    (in_dict, lambda: {"x": zero(), "y": np.array(2.0)}),
    *[(f, lambda: np.array([1.0, 4.0, 9.0])) for f in (with_ellipsis, reshaped, scalars, made, made_of_number)]]


@pytest.mark.parametrize(("f", "make"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_in_numpy(f: Callable[..., Any], make: Callable[[], Any]) -> None:
    want = make()
    wanted = f(want)
    for g in on_both(f).values():
        for _ in range(2):
            given = make()
            before = copy.copy(given)
            got = g(given)
            for one, other in zip(rt.nest.flatten([want, wanted]), rt.nest.flatten([given, got]), strict=True):
                np.testing.assert_array_equal(np.asarray(other), np.asarray(one))
            if isinstance(given, (list, tuple)):
                assert all(map(operator.is_, given, before))


def test_by_a_tensor() -> None:
    for f in on_both(lambda y, n: (until(np.array(y * n)), until(y * n))).values():
        assert [float(x) for x in f(zero(), rt.constant(2.0))] == [5.0, 2.0]


class Meter:
    """An object with a total of its own."""

    def __init__(self) -> None:
        self.total = np.zeros(())

    def add(self, x: Any) -> None:
        self.total += x


def test_those_that_numpy_makes() -> None:
    def f(xs: Any, n: Any) -> Any:
        meter, t = Meter(), np.array(2.0)
        total, same = meter.total, t
        for x in xs:
            meter.add(x)
            t *= n
        return total, same, t + 1

    for traced in on_both(f).values():
        assert [float(x) for x in traced(np.array([1.0, 2.0, 4.0]), rt.constant(3.0))] == [7.0, 54.0, 55.0]


@pytest.mark.parametrize(("kind", "fn"), [
    (ValueError, np.trace), (ValueError, np.diagonal), (ValueError, np.diag), (TypeError, np.triu),
    (TypeError, np.tril), (IndexError, np.fft.fft), (IndexError, np.fft.ifft), (IndexError, np.fft.rfft),
    (IndexError, np.fft.fft2), (ValueError, lambda x: np.diag(np.stack([x, x]).reshape(2, 1, 1))),
    (IndexError, lambda x: np.stack([x, x])[1.0]), (IndexError, lambda x: np.stack([x, x])[x])])
def test_errors_are_those_of_numpy(kind: Any, fn: Callable[[Any], Any]) -> None:
    for form in fn, rt.function(lambda x: fn(x)):
        with pytest.raises(kind):
            form(np.array(4.0))


def test_an_array_without_axes_is_not_padded() -> None:
    assert rt.function(lambda x: np.pad(x, 1))(np.array(4.0)).numpy() == np.pad(np.array(4.0), 1)


def test_attributes_of_dtypes() -> None:
    def f(x: Any) -> Any:
        return x.dtype.str, x.dtype.kind, x.dtype.itemsize, x.dtype.char, hasattr(x.dtype, "fits")

    assert rt.function(f)(np.arange(4)) == f(np.arange(4))
