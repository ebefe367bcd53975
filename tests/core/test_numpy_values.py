"""NumPy's arrays and scalars take the dtype of the tensors that they meet, eagerly and in graphs."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import DTypeError

ONES = np.ones(2)
WAYS = ["eager", "numpy", "native"]


def made(way: str, fn: Callable[..., Any], *args: Any) -> Any:
    if way == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    return fn(*args) if way == "eager" else rt.function(fn, executor=way)(*args)


X = rt.constant([1.5, 2.5])
N = rt.constant(4)
BY_TENSOR: list[tuple[Callable[[Any], Any], Any, Any, list[Any]]] = [
    (lambda x: x / np.sqrt(4), X, rt.float32, [0.75, 1.25]),
    (lambda x: x * ONES, X, rt.float32, [1.5, 2.5]),
    (lambda x: ONES * x, X, rt.float32, [1.5, 2.5]),
    (lambda x: np.float64(2) - x, X, rt.float32, [0.5, -0.5]),
    (lambda x: x @ np.eye(2), rt.constant([[1.5, 2.5]]), rt.float32, [[1.5, 2.5]]),
    (lambda x: np.eye(2) @ x, rt.constant([[1.5], [2.5]]), rt.float32, [[1.5], [2.5]]),
    (lambda x: x + np.arange(2), X, rt.float32, [1.5, 3.5]),
    (lambda x: x // np.int64(2), rt.constant([5, 4]), rt.int32, [2, 2]),
    (lambda x: x / np.int64(2), rt.constant([5, 4]), rt.float64, [2.5, 2.0]),
    (lambda x: x + np.int64(1), N, rt.int32, 5),
    (lambda x: x < np.array([2.0, 2.0]), X, rt.bool, [True, False]),
    (lambda x: rt.maximum(x, np.array(2.0)), X, rt.float32, [2.0, 2.5]),
    (lambda x: rt.where(x > 2, x, np.zeros(2)), X, rt.float32, [0.0, 2.5]),
    (lambda x: rt.concat([x, np.ones(1)], 0), X, rt.float32, [1.5, 2.5, 1.0]),
    (lambda x: rt.stack([x, np.ones(2)]), X, rt.float32, [[1.5, 2.5], [1.0, 1.0]]),
    (lambda x: rt.constant(np.array([1.5]), rt.float32) + x[:1], X, rt.float32, [3.0]),
    (lambda x: x * np.array([0.5, 1.0]), rt.constant([3, 4]), rt.float64, [1.5, 4.0]),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", range(len(BY_TENSOR)))
def test_a_numpy_value_takes_the_dtype_of_the_tensor(case: int, way: str) -> None:
    fn, x, dtype, want = BY_TENSOR[case]
    got = made(way, fn, x)
    assert got.dtype is dtype
    assert got.numpy().tolist() == want


PYTHON: list[tuple[Callable[[Any], Any], Any, Any]] = [
    (lambda n: 1.0 / n, rt.float64, 0.25),
    (lambda n: n ** 0.5, rt.float64, 2.0),
    (lambda n: n < math.inf, rt.bool, True),
    (lambda n: n * 0.3, rt.float64, 4 * 0.3),
    (lambda n: rt.cast(n, rt.int8) * 0.5, rt.float32, 2.0),
    (lambda n: n + 2j, rt.complex128, 4 + 2j),
    (lambda n: rt.cast(n, rt.float32) * 1j, rt.complex64, 4j),
    (lambda n: 2 ** 31 - 1 + 0 * n < 2.0 ** 31 - 0.5, rt.bool, True),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", range(len(PYTHON)))
def test_an_int_tensor_beside_a_float_of_python(case: int, way: str) -> None:
    """As `/` has it: float64, of 8 and 16 bits float32."""
    fn, dtype, want = PYTHON[case]
    got = made(way, fn, N)
    assert got.dtype is dtype and got.numpy() == want


def test_variables() -> None:
    v = rt.Variable([1.0, 2.0])
    v.assign(np.ones(2))
    v.assign_sub(np.float64(0.5) * v)
    v.assign_add(np.array([1, 2]))
    assert v.numpy().tolist() == [1.5, 2.5]

    @rt.function
    def step() -> None:
        v.assign_add(ONES)

    step()
    assert v.numpy().tolist() == [2.5, 3.5]
    with pytest.raises(DTypeError, match="cannot assign"):
        rt.Variable([1, 2]).assign(np.array([0.5, 1.0]))


def test_values_that_a_dtype_cannot_hold() -> None:
    with pytest.raises(DTypeError, match=r"300 does not fit int8"):
        rt.constant(1, rt.int8) + np.int64(300)
    with pytest.raises(DTypeError, match="int32 and a Python float"):
        rt.concat([rt.constant([1]), np.array([0.5, 1.0])], 0)
    with pytest.raises(DTypeError, match="int64 and int32"):
        rt.constant(1, rt.int64) + rt.constant(1)
    with pytest.raises(DTypeError, match="float64 and float32"):
        rt.add(np.ones(2), np.ones(2, np.float32))


def test_whole_floats_of_numpy_become_ints_where_these_are_wanted() -> None:
    assert rt.constant(np.ones(2), rt.int32).numpy().tolist() == [1, 1]
    assert rt.Variable([1, 2]).assign(np.array([3.0, 4.0])).numpy().tolist() == [3, 4]
    for value in (0.5, np.inf, 1e30, np.nan, 2.0**31):
        with pytest.raises(DTypeError):
            rt.constant(np.array([value]), rt.int32)


def test_gradients_pass_a_cast_of_an_operand() -> None:
    x = rt.constant([1.0, 2.0])
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = rt.reduce_sum(rt.math.real(x * 2j * -1j) * np.array([3.0, 4.0]))
    assert tape.gradient(y, x).numpy().tolist() == [6.0, 8.0]


def test_shapes_that_do_not_broadcast_are_not_equal() -> None:
    """As in TF 2."""
    x, y = rt.constant([1, 2]), rt.constant([1, 2, 3])
    assert (x == y) is False and (x != y) is True
    assert (x == np.arange(3)) is False
    assert (x == rt.constant([[1], [3]])).numpy().tolist() == [[True, False], [False, False]]


def test_truth_of_no_elements() -> None:
    with pytest.raises(ValueError, match="array with no elements is ambiguous"):
        bool(rt.constant([]))
