"""Native code for unknown sizes that are assumed to be equal, and for those that are not."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

S = rt.TensorSpec
SIZES = [(4, 4), (4, 1), (1, 4), (0, 0), (0, 1), (1, 0), (3, 3), (1, 1), (70, 70)]


def agree(f: Callable[..., Any], specs: list[Any], calls: list[list[Any]]) -> Any:
    """Both executors give the same for calls in this order; returns the native function."""
    native, reference = (rt.function(f, input_signature=specs, executor=name) for name in ("native", "numpy"))
    for args in calls:
        for x, y in zip(rt.nest.flatten(native(*args)), rt.nest.flatten(reference(*args)), strict=True):
            assert x.shape == y.shape
            np.testing.assert_allclose(x.numpy(), y.numpy(), 2e-5, 1e-6)
    return native


def rows(*sizes: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [rt.constant(random.random((size, 3), np.float32)) for size in sizes]


def step(x: Any, y: Any) -> Any:
    with rt.GradientTape() as tape:
        tape.watch([x, y])
        loss = rt.reduce_mean((rt.tanh(x @ rt.ones([3, 3])) - y) ** 2)
    return loss, tape.gradient(loss, [x, y])


@pytest.mark.parametrize("first", [0, 1, 3])
def test_sizes_that_are_equal_and_that_are_not(first: int) -> None:
    calls = [rows(*sizes) for sizes in (*SIZES[first:], *SIZES[:first]) if min(sizes) > 0]
    agree(step, [S([None, 3]), S([None, 3])], calls)


@pytest.mark.parametrize("f", [lambda x, y: x * y, lambda x, y: rt.reduce_sum(x * y), lambda x, y: (x - y, x)],
                         ids=["array", "number", "several"])
def test_all_ways_of_a_call(f: Callable[..., Any]) -> None:
    agree(f, [S([None, 3]), S([None, 3])], [rows(*sizes) for sizes in SIZES])


def test_sizes_that_do_not_fit_raise() -> None:
    for name in ("native", "numpy"):
        f = rt.function(step, input_signature=[S([None, 3]), S([None, 3])], executor=name)
        with pytest.raises(rt.errors.ShapeError, match="broadcast"):
            f(*rows(2, 3))
        assert np.isfinite(float(f(*rows(2, 2))[0]))


def test_variables_change_once_for_other_sizes() -> None:
    count = rt.Variable(0.0)

    @rt.function(input_signature=[S([None, 3]), S([None, 3])], executor="native")
    def f(x: Any, y: Any) -> Any:
        count.assign_add(1.0)
        return x * y

    for k, sizes in enumerate(SIZES, 1):
        f(*rows(*sizes))
        assert float(count) == k


def test_arrays_in_other_layouts() -> None:
    f = rt.function(lambda x, y: x * y + x, input_signature=[S([None, 3]), S([None, 3])], executor="native")
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(4, 3))
    for y in (x, x[:1]):
        np.testing.assert_array_equal(f(rt.constant(x), rt.constant(y)).numpy(), x * y + x)


def test_equal_sizes_share_loops() -> None:
    """Element-wise ops of inputs of unknown sizes are one loop."""
    f = rt.function(lambda x, y: rt.tanh(x) * y + x, input_signature=[S([None]), S([None])], executor="native")
    f(rt.ones([3]), rt.ones([3]))
    known = rt.function(lambda x, y: rt.tanh(x) * y + x, executor="native")
    known(rt.ones([3]), rt.ones([3]))
    lines = [g.get_concrete_function(rt.ones([3]), rt.ones([3])).inspect_llvm(False).count("\n") for g in (f, known)]
    assert lines[0] < 3 * lines[1]


def in_a_loop(x: Any, w: Any) -> Any:
    with rt.GradientTape() as tape:
        tape.watch([x, w])
        y = x
        for _ in rt.range(5):
            y = rt.tanh(y @ w) * y
        loss = rt.reduce_sum(y)
    return tape.gradient(loss, [x, w])


def test_lists_of_open_elements() -> None:
    square = rt.constant(np.random.default_rng(1).random((3, 3), np.float32))
    f = agree(in_a_loop, [S([None, 3]), S([3, 3])], [[x, square] for x in rows(4, 1, 0, 33, 2)])
    assert "list_" not in f.get_concrete_function().inspect_llvm(False)  # no functions of lists of several shapes


def test_an_index_out_of_range_of_a_list_of_open_elements() -> None:
    def f(x: Any, k: Any) -> Any:
        items = []
        for _ in rt.range(3):
            items.append(x * 2.0)
        return items[k]

    specs = [S([None]), S([], rt.int32)]
    agree(f, specs, [[rt.ones([n]), rt.constant(k)] for n, k in ((4, 0), (2, -1), (0, 2))])
    for name in ("native", "numpy"):
        g = rt.function(f, input_signature=specs, executor=name)
        with pytest.raises(IndexError):
            g(rt.ones([4]), rt.constant(3))


def test_reshapes_and_sizes_of_the_result() -> None:
    def f(x: Any, y: Any) -> Any:
        n = rt.shape(x)[0]
        flat = rt.reshape(x, [-1])
        return rt.reshape(flat, [n, 3]) + y, rt.broadcast_to(y[:1], [n, 3]), rt.reshape(x * y, [3, -1])

    agree(f, [S([None, 3]), S([None, 3])], [rows(4, 4), rows(1, 1), rows(33, 33)])


def test_elements_of_an_item_that_is_scattered() -> None:
    def f(x: Any, k: Any) -> Any:
        return rt.tensor_scatter_nd_add(x, k, rt.reduce_sum(x, 1)), rt.gather(x, k[:, 0])

    k = np.array([[0, 1], [2, 0], [1, 1], [0, 2]], np.int32)
    agree(f, [S([None, 3]), S([None, 2], rt.int32)], [[rows(4)[0], rt.constant(k)]])
    for name in ("native", "numpy"):
        g = rt.function(f, input_signature=[S([None, 3]), S([None, 2], rt.int32)], executor=name)
        with pytest.raises(IndexError):
            g(rows(4)[0], rt.constant(k + 2))


def test_sizes_that_are_given_as_numbers_may_be_others() -> None:
    def f(ct: Any, n: Any) -> Any:
        have = rt.shape(ct, rt.int64)[0]
        want = rt.where(rt.equal(have, 1), have, n)
        return rt.reduce_sum(rt.reshape(ct, rt.stack([have // rt.maximum(want, 1), want, 3])), 0)

    for first in (0, 2):
        calls = [[*rows(size), rt.constant(n, rt.int64)] for size, n in (
            (4, 4), (6, 6), (6, 2), (6, 1), (1, 5), (4, 4))]
        agree(f, [S([None, 3]), S([], rt.int64)], calls[first:] + calls[:first])


def test_gradients_outside_of_the_function_where_operands_broadcast() -> None:
    def f(x: Any, y: Any) -> Any:
        return rt.tanh(x @ rt.ones([3, 3])) * y - y

    def gradients(name: str, *sizes: int) -> Any:
        call = functions[name]
        x, y = rows(*sizes)
        with rt.GradientTape() as tape:
            tape.watch([x, y])
            total = rt.reduce_sum(call(x, y) ** 2)
        return tape.gradient(total, [x, y])

    functions = {name: rt.function(f, input_signature=[S([None, 3]), S([None, 3])], executor=name)
                 for name in ("native", "numpy")}
    for sizes in ((4, 4), (4, 1), (1, 4), (1, 1), (7, 7)):
        for one, other in zip(gradients("native", *sizes), gradients("numpy", *sizes), strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one.numpy(), other.numpy(), 2e-5, 1e-6)


@pytest.mark.parametrize("value", [-1, -0.0, np.nan, 1e300, np.complex128(1, -0.0), True], ids=str)
def test_copies_of_a_large_constant_of_one_number_are_written(value):
    def f(a):
        table = np.full(70_000, value)
        table[a[0]] = a[1]
        return table, table[a[0]:].sum()

    a = np.array([3, 1])
    traced = rt.function(f, executor="native")
    for found, want in zip(traced(a), f(a), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found.numpy(), want)
        np.testing.assert_array_equal(np.signbit(found.numpy().imag), np.signbit(np.imag(want)))
    text = traced.get_concrete_function(a).inspect_llvm(optimized=False)
    assert text.count("call void @llvm.memcpy") == 1, "only the result is copied"
