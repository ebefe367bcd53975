"""Arrays put together of parts in native code: `roll`, `pad` and `concat` that are read where their parts are."""
from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import Compared, compare

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.jit.compile import vector_bits


def life(cells, n):
    for _ in range(n):
        around = rt.zeros_like(cells)
        for dy, dx in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
            around += rt.roll(cells, [dy, dx], [0, 1])
        cells = rt.cast((around == 3) | ((around == 2) & (cells == 1)), cells.dtype)
    return cells


def heat(u, n):
    for _ in range(n):
        inner = u[1:-1, 1:-1]
        spread = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
        u = rt.pad(inner + spread, [[1, 1], [1, 1]])
    return u


def padded_first(u, n):
    """What is added around is read, with a value other than 0 and another number of lines on each side."""
    for _ in range(n):
        wide = rt.pad(u, [[2, 1], [0, 3]], constant_values=5)
        u = wide[1:-2, 3:] - wide[3:, :-3] + u
    return u


def rest(u, n):
    change, i = u[0, 0] * 0 + 1, 0
    while change > 0 and i < n:
        inner = u[1:-1, 1:-1]
        new = inner // 2 + (u[:-2, 1:-1] - u[1:-1, 2:]) // 4 if u.dtype.is_integer else 0.5 * inner + 0.2 * u[2:, 2:]
        change = rt.reduce_max(rt.abs(new - inner))
        u = rt.pad(new, [[1, 1], [1, 1]])
        i += 1
    return u, change, i


def stored_ahead(u, n):
    """What the next state is, or is around, is needed in memory before: by a reduction, an item, another loop."""
    low, first, v, w = u[0, 0], u[0, 0], u + 1, u
    for _ in range(n):
        u = u * 2 - u[:1] * v
        low, first = rt.reduce_min(u), u[1, 0]
        inner = v[:, 1:-1] * 2 - low
        while rt.reduce_max(inner) > 50:
            inner = inner // 2 - 1 if u.dtype.is_integer else inner * 0.5 - 1.0
        v = rt.pad(inner, [[0, 0], [2, 0]], constant_values=3)
        w = rt.where(w > first, u, w) + rt.reduce_max(w, keepdims=True)
        u, w = (w, u) if low > 7 else (u, w)
    return u, v, w, low, first


def swapped_after(u, n):
    """The states change places after each was reduced."""
    v, top = u + 3, u[0, 0]
    for _ in range(n):
        x, y = u * 3 - v, rt.pad(v[1:, :] * 2 - u[1:, :], [[1, 0], [0, 0]])
        top = rt.reduce_max(x) - rt.reduce_min(y)
        u, v = y, x
    return u, v, top


def rolled_and_summed(u, n):
    """Its parts are read by what cannot read them where they are."""
    s = u[0, 0]
    for _ in range(n):
        v = rt.roll(u, 3, 1)
        s += rt.reduce_max(v * u) + rt.roll(v, -2, 0)[1, 2]
        u = rt.transpose(rt.transpose(v)) + rt.reshape(rt.roll(u, 1, 0), u.shape)
    return u, s


def two_states(u, n):
    v = u
    for _ in range(n):
        u, v = u + rt.roll(v, 1, 1), v - rt.roll(u, -1, 0)
    return u, v


def one_in_place(u, n):
    """`v` is written where it is, and reads `w` around."""
    v, w = u, u + 1
    for _ in range(n):
        v = v + rt.roll(w, [1, 1], [0, 1])
        w = w * 2
    return v, w


def of_three(u, n):
    for _ in range(n):
        u = rt.concat([u[:, -2:], u[:, 1:-3], u[:, :2]], 1)[:, 1:-1] + rt.concat([u[1:], u[:1]], 0)[:, 2:]
        u = rt.pad(u, [[0, 0], [1, 1]])
    return u


def set_inside(u, n):
    """Items that are computed of their neighbours; also where the state was given to another, and of a column."""
    v = u * 1
    for _ in range(n):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] * 2 - u[:-2, 1:-1] + u[1:-1, 2:]
        w = u * 1
        u[:, 2:4] = u[:, 1:3] + u[:, :2]
        u[3:, :] = u[3:, :] - u[:-3, :]
        u[2:3] = u[:1] * 3
        w[:] = w * 2
        v[1:, :-1] = w[:-1, 1:] - v[1:, :-1]
        u = u + v
    return u, v


def views_of_parts(u, n):
    for _ in range(n):
        v = rt.roll(u, 5, 1)
        u = u + v[::-1] + v[:, ::-1] + v[1:2] + v[:, 6:7] + v[2][None] + rt.roll(v, 1, 0)[:1]
    return u


