"""`rt.gradients` and `rt.hessians`: derivatives inside a traced function, without a tape."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt
from runtime.errors import UnimplementedError
from tests.traced_once import on

EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "native"])


def of_argument(x):
    y = x * x
    return rt.gradients(y * x, [x, y])


def in_a_branch(x):
    y = x * x
    if x > 0:
        g = rt.gradients(y * 2.0, x)[0]
    else:
        g = rt.gradients(-y, [x])[0]
    return g, y


def after_a_loop(x):
    y = x
    for _ in rt.range(3):
        y = y * x
    return rt.gradients([y, x], x, grad_ys=[2.0, 1.0])


def second(x):
    return rt.gradients(rt.gradients(x ** 3, x), x)


def refined(x):
    z = rt.stack([x, x])
    z.set_shape([2])
    return rt.gradients(z * z, z)


def unconnected(x):
    return [rt.zeros([]) if g is None else g for g in rt.gradients(x * 2.0, [x, rt.ones([])])] + rt.gradients(
        x, rt.ones([2]), unconnected_gradients="zero")


@EXECUTORS
@pytest.mark.parametrize(("f", "expected"), [
    (of_argument, [12.0, 2.0]), (in_a_branch, [8.0, 4.0]), (after_a_loop, [65.0]), (second, [12.0]),
    (refined, [[4.0, 4.0]]), (unconnected, [2.0, 0.0, [0.0, 0.0]])])
def test_gradients(f, expected, executor: str) -> None:
    found = on(executor, f)(rt.constant(2.0))
    assert [x.numpy().tolist() for x in rt.nest.flatten(found)] == expected


@EXECUTORS
def test_variables_and_captured_tensors(executor: str) -> None:
    v, c = rt.Variable([1.0, 2.0]), rt.constant(3.0)

    @rt.function(executor=executor)
    def f(x):
        y = rt.reduce_sum(v * v) * x * c
        return rt.gradients(y, [v, c, x])

    assert [g.numpy().tolist() for g in f(rt.constant(2.0))] == [[12.0, 24.0], 10.0, 15.0]


@EXECUTORS
def test_hessians(executor: str) -> None:
    @rt.function(executor=executor)
    def f(x):
        return rt.hessians(rt.reduce_prod(x) + x[0] ** 3, x)

    np.testing.assert_allclose(f(rt.constant([2.0, 3.0]))[0], [[12.0, 1.0], [1.0, 0.0]])


def test_errors() -> None:
    x = rt.constant(2.0)
    with pytest.raises(RuntimeError, match=r"test_whole_graph.py:\d+: rt.gradients .* Use rt.GradientTape instead"):
        rt.gradients(x * x, x)
    with pytest.raises(RuntimeError, match=r"test_whole_graph.py:\d+: rt.hessians .* Use rt.hessian instead"):
        rt.hessians(x * x, x)
    with pytest.raises(UnimplementedError, match="stop_gradients"):
        rt.function(lambda x: rt.gradients(x * x, x, stop_gradients=[x]))(x)
    with pytest.raises(ValueError, match=r"test_whole_graph.py:\d+: hessians: ys do not depend"):
        rt.function(lambda x: rt.hessians(x * x, rt.ones([])))(x)
