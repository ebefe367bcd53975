"""`set_shape` and `ensure_shape`: what a program says of a shape is checked where the types do not prove it."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt
from runtime.errors import ShapeError

EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "native"])
VECTOR = rt.TensorSpec([None])
MATRIX = rt.TensorSpec([None, None])


def masked(x):
    y = rt.boolean_mask(x, x > 0)
    y.set_shape([3])
    return y * 2.0 + rt.constant([1.0, 2.0, 3.0])


def rows(x):
    x.set_shape([None, 3])
    return rt.reduce_sum(x, 1), x * 1.0, rt.shape(x)


def from_python(x):
    y = rt.numpy_function(lambda a: a[a > 0], [x], rt.float32)
    y.set_shape([3])
    return rt.reduce_sum(y)


def in_a_loop(x):
    for i in rt.range(3):
        y = x * 2.0
        y.set_shape([3])
        x = y + 1.0
    return x


def of_a_captured_tensor(x):
    s = 0.0
    for i in rt.range(2):
        x.set_shape([3])
        s += x[2]
    return s, x


def of_lanes(x):
    def each(row):
        row.set_shape([3])
        return rt.reduce_sum(row)
    return rt.vectorized_map(each, x)


def with_tape(x):
    with rt.GradientTape() as tape:
        tape.watch(x)
        x.set_shape([3])
        y = rt.reduce_sum(x * x)
    return tape.gradient(y, x)


@rt.function(input_signature=[rt.TensorSpec([3])])
def of_three(x):
    return x * 2.0


def by_signature(x):
    return of_three(x) + rt.constant([1.0, 2.0, 3.0])


def ensured(x):
    return rt.ensure_shape(x, [3]) + rt.constant([1.0, 2.0, 3.0])


@EXECUTORS
@pytest.mark.parametrize(("f", "spec"), [
    (masked, VECTOR), (rows, MATRIX), (from_python, VECTOR), (in_a_loop, VECTOR), (of_a_captured_tensor, VECTOR),
    (of_lanes, MATRIX), (with_tape, VECTOR), (ensured, VECTOR), (by_signature, VECTOR)])
def test_a_wrong_shape_is_an_error_at_its_line(f, spec, executor: str) -> None:
    g = rt.function(f, input_signature=[spec], executor=executor)
    fits = rt.ones([2, 3] if spec is MATRIX else [3])
    expected = f(fits)
    for found, want in zip(rt.nest.flatten(g(fits)), rt.nest.flatten(expected), strict=True):
        np.testing.assert_array_equal(found, want)
    for size in 2, 4, 0:
        says = r"set_shape|ensure_shape|its input_signature"
        shape = rf"\[2, {size}\]" if f is rows else rf"\[{size}\]"
        with pytest.raises(ShapeError, match=rf"test_shape_refinement.py:\d+: .* shape {shape}, but ({says}) says \("):
            g(rt.ones([2, size] if spec is MATRIX else [size]))


@EXECUTORS
def test_elements_of_a_dataset(executor: str) -> None:
    def fixed(x):
        x.set_shape([3])
        return x

    def total(items):
        s = rt.zeros([3])
        for item in items:
            s += item
        return s

    before = rt.config.default_executor()
    rt.config.set_default_executor(executor)
    try:
        sized = rt.data.Dataset.from_tensor_slices([3, 4]).map(rt.ones).map(fixed)
        assert sized.element_spec.shape == [3] and next(iter(sized)).shape == [3]
        for use in list, rt.function(total), lambda items: list(items.batch(2)):
            with pytest.raises(ShapeError, match=r"shape \[4\], but set_shape says \(3,\)[^$]*element 1 of a dataset"):
                use(sized)
    finally:
        rt.config.set_default_executor(before)


@EXECUTORS
def test_a_branch_says_it_for_itself(executor: str) -> None:
    def f(x):
        if rt.shape(x)[0] == 3:
            x.set_shape([3])
            assert x.shape == [3]
            y = x + rt.constant([1.0, 2.0, 3.0])
        else:
            assert x.shape.as_list() == [None]
            y = x * 2.0
        assert x.shape.as_list() == [None]
        return y, x

    g = rt.function(f, input_signature=[VECTOR], executor=executor)
    for size, want in ((2, [2, 2]), (3, [2, 3, 4]), (4, [2] * 4)):
        y, x = g(rt.ones([size]))
        assert y.numpy().tolist() == want and x.numpy().tolist() == [1] * size


@EXECUTORS
def test_a_handler_catches_it(executor: str) -> None:
    def f(x):
        try:
            x.set_shape([3])
            return rt.reduce_sum(x + rt.constant([1.0, 2.0, 3.0]))
        except ValueError:
            return rt.reduce_sum(x)

    g = rt.function(f, input_signature=[VECTOR], executor=executor)
    assert [float(g(rt.ones([size]))) for size in (2, 3, 4)] == [2, 9, 4]


@EXECUTORS
def test_output_gradients_have_the_shapes_of_targets(executor: str) -> None:
    def f(x, seed):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
        return tape.gradient(y, x, output_gradients=seed)

    g = rt.function(f, input_signature=[rt.TensorSpec([2]), VECTOR], executor=executor)
    assert g(rt.ones([2]), rt.ones([2])).numpy().tolist() == [2.0, 2.0]
    with pytest.raises(ShapeError, match=r"test_shape_refinement.py:\d+: an output gradient has the shape \[5\], but"):
        g(rt.ones([2]), rt.ones([5]))


def test_what_types_prove_is_not_checked() -> None:
    def known(x):
        x.set_shape([None, 3])
        return rt.ensure_shape(x, [2, None]) + 1.0

    graph = rt.function(known).get_concrete_function(rt.TensorSpec([2, 3])).graph
    assert {node.op.name for node in graph.walk()} == {"const", "add"}
    refined = rt.function(known).get_concrete_function(MATRIX).graph
    assert refined.outputs[0].type.shape == (2, 3)
    with pytest.raises(ValueError, match="incompatible"):
        rt.function(known).get_concrete_function(rt.TensorSpec([2, 4]))


@EXECUTORS
def test_cotangents_of_custom_gradients_have_the_shape_of_their_arguments(executor: str) -> None:
    @rt.custom_gradient
    def shrinks(x):
        return x * 1.0, lambda ct: rt.boolean_mask(ct, ct > 5.0)

    def f(x):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in rt.range(3):
                y = shrinks(y)
            y = rt.reduce_sum(y * x)
        return tape.gradient(y, x)

    g = rt.function(f, input_signature=[rt.TensorSpec([2])], executor=executor)
    assert g(rt.constant([6.0, 7.0])).numpy().tolist() == [12.0, 14.0]
    with pytest.raises(ShapeError, match=r"test_shape_refinement.py:\d+: .*\[[12]\]"):
        g(rt.constant([6.0, 1.0]))
