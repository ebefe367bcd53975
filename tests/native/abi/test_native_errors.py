"""Errors and effects of native code: the exceptions of the reference executor, with the user's line, after the same
prints and assignments."""
from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

i32, f32 = rt.int32, rt.float32


class Told(ValueError):
    pass


class State:
    """Variables of a kind each, for one executor."""

    def __init__(self) -> None:
        self.count = rt.Variable(0)
        self.total = rt.Variable(0.5)
        self.row = rt.Variable([1.0, 2.0, 3.0])


# Each takes the state and tensors; what it is called with comes first. Division and indices fail where arrays of other
# values would not.

def divides(s, a, b):
    s.count.assign(1)
    print("before", a)
    quotient = a // b
    s.count.assign(2)
    print("after", quotient)
    return quotient


def divides_by_known_arrays(s, x, y):
    threes = rt.fill(rt.shape(x), 3)
    return x // threes, x % rt.broadcast_to(rt.constant([4]), rt.shape(x)), x ** threes, x // (threes * y)


def remainder(s, a, b):
    s.total.assign_add(1.0)
    return a % b


def divides_arrays(s, xs, ys):
    s.row.assign(s.row * 2.0)
    return xs // ys


def power(s, a, b):
    return a ** b


def fails_in_loop(s, xs, n):
    total = 0
    for i in range(n):
        s.count.assign_add(1)
        print("row", i)
        total += xs[i]
        s.row.assign(s.row + 1.0)
    return total


def fails_in_while(s, a, n):
    while a != 0:
        s.count.assign(a)
        a -= 2
        if a < n:
            raise Told(f"a is {a}, less than {n}")
    return a


def raises_in_branch(s, a, n):
    s.count.assign(3)
    if a > n:
        s.count.assign(4)
        raise KeyError("large")
    s.count.assign(5)
    return a


def raises_unless_all(s, xs, n):
    for x in xs:
        s.total.assign_add(x)
        if x > n:
            raise Told("too much", x)
    return s.total


def asserts(s, a, n):
    s.count.assign(a)
    assert a < n, f"{a} is not below {n}"
    s.count.assign(-1)
    return a


def checks(s, x, y):
    s.total.assign(7.0)
    return rt.debugging.check_numerics(x / y, "quotient")


def check_scalar(s, x, y):
    return rt.debugging.check_numerics(x / y, "a scalar")


def reshapes(s, xs, n):
    s.count.assign(n)
    return rt.reshape(xs, [n, 2])


def gathers(s, xs, at):
    s.row.assign(s.row - 1.0)
    return rt.gather(xs, at)


def gathers_again(s, xs, at):
    picked = xs
    if xs[0] > 0.0:
        picked = rt.gather(xs, at)
    s.row.assign(s.row - 1.0)
    again = rt.gather(xs, at) + rt.gather(xs * 2.0, at)
    return rt.reduce_sum(picked) + rt.reduce_sum(again)


def sets_item(s, xs, at):
    xs[at] = 5
    return xs


def sliced_by_zero(s, xs, step):
    return xs[::step]


def adds_lengths(s, xs, ys):
    s.count.assign_add(1)
    return xs + ys


def concatenates(s, xs, ys):
    return rt.concat([xs, ys], 0)


def stacks(s, xs, ys):
    return rt.stack([xs, ys])


def splits(s, xs, n):
    return rt.split(xs, 2)


def squeezes(s, xs, n):
    return rt.squeeze(xs[n:], 0)


def broadcasts(s, xs, n):
    return rt.broadcast_to(xs, [2, n])


def pads_by_reflection(s, xs, n):
    s.count.assign(n)
    return rt.pad(xs, [[n, 1]], "REFLECT")


def pads(s, xs, n):
    return rt.pad(xs, [[1, n]])


def range_by_zero(s, a, step):
    return rt.range(0, a, step)


def multiplies(s, xs, ys):
    return rt.matmul(xs[None, :], ys[:, None])


def unbound(s, a, n):
    if a > n:
        found = a
    s.count.assign(8)
    return found + 1


def unbound_after_loop(s, xs, n):
    for x in xs:
        last = x
        s.count.assign_add(1)
    return last * n


def unbound_in_loop(s, xs, n):
    for x in xs:
        if x == n:
            seen = x
        print(seen)
    return n


def pops_nothing(s, xs, n):
    found = []
    for x in xs:
        if x > n:
            found.append(x)
    return found.pop()


def item_of_list(s, xs, n):
    found = []
    for x in xs:
        found.append(x * 2)
    return found[n]


def pops_at(s, xs, n):
    found = []
    for x in xs:
        found.append(x)
    s.count.assign(n)
    return found.pop(n) + len(found)


