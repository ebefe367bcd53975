"""Functions of Python's `math` in traced functions: the values and the errors of Python's, on both executors."""
from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.python_math import MATH

EXECUTORS = ("numpy", "native")
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 3.0, 8.0, 1000.0, 1e-320, 1e300, -1e300, 710.0, -750.0, 2000.0,
          math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, 5, 12, 18, -7, 20)
OF_TWO = {"atan2", "copysign", "fmod", "hypot", "pow", "isclose"}
OF_INTS = {"gcd": 2, "lcm": 2, "isqrt": 1, "factorial": 1, "perm": 2, "comb": 2}
NAMES = sorted(fn.__name__ for fn in MATH)


def source(name: str, arity: int) -> Callable[..., Any]:
    """The function of `math`, called by a function that can be converted."""
    function = getattr(math, name)
    if arity == 1:
        return lambda x: function(x)
    return lambda x, y: function(x, y)


def outcome(fn: Callable[..., Any], *args: Any) -> Any:
    try:
        value = fn(*args)
    except (ArithmeticError, ValueError) as error:
        kind = next(k for k in (ZeroDivisionError, OverflowError, ValueError) if isinstance(error, k))
        return kind, str(error).splitlines()[0].rpartition(": ")[2]
    return value.numpy().item() if isinstance(value, rt.Tensor) else value


def agree(want: Any, got: Any) -> bool:
    if isinstance(want, tuple) or isinstance(got, tuple):
        return bool(want == got)
    if isinstance(want, float):
        if math.isnan(want) or not want:
            return str(want) == str(got)
        return abs(want - got) <= 4 * math.ulp(want) or want == got
    return type(want) is type(got) and want == got


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_errors_are_pythons(name: str, executor: str) -> None:
    if name in ("dist", "prod"):
        pytest.skip("takes lists: the next tests have it")
    ints = OF_INTS.get(name)
    arity = ints or (2 if name in OF_TWO else 1)
    python = source(name, arity)
    staged = rt.function(python, executor=executor)
    dtype = rt.int64 if ints else rt.float64
    for values in itertools.product(INTS if ints else FLOATS, repeat=arity):
        want = outcome(python, *values)
        if isinstance(want, int) and abs(want) >= 2**63:
            continue
        if name == "pow" and not values[0] and values[1] == -math.inf:
            want = math.inf  # as from Python 3.11 on
        got = outcome(staged, *[rt.constant(v, dtype) for v in values])
        assert agree(want, got), (name, values, want, got)


def distance(x, y):
    return math.dist((x, 1.0), (0.0, y)), math.hypot(x, y, 2.0), math.hypot(x)


def products(n, x):
    return math.prod([x, 2.0, x]), math.prod(i + 1 for i in range(n)), math.prod(range(1, n), start=3)


def by_name(x):
    roots = list(map(sqrt, [x, 4.0]))
    power = functools.partial(math.pow, 2.0)
    return sqrt(x), roots[0] + roots[1], power(x), math.floor(x)


def in_a_loop(n):
    total, steps = 0.0, 0
    while total < float(n):
        total += math.sqrt(steps + 1) * math.log(steps + 2)
        if math.isclose(total, 4.0, rel_tol=0.5):
            total += math.fabs(-0.25)
        steps += 1
    return total, steps, math.ceil(total), math.gcd(steps, n)


def caught(x):
    try:
        y = math.log(x)
    except ValueError:
        y = -1.0
    try:
        z = math.exp(x * 300)
    except OverflowError:
        z = math.inf
    return y, z


def mean(xs):
    total = 0.0
    for x in xs:
        total += math.sqrt(x)
    return total / len(xs)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("program", "cases"), [
    (distance, [(3.0, 4.0), (-1.5, math.inf), (1e200, 1e200)]),
    (products, [(5, 1.5), (0, 2.0)]),
    (by_name, [(2.25,), (9.0,)]),
    (in_a_loop, [(7,), (0,), (100,)]),
    (caught, [(2.0,), (0.0,), (-3.0,), (4.0,)]),
    (mean, [([1.0, 4.0, 2.0],)]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_programs(program: Callable[..., Any], cases: list[Any], executor: str) -> None:
    staged, eager = rt.function(program, executor=executor), ag.convert(program)
    for case in cases:
        arguments = [rt.constant(x, rt.float64 if isinstance(x, (float, list)) else rt.int64) for x in case]
        want = program(*case)
        for fn in (staged, eager):
            got, expected = (
                [float(y) for y in (x if isinstance(x, tuple) else (x,))] for x in (fn(*arguments), want))
            np.testing.assert_allclose(got, expected, rtol=1e-6)  # what is Python's is float32 at the end


@pytest.mark.parametrize("executor", EXECUTORS)
def test_floats_have_64_bits_until_they_meet_a_tensor(executor: str) -> None:
    @rt.function(executor=executor)
    def fn(x):
        root = math.sqrt(x)
        return root * x, root * root - 2.0, math.floor(x)

    scaled, rest, whole = fn(rt.constant(2.0))
    assert scaled.dtype is rt.float32 and scaled.numpy() == np.float32(math.sqrt(2.0)) * np.float32(2)
    assert rest.dtype is rt.float32 and rest.numpy() == np.float32(math.sqrt(2.0) ** 2 - 2)
    assert whole.dtype is rt.int32


@pytest.mark.parametrize("executor", EXECUTORS)
def test_errors_name_the_line(executor: str) -> None:
    @rt.function(executor=executor)
    def fn(x):
        return math.sqrt(x)

    line = fn.python_function.__code__.co_firstlineno + 2
    with pytest.raises(ValueError) as caught:
        fn(rt.constant(-1.0))
    assert str(caught.value).startswith(
        f"{__file__}:{line}: math domain error\n"
        f"    {line} |         return math.sqrt(x)\n")


def test_what_math_does_not_take() -> None:
    @rt.function
    def vector(x):
        return math.sqrt(x)

    with pytest.raises(TypeError, match="only a tensor with one element converts to float"):
        vector(rt.constant([1.0, 2.0]))

    @rt.function
    def real(x):
        return math.gcd(x, 2)

    with pytest.raises(TypeError, match="a tensor of float32 cannot be interpreted as an integer"):
        real(rt.constant(1.0))

    @rt.function
    def other(x):
        return math.gamma(x)

    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError, match="cannot become a Python float here"):
        other(rt.constant(1.0))


def test_plain_values_are_pythons_affair() -> None:
    @ag.convert
    def fn(x):
        return math.sqrt(x), math.floor(x), math.trunc(x)

    assert fn(6.25) == (2.5, 6, 6)
    assert fn(rt.constant(6.25)) == (2.5, 6, 6)  # floats and ints, as in Python
