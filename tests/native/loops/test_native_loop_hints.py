"""What LLVM is told about loops on items: trip counts, what not to unroll or vectorise. And where they do not poll."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.native.loops import in_bounds


def moved(x, k):
    for i in range(len(x) - 1):
        x[i + 1] = x[i] + k
    return x


def bubbled(x, k):
    j, n = 0, len(x)
    while j < n - 1:
        if x[j] > x[j + 1] + k:
            x[j], x[j + 1] = x[j + 1], x[j]
        j += 1
    return x


def every_third(x, k):
    for i in range(0, len(x), 3):
        x[i] = k
    return x


def every_kth(x, k):
    i, n = 0, len(x)
    while i < n:
        x[i] = 5
        i += k
    return x


def column(x, k):
    y = np.reshape(x, (-1, 2))
    for i in range(len(y)):
        y[i, 1] = k
    return y


def filled(x, k):
    i = len(x) - 1
    while i >= 0:
        x[i] = k
        i -= 1
    return x


def numbered(x, k):
    for i in range(len(x) // 2):
        x[2 * i] = i + k
    return x


def some_of(x, k):
    for i in range(len(x) // 2):
        if x[i] > k:
            x[2 * i] = 1
    return x


@pytest.mark.parametrize(("f", "in_turn", "scatters"), [
    (moved, False, False), (bubbled, True, False), (every_third, False, True), (every_kth, False, True),
    (column, False, True), (filled, False, False), (numbered, False, False), (some_of, False, False)])
def test_hints(f: Callable[..., Any], in_turn: bool, scatters: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM unrolls no loop whose iterations wait for each other and branch, and vectorises none that only sets items
    that are not side by side. Where the step is 1, back edges test for equality, so that LLVM knows the trip count."""
    plans: list[in_bounds.Plan] = []
    mark = in_bounds.Plan.mark
    monkeypatch.setattr(in_bounds.Plan, "mark", lambda plan, *args: plans.append(plan) or mark(plan, *args))
    specs = [rt.TensorSpec([None], rt.int64), rt.TensorSpec([], rt.int64)]
    native = rt.function(f, input_signature=specs, executor="native")
    for size in 0, 2, 12, 40:
        x = np.arange(size)[::-1] % 7
        want = f(x.copy(), 4)
        np.testing.assert_array_equal(native(rt.constant(x), rt.constant(4, rt.int64)), want)
    assert [(plan.in_turn, plan.scatters) for plan in plans] == [(in_turn, scatters)]
    text = native.get_concrete_function().inspect_llvm(optimized=False)
    edges = re.findall(r"(%\S+) = icmp (\w+) i64 .*\n  br i1 \1, label %(?:for|while)\d+, label %rest.*\n", text)
    assert [relation for _, relation in edges] == ["slt" if f is every_kth else "ne"]
    assert ("llvm.loop.vectorize.enable" in text) == scatters
    assert ("llvm.loop.unroll.runtime.disable" in text) == in_turn


@pytest.mark.parametrize(("size", "step"), [(9, 1), (9, -2), (None, 1), (1 << 21, 1)])
def test_a_walk_along_a_short_axis_does_not_poll(size: int | None, step: int) -> None:
    def places(x, limits):
        total = 0
        for k in range(len(limits)):
            i = 0
            while x[i] < limits[k]:
                i += step
            total += i
        return total

    specs = [rt.TensorSpec([size], rt.float64), rt.TensorSpec([None], rt.float64)]
    f = rt.function(places, input_signature=specs, executor="native")
    text = f.get_concrete_function().inspect_llvm(optimized=False)
    (walk,) = re.findall(r"^while\d+:\n(?:.+\n)+?  br label %while\d+\n", text, re.M)
    assert ("runtime_signals" in walk) == (size != 9)
    x = np.zeros(size or 9)
    x[:9] = np.arange(0.0, 18.0, 2.0)
    limits = [0.0, 3.0, 16.0 if step == 1 else 14.0, -1.0]
    assert int(f(rt.constant(x), rt.constant(limits, rt.float64))) == places(x, limits)
    with pytest.raises(IndexError):
        f(rt.constant(np.zeros(size or 9)), rt.constant([1.0], rt.float64))


@pytest.mark.parametrize("factor", [1, 2**16, 2**30])
def test_an_index_that_wraps_may_stand_still(factor: int) -> None:
    """Multiples of an int32 wrap: a loop that takes one item for ever has to poll."""
    def last(x, k):
        i = rt.constant(0)
        while x[i * factor * factor] < k:
            i += 1
            k -= 1
        return k

    specs = [rt.TensorSpec([9], rt.int64), rt.TensorSpec([], rt.int64)]
    f = rt.function(last, input_signature=specs, executor="native")
    text = f.get_concrete_function().inspect_llvm(optimized=False)
    (walk,) = re.findall(r"^while\d+:\n(?:.+\n)+?  br label %while\d+\n", text, re.M)
    assert ("runtime_signals" in walk) == (factor > 1)
    if factor > 1:
        assert int(f(rt.zeros([9], rt.int64), rt.constant(1000, rt.int64))) == 0


def test_an_overflow_check_of_one_path_asks_for_the_path_last() -> None:
    def steps(a, scale):
        x, count = len(a) * scale, 0
        while x > 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            count += 1
        return count

    def native(scale):
        spec = rt.TensorSpec([None], rt.int64)
        return rt.function(lambda a: steps(a, scale), input_signature=[spec], executor="native")

    text = native(1).get_concrete_function().inspect_llvm()
    assert ", !prof" in text
    assert not re.search(r"(%\w+) = or i1 .*\n(.*\n)?.* xor i1 \1, true", text)
    for size, scale in ((27, 1), (1, 2**62)):  # of which the path that is not taken would overflow
        assert native(scale)(np.zeros(size, int)) == steps(range(size), scale)
    with pytest.raises(OverflowError):
        native(2**62 - 1)(np.zeros(1, int))
