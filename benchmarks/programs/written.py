"""The programs, as users write them, with TF2's names, and in plain Python and NumPy; and their data.

Each maker takes `tf`, which is runtime or TensorFlow, and returns an undecorated function.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.programs import stencils

__all__ = ["PROGRAMS", "Program", "agree", "flat"]

Maker = Callable[[Any], Callable[..., Any]]


@dataclass(frozen=True)
class Program:
    """One program.

    make        makes the function for `tf`
    python      the same in Python and NumPy, such that numba can compile it, too
    data        makes the arguments: arrays, NumPy scalars
    unit        the unit of its row
    target      the goal for the time, as a multiple of C's; for calls, in microseconds
    short       by position, arguments for a short run of a program that repeats the same work
    loops       whether it is a loop of so many small steps that the reference executor takes seconds
    tolerance   the tolerance for the comparison with NumPy's results
    """

    name: str
    make: Maker
    python: Callable[..., Any]
    data: Callable[[], Sequence[Any]]
    target: float | None = None
    unit: str = "ms"
    short: Mapping[int, Any] = field(default_factory=dict)
    loops: bool = False
    tolerance: float = 1e-4

    def arguments(self, quick: bool = False) -> list[Any]:
        values = list(self.data())
        for place, value in self.short.items() if quick else ():
            values[place] = value
        return values


def flat(result: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a subject's result."""
    return [np.asarray(x) for x in (result if isinstance(result, (tuple, list)) else [result])]


def agree(program: Program, want: Any, got: Any) -> bool:
    """Whether two results agree up to rounding; of an array, at least 99.9 % of the elements.

    A pixel on the border of mandelbrot may escape an iteration earlier or later.
    """
    pairs = list(zip(flat(want), flat(got), strict=True))
    return all(a.shape == b.shape and np.isclose(a, b, program.tolerance, program.tolerance).mean() >= 0.999
               for a, b in pairs)


# Scalars.

def collatz(tf):
    def collatz(limit):
        total = tf.constant(0, tf.int64)
        for start in range(limit):
            n = start + 1
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                total += 1
        return total

    return collatz


def collatz_python(limit):
    total = 0
    for start in range(limit):
        n = start + 1
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            total += 1
    return total


def newton(tf):
    def newton(a, x, damping, tolerance):
        while tf.abs(x * x - a) > tolerance:
            x = x - damping * (x * x - a) / (2.0 * x)
        return x

    return newton


def newton_python(a, x, damping, tolerance):
    while abs(x * x - a) > tolerance:
        x = x - damping * (x * x - a) / (2.0 * x)
    return x


def newton_data():
    """Damped so strongly that it takes 1,000,000 steps to the square root of 2."""
    return [np.float64(x) for x in (2.0, 100.0, 2.302578e-5, 1e-6)]


# Arrays.

def mandelbrot(tf):
    def mandelbrot(cr, ci):
        zr, zi = tf.zeros_like(cr), tf.zeros_like(ci)
        alive = tf.ones_like(cr, dtype=tf.bool)
        count = tf.zeros_like(cr, dtype=tf.int32)
        i = 0
        while i < 100 and tf.reduce_any(alive):
            new = zr * zr - zi * zi + cr
            zi = tf.where(alive, 2.0 * zr * zi + ci, zi)
            zr = tf.where(alive, new, zr)
            alive = alive & (zr * zr + zi * zi <= 4.0)
            count += tf.cast(alive, tf.int32)
            i += 1
        return count

    return mandelbrot


def mandelbrot_python(cr, ci):
    zr, zi = np.zeros_like(cr), np.zeros_like(ci)
    alive = np.ones(cr.shape, np.bool_)
    count = np.zeros(cr.shape, np.int32)
    two, four = np.float32(2), np.float32(4)
    i = 0
    while i < 100 and np.any(alive):
        new = zr * zr - zi * zi + cr
        zi = np.where(alive, two * zr * zi + ci, zi)
        zr = np.where(alive, new, zr)
        alive = alive & (zr * zr + zi * zi <= four)
        count += alive
        i += 1
    return count


def mandelbrot_data():
    cr, ci = np.meshgrid(np.linspace(-2, 1, 512, dtype=np.float32), np.linspace(-1.5, 1.5, 512, dtype=np.float32))
    return [cr, ci]


def rnn(tf):
    def rnn(x, lengths, w, u, b):
        batch, time, _ = x.shape
        h = tf.zeros([batch, u.shape[0]])
        xs = tf.transpose(x, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, size=time, element_shape=h.shape)
        for t in tf.range(time):
            alive = tf.expand_dims(t < lengths, 1)
            h = tf.where(alive, tf.tanh(xs[t] @ w + h @ u + b), h)
            outputs = outputs.write(t, tf.where(alive, h, 0.0))
        return outputs.stack(), h

    return rnn


def rnn_python(x, lengths, w, u, b):
    batch, time, _ = x.shape
    h = np.zeros((batch, u.shape[0]), np.float32)
    outputs = np.zeros((time, batch, u.shape[0]), np.float32)
    for t in range(time):
        alive = np.expand_dims(t < lengths, 1)
        h = np.where(alive, np.tanh(np.ascontiguousarray(x[:, t]) @ w + h @ u + b), h)
        outputs[t] = np.where(alive, h, np.float32(0))
    return outputs, h


