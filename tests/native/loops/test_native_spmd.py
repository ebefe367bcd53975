"""Loops over a number whose iterations run side by side in the lanes of registers: what they give, and when they do."""
from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from native_runs import Compared
from spmd_programs import program

import autograph as ag
import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.jit import executor
from runtime.backends.native.jit.compile import vector_bits

SIZES = (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 129, 200)


def how(fn: Callable[..., Any], dtype: rt.DType = rt.int32) -> list[str]:
    """What `explain_native` says of the loops that run in lanes, or nearly."""
    return said(rt.function(fn, executor="native").get_concrete_function(rt.TensorSpec([], dtype)))


def said(concrete: Any) -> list[str]:
    text = concrete.explain_native()
    return [line.split(": ", 1)[1] for line in text.splitlines() if "in lanes" in line]


def check(fn: Callable[..., Any], dtype: rt.DType = rt.int32, sizes: tuple[int, ...] = SIZES) -> None:
    """It runs in lanes, and gives what the reference executor gives."""
    at = Compared(fn, np.zeros([], dtype.np))
    assert [line.rsplit("reduce runs", 1)[-1].split(" ", 2)[2] for line in said(at.native)] == [
        "iterations at a time, in lanes"]
    for size in sizes:
        with np.errstate(all="ignore"):
            at(np.array(size, dtype.np))


@functools.cache
def made(seed: int) -> tuple[Compared, rt.DType]:
    text, dtype = program(seed)
    filename = f"<lanes {seed}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    namespace: dict[str, Any] = {"rt": rt, "ag": ag}
    exec(compile(text, filename, "exec"), namespace)
    found = getattr(rt, dtype)
    return Compared(namespace["run"], np.zeros([], found.np)), found


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    at, dtype = made(seed)
    for size in (0, 1, 31, 33, 64, 100, 127, 127 if dtype.size == 1 else 300):
        with np.errstate(all="ignore"):
            at(np.array(size, dtype.np))


def test_random_programs_run_in_lanes() -> None:
    """Most of the random programs are of the kind that they are meant to be: not those with an `or` of Python's ints
    that may be too large, which is a branch."""
    found = sum(any("at a time, in lanes" in line for line in said(made(seed)[0].native)) for seed in range(16))
    assert found >= (10 if vector_bits() >= 256 else 4)


