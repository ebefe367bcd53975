"""Loops and branches that exchange arrays, as solvers do with two buffers: each name is the array that it is in Python,
also after the statement, for the caller and after an error."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from runtime.staging.control import exchanged_arrays

GLOBAL = np.arange(5.0)


def step(u: Any, v: Any) -> None:
    v[1:] = u[:-1] + 1
    v[0] += u[0]


# Exchanges.

def two_buffers(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
    return u


def own_arrays(u: Any, n: Any) -> Any:
    return two_buffers(u.copy(), n)


def left_after_the_exchange(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
        if np.abs(u - v).max() < 0.5:
            break
    else:
        u[0] = -1
    return u


def left_before_the_exchange(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        if v[3] > 2.2:
            break
        u, v = v, u
    return u - v


def returns_a_buffer(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        if v[3] > 2.2:
            return v
        u, v = v, u
    return u


def exchanged_on_a_condition(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        if v[3] > 2:
            u, v = v, u
    return u - 2 * v


def three_arrays(u: Any, n: Any) -> Any:
    v, w = np.zeros_like(u), GLOBAL
    for _ in range(n):
        step(u, v)
        step(v, w)
        u, v, w = v, w, u
    return u + 2 * v + 3 * w


def one_of_three_stays(u: Any, n: Any) -> Any:
    v, w = np.zeros_like(u), GLOBAL
    for _ in range(n):
        step(u, v)
        step(v, w)
        u, v = v, u
    return u + 2 * v + 3 * w


def a_function_exchanges(u: Any, n: Any) -> Any:
    def advanced(a: Any, b: Any) -> Any:
        step(a, b)
        return b, a

    v = np.zeros_like(u)
    for _ in range(n):
        u, v = advanced(u, v)
    return u


def attributes(u: Any, n: Any) -> Any:
    grid = SimpleNamespace(now=u, next=np.zeros_like(u))
    for _ in range(n):
        step(grid.now, grid.next)
        grid.now, grid.next = grid.next, grid.now
    return grid.now


def items_of_a_dict(u: Any, n: Any) -> Any:
    d = {"now": u, "next": np.zeros_like(u)}
    for _ in range(n):
        step(d["now"], d["next"])
        d["now"], d["next"] = d["next"], d["now"]
    return d["now"]


def items_of_a_tuple(u: Any, n: Any) -> Any:
    pair = u, np.zeros_like(u)
    for _ in range(n):
        step(*pair)
        pair = pair[1], pair[0]
    return pair[0]


def items_of_a_list(u: Any, n: Any) -> Any:
    both = [u.copy(), np.zeros_like(u)]
    for _ in range(n):
        step(both[0], both[1])
        both.reverse()
    return both[0]


def views(u: Any, n: Any) -> Any:
    grid = np.zeros((2, 5))
    a, b = grid[0], grid[1]
    a[:] = u
    for _ in range(n):
        step(a, b)
        a, b = b, a
    return grid


def in_place(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        v += u * 0.5
        u, v = v, u
        u *= 1.5
    return u


def a_test_that_reads(u: Any, n: Any) -> Any:
    v, k = np.zeros_like(u), 0
    while u[4] < n * 3 and k < 2 * n:
        step(u, v)
        u, v = v, u
        u[4] += 1
        k += 1
    return u


# Several statements.

def one_loop_after_another(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
    for i in range(n + 1):
        step(u, v)
        u, v = v, u
        u[3] += i
    return u - v


def nested_loops(u: Any, n: Any) -> Any:
    v, total = np.zeros_like(u), 0.0
    for _ in range(n):
        for _ in range(n + 1):
            step(u, v)
            u, v = v, u
        total += u[2]
    return u + total


def around_another_loop(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for k in range(n):
        for i in range(k % 5):
            u[i] += 1
        if k % 2 == 0:
            step(u, v)
        u, v = v, u
    return u + 3 * v


def written_after(u: Any, n: Any) -> Any:
    v, before = np.zeros_like(u), u
    for _ in range(n):
        step(u, v)
        u, v = v, u
    u[0] = 77.0
    v[1] += 5
    return before + u


def branches(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    if n > 2:
        u, v = v, u
    v[2] += u[1] + 1
    if n > 1:
        v[1] = 99
    else:
        u, v = v, u
    v[0] += 3
    return u + 10 * v


def branches_with_try(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    try:
        v[2] += u[1]
        if n > 1:
            raise ValueError
        u, v = v, u
    except ValueError:
        v[1] = 99
    return u + 10 * v


# What is not an exchange, or not all that the body does.

def read_by_another_name(u: Any, n: Any) -> Any:
    v, before, total = np.zeros_like(u), u, 0.0
    for _ in range(n):
        step(u, v)
        u, v = v, u
        total += before[1]
    return u + total


def written_by_another_name(u: Any, n: Any) -> Any:
    v, before = np.zeros_like(u), u
    for _ in range(n):
        step(u, v)
        u, v = v, u
        before[2] += 3
    return u - v


def read_in_a_function(u: Any, n: Any) -> Any:
    def second() -> Any:
        return GLOBAL[1]

    v, total = GLOBAL, 0.0
    for _ in range(n):
        step(u, v)
        u, v = v, u
        total += second()
    return u + total


def written_in_a_function(u: Any, n: Any) -> Any:
    def change() -> None:
        GLOBAL[1] += 1

    v = GLOBAL
    for _ in range(n):
        step(u, v)
        u, v = v, u
        change()
    return u


def lost_on_a_condition(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        if v[3] > 2:
            u = v
    return u - 2 * v


def lost_for_a_copy(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u.copy()
    return u - 2 * v


def lost_for_a_new_one(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u = v
        v = np.zeros_like(u)
    return u - 2 * v


def lost_in_an_inner_loop(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        u[0] += 1
        for _ in range(n):
            u = v
    return u + v


def one_array_twice(u: Any, n: Any) -> Any:
    v = u
    for _ in range(n):
        u[0] += 1
        u, v = v, u
    return u + v


def compared(u: Any, n: Any) -> Any:
    v, before, k = np.zeros_like(u), u, 0
    for _ in range(n):
        step(u, v)
        u, v = v, u
        if u is before:
            k += 1
    return u + k


def compared_after(u: Any, n: Any) -> Any:
    v, before = np.zeros_like(u), u
    for _ in range(n):
        step(u, v)
        u, v = v, u
    return u + (10 if u is before else 20)


def the_best(u: Any, n: Any) -> Any:
    v, best = np.zeros_like(u), u
    for _ in range(n):
        step(u, v)
        u, v = v, u
        if u[3] > 2:
            best = u
    return best


# Errors.

def raises_after_the_exchange(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
        if u[3] > 2.2:
            raise ValueError("large")
    return u


def raises_before_the_exchange(u: Any, n: Any) -> Any:
    v = GLOBAL
    for i in range(n):
        step(u, v)
        if v[3] > 2.2 and i > 0:
            raise ValueError("large")
        u, v = v, u
    return u


def raises_in_an_inner_loop(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        step(u, v)
        u, v = v, u
        for j in range(n):
            u[j % 5] += 0.25
            if u[3] > 3.2:
                raise ValueError("large")
    return u


def caught_in_the_body(u: Any, n: Any) -> Any:
    v = np.zeros_like(u)
    for _ in range(n):
        try:
            step(u, v)
            if u[3] > 2.2:
                raise ValueError
            u, v = v, u
        except ValueError:
            v[4] = 99
    return u + 2 * v


PROGRAMS = [value for name, value in list(globals().items())
            if callable(value) and getattr(value, "__module__", "") == __name__ and name != "step"]


def outcome(fn: Callable[..., Any], n: Any) -> list[Any]:
    """The result or error, and the arrays that the function may have changed."""
    GLOBAL[:] = np.arange(5.0)
    u = np.arange(5.0) / 2
    try:
        result = np.asarray(fn(u, n))
    except ValueError as error:
        result = np.array(len(str(error)) and -1)
    return [result, u, GLOBAL.copy()]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for n in (0, 1, 2, 3, 6):
        expected, found = outcome(program, n), outcome(traced, rt.constant(n))
        assert all(map(np.allclose, expected, found)), (n, expected, found)


@pytest.mark.parametrize("program", [
    two_buffers, exchanged_on_a_condition, returns_a_buffer, caught_in_the_body, raises_in_an_inner_loop, nested_loops])
def test_a_number_of_python_is_as_good(program: Callable[..., Any]) -> None:
    traced = on("numpy", program)
    for n in (2, 5, 20):  # unrolled, and rolled
        expected, found = outcome(program, n), outcome(traced, n)
        assert all(map(np.allclose, expected, found)), (n, expected, found)


def test_an_exchange_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body writes one array, without a condition."""
    ended: list[Any] = []
    end = exchanged_arrays._Numbered.end

    def ending(self: Any, values: Any) -> Any:
        ended.append(self)
        return end(self, values)

    monkeypatch.setattr(exchanged_arrays._Numbered, "end", ending)
    for program in (two_buffers, three_arrays, attributes, nested_loops, around_another_loop, in_place):
        ended.clear()
        graph = rt.function(program).get_concrete_function(np.zeros(5), rt.constant(3)).graph
        assert ended, program
        loops = [node for node in graph.walk() if node.op.name in ("while_loop", "reduce")]
        inside = [node.op.name for loop in loops for node in loop.params["body"].walk()]
        assert "where" not in inside, program