def rnn_data():
    rng = np.random.default_rng(0)
    normal = _normal(rng)
    lengths = rng.integers(50, 101, 32).astype(np.int32)
    return [normal(32, 100, 64), lengths, normal(64, 128, scale=0.1), normal(128, 128, scale=0.05), normal(128)]


def forward(tf):
    def forward(x, w1, b1, w2, b2):
        return tf.nn.softmax(tf.nn.relu(x @ w1 + b1) @ w2 + b2)

    return forward


def forward_python(x, w1, b1, w2, b2):
    e = np.exp(np.maximum(x @ w1 + b1, np.float32(0)) @ w2 + b2)
    return e / np.expand_dims(np.sum(e, 1), 1)


def forward_data():
    normal = _normal(np.random.default_rng(0))
    return [normal(64, 784), normal(784, 256, scale=0.03), normal(256), normal(256, 10, scale=0.06), normal(10)]


def training(tf):
    def training(x, y, w1, b1, w2, b2, rate, steps):
        for _ in range(steps):
            h = tf.nn.relu(x @ w1 + b1)
            d = (tf.nn.softmax(h @ w2 + b2) - y) * rate
            dh = tf.where(h > 0.0, d @ tf.transpose(w2), 0.0)
            w2 -= tf.transpose(h) @ d
            b2 -= tf.reduce_sum(d, 0)
            w1 -= tf.transpose(x) @ dh
            b1 -= tf.reduce_sum(dh, 0)
        return w1, b1, w2, b2

    return training


def training_python(x, y, w1, b1, w2, b2, rate, steps):
    for _ in range(steps):
        h = np.maximum(x @ w1 + b1, np.float32(0))
        e = np.exp(h @ w2 + b2)
        d = (e / np.expand_dims(np.sum(e, 1), 1) - y) * rate
        dh = np.where(h > np.float32(0), d @ w2.T, np.float32(0))
        w2 = w2 - h.T @ d
        b2 = b2 - np.sum(d, 0)
        w1 = w1 - x.T @ dh
        b1 = b1 - np.sum(dh, 0)
    return w1, b1, w2, b2


def training_data():
    x, *weights = forward_data()
    y = np.eye(10, dtype=np.float32)[np.random.default_rng(1).integers(0, 10, 64)]
    return [x, y, *weights, np.float32(0.1 / 64), np.int32(200)]


def descent(tf):
    def descent(a, b, rate, tolerance):
        x = tf.zeros_like(b)
        g = -b
        while tf.norm(g) > tolerance:
            x = x - rate * g
            g = tf.linalg.matvec(a, x) - b
        return x

    return descent


def descent_python(a, b, rate, tolerance):
    x = np.zeros_like(b)
    g = -b
    while np.sqrt(np.sum(g * g)) > tolerance:
        x = x - rate * g
        g = a @ x - b
    return x


def descent_data():
    """A positive definite matrix with eigenvalues from 0.02 to 1: 293 steps."""
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(50, 50)))
    a = (q * np.geomspace(0.02, 1, 50)) @ q.T
    return [a.astype(np.float32), rng.normal(size=50).astype(np.float32), np.float32(1), np.float32(1e-3)]


def elementwise(tf):
    def elementwise(x, y):
        return tf.reduce_mean((tf.tanh(x) * y + tf.exp(-x)) / (1.0 + tf.abs(y)))

    return elementwise


def elementwise_python(x, y):
    return np.mean((np.tanh(x) * y + np.exp(-x)) / (np.float32(1) + np.abs(y)))


def elementwise_data():
    normal = _normal(np.random.default_rng(0))
    return [normal(1_000_000), normal(1_000_000)]


def product(tf):
    def product(x, y):
        return x @ y

    return product


def product_python(x, y):
    return x @ y


def product_data():
    normal = _normal(np.random.default_rng(0))
    return [normal(1024, 1024), normal(1024, 1024)]


def increment(tf):
    def increment(x):
        return x + 1

    return increment


def increment_python(x):
    return x + 1


def _normal(rng):
    def normal(*shape, scale=1.0):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    return normal


PROGRAMS = (
    Program("collatz", collatz, collatz_python, lambda: [np.int64(10_000)], 1.1,
            short={0: np.int64(100)}, loops=True),
    Program("newton", newton, newton_python, newton_data, 1.1, short={2: np.float64(0.01)}, loops=True),
    Program("mandelbrot", mandelbrot, mandelbrot_python, mandelbrot_data, 3),
    Program("RNN", rnn, rnn_python, rnn_data, 1.2),
    Program("MLP forward", forward, forward_python, forward_data, 1.1),
    Program("MLP training", training, training_python, training_data, short={7: np.int32(2)}),
    Program("gradient descent", descent, descent_python, descent_data, 1.2),
    Program("element-wise", elementwise, elementwise_python, elementwise_data, 1.2),
    Program("matmul", product, product_python, product_data, 1.05, tolerance=1e-3),
    Program("life", stencils.life, stencils.life_python, stencils.life_data, 1.2, short={1: np.int32(3)}),
    Program("heat", stencils.heat, stencils.heat_python, stencils.heat_data, 1.2, short={2: np.int32(3)}),
    Program("heat to rest", stencils.rest, stencils.rest_python, stencils.rest_data,
            short={2: np.float32(0.1)}),
    Program("call, scalar", increment, increment_python, lambda: [np.float32(1)], 2, unit="us"),
    Program("call, 10-vector", increment, increment_python, lambda: [np.ones(10, np.float32)], unit="us"),
)
