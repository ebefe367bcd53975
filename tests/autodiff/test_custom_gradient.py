"""`custom_gradient` and `recompute_grad`."""
from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import f64

import runtime as rt
from runtime.autodiff.rules.registry import VJP

pytestmark = pytest.mark.skipif(not {"sin", "list_get"} <= set(VJP), reason="the rules of ops are not there yet")


@rt.custom_gradient
def softplus(x: Any) -> Any:
    e = rt.exp(x)
    return rt.math.log(1.0 + e), lambda ct: ct * (1.0 - 1.0 / (1.0 + e))


@rt.custom_gradient
def clipped(x: Any, y: Any) -> Any:
    def gradient(ct: Any, ct_of_sum: Any) -> Any:
        return rt.clip_by_value(ct, -1.0, 1.0), None

    return (x * y, x + y), gradient


def ways(program: Any) -> list[Any]:
    return [rt.grad(program), rt.function(rt.grad(program)), rt.grad(rt.function(program))]


def test_the_gradient_is_the_functions_own() -> None:
    for gradient in ways(softplus):
        assert gradient(rt.constant(100.0)).numpy() == 1.0
    for gradient in ways(lambda x: clipped(x, 5.0)[0] * 10.0 + clipped(x, x)[1]):
        assert gradient(rt.constant(3.0)).numpy() == 1.0


def test_higher_derivatives() -> None:
    x = f64(0.3)
    s = 1 / (1 + np.exp(-0.3))
    for first in ways(softplus):
        for second in ways(first):
            np.testing.assert_allclose(second(x), s * (1 - s), rtol=1e-12)
    np.testing.assert_allclose(rt.jvp(softplus, (x,), (f64(2.0),))[1], 2 * s, rtol=1e-12)
    np.testing.assert_allclose(rt.function(lambda x: rt.jvp(softplus, (x,), (x,))[1])(x), 0.3 * s, rtol=1e-12)


def test_in_loops_and_branches() -> None:
    def program(x: Any) -> Any:
        for _ in rt.range(3):
            x = softplus(x)
            if x > 1.0:
                x = clipped(x, x)[0]
        return x

    x = f64(0.7)
    expected = rt.grad(program)(x)
    for gradient in ways(program):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)


def test_a_fixed_point_by_implicit_differentiation() -> None:
    @rt.custom_gradient
    def solve(a: Any) -> Any:
        x = a
        while rt.abs(rt.cos(x) * a - x) > 1e-12:
            x = rt.cos(x) * a

        def gradient(ct: Any) -> Any:
            return ct * rt.cos(x) / (1.0 + a * rt.sin(x))

        return x, gradient

    a = f64(0.6)
    step = 1e-6
    expected = (solve(a + step) - solve(a - step)) / (2 * step)
    for derivative in ways(solve):
        np.testing.assert_allclose(derivative(a), expected, rtol=1e-7)


def test_variables() -> None:
    v = rt.Variable(2.0)

    @rt.custom_gradient
    def scaled(x: Any) -> Any:
        def gradient(ct: Any, variables: Any) -> Any:
            assert [each.name for each in variables] == [v.name]
            return ct * 10.0, [ct * 100.0]

        return x * v, gradient

    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, [x, v])

    for way in program, rt.function(program):
        assert [g.numpy() for g in way(rt.constant(3.0))] == [10.0, 100.0]

    @rt.custom_gradient
    def unaware(x: Any) -> Any:
        return x * v, lambda ct: ct

    for call in unaware, rt.function(unaware):
        with pytest.raises(TypeError, match="must accept a 'variables' keyword argument"):
            call(rt.constant(3.0))


def test_a_wrong_number_of_gradients() -> None:
    @rt.custom_gradient
    def program(x: Any, y: Any) -> Any:
        return x * y, lambda ct: ct

    for gradient in rt.grad(program), rt.function(rt.grad(program)), rt.grad(rt.function(program)):
        with pytest.raises(ValueError, match="custom_gradient function expected to return 2 gradients, but returned 1"):
            gradient(rt.constant(1.0), rt.constant(2.0))
    assert program(rt.constant(3.0), rt.constant(2.0)).numpy() == 6.0


def test_recompute_grad() -> None:
    v = rt.Variable(2.0)
    runs = []

    def block(x: Any) -> Any:
        runs.append(1)
        for _ in rt.range(3):
            x = rt.sin(x) * v * x
        return x

    def gradients(f: Any) -> Any:
        def program(x: Any) -> Any:
            with rt.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, [x, v])
        return program

    x = rt.constant(1.3)
    expected = gradients(block)(x)
    runs.clear()
    recomputed = rt.recompute_grad(block)
    np.testing.assert_allclose(gradients(recomputed)(x), expected, rtol=1e-5)
    assert len(runs) == 2
    np.testing.assert_allclose(rt.function(gradients(recomputed))(x), expected, rtol=1e-5)
    np.testing.assert_allclose(rt.grad(rt.grad(recomputed))(x), rt.grad(rt.grad(block))(x), rtol=1e-5)


