"""Arrays that loops change item by item stay where they are, however loops, branches and functions are nested."""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import Compared
from updates import SIZE, differences

import runtime as rt
from benchmarks import items

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


def sieve(n, x):
    count = 0
    for i in range(2, n):
        if x[i] == 0:
            count += 1
            j = i * i
            while j < n:
                x[j] = 1
                j += i
    return count, x


def quicksort(n, x):
    return items.quicksort(n, rt.zeros([64], rt.int64), x)


def bubbles(n, x):
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


def inserts(n, x):
    for i in range(1, n):
        key, j = x[i], i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def two_loops(n, x):
    for i in range(n - 3):
        for j in range(i, i + 3):
            x[j] += 1
        k = i
        while x[k] > 0 and k > 0:
            x[k] -= 1
            k -= 1
    return x


def put(x, i, value):
    x[i] = value
    return x


def called(n, x):
    for i in range(n):
        x = put(x, i, i * 2) if i % 3 == 0 else put(x, -i, 7)
    return x


@dataclasses.dataclass
class State:
    x: Any
    k: Any


def of_an_object(n, x):
    state = State(x, 0)
    for i in range(n):
        if i % 2 == 0:
            grid = state.x
            grid[i] = state.k
            state.x = grid
        state.k += 1
    return state.x, state.k


def slices(n, x):
    for i in range(n - 3):
        x[i:i + 2] = x[i + 1:i + 3]
        x[i + 2] += i
    return x


