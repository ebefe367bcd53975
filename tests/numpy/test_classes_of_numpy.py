"""In a traced function arrays and scalars of NumPy have NumPy's classes and text, and tensors their own."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt

ARRAY, SCALAR = np.array([1, 5]), np.int64(5)
TENSOR, NUMBER = rt.constant([1, 5], rt.int64), rt.constant(5, rt.int64)


def same(found, expected):
    assert type(found) is tuple and len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one if isinstance(one, str) else one.numpy()) == other


def text_of_array(x):
    return str(x), repr(x), f"{x}", str(x[1]), repr(x[1]), "a" + str(x.sum()), str((x[0], 2)), f"{x[1]!r:>12}"


def text_of_scalar(x):
    return str(x), repr(x), f"{x}", f"{x:4}", str(x + 1), str(x * 0.5), ",".join([str(x), str(x == 5)])


def classes(x):
    return isinstance(x, np.ndarray), isinstance(x, np.integer), f"{type(x)}", isinstance(x + 1, np.integer)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize(("f", "x"), [
    (text_of_array, ARRAY), (text_of_array, ARRAY / 4), (text_of_scalar, SCALAR), (text_of_scalar, np.float64(2.5)),
    (text_of_scalar, np.float64(0.1)), (classes, ARRAY), (classes, SCALAR), (classes, np.float64(2.5))])
def test_as_in_python(f, x, executor):
    same(rt.function(f, executor=executor)(x), f(x))


@pytest.mark.parametrize(("f", "tensor", "other"), [
    (text_of_array, TENSOR, ARRAY), (classes, TENSOR, ARRAY), (text_of_scalar, NUMBER, SCALAR),
    (classes, NUMBER, SCALAR)])
@pytest.mark.parametrize("tensor_first", [True, False])
def test_a_trace_for_tensors_is_not_one_for_values_of_numpy(f, tensor, other, tensor_first):
    """If it asks for the class or the text."""
    order = (tensor, other) if tensor_first else (other, tensor)
    traced, alone = rt.function(f), [rt.function(f)(x) for x in order]
    for _ in range(3):
        assert [[*map(str, traced(x))] for x in order] == [[*map(str, found)] for found in alone]
    assert traced.experimental_get_tracing_count() == 2


def test_a_trace_that_does_not_ask_serves_both():
    traced = rt.function(lambda x: x + 1)
    for x in (NUMBER, SCALAR, NUMBER):
        assert int(traced(x)) == 6
    assert traced.experimental_get_tracing_count() == 1


def test_a_traced_function_that_is_called_in_another_one_tells_them_apart():
    @rt.function
    def inner(x):
        return str(x)

    @rt.function
    def outer(x, y):
        return inner(x), inner(y), inner(x[0]), inner(y[0])

    assert outer(TENSOR, ARRAY) == (str(TENSOR), "[1 5]", str(TENSOR[0]), "1")
    assert outer(ARRAY, TENSOR) == ("[1 5]", str(TENSOR), "1", str(TENSOR[0]))


@pytest.mark.parametrize("x", [rt.constant(1.5), rt.constant([1.5, 2.5])])
@pytest.mark.parametrize("n", [np.int64(7), np.float64(2), np.float32(3), np.uint8(4), np.array(7)])
def test_a_scalar_adapts_to_a_tensor(n, x):
    def product(n, x):
        return n * x

    found, expected = rt.function(product)(n, x), product(n, x)
    assert found.dtype is expected.dtype is rt.float32
    assert (found.numpy() == expected.numpy()).all()