def test_a_python_function_is_differentiated_by_its_eager_ops() -> None:
    def square_of_positive(x: Any, k: Any) -> Any:
        return x * x if float(x) > 0 else x * rt.cast(k, rt.float64)

    def program(x: Any) -> Any:
        s = x
        for _ in rt.range(3):
            s = rt.py_function(square_of_positive, [s - 1.0, rt.constant(3)], rt.TensorSpec([], rt.float64)) + x
        return s

    def by_hand(x: Any) -> Any:
        s = x
        for _ in rt.range(3):
            s = s - 1.0
            s = (s * s if s > 0.0 else s * 3.0) + x
        return s

    x = f64(1.2)
    for order in range(2):
        expected, found = rt.grad(by_hand), rt.grad(program)
        for _ in range(order):
            expected, found = rt.grad(expected), rt.grad(found)
        for way in found, rt.function(found), rt.grad(rt.function(program)) if order == 0 else found:
            np.testing.assert_allclose(way(x), expected(x), rtol=1e-12)
    for way in program, rt.function(program):
        np.testing.assert_allclose(rt.jvp(way, (x,), (f64(1.0),))[1], rt.grad(by_hand)(x), rtol=1e-12)


def test_a_numpy_function_is_a_constant_without_a_gradient() -> None:
    def program(x: Any) -> Any:
        return rt.numpy_function(np.sin, [x], rt.TensorSpec([], rt.float64)) * x

    np.testing.assert_allclose(rt.grad(program)(f64(1.2)), np.sin(1.2), rtol=1e-12)


class Holder(rt.Module):
    """Methods with gradients of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.k = rt.Variable(3.0)

    @rt.custom_gradient
    def scaled(self, x: Any) -> Any:
        """x times the variable, with other gradients."""
        return x * self.k, lambda ct, variables: (-ct * self.k, [ct * 7.0 for _ in variables])

    @rt.recompute_grad
    def sine(self, x: Any) -> Any:
        return rt.sin(x) * self.k

    @classmethod
    @rt.custom_gradient
    def of_class(cls, x: Any) -> Any:
        return x, lambda ct: ct * 5.0

    @classmethod
    @rt.recompute_grad
    def sine_of_class(cls, x: Any) -> Any:
        return rt.sin(x) * 2.0

    @rt.custom_gradient
    @staticmethod
    def static(x: Any) -> Any:
        return x, lambda ct: ct * 6.0

    def gradients(self, x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = self.scaled(x) + self.sine(x) + self.of_class(x) + self.sine_of_class(x) + self.static(x)
        return tape.gradient(y, [x, self.k])


def test_methods() -> None:
    holder = Holder()
    for way in holder.gradients, rt.function(holder.gradients):
        np.testing.assert_allclose(way(rt.constant(1.0)), [8.0 + 5.0 * np.cos(1.0), 7.0 + np.sin(1.0)], rtol=1e-6)
    assert holder.scaled == holder.scaled != Holder().scaled and Holder.scaled.__doc__ == Holder().scaled.__doc__


def test_functions_are_copied_by_name() -> None:
    assert pickle.loads(pickle.dumps(softplus)) is copy.deepcopy(softplus) is softplus
    holder = Holder()
    assert copy.deepcopy(holder.scaled) != holder.scaled


@pytest.mark.parametrize("trace", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")],
                         ids=["eager", "native", "numpy"])
def test_gradients_pass_through(trace):
    v = rt.Variable(3.0)
    rounded = rt.grad_pass_through(rt.round)

    def run(x):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = 3 * rounded(2 * x) + rt.grad_pass_through(lambda a: a * v)(x)
        return y, *tape.gradient(y, [x, v])

    y, dx, dv = trace(run)(rt.constant([0.3, 1.7]))
    np.testing.assert_allclose(y, [3.9, 14.1], rtol=1e-6)
    assert dx.numpy().tolist() == [7, 7] and (dv is None or dv == 0)
    assert rounded.__name__ == "round"


def test_the_signature_is_the_functions_also_of_objects_and_methods() -> None:
    class Scale:
        @rt.recompute_grad
        def by(self, x: Any, factor: float = 2.0) -> Any:
            return x * factor

        def __call__(self, x: Any) -> Any:
            return x

    assert inspect.getfullargspec(rt.recompute_grad(Scale())).args == ["x"]  # as Keras' Lambda layer asks
    assert inspect.getfullargspec(softplus).args == ["x"]
    assert list(inspect.signature(Scale().by).parameters) == ["x", "factor"]
