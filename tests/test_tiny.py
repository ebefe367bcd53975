"""The API in one page."""
from __future__ import annotations

import numpy as np

import autograph as ag
import runtime as rt


@rt.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def test_control_flow_on_tensors_becomes_a_graph():
    assert collatz(rt.constant(27)) == 111
    assert collatz(27) == 111  # on a Python number it runs while it is traced
    assert ag.to_code(collatz).startswith("def collatz(n):\n    steps = 0\n\n    def while_test():")
    graph = collatz.get_concrete_function(rt.TensorSpec([], rt.int32)).graph
    assert [node.op.name for node in graph.nodes if node.subgraphs] == ["while_loop"]
    assert ag.convert(collatz.python_function)(27) == 111  # without the runtime: plain Python


def test_tensors():
    x = rt.constant([[1.0, 2.0], [3.0, 4.0]])
    y = rt.matmul(x, rt.transpose(x)) + 1
    assert y.shape == [2, 2] and y.dtype == rt.float32
    np.testing.assert_array_equal(y, [[6, 12], [12, 26]])
    np.testing.assert_array_equal(rt.reduce_sum(x[:, ::-1], axis=0).numpy(), [6, 4])


def test_loops_breaks_and_early_returns():
    @rt.function
    def first_above(xs, limit):
        for i, x in enumerate(xs):
            if x > limit:
                return i
        return -1

    assert first_above(rt.constant([1.0, 5.0, 9.0]), 4.0) == 1
    assert first_above(rt.constant([1.0, 5.0, 9.0]), 40.0) == -1


def test_state():
    total = rt.Variable(0.0, name="total")

    @rt.function
    def add_up(xs):
        for x in xs:
            if x < 0:
                continue
            total.assign_add(x)
        return total * 2

    assert add_up(rt.constant([1.0, -5.0, 2.0])) == 6.0
    assert total.numpy() == 3.0


def test_lists_and_tensor_arrays():
    @rt.function
    def squares(n):
        items = []
        array = rt.TensorArray(rt.int32, size=n)
        for i in range(n):
            items.append(i * i)
            array = array.write(i, -i)
        return items, array.stack()

    items, stacked = squares(rt.constant(4))
    assert [int(x) for x in items] == [0, 1, 4, 9]
    np.testing.assert_array_equal(stacked, [0, -1, -2, -3])


def test_datasets():
    pairs = rt.data.Dataset.range(6).map(lambda i: (i, i * i)).filter(lambda i, square: i % 2 == 0)

    @rt.function
    def total(dataset):
        s = rt.constant(0, rt.int64)
        for i, square in dataset:
            s += i + square
        return s

    assert total(pairs) == 26
    assert [tuple(map(int, pair)) for pair in pairs.take(2)] == [(0, 0), (2, 4)]


def test_why_it_was_traced():
    @rt.function
    def double(x):
        return x * 2

    double(rt.constant([1.0]))
    double(rt.constant([1.0, 2.0]))
    assert "argument 'x' is float32[2], and was float32[1] before" in double.explain()
    assert double.experimental_get_tracing_count() == 2