PROGRAMS = [life, heat, padded_first, rest, stored_ahead, swapped_after, rolled_and_summed, two_states, one_in_place,
            of_three, set_inside, views_of_parts]
SHAPES = [(16, 16), (5, 64), (4, 65), (9, 130), (300, 7), (140, 33), (3, 513), (6, 7)]  # few elements are copied


DTYPES = [np.float32, np.int32, np.uint8, np.float64]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs(fn: Callable[..., Any], dtype: Any) -> None:
    if fn in (rest, stored_ahead) and dtype is np.uint8:
        pytest.skip("abs and less than 0 say nothing of uint8")
    for shape in SHAPES[(PROGRAMS.index(fn) + DTYPES.index(dtype)) % 2::2]:  # each shape with two dtypes
        rng = np.random.default_rng(0)
        x = (rng.integers(0, 2, shape) if fn is life else rng.integers(0, 100, shape)).astype(dtype)
        at = Compared(fn, x, 0)
        for n in (0, 3):
            at(x, n)


def test_of_one_and_three_dimensions() -> None:
    def line(x, n):
        for _ in range(n):
            x = 0.25 * rt.roll(x, 1, 0) + 0.5 * x + 0.25 * rt.roll(x, -1, 0)
        return x

    def cube(x, n):
        for _ in range(n):
            x = x + rt.roll(x, [1, -2, 3], [0, 1, 2]) * 0.5 - rt.pad(x[1:, :, :-1], [[0, 1], [0, 0], [1, 0]])
        return x

    rng = np.random.default_rng(0)
    for size in (255, 256, 257, 1000):
        compare(line, rng.random(size, np.float32), 5)
    for shape in ((4, 5, 33), (8, 9, 10), (2, 3, 64)):
        compare(cube, rng.random(shape, np.float32), 3)


def test_shifts_of_all_sizes() -> None:
    x = np.arange(7 * 64, dtype=np.int16).reshape(7, 64)
    for by in (-65, -64, -63, -1, 0, 1, 31, 32, 33, 63, 64, 129):
        (got,) = compare(lambda x, by=by: rt.roll(x, by, 1) + rt.roll(x, by, 0), x)
        np.testing.assert_array_equal(got, np.roll(x, by, 1) + np.roll(x, by, 0))
    (got,) = compare(lambda x: rt.roll(x, [3, 5], [1, 1]), x)
    np.testing.assert_array_equal(got, np.roll(x, 8, 1))


def test_one_loop_without_copies() -> None:
    """A step of life is one loop: besides the state there is no memory, and before and after it one copy each."""
    cells = rt.TensorSpec([64, 64], rt.uint8)
    concrete = rt.function(life, executor="native").get_concrete_function(cells, rt.TensorSpec([], rt.int32))
    assert concrete.explain_native() == (
        f"life: one native function of {sum(1 for _ in concrete.optimized.walk())} ops\n"
        "  one loop over [64,64]: 7 add, 3 equal, bitwise_and, bitwise_or, cast\n"
        "  nothing calls Python")
    text = concrete.inspect_llvm(optimized=False)
    assert text.count("call void @llvm.memcpy") == 2  # the first value of the state, and the result
    assert f"load <{vector_bits() // 8} x i8>" in text


def test_what_is_reduced_is_stored_where_it_stays() -> None:
    """A step of heat that asks how much changed is one loop, too, and copies nothing."""
    u = rt.TensorSpec([64, 64], rt.float32)
    concrete = rt.function(rest, executor="native").get_concrete_function(u, rt.TensorSpec([], rt.int32))
    loops = [line for line in concrete.explain_native().splitlines() if "one loop over" in line]
    assert len(loops) == 1 and loops[0].endswith("abs, reduce_max"), loops
    text = concrete.inspect_llvm(optimized=False)
    assert text.count("call void @llvm.memcpy") == 2
    following = re.findall(r"phi ptr \[ %\w+, %\w+ \], \[ (%\w+), %\w+ \]", text)
    assert any(f"  {x} = select i1" in text for x in following), "the two memories of the state change places"


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=lambda d: d.__name__)
def test_greatest_absolute_value(dtype: Any) -> None:
    """It is found by the bits as integers: of NaN of either sign, which is above infinity, and of zeros."""
    def greatest(x):
        size = rt.abs(x)
        return rt.reduce_max(size), rt.reduce_max(size, 0), rt.reduce_max(rt.abs(x * 2), 1, keepdims=True)

    def with_the_rest(x):
        size = rt.abs(x * x * x - x * 3 + 1)
        return size, rt.reduce_max(size), rt.reduce_max(rt.abs(x[::-1]))

    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (70, 130), (130, 64)):
        x = rng.uniform(-9, 9, shape).astype(dtype)
        ways = [Compared(fn, x) for fn in (greatest, with_the_rest)]
        for special in ([], [np.nan], [-np.nan], [np.inf], [-np.inf, np.nan], [-np.inf]):
            y = x.copy()
            y.flat[:len(special)] = special
            for at in ways:
                with np.errstate(invalid="ignore"):
                    at(y)
        for y in (np.full(shape, -0.0, dtype), -np.abs(x)):
            ways[0](y)

    def of_none(x):
        return rt.reduce_max(rt.abs(x), 0)

    compare(of_none, np.zeros((0, 3), dtype))
    compare(of_none, np.zeros((0, 3), dtype), relaxed=True)
    compare(of_none, np.zeros(0, dtype))


