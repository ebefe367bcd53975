"""The programs whose gradients are measured: for this and TensorFlow, which take the same text, and for JAX by hand.

Each function takes the framework's module and gives the program, or None where the framework cannot differentiate it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["IN_JAX", "chain", "escape", "kalman", "maml", "newton", "ode", "recurrent", "training"]

Program = Callable[..., Any]


def newton(tf: Any) -> Program:
    """A scalar loop that stops by a test."""
    def program(x, n):
        i = 0
        while i < n:
            x = x - 0.001 * (x * x * x - 2.0) / (3.0 * x * x)
            i += 1
        return x

    return program


def chain(tf: Any) -> Program:
    """Ten element-wise ops and a sum."""
    def program(x):
        y = tf.tanh(x * 2.0 + 1.0)
        y = y * x - 0.5
        y = tf.exp(-y * y)
        y = y + x * 0.1
        return tf.reduce_sum(y * y)

    return program


def recurrent(tf: Any) -> Program:
    """A recurrent net over time."""
    def program(w, u, x):
        h = x[0] * 0.0
        for t in tf.range(tf.shape(x)[0]):
            h = tf.tanh(h @ w + x[t] @ u)
        return tf.reduce_sum(h * h)

    return program


def training(tf: Any) -> Program:
    """Steps of gradient descent of a net with one hidden layer, in one call: the program of `programs.c`."""
    def program(x, y, w1, b1, w2, b2, rate, steps):
        for _ in tf.range(steps):
            weights = [w1, b1, w2, b2]
            with tf.GradientTape() as tape:
                tape.watch(weights)
                logits = tf.nn.relu(x @ w1 + b1) @ w2 + b2
                loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(y, logits))
            d1, e1, d2, e2 = tape.gradient(loss, weights)
            w1, b1, w2, b2 = w1 - rate * d1, b1 - rate * e1, w2 - rate * d2, b2 - rate * e2
        return w1, b1, w2, b2

    return program


def ode(tf: Any) -> Program:
    """An ODE whose slope is a net, by Bogacki and Shampine's pair with an adaptive step."""
    def program(w, u, y, end):
        t, step = 0.0 * end, 0.05 * end
        while t < end:
            step = tf.minimum(step, end - t)
            k1 = tf.linalg.matvec(u, tf.tanh(tf.linalg.matvec(w, y)))
            k2 = tf.linalg.matvec(u, tf.tanh(tf.linalg.matvec(w, y + 0.5 * step * k1)))
            k3 = tf.linalg.matvec(u, tf.tanh(tf.linalg.matvec(w, y + 0.75 * step * k2)))
            new = y + step * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
            k4 = tf.linalg.matvec(u, tf.tanh(tf.linalg.matvec(w, new)))
            error = tf.reduce_max(tf.abs(step * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0)) / 1e-7
            if error <= 1.0:
                t, y = t + step, new
            step = step * tf.stop_gradient(tf.clip_by_value(0.9 * (error + 1e-10) ** (-1.0 / 3.0), 0.2, 5.0))
        return tf.reduce_sum(y * y)

    return program


def maml(tf: Any) -> Program:
    """The loss after ten steps of gradient descent: its gradient is of second order."""
    def program(w, u, x, y):
        for _ in tf.range(10):
            with tf.GradientTape() as tape:
                tape.watch([w, u])
                loss = tf.reduce_mean((tf.tanh(x @ w) @ u - y) ** 2)
            by_w, by_u = tape.gradient(loss, [w, u])
            w, u = w - 0.1 * by_w, u - 0.1 * by_u
        return tf.reduce_mean((tf.tanh(x @ w) @ u - y) ** 2)

    return program


def escape(tf: Any) -> Program:
    """A loop like that of the Mandelbrot set, until all points have escaped, or 100 times."""
    def program(a, b):
        x, y, i = a * 0.0, b * 0.0, 0
        alive = a == a
        while i < 100 and tf.reduce_any(alive):
            x, y = tf.where(alive, x * x - y * y + a, x), tf.where(alive, 2.0 * x * y + b, y)
            alive = alive & (x * x + y * y <= 4.0)
            i += 1
        return tf.reduce_sum(x * x + y * y)

    return program


