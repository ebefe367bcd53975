"""Functions of `cmath` on tensors: results and errors as in Python."""
from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

NUMBERS = [0.5 + 0.25j, -1.5 + 2j, 2.0, -0.75j, complex(-2.0, -0.0)]
NAMES = ["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
         "acosh", "atanh", "phase", "polar", "isnan", "isinf", "isfinite"]


@pytest.mark.parametrize("name", NAMES)
def test_as_in_python(name: str) -> None:
    function = getattr(cmath, name)
    f = rt.function(lambda z: function(z))
    for z in NUMBERS:
        found = f(rt.constant(z, rt.complex128))
        np.testing.assert_allclose(np.array(rt.nest.map_structure(np.asarray, found)), function(z), rtol=1e-12)


def test_with_two_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return (cmath.log(x, 2), cmath.rect(x, y), cmath.isclose(x, x + 1e-12), cmath.isclose(x, y),
                cmath.isclose(x, y, abs_tol=10.0))

    for one, other in zip(rt.function(f)(rt.constant(1.5, rt.float64), rt.constant(0.5, rt.float64)), f(1.5, 0.5)):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(("function", "z"), [(cmath.exp, 1000), (cmath.log, 0), (cmath.cosh, 2000j + 2000),
                                             (cmath.atanh, 1), (cmath.log10, 0)])
def test_errors(function: Callable[[Any], Any], z: complex, executor: str) -> None:
    with pytest.raises(Exception) as wanted:
        function(z)
    with pytest.raises(wanted.type, match=str(wanted.value)):
        on(executor, lambda x: function(x))(rt.constant(z, rt.complex128))


def test_a_transform_that_calls_itself() -> None:
    def fft(a: Any) -> Any:
        n = len(a)
        if n == 1:
            return a
        even, odd = fft(a[0::2]), fft(a[1::2])
        out = [0] * n
        for k in range(n // 2):
            t = cmath.exp(-2j * cmath.pi * k / n) * odd[k]
            out[k], out[k + n // 2] = even[k] + t, even[k] - t
        return out

    x = np.random.default_rng(0).normal(size=16)
    found = rt.function(lambda x: [abs(z) for z in fft([complex(v) for v in x])])(rt.constant(x))
    np.testing.assert_allclose([float(v) for v in found], abs(np.fft.fft(x)), rtol=1e-6)
