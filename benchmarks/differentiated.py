"""The programs whose gradients are measured: one text for this project and TensorFlow, versions by hand for others.

Each function takes the framework's module and returns the program, or None if the framework cannot differentiate it.
"""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

__all__ = ["IN_JAX", "IN_TORCH", "UNBOUNDED", "chain", "escape", "kalman", "maml", "newton", "ode", "ode_in_diffrax",
           "recurrent", "training"]

Program = Callable[..., Any]


def newton(tf: Any) -> Program:
    """A scalar loop with a test. Its steps are so small that the derivative after a million of them is about 1/e: with
    a subnormal derivative the CPU would take ten times as long."""
    def program(x, n):
        i = 0
        while i < n:
            x = x - 1e-6 * (x * x * x - 2.0) / (3.0 * x * x)
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
    """Steps of gradient descent of a net with one hidden layer, in one call: the same program as in `programs.c`."""
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
    """The loss after ten steps of gradient descent, whose gradient is of second order."""
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
    """A loop like the Mandelbrot set's, until all points have escaped, at most 100 iterations."""
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
    """The negative log-likelihood of observations, by the Kalman filter of a linear system with a scalar output."""
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
    def program(x, n):  # as a scan of static length: JAX does not differentiate a `while_loop`
        return jax.lax.fori_loop(0, int(n), lambda _, x: x - 1e-6 * (x * x * x - 2.0) / (3.0 * x * x), x)

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
"""Without `ode`: JAX has no reverse mode for loops with a dynamic number of iterations."""
UNBOUNDED = (newton, ode, escape)
"""Programs whose loops have a dynamic length, for which XLA has no gradient."""


def ode_in_diffrax(jax: Any, diffrax: Any) -> Program:
    """The program of `ode`, by a solver with the same pair, the same error bound, and checkpoints."""
    np = jax.numpy

    def program(w, u, y, end):
        solved = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: args[1] @ np.tanh(args[0] @ y)), diffrax.Bosh3(), 0.0, end, 0.05 * end,
            y, (w, u), saveat=diffrax.SaveAt(t1=True), max_steps=None,
            adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=100),
            stepsize_controller=diffrax.PIDController(rtol=0.0, atol=1e-7, norm=lambda e: np.max(np.abs(e))))
        return np.sum(solved.ys[-1] ** 2)

    return program


# PyTorch: eager code, with Python's loops.

def _with_names_of_tf(make: Callable[[Any], Program]) -> Callable[[Any], Program]:
    """The program of `make`, with PyTorch's functions under TensorFlow's names."""
    def made(torch: Any) -> Program:
        return make(SimpleNamespace(
            abs=torch.abs, clip_by_value=torch.clip, exp=torch.exp, linalg=SimpleNamespace(matvec=torch.mv),
            math=SimpleNamespace(log=torch.log), minimum=torch.minimum, range=range, reduce_any=torch.any,
            reduce_max=torch.max, reduce_sum=torch.sum, shape=lambda x: x.shape, stop_gradient=torch.detach,
            tanh=torch.tanh, transpose=torch.t, where=torch.where))

    return made


def _training_torch(torch: Any) -> Program:
    def program(x, y, w1, b1, w2, b2, rate, steps):
        weights = [each.clone().requires_grad_() for each in (w1, b1, w2, b2)]
        for _ in range(int(steps)):
            w1, b1, w2, b2 = weights
            logits = torch.relu(x @ w1 + b1) @ w2 + b2
            loss = -torch.sum(y * torch.log_softmax(logits, 1))
            with torch.no_grad():
                for weight, slope in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                    weight -= rate * slope
        return weights

    return program


def _maml_torch(torch: Any) -> Program:
    def program(w, u, x, y):
        w, u = w.requires_grad_(), u.requires_grad_()
        for _ in range(10):
            loss = torch.mean((torch.tanh(x @ w) @ u - y) ** 2)
            by_w, by_u = torch.autograd.grad(loss, [w, u], create_graph=True)
            w, u = w - 0.1 * by_w, u - 0.1 * by_u
        return torch.mean((torch.tanh(x @ w) @ u - y) ** 2)

    return program


IN_TORCH = {make: _with_names_of_tf(make) for make in (ode, chain, recurrent, escape, kalman)} | {
    training: _training_torch, maml: _maml_torch}
"""Without `newton`: a million iterations in Python take minutes."""