def slice_of_list(s, xs, step):
    found = []
    for x in xs:
        found.append(x * 2)
    return rt.stack(found[::step])


def scatters(s, xs, n):
    s.count.assign(n)
    return rt.TensorArray(rt.int32, 3).scatter(rt.stack([0, n]), xs[:2]).stack()


def scatters_too_few(s, xs, n):
    return rt.TensorArray(rt.int32, 3).scatter(rt.range(n), xs[:2]).stack()


def caught(s, a, b):
    try:
        s.count.assign(1)
        q = a // b
        s.count.assign(2)
    except ZeroDivisionError:
        q = -1
        s.count.assign_add(10)
    finally:
        s.total.assign(9.0)
    return q


def user_code_raises(s, a, n):
    def inner(x):
        if x > 2:
            raise Told("from Python")
        return x

    s.count.assign(a)
    out = rt.numpy_function(inner, [a], rt.int32)
    s.count.assign(n)
    return out


def user_code_sees(s, a, n):
    def inner(x):
        print("the count is", s.count.numpy(), "of", x)
        s.count.assign(x + 1)
        return x

    s.count.assign(5)
    rt.py_function(inner, [a], rt.int32)
    if n == 0:
        raise Told(f"after {s.count}")
    return s.count


def prints_in_order(s, xs, n):
    print("start", n)
    for i, x in enumerate(xs):
        if x % 2 == 0:
            print("even", x)
        else:
            print("odd", x, sep="|")
        if i == n:
            raise Told(f"at {i}: {x}")
    print("end", xs)
    return n


