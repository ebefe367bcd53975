"""Logistic regression by Newton's method: a `while` that its own gradient ends, with the Hessian, in one graph."""
from __future__ import annotations

import numpy as np

import runtime as rt


def loss(w, x, y):
    """The negative log-likelihood of labels -1 and 1, with a little regularisation."""
    margins = y * rt.linalg.matvec(x, w)
    return rt.reduce_mean(rt.math.softplus(-margins)) + 0.005 * rt.reduce_sum(w * w)


@rt.function
def fit(x, y, tolerance):
    w = rt.zeros([x.shape[1]], rt.float64)
    gradient = rt.grad(loss)(w, x, y)
    steps = 0
    while rt.reduce_max(rt.abs(gradient)) > tolerance:
        hessian = rt.hessian(loss)(w, x, y)
        w = w - rt.linalg.matvec(rt.linalg.inv(hessian), gradient)
        gradient = rt.grad(loss)(w, x, y)
        steps += 1
    return w, steps, loss(w, x, y), rt.reduce_max(rt.abs(gradient))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    y = np.sign(x @ [1.0, -2.0, 0.5] + rng.logistic(size=200))
    for tolerance in (1e-6, 1e-9):
        w, steps, value, rest = fit(rt.constant(x), rt.constant(y), rt.constant(tolerance, rt.float64))
        assert rest < tolerance
    print(f"{steps.numpy()} steps, loss {value.numpy():.4f}, gradient below {tolerance:.0e}")
    print("w is", *(f"{v:8.4f}" for v in w.numpy()))
    print(f"traced {fit.experimental_get_tracing_count()} time")
