"""The programs for JAX, with control flow by hand, using `lax`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["in_jax"]


def in_jax(jax: Any) -> dict[str, Callable[..., Any]]:
    """The functions, by the name of the program, before `jax.jit`."""
    np, lax, nn = jax.numpy, jax.lax, jax.nn

    def collatz(limit):
        def step(state):
            n, total = state
            return np.where(n % 2 == 0, n // 2, 3 * n + 1), total + 1

        def count(start, total):
            return lax.while_loop(lambda state: state[0] != 1, step, (start, total))[1]

        return lax.fori_loop(np.int64(1), limit + 1, count, np.int64(0))

    def newton(a, x, damping, tolerance):
        return lax.while_loop(lambda x: abs(x * x - a) > tolerance,
                              lambda x: x - damping * (x * x - a) / (2.0 * x), x)

    def mandelbrot(cr, ci):
        def step(state):
            i, zr, zi, alive, count = state
            zr, zi = np.where(alive, zr * zr - zi * zi + cr, zr), np.where(alive, 2 * zr * zi + ci, zi)
            alive &= zr * zr + zi * zi <= 4
            return i + 1, zr, zi, alive, count + alive.astype(np.int32)

        start = 0, np.zeros_like(cr), np.zeros_like(ci), np.ones_like(cr, bool), np.zeros_like(cr, np.int32)
        return lax.while_loop(lambda state: (state[0] < 100) & state[3].any(), step, start)[4]

    def rnn(x, lengths, w, u, b):
        def step(h, item):
            t, x = item
            alive = (t < lengths)[:, None]
            h = np.where(alive, np.tanh(x @ w + h @ u + b), h)
            return h, np.where(alive, h, 0)

        h, out = lax.scan(step, np.zeros((x.shape[0], u.shape[0]), x.dtype),
                          (np.arange(x.shape[1], dtype=np.int32), x.transpose(1, 0, 2)))
        return out, h

    def forward(x, w1, b1, w2, b2):
        return nn.softmax(nn.relu(x @ w1 + b1) @ w2 + b2)

    def training(x, y, w1, b1, w2, b2, rate, steps):
        def step(_, weights):
            w1, b1, w2, b2 = weights
            h = nn.relu(x @ w1 + b1)
            d = (nn.softmax(h @ w2 + b2) - y) * rate
            dh = np.where(h > 0, d @ w2.T, 0)
            return w1 - x.T @ dh, b1 - dh.sum(0), w2 - h.T @ d, b2 - d.sum(0)

        return lax.fori_loop(0, steps, step, (w1, b1, w2, b2))

    def descent(a, b, rate, tolerance):
        def step(state):
            x, g = state
            x = x - rate * g
            return x, a @ x - b

        return lax.while_loop(lambda state: np.linalg.norm(state[1]) > tolerance, step, (np.zeros_like(b), -b))[0]

    def elementwise(x, y):
        return np.mean((np.tanh(x) * y + np.exp(-x)) / (1 + abs(y)))

    def product(x, y):
        return x @ y

    def increment(x):
        return x + 1

    def life(cells, steps):
        def step(_, cells):
            around = sum(np.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
            return ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)

        return lax.fori_loop(0, steps, step, cells)

    def spread(u, rate):
        inner = u[1:-1, 1:-1]
        return inner, inner + rate * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)

    def heat(u, rate, steps):
        return lax.fori_loop(0, steps, lambda _, u: np.pad(spread(u, rate)[1], 1), u)

    def rest(u, rate, tolerance):
        def step(state):
            inner, new = spread(state[0], rate)
            return np.pad(new, 1), abs(new - inner).max()

        return lax.while_loop(lambda state: state[1] > tolerance, step, (u, tolerance + 1))[0]

    written = (collatz, newton, mandelbrot, rnn, forward, training, descent, elementwise, product, increment, life,
               heat, rest)
    return {fn.__name__: fn for fn in written}
