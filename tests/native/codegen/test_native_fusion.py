"""Loops over arrays in native code: which run block by block, memory that is used again in place, and random ones."""
from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_runs import compare, difference, line
from random_arrays import Recipe

import autograph as ag
import runtime as rt
from runtime.core.graph import Graph
from runtime.core.pruning import prune
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.function.execution.executors import make

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

SIZES = [1, 7, 31, 32, 33, 64, 65, 100, 257]  # a block has 32 elements of four bytes


# Block by block.

def mandelbrot(cr, ci):
    zr, zi = rt.zeros_like(cr), rt.zeros_like(ci)
    counts = rt.zeros_like(cr, rt.int32)
    alive = zr * zr + zi * zi <= 4.0
    i = 0
    while rt.reduce_any(alive) and i < 40:
        new = zr * zr - zi * zi + cr
        zi = rt.where(alive, 2.0 * zr * zi + ci, zi)
        zr = rt.where(alive, new, zr)
        alive = rt.logical_and(alive, zr * zr + zi * zi <= 4.0)
        counts += rt.cast(alive, rt.int32)
        i += 1
    return counts, zr, zi, i


def newton(a):
    x = rt.ones_like(a)
    open_ = a > 0.0
    while rt.reduce_any(open_):
        step = (x * x - a) / (2.0 * x)
        x = rt.where(open_, x - step, x)
        open_ = rt.logical_and(open_, rt.abs(step) > 1e-3)
    return x


def heat(x, n):
    v = rt.zeros_like(x)
    for _ in range(n):
        v = v - 0.01 * x
        x = x + 0.01 * v
    return x, v


def countdown(x):
    while rt.reduce_any(x > 0):
        x = rt.where(x > 0, x - 3, x)
    return x


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
def test_loops_of_elements(size: int, relaxed: bool) -> None:
    blocks = relaxed or size >= 32
    compare(mandelbrot, line(size), line(size, seed=1), blocks=blocks, relaxed=relaxed)
    compare(newton, line(size, 0.1, 50), blocks=blocks, relaxed=relaxed)
    compare(heat, line(size), 30, blocks=blocks, relaxed=relaxed)
    compare(countdown, np.arange(size, dtype=np.int32), blocks=blocks, relaxed=relaxed)


def test_blocks_of_matrices_and_other_dtypes() -> None:
    compare(mandelbrot, line(120).reshape(10, 12), line(120, seed=1).reshape(10, 12), blocks=True)
    compare(countdown, np.arange(90, dtype=np.int64).reshape(9, 10), blocks=True)
    compare(newton, line(100, 0.1, 9).astype(np.float64), blocks=True)
    compare(heat, np.linspace(-1, 1, 64), 7, blocks=True)
    compare(heat, line(64), 0, blocks=True)
    compare(countdown, -np.arange(70, dtype=np.int32), blocks=True)  # no iteration at all


def life(cells):
    i = 0
    while i < 8:
        around = rt.zeros_like(cells)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    around += rt.roll(cells, [dy, dx], [0, 1])
        cells = rt.cast(rt.logical_or(around == 3, rt.logical_and(around == 2, cells == 1)), rt.int32)
        i += 1
    return cells


def total_decides(x):
    while rt.reduce_sum(x) > 0.0:
        x = x - 1.0
    return x


def normalised(x, n):
    for _ in range(n):
        x = x / rt.reduce_max(rt.abs(x)) + 0.5
    return x


def scalar_of_array(x, n):
    s = 0.0
    for _ in range(n):
        x = x * 0.5
        s += x[0]
    return x, s


def reversed_each_time(x, n):
    for _ in range(n):
        x = x[::-1] + 1.0
    return x


def divides(x, n):
    for i in range(n):
        x = x // (i + 1) + 1
    return x


