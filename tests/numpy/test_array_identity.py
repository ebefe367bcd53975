"""Which arrays are the same one, or share memory, in traced functions: as in NumPy, or an error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

RETURN_ARGUMENT: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda a: np.asarray(a), "of its dtype": lambda a: np.asarray(a, dtype=a.dtype),
    "asanyarray": lambda a: np.asanyarray(a), "ascontiguousarray": lambda a: np.ascontiguousarray(a),
    "astype without a copy": lambda a: a.astype(np.float64, copy=False), "np.real": lambda a: np.real(a),
    "real": lambda a: a.real, "conj": lambda a: a.conj(), "array without a copy": lambda a: np.array(a, copy=None),
}
COPY: dict[str, Callable[[Any], Any]] = {
    "+a": lambda a: +a, "array": lambda a: np.array(a), "astype": lambda a: a.astype(np.float64),
    "another dtype": lambda a: np.asarray(a, np.float32), "np.conj": lambda a: np.conj(a), "copy": lambda a: a.copy(),
}


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("name", [*RETURN_ARGUMENT, *COPY])
def test_what_is_written_to(name: str, executor: str) -> None:
    if name == "array without a copy" and np.__version__ < "2":
        pytest.skip("NumPy 1 takes None for no copy of nothing")
    make = {**RETURN_ARGUMENT, **COPY}[name]

    def f(a):
        b = make(a)
        b[0] = 9
        return a, b

    expected, found = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    pairs = [(expected, found), *zip(f(expected), on(executor, f)(found), strict=True)]
    for one, other in pairs:
        np.testing.assert_array_equal(np.asarray(other), one)
    assert (expected[0, 0] == 9) == (name in RETURN_ARGUMENT)


def test_types() -> None:
    @rt.function
    def f(a, n):
        one = a[0, 0]
        return [isinstance(a, np.ndarray), type(a) is np.ndarray, isinstance(a, (list, np.ndarray)),
                isinstance(a, list), isinstance(one, float), isinstance(one, np.floating), isinstance(n, rt.Tensor),
                isinstance(n, np.ndarray)]

    found = [bool(x) for x in f(np.ones((2, 2)), rt.constant(1))]
    assert found == [True, True, True, False, True, True, True, False]


class _Grid:
    def __init__(self) -> None:
        self.cells = np.zeros((3, 3))
        self.row = self.cells[1]
        self.even, self.odd = np.arange(6.0)[::2], np.arange(6.0)[1::2]

    @rt.function
    def step(self, x):
        self.cells[1, 1] = x
        return self.row * 1

    @rt.function
    def fill(self, x):
        self.cells[1, 1] = x
        self.even[0] = x
        return self.odd + self.even


def test_a_view_beside_its_base_is_found_at_the_first_call() -> None:
    grid = _Grid()
    for _ in range(2):
        with pytest.raises(rt.errors.StagingError, match="'_Grid.cells' is changed, which may share memory with"):
            grid.step(rt.constant(2.0, rt.float64))
    assert not grid.cells.any()
    assert [*grid.fill(rt.constant(2.0, rt.float64)).numpy()] == [3.0, 5.0, 9.0] and grid.row[1] == 2


def appended(x):
    y, rows = np.zeros(2), []
    for _ in x:
        rows.append(y)
    y += 1
    return rows


def appended_view(x):
    y, rows = np.zeros(2), []
    for _ in x:
        rows.append(y[:1])
    y[0] = 1
    return rows


def in_a_comprehension(x):
    y = np.zeros(2)
    rows = [y for v in x if v > 1]
    np.add(y, 1, out=y)
    return rows


def in_a_tuple(x):
    y, rows = np.zeros(2), []
    for v in x:
        rows.append((y, v))
    y.fill(3)
    return rows


@pytest.mark.parametrize("fn", [appended, appended_view, in_a_comprehension, in_a_tuple])
def test_message_array_of_python_code_changed_after_it_was_put_into_a_list(fn: Any) -> None:
    with pytest.raises(rt.errors.StagingError, match="an array is changed that was put into a list"):
        rt.function(fn)(np.array([1.0, 3.0, 2.0]))


def test_arrays_of_python_code_in_lists() -> None:
    @rt.function
    def f(x):
        y, rows = np.ones(2), [np.zeros(2)]
        for v in x:
            rows.append(y)
            rows.append(np.zeros(2) + v)
        return rows

    assert [row.numpy().tolist() for row in f(np.array([1.0, 2.0]))] == [[0, 0], [1, 1], [1, 1], [1, 1], [2, 2]]


def chosen_by_a_branch(x):
    y, z = np.zeros(2), np.ones(2)
    if x[0] > 0:
        z = y
    y += 1
    return y, z


def chosen_by_a_loop(x):
    y, z = np.zeros(2), np.ones(2)
    for v in x:
        if v > 1:
            z = y
    y[0] = 5
    return y, z


def two_names_before_a_loop(x):
    z = y = np.zeros(2)
    for v in x:
        if v > 1:
            z = z + v
    y += 1
    return y, z


def taken_from_a_list(x):
    y, z = np.zeros(2), np.ones(2)
    rows = [y]
    for _ in x:
        z = rows[-1]
    rows[0] += 1
    return rows, z


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    chosen_by_a_branch, chosen_by_a_loop, two_names_before_a_loop, taken_from_a_list])
def test_arrays_of_python_code_have_several_names(fn: Any, executor: str) -> None:
    staged = on(executor, fn)
    for x in ([1.0, 3.0], [-1.0, 0.5], [-2.0]):
        expected = rt.nest.map_structure(lambda y: y.tolist(), fn(np.array(x)))
        assert rt.nest.map_structure(lambda y: y.numpy().tolist(), staged(np.array(x))) == expected, x


def put_after_a_write(x):
    y, rows = np.ones(2), [np.zeros(2)]
    for v in x:
        rows[-1][1] += v
        rows.append(y)
    return rows, y


def put_first_after_a_write(x):
    y, rows = np.ones(2), [np.zeros(2)]
    for v in x:
        rows[0][1] += v
        rows = [y, *rows]
    return rows, y


def put_after_a_write_in_a_loop(x):
    y, rows = np.ones(2), [np.zeros(2)]
    for v in x:
        for w in x:
            rows[-1][1] += v * w
        if v > 0:
            rows.append(y)
    return rows, y


@pytest.mark.parametrize("fn", [put_after_a_write, put_first_after_a_write, put_after_a_write_in_a_loop])
def test_message_loops_that_change_arrays_of_a_list_and_put_one_with_other_names_in_it(fn: Any) -> None:
    with pytest.raises(rt.errors.StagingError, match="a list that changes in staged code holds the elements"):
        rt.function(fn)(np.array([1.0, 3.0]))


def put_in_another_list(x):
    y, rows, seen = np.ones(2), [np.zeros(2)], []
    for v in x:
        rows[-1][1] += v
        rows.append(np.ones(2) * v)
        y = y + v
        seen.append(y)
    return rows, seen


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_loops_that_change_arrays_of_one_list_and_put_arrays_in_another(executor: str) -> None:
    x = np.array([1.0, 3.0])
    found = on(executor, put_in_another_list)(x)
    assert rt.nest.map_structure(lambda y: y.numpy().tolist(), found) == rt.nest.map_structure(
        lambda y: y.tolist(), put_in_another_list(x))


VARIABLE = rt.Variable(rt.ones([2, 1]))
BESIDE_TENSORS: dict[str, Callable[[Any], Any]] = {
    "a product with a variable": lambda a: a @ VARIABLE, "a tensor after it": lambda a: a + rt.ones([2]),
    "a tensor before it": lambda a: rt.ones([2]) - a, "a variable before it": lambda a: VARIABLE * a,
    "a function of NumPy": lambda a: np.maximum(a, rt.zeros([2])),
}


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("name", BESIDE_TENSORS)
def test_an_array_beside_a_tensor_gives_a_tensor_which_no_assignment_changes(name: str, executor: str) -> None:
    made = BESIDE_TENSORS[name]

    def skipped(a):
        a += 1
        h = made(a)
        skip, history = h, [h]
        h += 1.0
        for _ in range(2):
            history.append(h)
            h *= 2.0
        return skip, h, history

    expected = skipped(np.ones((1, 2), np.float32))
    found = on(executor, skipped)(np.ones((1, 2), np.float32))
    for one, other in zip([*expected[:2], *expected[2]], [*found[:2], *found[2]], strict=True):
        np.testing.assert_array_equal(np.asarray(other), np.asarray(one))


def _swapped(a, b, k):
    a += b * k
    return b, a


def _filled(a, k):
    a[1:] += k
    return a[1:]


def _steps(swap, fill, a, b, n):
    for k in range(n):
        a, b = swap(a, b, k)
        part = fill(b, k)
        part[0] -= 1
    a[0] += 1
    return a, b


@pytest.mark.parametrize("n", [3, 50])
def test_traced_callees_return_their_arguments_and_views_of_these(n: int) -> None:
    expected, found = [np.arange(3.0), np.ones(3)], [np.arange(3.0), np.ones(3)]
    _steps(_swapped, _filled, *expected, n)
    swap, fill = rt.function(_swapped), rt.function(_filled)
    returned = rt.function(lambda a, b, n: _steps(swap, fill, a, b, n))(*found, n)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal([x.numpy() for x in returned], expected[::-1] if n % 2 else expected)
