"""`grad` and its kin: arguments, structures, composition, errors."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import f64

import runtime as rt
from runtime.autodiff import tape
from runtime.autodiff.rules.registry import VJP
from runtime.autodiff.tape import GradientWarning
from runtime.core.op import REGISTRY, Op
from runtime.core.trace import apply

NO_RULE = Op("op_without_rule", np.negative, lambda x: x)
REGISTRY.pop("op_without_rule")
pytestmark = pytest.mark.skipif(not {"sin", "list_get"} <= set(VJP), reason="the rules of ops are not there yet")


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([plain(item) for item in x])
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def quadratic(v: Any) -> Any:
    s = 0.0 * v[0]
    for i in rt.range(2):
        s = s * v[i] + rt.reduce_sum(v * v * v) * v[0]
    return s


def test_argnums_and_structures() -> None:
    def f(x: Any, y: Any, scale: float = 1.0) -> Any:
        return x["a"] * y[0] * scale + y[1]

    x, y = {"a": 3.0}, (2.0, 5.0)
    for way in lambda g: g, rt.function:
        assert plain(way(rt.grad(f))(x, y)) == {"a": 2.0}
        assert plain(way(rt.grad(f, 1))(x, y, scale=2.0)) == (6.0, 1.0)
        assert plain(way(rt.grad(f, (0, 1)))(x, y)) == ({"a": 2.0}, (3.0, 1.0))
        assert plain(way(rt.value_and_grad(f, argnums=[1]))(x, y)) == (11.0, ((3.0, 1.0),))


def test_has_aux() -> None:
    def f(x: Any) -> Any:
        return x * x, {"twice": x * 2.0, "text": "aux"}

    for way in lambda g: g, rt.function:
        assert plain(way(rt.grad(f, has_aux=True))(3.0)) == (6.0, {"twice": 6.0, "text": "aux"})
        assert plain(way(rt.value_and_grad(f, has_aux=True))(3.0)) == ((9.0, {"twice": 6.0, "text": "aux"}), 6.0)
        assert plain(way(lambda x: rt.jvp(f, (x,), (1.0,), has_aux=True))(3.0)) == (
            9.0, 6.0, {"twice": 6.0, "text": "aux"})
    value, pull, aux = rt.vjp(f, 3.0, has_aux=True)
    assert plain((value, pull(2.0), aux)) == (9.0, (12.0,), {"twice": 6.0, "text": "aux"})


def test_vjp_can_be_asked_again() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"product": x * y, "sine": rt.sin(x)}

    def program(x: Any, y: Any) -> Any:
        value, pull = rt.vjp(f, x, y)
        return value, pull({"product": 1.0, "sine": 0.0}), pull({"product": 0.0, "sine": 1.0})

    for way in program, rt.function(program):
        value, first, second = way(f64(0.5), f64(2.0))
        np.testing.assert_allclose(plain(list(first)), [2.0, 0.5])
        np.testing.assert_allclose(plain(list(second)), [np.cos(0.5), 0.0])
        assert plain(value)["product"] == 1.0


def test_jacobians_and_hessian() -> None:
    v = f64([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        return {"p": rt.stack([x[0] * x[1], rt.reduce_sum(x)]), "q": [x[2] * x]}

    expected = {"p": [[2.0, 1, 0], [1.0, 1, 1]], "q": [[[3.0, 0, 1], [0, 3.0, 2], [0, 0, 6.0]]]}
    for jacobian in rt.jacrev, rt.jacfwd:
        for way in jacobian(f), rt.function(jacobian(f)), jacobian(rt.function(f)):
            assert plain(way(v)) == expected
    for way in (rt.hessian(quadratic), rt.function(rt.hessian(quadratic)), rt.hessian(rt.function(quadratic)),
                rt.jacrev(rt.jacfwd(quadratic)), rt.jacrev(rt.grad(quadratic)), rt.jacfwd(rt.grad(quadratic))):
        assert plain(way(v)) == [[36.0, 75.0, 81.0], [75.0, 60.0, 27.0], [81.0, 27.0, 54.0]]


def test_two_arguments_of_a_jacobian() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * rt.reduce_sum(y)

    for jacobian in rt.jacrev, rt.jacfwd:
        by_x, by_y = jacobian(f, (0, 1))(f64([1.0, 2.0]), f64([3.0, 4.0, 5.0]))
        assert plain(by_x) == [[12.0, 0.0], [0.0, 12.0]] and plain(by_y) == [[1.0] * 3, [2.0] * 3]


def test_what_is_closed_over_is_constant() -> None:
    def f(x: Any) -> Any:
        return x * rt.grad(lambda y: x * y)(x)

    def g(x: Any) -> Any:
        return x * rt.jvp(lambda y: x * y, (x,), (1.0,))[1]

    for program in f, g:
        for way in rt.grad(program), rt.function(rt.grad(program)):
            assert plain(way(3.0)) == 6.0


def test_compositions() -> None:
    def f(x: Any) -> Any:
        s = x
        while s < 10.0:
            s = s * x
        return s

    x = f64(1.3)
    step = 1e-4
    values = [float(f(x + k * step)) for k in (-2, -1, 0, 1, 2)]
    third = (values[4] - 2 * values[3] + 2 * values[1] - values[0]) / (2 * step ** 3)
    for program in (rt.grad(rt.grad(rt.grad(f))), rt.function(rt.grad(rt.grad(rt.grad(f)))),
                    rt.grad(rt.function(rt.grad(rt.grad(rt.function(f))))), rt.grad(rt.grad(rt.grad(rt.function(f)))),
                    rt.hessian(rt.grad(f)), rt.jacfwd(rt.jacfwd(rt.jacfwd(rt.function(f))))):
        np.testing.assert_allclose(program(x), third, rtol=1e-4)


def test_one_graph() -> None:
    gradient = rt.function(rt.grad(quadratic))
    gradient(f64([1.0, 2.0, 3.0]))
    assert gradient.experimental_get_tracing_count() == 1
    assert "nothing calls Python" in gradient.explain_native()


def test_no_dependence_is_zero() -> None:
    for way in rt.grad(lambda x: 3.0), rt.function(rt.grad(lambda x: rt.constant(3.0))):
        assert plain(way(2.0)) == 0.0
    assert plain(rt.jacrev(lambda x, y: y, (0, 1))(f64([1.0, 2.0]), f64(3.0))) == ([0.0, 0.0], 1.0)


def test_errors_say_what_to_do() -> None:
    v = f64([1.0, 2.0])
    with pytest.raises(ValueError, match=r"(?s)scalar, but <lambda> gave float64\[2\].*rt.reduce_sum.*rt.jacrev"):
        rt.grad(lambda x: x * 2.0)(v)
    with pytest.raises(TypeError, match="(?s)by an argument of dtype int32 does not exist.*argnums="):
        rt.grad(lambda x: x * 2)(3)
    with pytest.raises(TypeError, match="of a floating scalar, but <lambda> gave int32"):
        rt.grad(lambda x: rt.cast(x, rt.int32))(3.0)
    with pytest.raises(TypeError, match="gives a scalar, but <lambda> gave"):
        rt.grad(lambda x: [x, x])(3.0)
    with pytest.raises(ValueError, match="argnums has 2, but there are 1 positional arguments"):
        rt.grad(lambda x: x, 2)(3.0)
    with pytest.raises(TypeError, match="primals and tangents are tuples or lists"):
        rt.jvp(lambda x: x, 3.0, 1.0)
    with pytest.raises(ValueError, match=r"a tangent of shape \(3,\) does not fit a primal of shape \(2,\)"):
        rt.jvp(lambda x: x, (v,), (f64([1.0, 2.0, 3.0]),))
    for way in lambda g: g, rt.function:
        with pytest.raises(LookupError, match="the op op_without_rule has no gradient"):
            way(rt.grad(lambda x: apply(NO_RULE, x)))(2.0)


def test_accumulator() -> None:
    x, v = rt.constant(3.0), rt.Variable(2.0)

    def program(x: Any) -> Any:
        with rt.autodiff.ForwardAccumulator([x, v], [1.0, 10.0]) as accumulator:
            y = x * x * v
            for _ in rt.range(2):
                y = y * x
            z = x * 0.0 + 1.0
        return accumulator.jvp(y), accumulator.jvp({"z": z}), accumulator.jvp(rt.constant(1.0)), accumulator.jvp(
            rt.constant(1.0), unconnected_gradients="zero")

    for way in program, rt.function(program):
        assert plain(way(x)) == (1026.0, {"z": 0.0}, None, 0.0)
    with pytest.raises(ValueError, match="already recording"), rt.autodiff.ForwardAccumulator(x, 1.0) as one, one:
        pass
    with pytest.raises(TypeError, match="a primal of dtype int32 has no tangent"):
        rt.autodiff.ForwardAccumulator(rt.constant(1), 1)


def test_other_structures_of_tangents_and_cotangents_are_errors() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"product": x * y}

    _, pull = rt.vjp(f, f64(1.0), f64(2.0))
    with pytest.raises(ValueError, match=r"\.py:\d+: the cotangents must have the structure of the function"):
        pull(1.0)
    with pytest.raises(ValueError, match=r"dicts with the keys \['product'\] and \['p'\]"):
        pull({"p": 1.0})
    with pytest.raises(ValueError, match=r"\.py:\d+: the tangents must have the structure of the primals"):
        rt.jvp(f, (f64(1.0), f64(2.0)), (f64(1.0),))
    assert float(pull({"product": 1.0})[0]) == 2.0


def in_an_array(x: Any) -> Any:
    array = np.zeros(2)
    array[0] = x
    return rt.convert_to_tensor(np.sum(array * array))


@pytest.mark.parametrize("f", [lambda x: x * math.sin(x), in_an_array])
@pytest.mark.parametrize("derive", [rt.grad, rt.jacfwd, rt.jacrev, lambda f: lambda x: rt.jvp(f, (x,), (x / x,))[1]])
def test_tensors_that_leave_for_python_are_warned_of(f: Any, derive: Any) -> None:
    x = f64(0.5)
    tape._warned.clear()
    with pytest.warns(GradientWarning, match="counts as a constant in the derivative") as caught:
        derive(f)(x)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = (f(f64(0.5 + 1e-6)) - f(x)) / 1e-6
        np.testing.assert_allclose(derive(rt.function(f))(x).numpy(), expected, rtol=1e-4)
        derive(lambda x: rt.sin(x) if x > 0.0 else abs(max(x, 2.0)) + round(x))(x)


def test_eagerly_no_source_is_needed() -> None:
    f = eval("lambda x: x * x if x > 0.0 else x")
    x = f64(3.0)
    for derive in rt.grad, rt.jacfwd, rt.jacrev:
        assert float(derive(f)(x)) == 6.0
    assert float(rt.grad(rt.recompute_grad(f))(x)) == 6.0


@pytest.mark.parametrize("variance", [lambda x: rt.nn.moments(x, [0])[1], rt.math.reduce_variance])
def test_second_derivatives_of_a_variance(variance: Any) -> None:
    found = rt.hessian(variance)(f64([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, 2 / 3 * (np.eye(3) - 1 / 3), rtol=1e-12, atol=1e-15)