def steps_of(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def all_steps(limit):
    total = 0
    for n in range(limit):
        total += steps_of(n + 1)
    return total


def longest(limit):
    """The first of those that take longest, and the last."""
    best, most, last, most_again, end = 1, 0, 1, 0, -1
    for n in range(1, limit):
        steps = steps_of(n)
        if steps > most:
            best, most = n, steps
        if steps >= most_again:
            last, most_again = n, steps
        end = steps
    return best, most, last, most_again, end


def nearest(limit):
    """Chosen by a float, of which one is NaN."""
    best, place = rt.constant(np.inf), -1
    for i in range(limit):
        x, k = rt.cast(i % 50, rt.float32), 0
        while k < 5 and x > 1.0:
            x = x / 2.0 - 0.75
            k += 1
        x = x / rt.cast(i % 50 - 3, rt.float32) * 0.0 + rt.abs(x)
        if x < best:
            best, place = x, i
    return best, place


def wraps(limit):
    total, product, small = rt.constant(2 ** 31 - 5), rt.constant(3, rt.int64), rt.constant(250, rt.uint8)
    for i in range(limit):
        k = i % 9
        while k > 0:
            total += rt.cast(i, rt.int32) * 1_000_003
            product *= rt.cast(2 * k + 1, rt.int64)
            small -= rt.cast(k, rt.uint8)
            k -= 1
    return total, product, small


def backwards(limit):
    total, most = 0, rt.constant(-2 ** 31)
    for i in range(limit, -5, -3):
        k = i
        while k > 10:
            k //= 3
            total ^= k
        most = rt.maximum(most, k - i)
    return total, most


def two_loops(limit):
    ups, downs, found, every = 0, 0, False, True
    for i in range(limit):
        k = i % 13
        while k > 0:
            k -= 2
            ups += 1
        j = i % 17 + k
        while j < 11:
            j += 3
            downs -= j
        found = found or j == 12
        every = every and j < 29
    return ups, downs, found, every


def nested(limit):
    total = 0
    for i in range(limit):
        k = i % 7
        while k > 0:
            k -= 1
            for j in range(i % 5 + k):
                total += i ^ j
                if j * k > 6:
                    break
    return total


def some_only(limit):
    """The loop is in a branch, and goes on at most so often."""
    total, others = 0, 0
    for i in range(limit):
        if i % 3 == 1:
            k = i
            while k % 10 != 4:
                ag.set_loop_options(maximum_iterations=6)
                k += 3
                total += k
        else:
            others |= i
    return total, others


def divides(limit):
    """In a lane that is through, the divisor is 0."""
    total = 0
    for i in range(limit):
        x, k = 100.0, i % 11
        while k > 0:
            x = x / rt.cast(k, rt.float32)
            k -= 1
        total += rt.cast(x, rt.int32)
    return total


def uniform(limit):
    """All iterations make as many turns, and the test is that of none."""
    total = 0
    for i in range(limit):
        for _ in range(limit % 7):
            total += i
    return total


CHECKED = [all_steps, longest, nearest, wraps, backwards, two_loops, nested, some_only, divides, uniform]


@pytest.mark.parametrize("fn", CHECKED)
def test_programs(fn: Callable[..., Any]) -> None:
    check(fn)


@pytest.mark.parametrize("fn", CHECKED)
@pytest.mark.parametrize("bits", [128, 256, 512])
def test_registers_of_other_machines(fn: Callable[..., Any], bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is for vectors of any length: LLVM makes of them what the machine has."""
    monkeypatch.setattr(executor, "vector_bits", lambda: bits)
    check(fn, sizes=(0, 1, 40, 333))


def test_registers_of_two_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(n):
        turns = 0
        for k in range(n):
            x = k / 1.0
            while x > 1:
                x /= 2
                turns += 1
        return turns

    check(halved)
    monkeypatch.setattr(executor, "vector_bits", lambda: 128)
    assert how(halved)[0].endswith("does not run in lanes: a register has 2 lanes for its widest values")


@pytest.mark.parametrize(("fn", "dtype"), [(two_loops, rt.int16), (two_loops, rt.uint32), (all_steps, rt.uint32),
                                           (all_steps, rt.int64), (longest, rt.int64)])
def test_indices_of_other_dtypes(fn: Callable[..., Any], dtype: rt.DType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "vector_bits", lambda: max(vector_bits(), 256))
    check(fn, dtype)


@pytest.fixture
def use() -> Iterator[Callable[[int], None]]:
    before = rt.config.threading.get_intra_op_parallelism_threads()
    yield rt.config.threading.set_intra_op_parallelism_threads
    rt.config.threading.set_intra_op_parallelism_threads(before)


@pytest.mark.parametrize("fn", [longest, two_loops, wraps])
def test_number_of_threads(fn: Callable[..., Any], use: Callable[[int], None]) -> None:
    native = rt.function(fn, executor="native").get_concrete_function(rt.TensorSpec([], rt.int32))
    assert "@runtime_parallel" in native.inspect_llvm(optimized=False)
    found = []
    for count in (1, 2, 3):
        use(count)
        found.append([x.numpy().tobytes() for x in rt.nest.flatten(native(rt.constant(100_003)))])
    assert found[0] == found[1] == found[2]


def outer(limit):
    total, m = 0, rt.constant(0)
    while m < 5:
        for i in range(limit * m):
            k = i % 6
            while k > m:
                k -= 1
                total += i
        total = total * 3 + m
        m += 1
    return total


def test_within_a_loop() -> None:
    """The loop runs in lanes each time, from what is there then."""
    check(outer, sizes=(0, 1, 20, 100))


# What does not run in lanes

state = rt.Variable(0)


def adds_floats(n):
    total = 0.0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += 0.1
    return total


def prints(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += 1
        rt.print(total)
    return total


def asserts(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            assert k < 4, "too large"
        total += 1
    return total


def assigns(n):
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            state.assign_add(1)
    return state + 0


def breaks(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += 1
        if total > 100:
            break
    return total


def may_divide_by_zero(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += i // (k - 7)
    return total


def asks_for_its_sum(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0 and total < 100:
            k -= 1
            total += 1
    return total


def draws(n):
    total = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += rt.cast(rt.random.uniform([]) * 5.0, rt.int32)
    return total


def needs_the_last(n):
    last = 0
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            last = last * 2 + k
    return last


def two_of_a_kind(n):
    total = 1
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            total += k
        total *= 3
    return total


def swaps(n):
    a, b = 1, 2
    for i in range(n):
        k = i % 5
        while k > 0:
            k -= 1
            a, b = b, a
    return a, b


REFUSED = {
    adds_floats: "'total' adds up floats, whose order counts",
    prints: "its iterations have effects, whose order counts (print)",
    asserts: "its iterations have effects, whose order counts (raise)",
    assigns: "its iterations have effects, whose order counts (accumulate_variable)",
    breaks: "what is carried may end it",
    may_divide_by_zero: "an iteration may raise (floordiv)",
    asks_for_its_sum: "its iterations need 'total' from those before",
    draws: "its iterations have effects, whose order counts (random)",
    needs_the_last: "its iterations need 'last' from those before",
    two_of_a_kind: "its iterations need 'total' from those before",
    swaps: "its iterations need 'a' from those before",
}


@pytest.mark.parametrize("fn", REFUSED)
def test_what_does_not(fn: Callable[..., Any]) -> None:
    line, = how(fn)
    assert line == "reduce does not run in lanes: " + REFUSED[fn]


DIVISORS = (3, -3, 10, -10, 6, -2, -8, 7, 9973, 10**9 + 7, -10**9 - 7, 2**31 - 1, 2**40 + 12345, 2**53 + 1, 3**39,
            -620181110420314147, 2**62 + 1, 2**63 - 1, -2**63, 1 - 2**63)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_division_of_long_integers(divisor: int) -> None:
    """Of numbers of all sizes, and of those next to a multiple."""
    def both(n):
        total = rt.constant(0, rt.int64)
        for k in range(n):
            v = rt.cast(k, rt.int64) * 6364136223846793005 + 1442695040888963407
            turns = 0
            while turns < 9 + k % 4:
                total += v // divisor * 31 + v % divisor * 1000003
                w = v // 4096 * divisor
                total += w // divisor * 37 + w % divisor * 1000033
                w -= 1
                total += w // divisor * 41 + w % divisor * 1000037
                w += 2
                total += w // divisor * 43 + w % divisor * 1000039
                v = v // 32 + k
                turns += 1
        return total

    check(both, rt.int64, (0, 1, 17, 100))
    concrete = rt.function(both).get_concrete_function(rt.TensorSpec([], rt.int64))
    total = 0
    for k in range(17):
        v = wrapped(k * 6364136223846793005 + 1442695040888963407)
        for _ in range(9 + k % 4):
            near = wrapped(v // 4096 * divisor)
            for w, a, c in ((v, 31, 1000003), (near, 37, 1000033), (wrapped(near - 1), 41, 1000037),
                            (wrapped(near + 1), 43, 1000039)):
                total += w // divisor * a + w % divisor * c
            v = v // 32 + k
    assert concrete(rt.constant(17, rt.int64)).numpy() == wrapped(total)


def wrapped(x: int) -> int:
    return (x + 2**63) % 2**64 - 2**63


def test_what_is_no_such_loop() -> None:
    """No loop within, arrays, lists: nothing is said."""
    def flat(n):
        total = 0
        for i in range(n):
            total += i * i
        return total

    def of_arrays(n):
        x = rt.zeros([8])
        for i in range(n):
            k = i % 5
            while k > 0:
                k -= 1
                x = x[::-1] + 1.0
        return x

    def listed(n):
        found = []
        for i in range(n):
            k = i
            while k > 9:
                k //= 2
            found.append(k)
        return rt.stack(found)

    assert how(flat) == how(of_arrays) == how(listed) == []


def test_explained() -> None:
    text = rt.function(all_steps, executor="native").get_concrete_function(rt.constant(5)).explain_native()
    count = 2 * vector_bits() // 64
    line = all_steps.__code__.co_firstlineno + 2
    assert f"{__file__}:{line}: reduce runs {count} iterations at a time, in lanes" in text.replace("  ", "")