def assigns_after(s, xs, n):
    for x in xs:
        s.row.assign(s.row + 1.0)
        s.total.assign(s.total / 2.0)
        s.count.assign(s.count + n // x)
    return s.count


INTS, FLOATS = [3, 1, 2, 0], [1.0, 4.0, 2.0]

CASES: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = [
    (divides, (7, 0), (7, 2)), (remainder, (7, 0), (-7, 3)),
    (divides_arrays, (INTS, [1, 0, 2, 3]), (INTS, [1, 2, 3, -1])),
    (divides_by_known_arrays, ([7, -9], [1, 0]), ([7, -9], [1, -1])),
    (power, (2, -1), (2, 5)), (fails_in_loop, (INTS, 6), (INTS, 4)), (fails_in_while, (9, 0), (8, -1)),
    (raises_in_branch, (3, 1), (1, 3)), (raises_unless_all, (FLOATS, 3.0), (FLOATS, 5.0)), (asserts, (5, 3), (1, 3)),
    (checks, ([1.0, 0.0], [2.0, 0.0]), ([1.0, 0.0], [2.0, 1.0])), (check_scalar, (1.0, 0.0), (1.0, 2.0)),
    (reshapes, (INTS, 3), (INTS, 2)), (gathers, (FLOATS, 3), (FLOATS, 2)),
    (gathers, (FLOATS, [0, -1]), (FLOATS, [2, 0])),
    (gathers_again, (FLOATS, [0, 3]), (FLOATS, [2, 0])), (gathers_again, ([-1.0, 4.0], [0, 3]), ([-1.0, 4.0], [1, 0])),
    (sets_item, (INTS, -5), (INTS, -4)), (sliced_by_zero, (INTS, 0), (INTS, -2)),
    (adds_lengths, (INTS, [1, 2]), (INTS, [1])), (concatenates, ([[1, 2]], [[1]]), ([[1, 2]], [[3, 4]])),
    (stacks, (INTS, [1, 2]), (INTS, INTS)), (splits, ([1, 2, 3], 0), (INTS, 0)), (squeezes, (INTS, 1), (INTS, 3)),
    (broadcasts, (INTS, 3), (INTS, 4)), (pads_by_reflection, (INTS, 4), (INTS, 3)), (pads, (INTS, -1), (INTS, 2)),
    (range_by_zero, (3, 0), (3, 2)), (multiplies, (INTS, [1, 2]), (INTS, INTS)),
    (unbound, (1, 3), (3, 1)), (unbound_after_loop, ([], 3), (INTS, 3)), (unbound_in_loop, (INTS, 1), (INTS, 3)),
    (pops_nothing, (INTS, 5), (INTS, 2)), (item_of_list, (INTS, 4), (INTS, -1)),
    (pops_at, (INTS, 4), (INTS, -4)), (slice_of_list, (INTS, 0), (INTS, -2)), (scatters, (INTS, 3), (INTS, 2)),
    (scatters_too_few, (INTS, 3), (INTS, 2)), (caught, (6, 0), (6, 4)),
    (user_code_raises, (3, 1), (2, 1)), (user_code_sees, (4, 0), (4, 1)), (prints_in_order, (INTS, 2), (INTS, 9)),
    (assigns_after, (INTS, 12), ([3, 1], 12)),
]


def run(fn: Callable[..., Any], executor: str, arguments: tuple[Any, ...], relaxed: bool) -> tuple[Any, ...]:
    """What a call gives, its exception and its text, the user's lines in the traceback, what it prints and assigns."""
    state = State()
    tensors = [rt.constant(a, rt.int32) if a == [] else rt.constant(a) for a in arguments]
    function = rt.function(lambda *xs: fn(state, *xs), executor=executor)
    specs = [rt.TensorSpec([None] * t.ndim, t.dtype) if relaxed else t for t in tensors]
    printed = io.StringIO()
    result: Any
    try:
        concrete = function.get_concrete_function(*specs)
        assert concrete.executor == executor
        with contextlib.redirect_stdout(printed):
            result = rt.nest.map_structure(lambda x: (x.dtype, x.numpy().tolist()), concrete(*tensors))
    except Exception as error:
        lines = []
        entry = error.__traceback__
        while entry is not None:
            if entry.tb_frame.f_code.co_filename == __file__ and entry.tb_frame.f_code.co_name != "run":
                lines.append(entry.tb_lineno)
            entry = entry.tb_next
        result = type(error), str(error), error.args, lines
    return result, printed.getvalue(), [v.numpy().tolist() for v in (state.count, state.total, state.row)]


@pytest.mark.parametrize("relaxed", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(("fn", "failing", "fine"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_errors(fn: Callable[..., Any], failing: tuple[Any, ...], fine: tuple[Any, ...], relaxed: bool) -> None:
    for arguments in (failing, fine):
        want = run(fn, "numpy", arguments, relaxed)
        assert run(fn, "native", arguments, relaxed) == want
        failed = isinstance(want[0], tuple) and isinstance(want[0][0], type)
        assert failed is (arguments is failing and fn not in (caught,)), want


def test_the_text_has_the_users_line() -> None:
    @rt.function(executor="native", input_signature=[rt.TensorSpec([None], i32), rt.TensorSpec([], i32)])
    def quotient(xs, y):
        total = rt.reduce_sum(xs)
        return total // y

    with pytest.raises(ZeroDivisionError) as caught:
        quotient([1, 2, 3], 0)
    line = test_the_text_has_the_users_line.__code__.co_firstlineno + 4
    assert str(caught.value) == (
        f"{Path(__file__)}:{line}: division of integers by zero\n    {line} |         return total // y\n"
        f"{' ' * (25 if sys.version_info >= (3, 11) else 18)}^")


def test_a_call_after_an_error_is_as_good_as_the_first() -> None:
    count = rt.Variable(0)

    @rt.function(executor="native")
    def f(xs, i):
        count.assign_add(1)
        return xs[i] * 2.0

    xs = rt.constant(np.arange(5, dtype=np.float32))
    for k in range(50):
        if k % 3:
            assert f(xs, rt.constant(k % 5)).numpy() == k % 5 * 2.0
        else:
            with pytest.raises(IndexError):
                f(xs, rt.constant(5 + k))
    assert count.numpy() == 50
    assert f.experimental_get_tracing_count() == 1


def unbound_for_some(xs, grid):
    for x in xs:
        if x > 0:
            grid = grid + 1.0
        else:
            gone = gone  # noqa: F821
    return grid


def unbound_for_all(xs, grid):
    doubled = grid * 2.0
    for _ in xs:
        gone = gone  # noqa: F821
    return doubled


@pytest.mark.parametrize(("fn", "fine", "failing"), [
    (unbound_for_some, [1.0, 2.0], [1.0, -2.0]), (unbound_for_all, None, [1.0]),
])
def test_what_surely_raises_beside_arrays(fn: Callable[..., Any], fine: Any, failing: Any) -> None:
    """Arrays of a branch, or of a graph, that surely raises are not written: nothing leads to that code."""
    grid = rt.ones([9, 5])
    f = rt.function(fn, executor="native")
    if fine is not None:
        np.testing.assert_array_equal(f(rt.constant(fine), grid).numpy(), np.full((9, 5), 3.0))
    with pytest.raises(UnboundLocalError):
        f(rt.constant(failing), grid)


def test_indices_are_checked_once() -> None:
    def checks_of(times: int) -> int:
        def f(xs, at):
            for _ in range(times):
                xs = rt.gather(xs, at)
            return xs

        concrete = rt.function(f, executor="native").get_concrete_function(rt.constant(FLOATS), rt.constant([2, 1, 0]))
        return concrete.inspect_llvm(optimized=False).count("@runtime_ask")

    assert checks_of(1) == checks_of(6) == 2  # its declaration and one call
