"""MAML: weights from which a few steps of gradient descent learn a new sine wave, by gradients through these steps.

The inner loop takes gradients, the outer one the gradient of that: second order, through a loop whose number of steps
is a tensor, in one traced function.
"""
from __future__ import annotations

import runtime as rt

HIDDEN, POINTS, TASKS = 32, 10, 8


def predicted(weights, x):
    hidden = rt.tanh(x[:, rt.newaxis] * weights["w"] + weights["b"])
    hidden = rt.tanh(hidden @ weights["v"] + weights["c"])
    return rt.linalg.matvec(hidden, weights["out"])


def loss(weights, x, y):
    return rt.reduce_mean((predicted(weights, x) - y) ** 2)


def adapted(weights, x, y, steps):
    """The weights after a few steps on a task."""
    weights = dict(weights)
    for _ in rt.range(steps):
        gradient = rt.grad(loss)(weights, x, y)
        for name, g in gradient.items():
            weights[name] = weights[name] - 0.05 * g
    return weights


def wave(seed):
    """Points of a sine wave of its own amplitude and phase: some to learn from, others to be judged by."""
    amplitude = rt.random.stateless_uniform([], [seed, 0], 0.5, 2.0)
    phase = rt.random.stateless_uniform([], [seed, 1], 0.0, 3.14)
    x = rt.random.stateless_uniform([2, POINTS], [seed, 2], -4.0, 4.0)
    y = amplitude * rt.sin(x + phase)
    return x[0], y[0], x[1], y[1]


def meta_loss(weights, seed, steps):
    """The loss after learning, over several tasks."""
    total = 0.0
    for task in rt.range(TASKS):
        x, y, other_x, other_y = wave(seed * TASKS + task)
        total += loss(adapted(weights, x, y, steps), other_x, other_y)
    return total / TASKS


@rt.function
def train(weights, first, second, rounds, steps):
    """The weights after rounds of Adam with moments `first` and `second`."""
    weights = dict(weights)
    for k in rt.range(rounds):
        gradient = rt.grad(meta_loss)(weights, k, steps)
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.99 * second[name] + 0.01 * g * g
            weights[name] = weights[name] - 0.005 * first[name] / (rt.sqrt(second[name]) + 1e-6)
    return weights


if __name__ == "__main__":
    shapes = {"w": [HIDDEN], "b": [HIDDEN], "v": [HIDDEN, HIDDEN], "c": [HIDDEN], "out": [HIDDEN]}
    start = {name: rt.random.stateless_normal(shape, [k, 0], stddev=1.0 if k < 2 else HIDDEN ** -0.5)
             for k, (name, shape) in enumerate(shapes.items())}
    zeros = {name: rt.zeros_like(w) for name, w in start.items()}
    learned = train(start, zeros, dict(zeros), rt.constant(1000), rt.constant(5))
    judge = rt.function(meta_loss)
    for name, weights in (("at random", start), ("learned", learned)):
        losses = [sum(judge(weights, rt.constant(-k), rt.constant(n)).numpy() for k in range(1, 11)) / 10
                  for n in (0, 1, 5)]
        print(f"weights {name:9}: loss {losses[0]:.2f}, after 1 step {losses[1]:.2f}, after 5 steps {losses[2]:.2f}")