def rows(n, x):
    grid = rt.reshape(x, [-1, 2])
    for i in range(n // 2):
        grid[i] = grid[i] + 1
        grid[i, 0] = 5
        grid[i, 1:] += i
    return grid


def mostly_as_it_is(n, x):
    for i in range(n):
        if x[i] % 5 == 4:
            x = rt.where(x > 3, x - 1, x)
        x[i] += 4
    return x


def jumps(n, x):
    for i in range(n):
        if x[i] > 10:
            break
        if x[i] % 2 == 0:
            continue
        x[i] = 4
    else:
        x[0] = 9
    return x


def two_buffers(n, x):
    y = x * 2
    for _ in range(n):
        for i in range(1, n):
            y[i] = x[i - 1] + x[i] // 3
        x, y = y, x
    return x, y


def three_buffers(n, x):
    y, z, turns = x * 2, x + 5, 0
    while turns < n:
        y[turns] = x[0] - z[turns]
        x, y, z = z, x, y
        turns += 1
        if x[turns - 1] > 20:
            break
    return x, y, z


IN_PLACE = [sieve, quicksort, bubbles, inserts, two_loops, called, of_an_object, slices, rows, mostly_as_it_is, jumps,
            two_buffers, three_buffers]


def returns(n, x):
    for i in range(n):
        x[i] += 3
        if x[i] % 7 == 2:
            return x
    x[0] = 9
    return x


def returns_from_endless(n, x):
    i = 0
    while True:
        if i >= n:
            return x
        x[i] = i
        i += 1


def best_so_far(n, x):
    best = x
    for i in range(n):
        x[i] += i
        if x[i] % 4 == 0:
            best = x
    return best


def copies(fn: Callable[..., Any], size: int | None) -> int:
    """How many copies of arrays stand in the code."""
    concrete = rt.function(fn, executor="native").get_concrete_function(
        rt.TensorSpec([], rt.int64), rt.TensorSpec([size], rt.int64))
    return len(re.findall(r"call void @llvm\.mem(?:cpy|move)", concrete.inspect_llvm(optimized=False)))


def values(size: int) -> Any:
    return np.random.default_rng(size).integers(0, 9, size)


@pytest.mark.parametrize("size", [6000, None], ids=["known", "unknown"])
@pytest.mark.parametrize("fn", IN_PLACE)
def test_no_iteration_copies(fn: Callable[..., Any], size: int | None) -> None:
    results = rt.nest.flatten(rt.function(fn)(rt.constant(8, rt.int64), rt.constant(values(8))))
    known = 1 + sum(x.shape != () for x in results)  # of the argument, and to the arrays of results
    known += fn is quicksort  # of what its first iteration leaves, which stands before the loop
    assert copies(fn, size) <= known


@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("fn", [*IN_PLACE, returns, returns_from_endless, best_so_far])
def test_results(fn: Callable[..., Any], relaxed: bool) -> None:
    for size in (8, 40):
        x = values(size)
        at = Compared(fn, np.int64(0), x, relaxed=relaxed)
        for n in (3, size - 1, size):
            at(np.int64(n), x)
        np.testing.assert_array_equal(x, values(size))


@pytest.mark.parametrize("fn", [returns, returns_from_endless, best_so_far])
def test_what_one_branch_takes_is_copied_in_that_branch(fn: Callable[..., Any]) -> None:
    text = rt.function(fn, executor="native").get_concrete_function(
        rt.TensorSpec([], rt.int64), rt.TensorSpec([6000], rt.int64)).inspect_llvm(optimized=False)
    blocks = re.split(r"\n(?=\w+:)", text)
    heads = {name for name in re.findall(r"br label %((?:for|while)\d+)", text)}
    closing = [block for block in blocks if any(f"label %{head}" in block for head in heads)]
    assert len(closing) >= 2 and not any("memcpy" in block for block in closing[1:]), "no end of an iteration copies"


def test_variable_that_a_loop_changes_item_by_item() -> None:
    v = rt.Variable(np.arange(6000.0))
    u = rt.Variable(np.zeros((40, 3)))

    @rt.function(executor="native")
    def f(n):
        for i in range(n):
            if i % 2 == 0:
                v.scatter_nd_update([[i]], [v[i + 1] * 2.0])
            u.scatter_nd_add([[i, 1]], [v[i]])
            u[i, 2].assign(3.0)

    concrete = f.get_concrete_function(rt.TensorSpec([], rt.int64))
    body = re.split(r"\n(?:for|while)\d+:", concrete.inspect_llvm(optimized=False), maxsplit=1)[1]
    assert body.count("call void @llvm.mem") <= 2, "to leave the variables at the end"
    f(rt.constant(4, rt.int64))
    np.testing.assert_array_equal(v.numpy()[:6], [2.0, 1.0, 6.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(u.numpy()[:5], [[0, 2, 3], [0, 1, 3], [0, 6, 3], [0, 3, 3], [0, 0, 0]])
    with pytest.raises(rt.errors.InvalidArgumentError):
        f(rt.constant(41, rt.int64))
    np.testing.assert_array_equal(u.numpy()[39], [0, 39, 3])  # what came before the error stays
    assert v.numpy()[38] == 78.0


def test_iterations_that_set_an_item_look_for_signals_seldom() -> None:
    """That millions of elements stay as they are takes no time, so it is no reason to look."""
    def f(n, x):
        for i in range(n):
            x[i] = i
        return x[5]

    text = rt.function(f, executor="native").get_concrete_function(
        rt.TensorSpec([], rt.int64), rt.TensorSpec([2_000_000], rt.int64)).inspect_llvm(optimized=False)
    pieces = re.findall(r"= add i64 %v\d+, (\d+)\n  %v\d+ = call i64 @llvm.smin", text)
    assert len(pieces) == 1 and 10_000 < int(pieces[0]) <= 1 << 20


def read_before(n, x):
    y = v.read_value()
    for i in range(n):
        y = v.read_value()
        if i < 5:
            v.scatter_nd_update([[0]], [i])
    v.assign(x)
    return y


def exchanged(n, x):
    y = x * 3
    z = x - 1
    while n > 0:
        n -= 1
        z = v.read_value()
        while z[0] > 100:
            y = y + 1
        z, y = y, z
    return y, z


def read_before_a_branch_reads_it(n, x):
    y = v.read_value()
    z = x
    for i in range(n):
        y = v.read_value()
        if i < 4:
            z = v.read_value()
            v.assign(z * 2)
            z[0] = 50
        v.assign_add(y)
    last = v.read_value()
    v.assign(x)
    return y, z, last


v = rt.Variable(np.arange(8))


@pytest.mark.parametrize("fn", [read_before, exchanged, read_before_a_branch_reads_it])
def test_what_is_read_from_a_variable_stays(fn: Callable[..., Any]) -> None:
    at = Compared(fn, np.int64(0), np.arange(8))
    for n in (0, 1, 4, 5):
        v.assign(np.arange(8))
        at(np.int64(n), np.arange(8))


def chosen_zeros(zeros, first, rows):
    one = zeros if first else rows + 2.0
    one = rt.tensor_scatter_nd_update(one, [[0]], [rows[1]])
    other = zeros if first else rows + 2.0
    return zeros, one, other


def zeros_set_in_a_loop(zeros, first, rows):
    if first:
        one = zeros
    else:
        one = rows + 2.0
    total = rows
    if first:
        for row in rows:
            total = total + rt.tensor_scatter_nd_update(zeros, [[0]], [row])
        total = total + 1.0
    else:
        one = one + 1.0
    return zeros, one, total


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("fn", [chosen_zeros, zeros_set_in_a_loop])
def test_cheap_results_are_stored_once(fn: Callable[..., Any], first: bool) -> None:
    """A branch that passes on a value which is also a result does not store it in the result's memory again, where
    what the branch passed on may have been changed by then."""
    def whole(first: Any, rows: Any) -> Any:
        return fn(rt.zeros([2, 2]), first, rows)

    rows = rt.constant([[1.0, 2.0], [3.0, 4.0]])
    expected = whole(rt.constant(first), rows)
    for executor in ("numpy", "native"):
        results = rt.function(whole, executor=executor)(rt.constant(first), rows)
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", [SIZE, None], ids=["known", "unknown"])
def test_random_programs(size: int | None) -> None:
    assert list(differences(10, 100, size)) == []
