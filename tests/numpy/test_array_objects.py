"""NumPy arrays in traced functions change as in Python: in the function, and in the caller's arrays."""
from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from traced_once import on

import autograph as ag
import runtime as rt

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def grid(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape)


def squares(n: Any) -> Any:
    o = np.zeros(n)
    for i in range(n):
        o[i] = i * i
    return o


def prefix_sums(a: Any, n: Any) -> None:
    for i in range(1, n):
        a[i] += a[i - 1]


def sieve(n: Any) -> Any:
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            j = i * i
            while j <= n:
                prime[j] = False
                j += i
        i += 1
    return prime


def product(a: Any, b: Any, n: Any) -> Any:
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def histogram(x: Any, n: Any) -> Any:
    counts = np.zeros(4, dtype=np.int64)
    for i in range(n):
        counts[x[i]] += 1
    return counts


def insertion_sort(a: Any, n: Any) -> None:
    for i in range(1, n):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def lu(a: Any, n: Any) -> None:
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= a[k + 1:, k].reshape(-1, 1) * a[k, k + 1:]


def common_subsequence(x: Any, y: Any, n: Any) -> Any:
    table = np.zeros((n + 1, n + 1), dtype=np.int64)
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if x[i - 1] == y[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table[n, n]


def life(start: Any, steps: Any) -> Any:
    a = start.copy()
    b = np.zeros_like(start)
    for _ in range(steps):
        count = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        count = count + a[:-2, :-2] + a[:-2, 2:] + a[2:, :-2] + a[2:, 2:]
        b[1:-1, 1:-1] = (count == 3) | ((count == 2) & (a[1:-1, 1:-1] == 1))
        a, b = b, a
    return a


def exchange(a: Any, i: Any, j: Any) -> None:
    a[i], a[j] = a[j], a[i]


def bubble_sort(a: Any, n: Any) -> None:
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                exchange(a, j, j + 1)


def rows(a: Any, n: Any) -> Any:
    for i in range(n):
        row = a[i]
        for j in range(n):
            row[j] = row[j] * 2 + i
    for row in a:
        row[0] = 1.0
    for i, row in enumerate(a):
        row[i] += 10
    return a[1]


def masks(a: Any) -> Any:
    a[a > 3] = 0
    a[a < 2] += 10
    a[[0, 2]] = a[[2, 0]]
    return a


def several_indices(a: Any, i: Any) -> Any:
    a[[0, 1], [1, i]] = 7
    a[-1, ::2] = [5, 6]
    a[..., 1][0] = 3
    return a[[0, 1], [1, -1]]


def views(a: Any, n: Any) -> Any:
    middle = a[1:3]
    middle[:] = middle * 2
    for i in range(n):
        middle[0, i] += i
    turned = a.T
    turned[0, 1] = 5
    a.T[1] += 1
    flat = a.reshape(-1)
    flat[0] = 8
    np.transpose(a)[2] = 0
    a.ravel()[4] = -1
    return middle, flat[:2]


def in_place(a: Any, n: Any) -> Any:
    b = a
    b += 1
    a *= 2
    a = a + 1
    a[0] = 100
    np.multiply(b, 2, out=b)
    np.copyto(b[1], n)
    np.fill_diagonal(b, -1)
    b[::2].fill(9)
    b[2].sort()
    return a, b


def in_branches(a: Any, n: Any) -> Any:
    b = a
    if n > 2:
        b[0] = 1
    else:
        a[1] = 2
    try:
        for i in range(n + 2):
            b[i] = b[i] * 10 + i
    except IndexError:
        a[-1] = -1
    return a.sum()


def in_containers(held: Any, n: Any) -> Any:
    box = SimpleNamespace(a=held[0], made=np.zeros(4))
    for i in range(n):
        box.a[i] = i
        box.made[i] = 2 * box.a[i]
        held[i % 2][0] += 1
    held[1][0] = 5
    return box.made


def one_of_two(a: Any, b: Any, n: Any) -> Any:
    p = a if n > 1 else b
    for i in range(n):
        p[0] += i
        a[1] = p[0]
    q = a
    if n > 2:
        q = b
        b[2] = 9
    q[2:] += 5
    return p, q[0]


def one_of_several(held: Any, n: Any) -> None:
    for i in range(n):
        p = held[i % 3]
        p[0] += i
        held[(i + 1) % 3][1] = p[0]


def casts(a: Any, x: Any) -> None:
    a[0] = x
    a[1] = 2.7
    a[2] = True


N = 3
def items_of_rows_in_a_list(a: Any, n: Any) -> Any:
    rows = [a[0], a[1]]
    if n > 1:
        rows[0][0], rows[1][0] = rows[1][0], rows[0][0]
        rows[0][1] = rows[0][1]
    return rows[0][1] + rows[1][0]


PROGRAMS: list[Program] = [
    (items_of_rows_in_a_list, (grid(3, 3), rt.constant(1))), (items_of_rows_in_a_list, (grid(3, 3), rt.constant(2))),
    (squares, (rt.constant(5),)), (prefix_sums, (grid(6), rt.constant(6))), (sieve, (rt.constant(30),)),
    (product, (grid(3, 3), grid(3, 3) + 1, rt.constant(N))),
    (histogram, (np.array([0, 1, 3, 3, 2, 3]), rt.constant(6))),
    (insertion_sort, (np.array([3.0, 1, 2, 0, 5, 4]), rt.constant(6))), (lu, (grid(4, 4) ** 1.5 + np.eye(4), 4)),
    (common_subsequence, (np.array([1, 2, 3, 4, 1]), np.array([3, 4, 1, 2, 1]), rt.constant(5))),
    (life, ((grid(6, 6) % 3 == 0) * 1, rt.constant(N))), (bubble_sort, (grid(5)[::-1].copy(), rt.constant(5))),
    (rows, (grid(3, 3), rt.constant(N))), (masks, (grid(6),)), (several_indices, (grid(3, 3), rt.constant(2))),
    (views, (grid(3, 3), rt.constant(N))), (in_place, (grid(3, 3), 4)), (in_branches, (grid(4), rt.constant(3))),
    (in_branches, (grid(4), rt.constant(1))), (in_containers, ([grid(4), grid(4)], rt.constant(N))),
    (one_of_two, (grid(4), grid(4) + 9, rt.constant(1))), (one_of_two, (grid(4), grid(4) + 9, rt.constant(3))),
    (one_of_several, ([grid(2), grid(2) + 1, grid(2) + 2], rt.constant(5))),
    (casts, (np.arange(4), rt.constant(3.9))),
]


def plain(x: Any) -> Any:
    """Tensors as NumPy's values, in lists and tuples, too."""
    if isinstance(x, (list, tuple)):
        return [plain(each) for each in x]
    return np.asarray(x).tolist() if isinstance(x, (rt.Tensor, np.ndarray, np.generic)) else x


def outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    args = copy.deepcopy(args)
    return plain(fn(*args)), plain(args)


def in_python(program: Program) -> Any:
    fn, args = program
    return outcome(fn, tuple(x.numpy() if isinstance(x, rt.Tensor) else x for x in args))


IDS = [f"{fn.__name__}{i}" for i, (fn, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
def test_as_in_python(program: Program, executor: str) -> None:
    expected = in_python(program)
    traced = on(executor, program[0])
    for _ in range(2):
        found = outcome(traced, program[1])
        np.testing.assert_equal(_flat(found), _flat(expected))


@pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
def test_converted(program: Program) -> None:
    fn, args = program
    args = tuple(x.numpy() if isinstance(x, rt.Tensor) else x for x in args)
    assert _flat(outcome(ag.convert(fn), args)) == pytest.approx(_flat(in_python(program)))


def _flat(x: Any) -> list[float]:
    return [each for part in x for each in _flat(part)] if isinstance(x, list | tuple) else [] if x is None else [
        round(float(x), 9)]


BUFFER = np.zeros(3)
HELD = SimpleNamespace(buffer=np.zeros(4), list=[np.zeros(2)])


def test_arrays_from_outside_are_read_and_written_at_each_call() -> None:
    counts = np.zeros(2, dtype=int)

    @rt.function
    def step(n: Any) -> Any:
        BUFFER[0] = n
        BUFFER[1] += 1
        HELD.buffer[1:] += 2
        counts[1] += 1
        for i in range(n):
            HELD.buffer[i] += 1
            HELD.list[0][0] += i
        return BUFFER.sum()

    BUFFER[:] = HELD.buffer[:] = HELD.list[0][:] = 0
    assert step(rt.constant(2)) == 3
    BUFFER[2] = 10
    assert step(rt.constant(3)) == 15
    assert BUFFER.tolist() == [3, 2, 10] and HELD.buffer.tolist() == [2, 6, 5, 4]
    assert HELD.list[0].tolist() == [4, 0] and counts.tolist() == [0, 2]


def test_results_are_tensors() -> None:
    @rt.function
    def made(n: Any) -> Any:
        o = np.zeros(3)
        o[0] = n
        return o, o[0], o[1:]

    whole, item, part = made(rt.constant(2))
    assert all(isinstance(x, rt.Tensor) for x in (whole, item, part)) and whole.dtype is rt.float64
    assert whole.numpy().tolist() == [2, 0, 0] and part.shape == (2,)


def test_an_array_that_no_tensor_meets_stays_one() -> None:
    made = rt.function(lambda: np.zeros(3))
    first = made()
    first[0] = 7
    assert made().tolist() == [0, 0, 0]


def test_an_int_array_takes_no_floats_in_place() -> None:
    @rt.function
    def plus(a: Any) -> Any:
        a += 0.5

    with pytest.raises(TypeError, match=r"test_array_objects\.py:\d+: a result of float64 cannot be put into an array"
                       " of int64, as in NumPy"):
        plus(np.arange(3))


def test_out_of_range() -> None:
    @rt.function
    def put(a: Any, i: Any) -> None:
        a[[0, 1], [0, i]] = 5

    with pytest.raises(IndexError):
        put(grid(2, 2), rt.constant(2))


def test_a_view_that_may_be_a_copy() -> None:
    @rt.function
    def f(n: Any) -> Any:
        a = np.zeros((n, 2))
        b = a.T.reshape(-1)
        a[0] = 1
        return b

    with pytest.raises(rt.errors.StagingError, match="an array is changed that was reshaped"):
        f(rt.constant(2))


def test_gradients_flow_through_writes() -> None:
    def f(x: Any) -> Any:
        o = np.zeros_like(x)
        for i in range(3):
            o[i] = x[i] * x[i]
        view = o[1:]
        view[0] *= 3
        return rt.reduce_sum(o)

    x = rt.constant([1.0, 2.0, 3.0])
    assert rt.function(rt.grad(f))(x).numpy().tolist() == [2, 12, 6]


def fails_late(a: Any, n: Any) -> None:
    for i in range(n):
        a[i] = i + 1


def raises(a: Any, n: Any) -> None:
    def put(k: Any) -> None:
        a[k] = 5
        if k >= 1:
            raise KeyError("k")

    b = a[1:]
    b[1] = 7
    for i in range(n):
        put(i)


def changes_outside(a: Any, n: Any) -> None:
    BUFFER[0] += 1
    for i in range(n):
        a[i] += BUFFER[0]


@pytest.mark.parametrize("n", [5, rt.constant(5)], ids=["static", "staged"])
@pytest.mark.parametrize("fn", [fails_late, raises, changes_outside])
def test_a_call_that_raises_leaves_arrays_as_python_does(fn: Callable[..., Any], n: Any) -> None:
    def left(call: Callable[..., Any], n: Any) -> Any:
        BUFFER[:] = 0
        a = np.zeros(3)
        with pytest.raises((IndexError, KeyError)) as info:
            call(a, n)
        return a.tolist(), BUFFER.tolist(), isinstance(info.value, KeyError)

    traced = rt.function(fn)
    assert left(traced, n) == left(traced, n) == left(fn, 5)


def test_a_call_that_prints_and_raises_prints_once(capfd: pytest.CaptureFixture[str]) -> None:
    @rt.function
    def f(a: Any, n: Any) -> None:
        print("once")
        a[n] = 1
        a[n + 1] = 1

    a = np.zeros(3)
    with pytest.raises(IndexError):
        f(a, rt.constant(2))
    assert capfd.readouterr().out == "once\n" and a.tolist() == [0, 0, 1]


# A tensor stays as it is: a write to an item of a variable is an error if something else would have to show it.

def of_another_name(x: Any, n: Any) -> Any:
    y = x
    x[0] = n
    return y


def of_a_caller(x: Any, n: Any) -> Any:
    of_another_name(x, n)
    return x


def in_a_list(x: Any, n: Any) -> Any:
    held = [x]
    x[0] = n
    return held[0] + 1


def in_a_branch(x: Any, n: Any) -> Any:
    y = x
    if n > 1:
        x[0] = 5
    return x + y


def in_a_loop(x: Any, n: Any) -> Any:
    y = x
    for i in range(n):
        x[i] = y[0] + 1
    return x


@pytest.mark.parametrize("fn", [of_another_name, of_a_caller, in_a_list, in_a_branch])
def test_a_tensor_that_something_else_shows(fn: Callable[..., Any]) -> None:
    with pytest.raises(rt.errors.StagingError, match=r"objects\.py:\d+: a tensor is (used|changed) here that"):
        rt.function(fn)(rt.constant([1, 2, 3]), rt.constant(2))


def test_what_a_loop_writes_leaves_other_names_as_they_were() -> None:
    """A tensor is a value: which names share it is not followed into loops."""
    assert rt.function(in_a_loop)(rt.constant([1, 2, 3]), rt.constant(2)).numpy().tolist() == [2, 2, 3]


def test_a_tensor_of_one_name() -> None:
    def put(x: Any) -> Any:
        x[0] = 9
        return x

    @rt.function
    def f(x: Any, n: Any) -> Any:
        x = put(x)
        for i in range(n):
            x[i] = x[i] + 1
        y = x[1:]
        y[0] = 7
        z = x.copy()
        if n > 1:
            x[2] = 3
        return x, y, z

    found = f(rt.constant([1, 2, 3]), rt.constant(2))
    assert [part.numpy().tolist() for part in found] == [[10, 3, 3], [7, 3], [10, 3, 3]]