@pytest.mark.parametrize(("fn", "arguments"), [
    (life, [np.random.default_rng(0).integers(0, 2, (12, 13)).astype(np.int32)]), (total_decides, [line(64)]),
    (normalised, [line(64), 5]), (scalar_of_array, [line(64), 5]), (reversed_each_time, [line(64), 5]),
    (divides, [np.arange(64, dtype=np.int32), 5]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_what_cannot_run_by_blocks(fn: Callable[..., Any], arguments: list[Any]) -> None:
    compare(fn, *arguments, blocks=False)


# Loops in which a block that has nothing left to do would go on later: the check must notice.

def comes_back(x, n):
    """An element that has stopped goes on when its value is even, as others do."""
    i = 0
    alive = x > 0
    while rt.reduce_any(alive):
        x = rt.where(alive, x - 1, x + 1)
        alive = x > 0
        i += 1
        if i >= n:
            alive = rt.zeros_like(alive)
    return x, i


def moves_when_stopped(x):
    """What has stopped still changes, from iteration to iteration."""
    while rt.reduce_any(x > 0):
        x = rt.where(x > 0, x - 1, x - 2)
    return x


def second_array(x, y):
    """The mask is of `x`; `y` changes whether it holds or not."""
    while rt.reduce_any(x > 0):
        x = rt.where(x > 0, x - 1, x)
        y = y * 0.5 + 1.0
    return x, y


def delayed(x, d):
    """What stopped starts again after a while, by another array that runs on."""
    while rt.reduce_any(x > 0):
        d = d - 1
        x = rt.where(x > 0, x - 1, rt.where(d == 0, 5, x))
    return x, d


def by_the_counter(x):
    """The counter alone decides that a block goes on."""
    i = 0
    while rt.reduce_any(x > 0):
        x = rt.where(rt.logical_or(x > 0, i == 20), x - 1, x)
        i += 1
    return x, i


def nan_stays(x):
    """NaN is not equal to itself, and is no change."""
    alive = x == x
    while rt.reduce_any(alive):
        x = rt.where(alive, rt.sqrt(x - 1.0), x)
        alive = rt.logical_and(alive, x == x)
    return x


def flips_sign(x):
    """A zero whose sign changes is a change."""
    alive = x > 0.0
    while rt.reduce_any(alive):
        x = rt.where(alive, rt.maximum(x - 1.0, 0.0), -x)
        alive = rt.logical_and(alive, x > 0.0)
    return x


@pytest.mark.parametrize("size", [33, 64, 96, 200])
@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
def test_what_must_run_again(size: int, relaxed: bool) -> None:
    steps = np.arange(size, dtype=np.int32) // 32  # blocks that need 0, 1, 2 ... iterations
    for x in (steps, steps[::-1].copy(), np.where(steps == 1, 30, 0).astype(np.int32)):
        compare(comes_back, x, 12, relaxed=relaxed)
        compare(moves_when_stopped, x, relaxed=relaxed)
        compare(second_array, x, line(size), relaxed=relaxed)
        compare(delayed, x, np.full(size, 3, np.int32), relaxed=relaxed)
        compare(by_the_counter, x, relaxed=relaxed)
        compare(nan_stays, x.astype(np.float32), relaxed=relaxed)
        compare(flips_sign, x.astype(np.float32), relaxed=relaxed)


def test_a_block_that_fails_the_check_is_noticed() -> None:
    """The loops above that run block by block give what they give array by array: so the second run took place."""
    native = rt.function(moves_when_stopped, executor="native")
    x = np.r_[np.zeros(32, np.int32), np.full(32, 3, np.int32)]
    assert "block by block" in native.explain_native(rt.constant(x))
    assert native(rt.constant(x)).numpy().tolist() == [-6] * 32 + [0] * 32


def test_explain_native() -> None:
    def fused(x, y):
        return rt.reduce_mean((rt.tanh(x) * y + rt.exp(-x)) / (1.0 + rt.abs(y)))

    def counted(xs):
        values = rt.unique(xs).y
        print(values)
        return rt.abs(values)

    def halves(n):
        while n > 1:
            n = n // 2
        return n

    def explained(fn: Callable[..., Any], *arguments: Any) -> str:
        return rt.function(fn, executor="native").explain_native(*map(rt.constant, arguments))

    here = Path(__file__)
    assert explained(fused, line(100), line(100)) == (
        "fused: one native function of 12 ops\n"
        "  one loop over [100]: tanh, multiply, negative, exp, 2 add, abs, divide, reduce_sum\n"
        "  nothing calls Python")
    assert explained(counted, np.ones(3, np.complex64)) == (
        "counted: one native function of 3 ops\n"
        f"  {here}:{counted.__code__.co_firstlineno + 1}: unique calls Python: the order of complex numbers\n"
        f"  {here}:{counted.__code__.co_firstlineno + 2}: print calls Python: no lowering")
    assert explained(halves, 7) == "halves: one native function of 5 ops\n  nothing calls Python"
    assert explained(countdown, np.arange(64, dtype=np.int32)).splitlines()[-2:] == [
        f"  {here}:{countdown.__code__.co_firstlineno + 1}: while_loop runs block by block, in registers",
        "  nothing calls Python"]


def test_inspect_native_code() -> None:
    @rt.function(executor="native")
    def halves(n):
        while n > 1:
            n = n // 2
        return n

    text = halves.inspect_llvm(rt.constant(7))
    assert "define i32 @body" in halves.concrete_functions[-1].inspect_llvm(optimized=False)
    assert " i32 @body(" in text and "phi i32" in text
    assert "body:" in halves.inspect_asm()


# Loop state in place.

def swapped(a, b, n):
    for _ in range(n):
        a, b = b, a
    return a, b


def rotated(a, b, c, n):
    for _ in range(n):
        a, b, c = b + 0.0, c, a * 2.0
    return a, b, c


def mixed(a, b, n):
    for _ in range(n):
        a, b = a + b, a - b
    return a, b


def crossed(a, b, n):
    for _ in range(n):
        a, b = b[::-1] * 0.5, a[::-1] + 1.0
    return a, b


def shifted(x, n):
    for _ in range(n):
        x = rt.concat([x[1:] + x[:-1], x[:1]], 0)
    return x


def smoothed(x, n):
    for _ in range(n):
        x = rt.pad(0.5 * (x[2:] + x[:-2]), [[1, 1]])
    return x


def turned(x, n):
    for _ in range(n):
        x = rt.transpose(x) * 0.5 + x
    return x


def only_turned(x, n):
    for _ in range(n):
        x = rt.transpose(x)
    return x


def captures(x, n):
    y = x + 0.0
    for _ in range(n):
        y = y + x
    return y, x


def keeps_first(x, n):
    first = x
    for _ in range(n):
        x = x * 0.5 + first
    return x, first


def set_items(x, n):
    for i in range(n):
        x[i] = x[i - 1] * 0.5
        x[-1] = x[0]
    return x


def set_and_keep(x, n):
    old = x
    for i in range(n):
        old = x
        x[i] = 9.0
    return x, old


def set_rows(x, n):
    for i in range(n):
        x[i] = x[i - 1] + x[:, i]
    return x


def overlapping(x, n):
    for _ in range(n):
        x[1:] = x[:-1]
    return x


def row_and_total(x, n):
    total = rt.zeros_like(x[0])
    for i in range(n):
        total = total + x[i]
        x = x + total
    return x, total


def nested(x, n):
    for i in range(n):
        y = x
        for _ in range(i):
            y = y[::-1] + x
        x = y * 0.5
    return x


def chosen(x, y, n):
    for i in range(n):
        if i % 2 == 0:
            x = x + y
        else:
            y = x[::-1]
    return x, y


def chosen_swap(x, y, n):
    for i in range(n):
        if i % 3 != 0:
            x, y = y, x
        else:
            x[0] = 5.0
    return x, y


def grows(x, n):
    for _ in range(n):
        x = rt.concat([x, x[:1] * 0.5], 0)
    return x


def shrinks(x, n):
    while rt.size(x) > n:
        x = x[1:] - x[:-1]
    return x


def matrix_power(x, n):
    y = x
    for _ in range(n):
        y = rt.matmul(y, x) * 0.25
    return y


def collected(x, n):
    rows = []
    for i in range(n):
        x = x * 0.5
        rows.append(x)
        rows.append(x[::-1])
    return rt.stack(rows)


A, B, C, M = line(6), line(6, seed=1), line(6, seed=2), line(25).reshape(5, 5)
IN_PLACE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (swapped, (A, B)), (rotated, (A, B, C)), (mixed, (A, B)), (crossed, (A, B)), (shifted, (A,)), (smoothed, (A,)),
    (turned, (M,)), (only_turned, (M,)), (captures, (A,)), (keeps_first, (A,)), (set_items, (A,)), (set_and_keep, (A,)),
    (set_rows, (M,)), (overlapping, (A,)), (row_and_total, (M,)), (nested, (A,)), (chosen, (A, B)),
    (chosen_swap, (A, B)),
    (grows, (A,)), (shrinks, (A,)), (matrix_power, (M,)), (collected, (A,)),
]


@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(("fn", "arguments"), IN_PLACE, ids=lambda x: getattr(x, "__name__", ""))
def test_state_in_place(fn: Callable[..., Any], arguments: tuple[Any, ...], relaxed: bool) -> None:
    given = [a.copy() for a in arguments]
    for n in (0, 1, 2, 5):
        if fn is shrinks and n == 0:
            continue
        if fn is matrix_power:  # sums in another order
            native, reference = ([rt.function(fn, executor=e)(rt.constant(M), rt.constant(n)).numpy()][0]
                                 for e in ("native", "numpy"))
            np.testing.assert_allclose(native, reference, rtol=1e-4, atol=1e-6)
        else:
            compare(fn, *arguments, n, relaxed=relaxed)
    for a, before in zip(arguments, given, strict=True):
        np.testing.assert_array_equal(a, before)


def test_arguments_and_captured_arrays_stay_as_they_are() -> None:
    kept = rt.constant(A)

    @rt.function(executor="native")
    def f(x, n):
        y = kept
        for i in range(n):
            x[i] = y[i] + 1.0
            y = y * 2.0
            y[0] = 3.0
        return x, y

    x = rt.constant(B)
    first = [r.numpy().copy() for r in f(x, rt.constant(4))]
    second = f(x, rt.constant(4))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b.numpy())
    np.testing.assert_array_equal(x.numpy(), B)
    np.testing.assert_array_equal(kept.numpy(), A)
    assert not np.shares_memory(second[0].numpy(), x.numpy())


def test_results_do_not_share_memory_that_a_later_call_writes() -> None:
    @rt.function(executor="native")
    def f(x, n):
        y = x
        for _ in range(n):
            x, y = y * 2.0, x
        return x, y, x[1:], rt.transpose(rt.stack([x, y]))

    first = f(rt.constant(A), rt.constant(3))
    before = [r.numpy().copy() for r in first]
    for k in range(3):
        f(rt.constant(B + k), rt.constant(5))
    for a, b in zip(before, first, strict=True):
        np.testing.assert_array_equal(a, b.numpy())


# Random loops.

class Loop:
    """A random loop whose state is two int32 matrices of one shape, a vector and a number; it uses the counter and an
    array from outside."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        self.size = r.choice([2, 3, 5, 6])
        shapes = [[self.size, self.size], [self.size, self.size], [self.size], [], [], [self.size, self.size]]
        self.body = Recipe(seed, shapes, r.randint(4, 22))
        self.inputs = self.body.inputs
        self.next = [self.matching(k) for k in range(4)]
        self.counted = r.random() < 0.6
        self.branch = r.random() < 0.4
        self.swap = r.random() < 0.3
        self.iterations = r.choice([0, 1, 2, 3, 7])

    def matching(self, k: int) -> int:
        """A value of the shape of state `k`; its own, if there is no other."""
        shape = self.body.shape(k)
        found = [j for j in range(len(self.body.values)) if self.body.shape(j) == shape]
        if shape and self.random.random() < 0.5:
            op = self.random.choice([
                lambda x: x[::-1], lambda x: rt.transpose(x), lambda x: rt.roll(x, 1, 0),
                lambda x: x + 1, lambda x: rt.concat([x[1:], x[:1]], 0)])
            return self.body.add(op, self.random.choice(found))
        return self.random.choice(found[-4:])

    def step(self, i: Any, state: list[Any], outside: Any) -> list[Any]:
        values = [*state, i, outside]
        for fn, operands in self.body.steps:
            values.append(fn(*[values[k] for k in operands]))
        a, b, c, d = (values[k] for k in self.next)
        return [b, a, c, d] if self.swap else [a, b, c, d]

    @ag.do_not_convert
    def __call__(self, a: Any, b: Any, c: Any, d: Any, n: Any, outside: Any) -> list[Any]:
        def body(i: Any, *state: Any) -> tuple[Any, ...]:
            new = self.step(i, list(state), outside)
            if self.branch:
                other = [state[1], state[0] + 1, state[2], state[3]]
                new = rt.cond(rt.equal(i % 2, 0), lambda: tuple(new), lambda: tuple(other))
            return (i + 1, *new)

        def test(i: Any, *state: Any) -> Any:
            if self.counted:
                return i < n
            return rt.logical_and(i < n, rt.reduce_sum(state[2]) != 3)

        return list(rt.while_loop(test, body, (rt.constant(0), a, b, c, d)))


def check_loop(seed: int) -> None:
    loop = Loop(seed)
    arguments = [*loop.inputs[:4], np.int32(loop.iterations), loop.inputs[5]]
    for relaxed in (False, True):
        graph = Graph("loop")
        with tracing(graph):
            types = [TensorType(rt.int32, (None,) * a.ndim if relaxed else a.shape) for a in arguments]
            try:
                set_outputs(graph, loop(*[add_input(graph, t) for t in types]))
            except rt.errors.StagingError:
                assert relaxed  # a state whose rank or shape is not the same
                continue
        prune(graph)
        graph.verify()
        results = []
        for executor in ("numpy", "native"):
            try:
                results.append(make(graph, executor).function()(*arguments))
            except rt.errors.ShapeError as error:
                assert relaxed
                results.append((str(error),))
        want, got = results
        for g, w in zip(got, want, strict=True):
            found = difference(g, w) if not isinstance(w, str) else None if g == w else f"{g}, not {w}"
            assert found is None, f"seed {seed}, {'unknown' if relaxed else 'known'} dims: {found}\n{graph}"


@pytest.mark.parametrize("start", range(0, 60, 15))
def test_random_loops(start: int) -> None:
    for seed in range(start, start + 15):
        check_loop(seed)


@pytest.mark.optimised
def test_many_loops_are_functions_of_their_own() -> None:
    """LLVM's time for a function grows faster than the number of its loops."""
    def chain(x, i, k):
        for j, take in enumerate([rt.gather] * 120):  # over functions, so it is unrolled
            x = take(x, i)
            if j % 40 == 0:
                x = x + x[k]
        return x

    x, i = np.arange(100, dtype=np.float32), np.random.default_rng(0).permutation(100).astype(np.int32)
    f = rt.function(chain, executor="native")
    want = x
    for j in range(120):
        want = want[i]
        if j % 40 == 0:
            want = want + want[7]
    np.testing.assert_array_equal(f(rt.constant(x), rt.constant(i), rt.constant(7)).numpy(), want)
    line = chain.__code__.co_firstlineno + 4
    with pytest.raises(rt.errors.IndexOutOfRangeError, match=f":{line}: index 100 is out of bounds"):
        f(rt.constant(x), rt.constant(i), rt.constant(100))
    concrete = f.get_concrete_function(rt.constant(x), rt.constant(i), rt.constant(7))
    assert concrete.inspect_llvm().count("\ndefine ") > 1


def test_what_is_chosen_in_place_is_stored_without_a_mask() -> None:
    """On AVX2 such stores take 12 cycles on some processors; where registers of masks are AVX-512's, one."""
    @rt.function(executor="native")
    def f(x, lengths):
        h = rt.zeros([32, 128])
        for t in rt.range(100):
            h = rt.where(rt.expand_dims(t < lengths, 1), x + h, h)
        return h

    x, lengths = rt.ones([32, 128]), rt.constant(np.arange(32, dtype=np.int32))
    assert "vmaskmov" not in f.get_concrete_function(x, lengths).inspect_asm()
    np.testing.assert_array_equal(f(x, lengths).numpy(), np.repeat(np.arange(32.0)[:, None], 128, 1))