def test_attributes_keep_their_identity() -> None:
    def advance(grid: Any, n: Any) -> None:
        for _ in range(n):
            step(grid.now, grid.next)
            grid.now, grid.next = grid.next, grid.now

    def swap(grid: Any, n: Any) -> None:
        if n % 2 > 0:
            grid.now, grid.next = grid.next, grid.now
        grid.now[0] += 1

    for fn in (advance, swap):
        for n in (0, 1, 2, 3):
            expected = SimpleNamespace(now=np.arange(4.0), next=np.zeros(4))
            found = SimpleNamespace(now=np.arange(4.0), next=np.zeros(4))
            now, after = found.now, found.next
            fn(expected, n)
            rt.function(fn)(found, rt.constant(n))
            assert (found.now is now, found.next is after) == (n % 2 == 0, n % 2 == 0)
            assert (found.now is after, found.next is now) == (n % 2 == 1, n % 2 == 1)
            assert np.allclose(found.now, expected.now) and np.allclose(found.next, expected.next)


def test_gradients_flow_through_an_exchange() -> None:
    def loss(x: Any) -> Any:
        u = x * np.ones(4)
        v, before = np.zeros_like(u), u
        for _ in range(rt.constant(3)):
            v[1:] = 2 * u[:-1]
            u, v = v, u
        return rt.reduce_sum(u + 3 * before)

    x = rt.constant(1.5, rt.float64)
    assert float(rt.function(rt.grad(loss))(x)) == pytest.approx(float(rt.function(loss)(x)) / 1.5)


def test_a_view_that_a_handler_gets_is_still_one_of_the_array() -> None:
    def lengthened(m: Any, n: Any) -> Any:
        r = m[0] + 1
        s = r
        out = [r]
        try:
            r = s[::-1]
            if n > 1:
                raise ValueError
        except ValueError:
            out[-1] += r
            out = out + [r]
        return out

    m = np.arange(9.0).reshape(3, 3)
    with pytest.raises(rt.errors.StagingError, match="an array is changed"):  # a longer list stores elements
        rt.function(lengthened)(m, rt.constant(2))


def test_arrays_of_different_types_are_refused() -> None:
    def f(u: Any, n: Any) -> Any:
        v = np.zeros(3)
        for _ in range(n):
            u[0] += v[0] + 1
            u, v = v, u
        return u.sum()

    with pytest.raises(rt.errors.StagingError, match="the same array here as another name"):
        rt.function(f)(np.zeros(5), rt.constant(3))
