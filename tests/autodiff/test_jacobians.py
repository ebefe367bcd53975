"""Jacobians with all rows at once, and in a loop: the same numbers, eagerly and traced."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt

W = rt.constant(np.random.default_rng(0).standard_normal((20, 20)) * 0.3)
X = rt.constant(np.linspace(-1, 1, 20))


def recurrent(x: Any) -> Any:
    for i in rt.range(4):
        x = rt.tanh(rt.linalg.matvec(W, x)) + rt.cast(i, rt.float64)
    return x


def stopped(x: Any) -> Any:
    while rt.norm(x) > 0.5:
        x = x * rt.sigmoid(x)
        if x[0] > 0.0:
            x = x - 0.1
    return x


def listed(x: Any) -> Any:
    rows = []
    for v in x:
        rows.append(v * v if v > 0.0 else rt.exp(v))
    return rt.stack(rows) * x[3]


def jacobian(f: Any, x: Any, at_once: bool, batch: bool = False) -> Any:
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    take = tape.batch_jacobian if batch else tape.jacobian
    return take(y, x, experimental_use_pfor=at_once)


@pytest.mark.parametrize("f", [recurrent, stopped, listed, rt.function(recurrent), rt.function(listed)])
def test_rows_at_once_are_those_of_a_loop(f: Any) -> None:
    wanted = jacobian(f, X, False).numpy()
    np.testing.assert_allclose(jacobian(f, X, True).numpy(), wanted, 1e-9, 1e-12)
    for at_once in (False, True):
        traced = rt.function(lambda x, at_once=at_once: jacobian(f, x, at_once))
        np.testing.assert_allclose(traced(X).numpy(), wanted, 1e-9, 1e-12)
    for forward in (rt.jacfwd(f), rt.function(rt.jacfwd(f)), rt.function(rt.jacrev(f))):
        np.testing.assert_allclose(forward(X).numpy(), wanted, 1e-9, 1e-12)


def test_batches() -> None:
    x = rt.constant(np.random.default_rng(1).standard_normal((3, 20)))

    def f(x: Any) -> Any:
        return rt.tanh(x @ W)

    wanted = jacobian(f, x, False, batch=True).numpy()
    np.testing.assert_allclose(jacobian(f, x, True, batch=True).numpy(), wanted, 1e-9)
    np.testing.assert_allclose(rt.function(lambda x: jacobian(f, x, True, batch=True))(x).numpy(), wanted, 1e-9)


def test_derivatives_of_jacobians() -> None:
    def penalty(x: Any) -> Any:
        return rt.reduce_sum(jacobian(lambda x: rt.sin(x) * x[0], x, True) ** 2)

    with rt.GradientTape() as tape:
        tape.watch(X)
        with rt.GradientTape() as inner:
            inner.watch(X)
            y = rt.sin(X) * X[0]
        value = rt.reduce_sum(inner.jacobian(y, X) ** 2)
    wanted = rt.function(rt.grad(penalty))(X).numpy()
    np.testing.assert_allclose(tape.gradient(value, X).numpy(), wanted, 1e-9)


def test_sources_without_a_derivative_and_unknown_sizes() -> None:
    with rt.GradientTape(persistent=True) as tape:
        tape.watch([X, W])
        y = X * 2.0
    by_x, by_w = tape.jacobian(y, [X, W])
    np.testing.assert_allclose(by_x.numpy(), np.eye(20) * 2)
    assert by_w is None
    assert tape.jacobian(y, [X, W], unconnected_gradients="zero")[1].shape == (20, 20, 20)
    by = rt.jacrev(lambda x: x * rt.reduce_sum(x))
    unknown = rt.function(by, input_signature=[rt.TensorSpec([None], rt.float64)])
    np.testing.assert_allclose(unknown(X[:3]).numpy(), by(X[:3]).numpy())


def test_a_derivative_that_looks_at_values_runs_in_a_loop() -> None:
    @rt.custom_gradient
    def f(x: Any) -> Any:
        return x * 3.0, lambda ct: ct * 3.0 if float(rt.reduce_sum(ct)) >= 0.0 else ct

    np.testing.assert_allclose(jacobian(f, X, True).numpy(), np.eye(20) * 3)


def test_a_target_from_outside_of_the_traced_function() -> None:
    rows = rt.reshape(X, [4, 5])

    @rt.function
    def outer() -> Any:
        with rt.GradientTape(persistent=True) as tape:
            tape.watch(rows)
            y = rows * rows
        return tape.jacobian(rows, rows), tape.batch_jacobian(rows, rows), tape.batch_jacobian(y, rows)

    whole, batched, of_squares = outer()
    np.testing.assert_array_equal(np.reshape(whole, [20, 20]), np.eye(20))
    np.testing.assert_array_equal(batched, np.broadcast_to(np.eye(5), [4, 5, 5]))
    np.testing.assert_allclose(of_squares, 2 * np.eye(5) * rows.numpy()[:, :, None])
