"""Lists and tuples with items that only the graph knows, as operands, indices and arguments beside arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt

W, TABLE = np.array([1.0, 5.0, 7.0]), np.array([[1, 2], [3, 4]])


def in_place(k):
    a, b = np.arange(3.0), np.arange(3)
    alias = a
    a += [k, 1, 2]
    a -= (k, k, k)
    a *= [1, k, 1]
    a /= [k, k, 1]
    a **= [1, k, 2]
    b %= [k, 1, 2]
    b //= [1, k, k]
    return a, alias, b


def pivot(k):
    a = np.eye(3)
    a[[k, 0]] = a[[0, k]]
    return a


def fill(k):
    a, b = np.arange(3.0), np.zeros(3, np.int64)
    np.copyto(a, [k, 0, 1])
    np.put(b, [0, k], [k, 7])
    np.add.at(b, [k, k], [k, 1])
    return a, b


def extended(k):
    p, q = [k, 1, 2], [k, 1, 2]
    p += W
    q *= W
    return p, q


OF_TENSORS: dict[str, Callable[[Any], Any]] = {
    "+": lambda k: (W + [k, 0, 1], [k, 0, 1] + W, W + (k, 0, 1), W + [[k], [1]]),
    "-": lambda k: (W - [k, 0, 1], (k, 0, 1) - W), "*": lambda k: (W * [k, k, 1], [k] * W, np.int64(2) * [k, 1]),
    "/": lambda k: (W / (k, k, 1), [k, 1, 1] / W), "//": lambda k: (W // [k, 1, 2], divmod(W, [k, 2, 1])),
    "%": lambda k: W % [k, 2, 3], "**": lambda k: W ** [k, 1, 1],
    "@": lambda k: (W @ [k, 0, 1], [k, 0, 1] @ W, [[k, 1], [1, 2]] @ TABLE),
    "&": lambda k: (TABLE & [k, 1], [k, 1] | TABLE), "==": lambda k: (W == [k, 5, 1], [k, 5, 1] != W),
    "<": lambda k: (W < [k, 5, 9], (k, 5, 9) >= W), "in place": in_place, "other names": extended,
    "ufuncs": lambda k: (np.exp([k, 1]), np.maximum((k, 4, 8), W), np.add.reduce([k, 1])),
    "functions": lambda k: (np.choose([k - 1, 0], TABLE), np.array_equal(W, [k, 1, 1]), W.dot([k, 0, 1])),
    "index": lambda k: (W[[k, 0]], TABLE[[0, k - 1], [1, k - 1]], TABLE[:, [k - 1, 0]], W[[[k, 0], [1, 1]]]),
    "mask": lambda k: W[[k > 1, False, True]], "pivot": pivot, "changes": fill,
}


def growing_operands(n):
    a, p = np.arange(3.0), [i for i in range(n)]
    return a + p, p + a, a - p, p * a, a ** p, a @ p, p @ a, a.dot(p), -a + p, np.int8([1, 2, 3]) * p


def growing_comparisons(n):
    a, p = np.arange(3.0), [i for i in range(n)]
    return a == p, (a == p).all(), p == a, a < p, p != W, W >= p


def growing_rows(n):
    p = [[i, i + 1] for i in range(n)]
    return p == np.zeros(2), np.arange(2.0) + p, np.arange(3.0) @ p


def growing_changes(n):
    a, b, p = np.arange(3.0), np.ones(3), [i for i in range(n)]
    np.copyto(a, p)
    b += p
    p += b
    return a, b, p


OF_UNKNOWN_LENGTH = growing_operands, growing_comparisons, growing_rows, growing_changes


def same(want: Any, got: Any) -> None:
    if isinstance(want, (list, tuple)):
        for one, other in zip(want, got, strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(got, want)
        assert np.asarray(got).dtype == np.asarray(want).dtype or type(want) is int


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", OF_TENSORS.values(), ids=OF_TENSORS)
def test_tensors_in_lists(program: Callable[[Any], Any], executor: str) -> None:
    def of_element(x):
        return program(x[0])

    same(program(2), on(executor, program)(rt.constant(2, rt.int64)))
    same(program(2), on(executor, of_element)(np.array([2])))


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", OF_UNKNOWN_LENGTH)
def test_lists_of_unknown_length(program: Callable[[Any], Any], executor: str) -> None:
    same(program(3), on(executor, program)(rt.constant(3)))


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_arrays_that_are_arguments(executor: str) -> None:
    def f(a, n):
        p = [i for i in range(n)]
        before = p == a, a == p
        p += a
        np.copyto(a, [n, n, n])
        return before, p, a

    want, got = np.arange(3.0), np.arange(3.0)
    same(f(want, 3), on(executor, f)(got, rt.constant(3)))
    np.testing.assert_array_equal(got, want)


def test_what_has_no_operator_here() -> None:
    def xor(n):
        p = [i for i in range(n)]
        return TABLE ^ p

    def of_range(n):
        return range(n) == TABLE

    with pytest.raises(TypeError, match="(?s)the items of a staged list are not known here.*TABLE"):
        rt.function(xor)(rt.constant(2))
    with pytest.raises(TypeError, match=r"(?s)a range of tensors cannot become a NumPy array.*list\(range\(\.\.\.\)\)"):
        rt.function(of_range)(rt.constant(2))
    numbers = [1, 2, 3]
    with pytest.raises(TypeError, match="list indices must be integers or slices, not list"):
        rt.function(lambda k: numbers[[k, 0]])(rt.constant(2))
