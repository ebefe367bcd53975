"""The memory of the caller's arrays: calls of native code read it and write it, and nothing keeps it afterwards."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on


def test_results_keep_no_array() -> None:
    @rt.function
    def f(x):
        return x, x[1:], rt.reshape(x, (-1, 2)), {"x": x}

    x = np.arange(6.0)
    for _ in range(2):
        results = f(x)
        x += 1.0
        before = x - 1.0
        first, part, pairs, named = results
        for got, want in ((first, before), (part, before[1:]), (pairs, before.reshape(-1, 2)), (named["x"], before)):
            np.testing.assert_array_equal(got, want)


def test_variables_keep_no_array() -> None:
    v = rt.Variable(np.zeros(4))
    made = []

    @rt.function
    def f(x):
        if not made:
            made.append(rt.Variable(x))
        v.assign(x)

    x = np.arange(4.0)
    f(x)
    x[:] = 9.0
    np.testing.assert_array_equal(v, np.arange(4.0))
    np.testing.assert_array_equal(made[0], np.arange(4.0))
    f(x)
    x[:] = 5.0
    np.testing.assert_array_equal(v, np.full(4, 9.0))


def test_tapes_keep_no_array() -> None:
    @rt.function
    def f(w, x):
        return rt.reduce_sum(w * x)

    w, x = rt.Variable(np.ones(3)), np.arange(3.0)
    for _ in range(2):
        with rt.GradientTape() as tape:
            y = f(w, x)
        x[:] = 7.0
        gradient = tape.gradient(y, w)
        x[:] = np.arange(3.0)
        np.testing.assert_array_equal(gradient, np.arange(3.0))


def test_traces_of_others_keep_no_array() -> None:
    @rt.function
    def inner(x):
        return x * 2.0

    x = np.arange(3.0)

    @rt.function
    def outer(y):
        return inner(x) + y

    np.testing.assert_array_equal(outer(rt.constant(1.0, rt.float64)), [1.0, 3.0, 5.0])
    x[:] = 1.0
    np.testing.assert_array_equal(outer(rt.constant(1.0, rt.float64)), [3.0, 3.0, 3.0])


def test_python_called_meanwhile_sees_the_arrays_as_they_were() -> None:
    x = np.zeros(4)
    seen = []

    def look(y):
        seen.append(np.array(y))
        x[:] = 5.0
        return y

    @rt.function
    def f(x):
        y = rt.py_function(look, [x + 1.0], rt.float64)
        return x + y

    for _ in range(2):
        x[:] = 1.0
        np.testing.assert_array_equal(f(x), np.full(4, 3.0))
    np.testing.assert_array_equal(seen, np.full((2, 4), 2.0))


def exchanged(x, y):
    for i in range(len(x)):
        x[i], y[i] = y[i], x[i]


def whole(x, y):
    before = x.copy()
    x[:] = y
    y[:] = before


def one_reads_the_other(x, y):
    x[:] = y * 2 + x
    y[:] = x - y[::-1]


def unchanged(x, y):
    x[0] = x[0]
    if y[0] > 100:
        y[0] = 1


def and_returns(x, y):
    x[1] += 1
    y[0] = x[1]
    return x, x + y, y[0]


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("make", [
    lambda a: a, lambda a: np.repeat(a, 2)[::2], lambda a: a.astype(a.dtype.newbyteorder()),
    lambda a: np.frombuffer(bytearray(b"\0" + a.tobytes()), a.dtype, offset=1), np.asfortranarray,
], ids=["plain", "strided", "other order of bytes", "not aligned", "fortran"])
@pytest.mark.parametrize("f", [exchanged, whole, one_reads_the_other, unchanged, and_returns])
def test_changes(f: Any, make: Any, executor: str) -> None:
    """Of arrays of all kinds of memory, by a first call and by later ones."""
    traced = on(executor, f)
    for k in range(3):
        x, y = make(np.arange(5.0) + k), make(np.arange(5.0)[::-1] * 2.0)
        a, b = x.copy(), y.copy()
        got, want = traced(x, y), f(a, b)
        np.testing.assert_array_equal(x, a)
        np.testing.assert_array_equal(y, b)
        assert x.flags.writeable and y.flags.writeable
        if want is not None:
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)
            x[:], y[:] = 0.0, 0.0
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)


def test_rows_and_many_dimensions() -> None:
    @rt.function
    def f(table, k):
        for row in table:
            row[k] = row[0] + 1
        table[-1] = table[0]

    for shape in ((3, 4), (2, 3, 4), (0, 4)):
        table = np.arange(float(np.prod(shape))).reshape(shape)
        if not table.size:
            continue
        want = table.copy()
        for row in want:
            row[1] = row[0] + 1
        want[-1] = want[0]
        f(table, 1)
        np.testing.assert_array_equal(table, want)


def test_an_error_leaves_what_was_done_before_it() -> None:
    @rt.function
    def f(x, n):
        for i in range(n):
            x[i] = x[i] * 2 + i

    for n, count in ((3, 5), (9, 5), (9, 5)):
        x, want = np.ones(count), np.ones(count)
        for i in range(min(n, count)):
            want[i] = want[i] * 2 + i
        if n > count:
            with pytest.raises(rt.errors.IndexOutOfRangeError):
                f(x, rt.constant(n))
        else:
            f(x, rt.constant(n))
        np.testing.assert_array_equal(x, want)


def test_one_array_twice() -> None:
    @rt.function
    def f(x, y):
        x[0] = 5.0
        return y[0] + x[1]

    x = np.arange(3.0)
    for _ in range(2):
        assert f(x, x).numpy() == 6.0
    assert x[0] == 5.0


def test_a_changed_array_from_outside() -> None:
    counts = np.zeros(4, np.int64)

    @rt.function
    def f(xs):
        for x in xs:
            counts[x] += 1

    for k in range(1, 4):
        f(rt.constant([1, 2, 2]))
        np.testing.assert_array_equal(counts, [0, k, 2 * k, 0])
    assert counts.flags.writeable


def test_a_concrete_function() -> None:
    @rt.function
    def f(x):
        x[0] += 1.0
        return x[0]

    x = np.zeros(3)
    f(x)
    concrete = f.get_concrete_function(x)
    assert concrete(x).numpy() == 2.0
    np.testing.assert_array_equal(x, [2.0, 0.0, 0.0])
    with pytest.raises(rt.errors.StagingError, match="arrays"):
        concrete(rt.zeros(3, rt.float64))
