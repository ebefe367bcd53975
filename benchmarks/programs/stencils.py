"""Programs whose elements depend on their neighbours: the game of life, and heat diffusion."""
from __future__ import annotations

import numpy as np

__all__ = ["heat", "heat_data", "heat_python", "life", "life_data", "life_python", "rest", "rest_data", "rest_python"]

SIZE = 512


def life(tf):
    """On a torus: the sides are connected."""
    def life(cells, steps):
        for _ in range(steps):
            around = tf.zeros_like(cells)
            for dy, dx in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
                around += tf.roll(cells, [dy, dx], [0, 1])
            cells = tf.cast((around == 3) | ((around == 2) & (cells == 1)), tf.uint8)
        return cells

    return life


def life_python(cells, steps):
    wide = np.empty((SIZE + 2, SIZE + 2), np.uint8)
    wide[1:-1, 1:-1] = cells
    for _ in range(steps):
        wide[0], wide[-1] = wide[-2], wide[1]
        wide[:, 0], wide[:, -1] = wide[:, -2], wide[:, 1]
        around = (wide[:-2, :-2] + wide[:-2, 1:-1] + wide[:-2, 2:] + wide[1:-1, :-2] + wide[1:-1, 2:]
                  + wide[2:, :-2] + wide[2:, 1:-1] + wide[2:, 2:])
        wide[1:-1, 1:-1] = (around == 3) | ((around == 2) & (wide[1:-1, 1:-1] == 1))
    return wide[1:-1, 1:-1].copy()


def life_data():
    """A third of the cells alive, 100 steps."""
    return [(np.random.default_rng(0).random((SIZE, SIZE)) < 0.33).astype(np.uint8), np.int32(100)]


def heat(tf):
    """Explicit Euler steps; the border stays 0."""
    def heat(u, rate, steps):
        for _ in range(steps):
            inner = u[1:-1, 1:-1]
            spread = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner
            u = tf.pad(inner + rate * spread, [[1, 1], [1, 1]])
        return u

    return heat


def heat_python(u, rate, steps):
    u = u.copy()
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        spread = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - np.float32(4) * inner
        u[1:-1, 1:-1] = inner + rate * spread
    return u


def heat_data():
    """A hot square, 100 steps."""
    u = np.zeros((SIZE, SIZE), np.float32)
    u[100:300, 150:400] = 1
    return [u, np.float32(0.2), np.int32(100)]


def rest(tf):
    """Heat diffusion until no element changes by more than `tolerance` in a step."""
    def rest(u, rate, tolerance):
        change = tolerance + 1.0
        while change > tolerance:
            inner = u[1:-1, 1:-1]
            new = inner + rate * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner)
            change = tf.reduce_max(tf.abs(new - inner))
            u = tf.pad(new, [[1, 1], [1, 1]])
        return u

    return rest


def rest_python(u, rate, tolerance):
    u = u.copy()
    change = tolerance + np.float32(1)
    while change > tolerance:
        inner = u[1:-1, 1:-1]
        new = inner + rate * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - np.float32(4) * inner)
        change = np.max(np.abs(new - inner))
        u[1:-1, 1:-1] = new
    return u


def rest_data():
    """Data that take some hundred steps."""
    u, rate, _ = heat_data()
    return [u, rate, np.float32(1e-3)]
