"""Functions of Python's `math` in traced functions: the values and the errors of Python's, on both executors."""
from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import pytest
from traced_once import on

import autograph as ag
import runtime as rt
from runtime.staging.python.math_module import MATH

EXECUTORS = ("numpy", "native")
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -2.5, 3.0, 8.0, 1000.0, 1e-320, 1e300, -1e300, 710.0, -750.0, 2000.0,
          math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, 5, 12, 18, -7, 20)
OF_TWO = {"atan2", "copysign", "fmod", "hypot", "pow", "isclose", "remainder", "nextafter"}
OF_INTS = {"gcd": 2, "lcm": 2, "isqrt": 1, "factorial": 1, "perm": 2, "comb": 2}
TAKE_OTHERS = {"dist", "prod", "ldexp", "fsum", "sumprod", "fma"}
TO_THE_BIT = {"sqrt", "fabs", "copysign", "fmod", "degrees", "radians", "remainder", "modf", "frexp", "ldexp", "ulp",
              "nextafter", "gamma", "lgamma", "fsum", "sumprod", "fma"}
NAMES = sorted(fn.__name__ for fn in MATH if fn.__name__ not in TAKE_OTHERS)


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
    return rt.nest.map_structure(lambda x: x.numpy().item() if isinstance(x, rt.Tensor) else x, value)


def agree(want: Any, got: Any, ulps: int = 4) -> bool:
    if isinstance(want, tuple) and isinstance(got, tuple):
        return len(want) == len(got) and all(agree(x, y, ulps) for x, y in zip(want, got))
    if isinstance(want, float):
        if math.isnan(want) or not want:
            return str(want) == str(got)
        return isinstance(got, float) and (abs(want - got) <= ulps * math.ulp(want) or want == got)
    return type(want) is type(got) and want == got


def test_all_of_math_is_there() -> None:
    functions = {name for name, value in vars(math).items() if callable(value) and not name.startswith("_")}
    assert {fn.__name__ for fn in MATH} == functions


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_errors_are_pythons(name: str, executor: str) -> None:
    ints = OF_INTS.get(name)
    arity = ints or (2 if name in OF_TWO else 1)
    python = source(name, arity)
    staged = on(executor, python)
    dtype = rt.int64 if ints else rt.float64
    for values in itertools.product(INTS if ints else FLOATS, repeat=arity):
        want = outcome(python, *values)
        if isinstance(want, int) and abs(want) >= 2**63:
            continue
        if name == "pow" and not values[0] and values[1] == -math.inf:
            want = math.inf  # as from Python 3.11 on
        got = outcome(staged, *[rt.constant(v, dtype) for v in values])
        assert agree(want, got, 0 if name in TO_THE_BIT else 4), (name, values, want, got)


def scaled(x, n):
    return math.ldexp(x, n)


def stepped(x, n):
    return math.nextafter(x, 1.0, steps=n)


def fused(x, y):
    return math.fma(x, y, -x)


def summed(x, n):
    return math.fsum([x, 1e16, n, -1e16]), math.fsum(x / (i + 1) for i in range(4)), math.fsum((x, x * x, 0.1))


def summed_in_graph(x, n):
    kept = []
    for i in range(n):
        if i % 3 != 1:
            kept.append(x / (i + 1))
    return (math.fsum(kept), math.fsum(range(n)), math.fsum(math.sqrt(i) * x for i in range(n)),
            math.fsum(map(abs, kept)))


def dotted(x, n):
    return (math.sumprod([x, 0.1, n], [0.1, x, -n]), math.sumprod([n, 3], (n, n)), math.sumprod(range(n), range(n)),
            math.sumprod([x / (i + 1) for i in range(n)], range(n)))


def unequal(x, n):
    return math.sumprod([x], range(n))


def too_large(x, n):
    return math.sumprod([n, n], [2 ** 60, 2 ** 60])


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("program", "least"), [
    (scaled, (3, 10)), (stepped, (3, 12)), (fused, (3, 13)), (summed, (3, 10)), (summed_in_graph, (3, 10)),
    (dotted, (3, 12)), (unequal, (3, 12))], ids=lambda x: getattr(x, "__name__", ""))
def test_pythons_own_functions(program: Callable[..., Any], least: tuple[int, int], executor: str) -> None:
    if sys.version_info < least:
        pytest.skip(f"this is of Python {least}")
    staged = on(executor, program)
    for x, n in itertools.product(FLOATS, (*INTS[:5], 1100, -1100)):
        want = outcome(program, x, n)
        got = outcome(staged, rt.constant(x, rt.float64), rt.constant(float(n) if program is fused else n,
                                                                      rt.float64 if program is fused else rt.int64))
        if isinstance(want, tuple) and not isinstance(want[0], type):
            want = tuple(map(float, want))
            got = tuple(map(float, got))
        assert agree(want, got, 0), (x, n, want, got)


def test_a_sum_of_products_beyond_64_bits_is_an_error() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("sumprod is of Python 3.12")
    with pytest.raises(OverflowError, match="does not fit int64"):
        rt.function(too_large)(1.0, rt.constant(8))
    assert rt.function(too_large)(1.0, rt.constant(3, rt.int64)).numpy() == 6 * 2 ** 60


def caught_later(x):
    try:
        y = math.gamma(x)
    except ValueError:
        y = -1.0
    except OverflowError:
        y = -2.0
    try:
        z = math.remainder(1.0, x)
    except ValueError:
        z = -3.0
    try:
        w = math.ldexp(x, 1020)
    except OverflowError:
        w = -4.0
    return y, z, w


def pieces(xs):
    total, bits = 0.0, 0
    for x in xs:
        fraction, whole = math.modf(x)
        mantissa, exponent = math.frexp(whole)
        total += math.lgamma(1.0 + abs(fraction)) + mantissa
        bits += exponent
    return total, bits, math.fsum(xs)


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
    (caught_later, [(2.5,), (-2.0,), (0.0,), (200.0,)]),
    (pieces, [([1.25, -4.5, 1000.0],)]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_programs(program: Callable[..., Any], cases: list[Any], executor: str) -> None:
    staged, eager = on(executor, program), ag.convert(program)
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
    with pytest.raises(ValueError) as python:
        math.sqrt(-1.0)
    with pytest.raises(ValueError) as caught:
        fn(rt.constant(-1.0))
    assert str(caught.value).startswith(
        f"{__file__}:{line}: {python.value}\n"
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
    def scale(x, y):
        return math.ldexp(x, y)

    with pytest.raises(TypeError, match="a tensor of float32 cannot be interpreted as an integer"):
        scale(rt.constant(1.0), rt.constant(2.0))

    @rt.function
    def rows(x):
        return math.fsum(x)

    with pytest.raises(TypeError, match="rows of float32"):
        rows(rt.zeros([2, 2]))

    @rt.function
    def two(x):
        return math.gamma(x, x)

    with pytest.raises(TypeError, match="exactly one argument"):
        two(rt.constant(1.0))

    @rt.function
    def near(x):
        return math.isclose(x, 1.0, rel_tol=-x)

    with pytest.raises(ValueError, match="tolerances must be non-negative"):
        near(rt.constant(1.0))


def test_plain_values_are_pythons_affair() -> None:
    @ag.convert
    def fn(x):
        return math.sqrt(x), math.floor(x), math.trunc(x)

    assert fn(6.25) == (2.5, 6, 6)
    assert fn(rt.constant(6.25)) == (2.5, 6, 6)  # floats and ints, as in Python
