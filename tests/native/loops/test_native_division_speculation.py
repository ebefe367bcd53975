"""Scalar loops whose steps wait for a division: they go on with quotients that they foresee, to the same bits."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import compare

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

native_compile = pytest.importorskip("runtime.backends.native.jit.compile")
needs_fma = pytest.mark.skipif(not native_compile.has_fma(), reason="needs a processor that has FMA")


def damped(x, c, n):
    """Hardly ever anything but what was foreseen."""
    i = 0
    while i < n and abs(x * x - 2) > 1e-6:
        x -= c * (x * x - 2) / (2 * x)
        i += 1
    return x, i


def undamped(x, c, n):
    """Never what was foreseen, at first."""
    for _ in range(n):
        x = x - (x * x * x - c) / (3 * x * x)
    return x


def wild(x, c, n):
    """Divisors that jump, by way of infinities and zeros."""
    for i in range(n):
        x = c - x / (x - 1) if i % 7 else x + c / (x - x)
    return x


def broken(x, c, n):
    for _ in range(n):
        x += c / (x + 1)
        if x > 3:
            break
    return x


def with_else(x, c, n):
    late = False
    for _ in range(n):
        if x < -2:
            break
        x = x - c / (x * x + 1)
    else:
        late = True
    return x, late


def two(x, c, n):
    """The second quotient depends on the first."""
    y = c
    for i in range(n):
        y = y + c * (x / (y + 2) - y)
        x = x - c * y / (x + 3 + i / 100)
    return x, y


def constant(x, c, n):
    """A divisor that stays."""
    for _ in range(n):
        x = x - (x - c) / 1000.5
    return x


def counted(x, c, n):
    """Integers and bools that depend on quotients."""
    hits, above = 0, False
    for _ in range(n):
        q = c / (x * x + 1)
        x = x + q
        above = x > 2
        if above:
            hits += 1
            x = x - 2
    return x, hits, above


def nested(x, c, n):
    total = x
    for i in range(n):
        y, turns = x + i, 0
        while abs(y * y - 3) > 0.1 and turns < 200:
            y = y - c * (y * y - 3) / (2 * y)
            turns += 1
        total += y
    return total


PROGRAMS = [damped, undamped, wild, broken, with_else, two, constant, counted, nested]


def explained(fn: Callable[..., Any], *arguments: Any) -> str:
    tensors = [rt.constant(x) for x in arguments]
    return rt.function(fn, executor="native").get_concrete_function(*tensors).explain_native()


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs(fn: Callable[..., Any], dtype: Any) -> None:
    for x, c, n in ((1.5, 0.01, 500), (1.5, 0.01, 0), (40, 1e-3, 1), (-0.5, 0.3, 100), (7, 1e-5, 3000)):
        compare(fn, dtype(x), dtype(c), np.int32(min(n, 20) if fn is nested else n))


@pytest.mark.parametrize("x", [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1.7e308], ids=str)
@pytest.mark.parametrize("fn", [undamped, wild, two, broken], ids=lambda fn: fn.__name__)
def test_edges(fn: Callable[..., Any], x: float) -> None:
    compare(fn, np.float64(x), np.float64(1e-3), np.int32(40))
    compare(fn, np.float64(1.5), np.float64(x), np.int32(40))


@needs_fma
def test_which() -> None:
    """Only loops that wait for a quotient on the way to a sum, and do nothing but arithmetic."""
    def harmonic(x, c, n):  # the next division does not wait
        for i in range(1, n):
            x += c / rt.cast(i, x.dtype)
        return x

    def ratio(x, c, n):  # nothing hides the last bits
        for _ in range(n):
            x = c / x
        return x

    def checked(x, c, n):
        for _ in range(n):
            rt.debugging.assert_positive(x)
            x = x + c / x
        return x

    arguments = np.float64(1.5), np.float64(0.01), np.int32(100)
    for fn in PROGRAMS:
        assert "foresees" in explained(fn, *arguments), fn.__name__
    for fn in (harmonic, ratio, checked):
        assert "foresees" not in explained(fn, *arguments), fn.__name__
    relaxed = rt.function(damped, executor="native", fast_math=True)
    concrete = relaxed.get_concrete_function(*[rt.constant(x) for x in arguments])
    assert "foresees" not in concrete.explain_native()


def random_value(rng: random.Random, values: list[Any], depth: int) -> Any:
    if not depth:
        return rng.choice([*values, 0.5, 2.0, rng.random() * 4 - 2])
    x, y = random_value(rng, values, depth - 1), random_value(rng, values, rng.randrange(depth))
    kind = rng.choice("+-*//w")
    if kind == "w":
        return rt.where(values[0] > y, x, rt.cast(y, values[0].dtype)) if hasattr(x, "dtype") else values[0]
    return x + y if kind == "+" else x - y if kind == "-" else x * y if kind == "*" else x / (y * y + values[0])


@pytest.mark.parametrize("seed", range(24))
def test_random(seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice([np.float32, np.float64])
    damping, depths = 10.0 ** -rng.randrange(6), [rng.randrange(1, 4), rng.randrange(1, 3)]
    stops = rng.random() < 0.4

    def fn(x, y, n):
        for _ in range(n):
            again = random.Random(seed)
            x, y = (x - random_value(again, [x, y], depths[0]) * damping,
                    y + random_value(again, [y, x], depths[1]) * damping)
            if stops and abs(x) > 50:
                break
        return x, y

    with np.errstate(all="ignore"):
        for x, y, n in ((1.5, -0.5, 300), (3, 20, 2), (-1, 0.25, 40)):
            compare(fn, dtype(x), dtype(y), np.int32(n))
