"""Gradients that consist of slices: `IndexedSlices`, as in TensorFlow."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

WAYS = {"eager": lambda fn: fn, "native": rt.function, "numpy": lambda fn: rt.function(fn, executor="numpy")}


@pytest.fixture
def table() -> Any:
    return rt.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return WAYS[request.param]


def gradient(of: Callable[[], Any], by: Any, way: Callable[[Any], Any]) -> Any:
    def fn() -> Any:
        with rt.GradientTape() as tape:
            y = of()
        return tape.gradient(y, by)

    return way(fn)()


def test_gathers_give_slices(table: Any, way: Any) -> None:
    def of() -> Any:
        return rt.reduce_sum(rt.gather(table, [1, 1, 2]) ** 2) + rt.reduce_sum(rt.gather(table, [[0, 1]]))

    found = gradient(of, table, way)
    assert isinstance(found, rt.IndexedSlices) and found.dense_shape.numpy().tolist() == [3, 2]
    assert found.indices.numpy().tolist() == [0, 1, 1, 1, 2]
    assert found.values.numpy().tolist() == [[1, 1], [1, 1], [6, 8], [6, 8], [10, 12]]
    assert found.numpy().tolist() == [[1, 1], [13, 17], [10, 12]]


def test_they_go_through_casts(table: Any, way: Any) -> None:
    found = gradient(lambda: rt.reduce_sum(rt.nn.embedding_lookup(rt.cast(table, rt.float16), [2, 2]) ** 2), table, way)
    assert isinstance(found, rt.IndexedSlices) and found.dtype is rt.float32
    assert found.values.numpy().tolist() == [[10, 12], [10, 12]]


def test_beside_others_they_are_added(table: Any, way: Any) -> None:
    for of in (lambda: rt.reduce_sum(rt.gather(table, [1, 1])) + rt.reduce_sum(table),
               lambda: rt.reduce_sum(rt.gather(table, [1, 1])) + table[1, 0] * 0.0 + rt.reduce_sum(table)):
        found = gradient(of, table, way)
        assert isinstance(found, rt.Tensor) and found.numpy().tolist() == [[1, 1], [3, 3], [1, 1]]


def test_what_is_composed_of_gathers_is_dense(table: Any, way: Any) -> None:
    x = rt.SparseTensor([[0, 1], [1, 1]], [2.0, 3.0], [2, 3])
    for of in (lambda: rt.sparse.sparse_dense_matmul(x, table), lambda: rt.repeat(table, 2, axis=0), lambda: table[1:],
               lambda: rt.gather(table, [1, 1], axis=1)):
        assert isinstance(gradient(of, table, way), rt.Tensor)


def test_loops_give_the_sum(table: Any) -> None:
    def of() -> Any:
        total = 0.0
        for i in rt.range(3):
            total += rt.reduce_sum(rt.gather(table, [i, 1]) ** 2)
        return total

    found = gradient(of, table, rt.function)
    assert isinstance(found, rt.Tensor) and found.numpy().tolist() == [[2, 4], [24, 32], [10, 12]]


def gathered_in_a_range(table: Any) -> Any:
    total = 0.0
    for i in range(20):
        total += rt.reduce_sum(rt.gather(table, [i % 3, 1]) ** 2) * (i + 1.0)
    return total


def gathered_twice_and_beside(table: Any) -> Any:
    total = rt.reduce_sum(rt.gather(table, [2]))
    for i in range(20):
        total += rt.reduce_sum(rt.gather(table, [i // 10]) * rt.nn.embedding_lookup(rt.cast(table, rt.float32), i // 7))
    return total * 2.0


def gathered_in_nested_ranges(table: Any) -> Any:
    total = 0.0
    for i in range(10):
        for j in range(12):
            total += rt.reduce_sum(rt.gather(table, [i % 3, j % 2]) ** 2)
        total += rt.reduce_sum(rt.gather(table, 0))
    return total


def gathered_until(table: Any) -> Any:
    total = 0.0
    for i in range(20):
        total += rt.reduce_sum(rt.gather(table, [i % 3]) ** 2)
        if total > 100.0:
            break
    return total


SLICED = [gathered_in_a_range, gathered_twice_and_beside, gathered_in_nested_ranges, gathered_until]


@pytest.mark.parametrize("of", SLICED)
@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_rolled_loops_give_the_slices_of_the_unrolled_ones(table: Any, of: Any, executor: str) -> None:
    expected = gradient(lambda: of(table), table, lambda fn: fn)
    found = gradient(lambda: of(table), table, lambda fn: on(executor, fn))
    graph = rt.function(of).get_concrete_function(table).graph
    assert not {"reduce", "while_loop"}.isdisjoint(node.op.name for node in graph.nodes)
    assert isinstance(found, rt.IndexedSlices)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)
    assert isinstance(gradient(rt.function(lambda: of(table)), table, lambda fn: fn), rt.IndexedSlices)


@pytest.mark.parametrize("way_", ["native", "numpy"])
def test_rolled_loops_with_other_uses_give_the_sum(table: Any, way_: str) -> None:
    def of() -> Any:
        total = 0.0
        for i in range(20):
            total += rt.reduce_sum(rt.gather(table, [i % 3, 1]) ** 2) + rt.reduce_sum(table[1:] * 2.0)
        return total

    expected = gradient(of, table, lambda fn: fn)
    found = gradient(of, table, WAYS[way_])
    assert isinstance(found, rt.Tensor)
    np.testing.assert_allclose(found, rt.convert_to_tensor(expected), rtol=1e-6)


def test_second_order_through_a_rolled_loop() -> None:
    x = rt.constant([1.0, 2.0, 3.0])

    def second(x: Any) -> Any:
        with rt.GradientTape() as outer:
            outer.watch(x)
            with rt.GradientTape() as tape:
                tape.watch(x)
                total = 0.0
                for i in range(20):
                    total += rt.reduce_sum(rt.gather(x, [i % 3, 1]) ** 3)
            first = rt.convert_to_tensor(tape.gradient(total, x))
            y = rt.reduce_sum(first * rt.constant([1.0, 2.0, 3.0]))
        return rt.convert_to_tensor(outer.gradient(y, x))

    np.testing.assert_allclose(rt.function(second)(x), second(x))


def test_calls_of_functions_give_slices(table: Any) -> None:
    square = rt.function(lambda: rt.reduce_sum(rt.gather(table, [1, 1, 2]) ** 2))
    found = gradient(square, table, lambda fn: fn)
    assert isinstance(found, rt.IndexedSlices) and found.values.numpy().tolist() == [[6, 8], [6, 8], [10, 12]]
    with rt.GradientTape() as tape:
        y = square() + rt.reduce_sum(table)
    assert tape.gradient(y, table).numpy().tolist() == [[1, 1], [13, 17], [11, 13]]


def test_watched_tensors_jacobians_and_higher_orders() -> None:
    x = rt.constant([1.0, 2.0, 3.0])
    with rt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with rt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = rt.gather(x, [0, 0, 2]) ** 3
        first = tape.gradient(y, x)
        total = rt.reduce_sum(first * rt.constant([1.0, 1.0, 1.0]))
    assert isinstance(first, rt.IndexedSlices) and first.numpy().tolist() == [6, 0, 27]
    assert tape.jacobian(y, x).numpy().tolist() == [[3, 0, 0], [3, 0, 0], [0, 0, 27]]
    assert rt.convert_to_tensor(outer.gradient(total, x)).numpy().tolist() == [12, 0, 18]
    np.testing.assert_array_equal(rt.grad(lambda x: rt.reduce_sum(rt.gather(x, [0, 0]) ** 2))(x), [4, 0, 0])


def test_products_with_tensors_are_dense() -> None:
    x = rt.IndexedSlices(rt.constant([[1.0], [2.0]]), rt.constant([1, 1]), [2, 1])
    assert isinstance(x * 2.0, rt.IndexedSlices) and (x * rt.constant(2.0)).numpy().tolist() == [[0], [6]]


def test_rows_of_a_variable(table: Any, way: Any) -> None:
    found = gradient(lambda: rt.reduce_sum(table.sparse_read([1, 1]) ** 2), table, way)
    assert isinstance(found, rt.IndexedSlices) and found.numpy().tolist() == [[0, 0], [12, 16], [0, 0]]