def test_greatest_absolute_value_is_one_of_integers() -> None:
    for fn, found in ((lambda x: rt.reduce_max(rt.abs(x)), True), (lambda x: rt.reduce_min(rt.abs(x)), False),
                      (lambda x: rt.reduce_max(x), False), (lambda x: rt.reduce_max(rt.abs(x) - 1), False)):
        concrete = rt.function(fn, executor="native").get_concrete_function(rt.TensorSpec([640], rt.float32))
        assert ("llvm.smax" in concrete.inspect_llvm(optimized=False)) is found


def test_what_is_read_at_once_is_not_copied() -> None:
    """The next state is in memory before the iteration ends: then the two memories change places."""
    def first_of_each(x, n):
        total = 0.0
        for _ in range(n):
            x = (x * x + 1.0) / (x * x + 2.0) / (x * x + 3.0) - x / 2.0
            total += x[0]
        return x, total

    x = np.linspace(-1, 1, 300, dtype=np.float32)
    compare(first_of_each, x, 3)
    concrete = rt.function(first_of_each, executor="native").get_concrete_function(
        rt.TensorSpec([300], rt.float32), rt.TensorSpec([], rt.int32))
    text = concrete.inspect_llvm(optimized=False)
    assert text.count("call void @llvm.memcpy") == 2 and "call void @llvm.memmove" not in text


def random_step(rng: random.Random, x: Any, depth: int) -> Any:
    """An expression of the shape of `x`, of shifts, paddings and parts."""
    kind = rng.choice(["roll", "pad", "cut", "concat", "add", "mix"]) if depth else "leaf"
    if kind == "leaf":
        return x
    y = random_step(rng, x, depth - 1)
    rank, axis = len(x.shape), rng.randrange(len(x.shape))
    whole: list[Any] = [slice(None)] * rank
    size = x.shape[axis]
    by = rng.randrange(1, size)
    low, high = [*whole], [*whole]
    low[axis], high[axis] = slice(None, by), slice(by, None)
    if kind == "roll":
        return rt.roll(y, rng.randrange(-size, size), axis)
    if kind == "concat":
        return rt.concat([y[tuple(high)] * 3, y[tuple(low)]] if rng.random() < 0.3 else [y[tuple(high)], y[tuple(low)]],
                         axis)
    if kind == "pad":
        before, after = rng.randrange(3), rng.randrange(3)
        wide = rt.pad(y, [[before, after] if a == axis else [0, 0] for a in range(rank)],
                      constant_values=rng.randrange(4))
        first = rng.randrange(before + after + 1)
        low[axis] = slice(first, first + size)
        return wide[tuple(low)]
    if kind == "cut":
        part = y[tuple(low)]
        return rt.pad(part, [[size - by, 0] if a == axis else [0, 0] for a in range(rank)])
    z = random_step(rng, x, depth - 1)
    return y + z if kind == "add" else rt.where(y > 0, y - x, z)


@pytest.mark.parametrize("seed", range(12))
def test_random(seed: int) -> None:
    rng = random.Random(seed)
    shape = rng.choice([(17, 40), (3, 130), (4, 5, 20), (400,), (260, 2), (2, 2, 70), (33, 16)])
    depths = [rng.randrange(1, 5), rng.randrange(1, 4)]

    def fn(x, y, n):
        for _ in range(n):
            again = random.Random(seed)
            x, y = random_step(again, x, depths[0]), random_step(again, y, depths[1]) + x
        return x, y

    x = np.random.default_rng(seed).integers(-50, 50, shape).astype(rng.choice([np.int32, np.int8, np.float32]))
    compare(fn, x, x + 1, 3)