def kalman(tf: Any) -> Program:
    """Minus the log-likelihood of observations, by the Kalman filter of a linear system with a scalar output."""
    def program(a, q, z):
        mean, cov, loss = q[0] * 0.0, q * 1.0, 0.0 * z[0]
        for t in tf.range(tf.shape(z)[0]):
            mean, cov = tf.linalg.matvec(a, mean), a @ cov @ tf.transpose(a) + q
            surprise, spread = z[t] - mean[0], cov[0, 0] + 0.1
            loss = loss + 0.5 * (tf.math.log(spread) + surprise * surprise / spread)
            gain = cov[0] / spread
            mean = mean + gain * surprise
            cov = cov - gain[:, None] * cov[0][None, :]
        return loss

    return program


def _newton(jax: Any) -> Program:
    def program(x, n):  # as a scan of a known length: JAX does not differentiate a `while_loop`
        return jax.lax.fori_loop(0, int(n), lambda _, x: x - 0.001 * (x * x * x - 2.0) / (3.0 * x * x), x)

    return program


def _recurrent(jax: Any) -> Program:
    np = jax.numpy

    def program(w, u, x):
        h, _ = jax.lax.scan(lambda h, x: (np.tanh(h @ w + x @ u), None), x[0] * 0.0, x)
        return np.sum(h * h)

    return program


def _training(jax: Any) -> Program:
    np, nn = jax.numpy, jax.nn

    def program(x, y, w1, b1, w2, b2, rate, steps):
        def loss(weights):
            w1, b1, w2, b2 = weights
            return -np.sum(y * nn.log_softmax(nn.relu(x @ w1 + b1) @ w2 + b2))

        def step(_, weights):
            return [w - rate * d for w, d in zip(weights, jax.grad(loss)(weights), strict=True)]

        return jax.lax.fori_loop(0, steps, step, [w1, b1, w2, b2])

    return program


def _maml(jax: Any) -> Program:
    np = jax.numpy

    def program(w, u, x, y):
        def loss(weights):
            return np.mean((np.tanh(x @ weights[0]) @ weights[1] - y) ** 2)

        def step(weights, _):
            return [w - 0.1 * d for w, d in zip(weights, jax.grad(loss)(weights), strict=True)], None

        return loss(jax.lax.scan(step, [w, u], None, 10)[0])

    return program


def _escape(jax: Any) -> Program:
    np = jax.numpy

    def program(a, b):
        def step(state, _):
            x, y, alive = state
            x, y = np.where(alive, x * x - y * y + a, x), np.where(alive, 2.0 * x * y + b, y)
            return (x, y, alive & (x * x + y * y <= 4.0)), None

        x, y, _ = jax.lax.scan(step, (a * 0.0, b * 0.0, a == a), None, 100)[0]
        return np.sum(x * x + y * y)

    return program


def _kalman(jax: Any) -> Program:
    np = jax.numpy

    def program(a, q, z):
        def step(state, z):
            mean, cov = a @ state[0], a @ state[1] @ a.T + q
            surprise, spread = z - mean[0], cov[0, 0] + 0.1
            gain = cov[0] / spread
            return ((mean + gain * surprise, cov - gain[:, None] * cov[0][None, :]),
                    0.5 * (np.log(spread) + surprise * surprise / spread))

        return np.sum(jax.lax.scan(step, (q[0] * 0.0, q * 1.0), z)[1])

    return program


def _chain(jax: Any) -> Program:
    np = jax.numpy

    def program(x):
        y = np.exp(-((np.tanh(x * 2.0 + 1.0) * x - 0.5) ** 2)) + x * 0.1
        return np.sum(y * y)

    return program


IN_JAX = {newton: _newton, chain: _chain, recurrent: _recurrent, training: _training, maml: _maml, escape: _escape,
          kalman: _kalman}
"""Without `ode`: JAX has no reverse mode through a loop whose number of iterations is not known."""
