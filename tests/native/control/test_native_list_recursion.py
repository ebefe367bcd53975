"""Native functions of routines that take, change and return lists."""
from __future__ import annotations

import gc

import numpy as np
import pytest

import runtime as rt
from runtime.core.config import allocated_memory
from tests.recursive_programs import hanoi, sort_in_place, sorted_list

pytest.importorskip("llvmlite")


def walk(n, path, most):
    path.append(n)
    if n > 0:
        walk(n - 1, path, most)
        if len(path) > most:
            path.pop()
        walk(n - 2, path, most)


def doubled(n, xs, rows):
    """The list that is read is longer in each call; the other has rows of a matrix."""
    if n == 0:
        rows.append(rt.stack([xs[0], xs[-1]]))
        return len(xs)
    rows[0] = rows[0] + rows[-1]
    return doubled(n - 1, xs + [n], rows) + doubled(n - 1, xs, rows)


def sorted_by_parts(x):
    return sorted_list(list(x))


def sorted_in_place(x):
    xs = list(x)
    sort_in_place(xs, 0, len(xs) - 1)
    return xs


def walked(x):
    path = [x[0]]
    walk(x[1] % 8, path, 6)
    return path


def moved(x):
    pegs = [3, 2, 1], [x[0]], [x[1]]
    hanoi(x[2] * 0 + 3, pegs[0], pegs[1], pegs[2])
    return pegs


def with_rows(x):
    rows = [rt.stack([x[0], x[1]])]
    return doubled(x[2] % 4, [x[0]], rows), rows


FUNCTIONS = [sorted_by_parts, sorted_in_place, walked, moved, with_rows]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_are_those_of_the_reference_executor_without_callbacks(function):
    f = rt.function(function, input_signature=[rt.TensorSpec([None], rt.int32)])
    reference = rt.function(function, executor="numpy", input_signature=[rt.TensorSpec([None], rt.int32)])
    f(rt.constant([1, 2, 3]))
    report = f.explain_native()
    assert "is called directly, as a native function" in report and "calls Python:" not in report
    generator = np.random.default_rng(0)
    for size in (3, 4, 17, 60):
        x = generator.integers(0, 40, size).astype(np.int32)
        got, want = f(x), reference(x)
        for a, b in zip(rt.nest.flatten(got), rt.nest.flatten(want), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_an_error_from_the_depths(executor):
    def take(n, xs):
        if n > 0:
            xs.pop()
            take(n - 1, xs)
        return xs

    f = rt.function(lambda n: take(n, [1, 2, 3]), executor=executor)
    assert list(map(int, f(rt.constant(2)))) == [1]
    with pytest.raises(IndexError, match="pop from empty list"):
        f(rt.constant(5))
    assert list(map(int, f(rt.constant(1)))) == [1, 2]


def test_memory_of_lists_is_freed():
    f = rt.function(sorted_by_parts, input_signature=[rt.TensorSpec([None], rt.int32)])

    @rt.function(input_signature=[rt.TensorSpec([], rt.int32)])
    def fails(n):
        def deep(n, xs, depth):
            if n == 0:
                if xs[0] >= 0:
                    raise ValueError("the end")
                return xs
            return deep(n - 1, xs + xs, depth + 1) + xs

        return deep(n, [1, 2, 3], 0)

    gc.collect()  # what other tests have left
    values, held = np.random.default_rng(0).integers(0, 5000, 2000).astype(np.int32), []
    for _ in range(4):
        f(values)
        with pytest.raises(ValueError, match="the end"):
            fails(9)
        held.append(int(allocated_memory[0]))
    assert held[1] == held[3]


def test_lists_of_elements_of_several_shapes_go_through_python():
    def grow(n, xs, depth):
        if n > 0:
            xs.append(rt.concat([xs[-1], xs[-1][:1]], 0))
            grow(n - 1, xs, depth + 1)
        return rt.reduce_sum(xs[-1])

    f = rt.function(lambda n: grow(n, [rt.constant([1.0, 2.0])], 0))
    assert f(rt.constant(3)) == 6
    assert "elements of several shapes" in f.explain_native()
