"""A neural ODE: dy/dt is a net, solved by Runge-Kutta 4(5) with an adaptive step, and trained through the solver.

The step shrinks or grows by the error that is estimated, so how many there are, and which are made again, is decided
by tensors; the gradient goes back through those that were made.
"""
from __future__ import annotations

import numpy as np

import runtime as rt

# Dormand and Prince: stages, weights of order 5, and weights of the estimated error.
STAGES = ((1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
          (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
          (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656))
ORDER_5 = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def combined(y, step, weights, slopes):
    return y + step * sum(w * k for w, k in zip(weights, slopes, strict=True))


def solve(f, y, start, end, tolerance):
    """y at the time `end`, from y at `start`, where y' = f(y); and the number of steps."""
    t, step, steps = start, 0.1 * (end - start), 0
    while t < end:
        step = rt.minimum(step, end - t)
        slopes = [f(y)]
        for weights in STAGES:
            slopes.append(f(combined(y, step, weights, slopes)))
        new = combined(y, step, ORDER_5, slopes)
        slopes.append(f(new))
        error = rt.reduce_max(rt.abs(combined(0.0, step, ERROR, slopes))) / tolerance
        if error <= 1.0:
            t, y = t + step, new
        step = step * rt.stop_gradient(rt.clip_by_value(0.9 * (error + 1e-10) ** -0.2, 0.2, 5.0))
        steps += 1
    return y, steps


def net(weights):
    return lambda y: rt.linalg.matvec(weights["out"], rt.tanh(rt.linalg.matvec(weights["in"], y) + weights["bias"]))


def spiral(y):
    """The truth: a spiral that slows down."""
    return rt.stack([-0.2 * y[0] + 2.0 * y[1], -2.0 * y[0] - 0.2 * y[1]])


def loss(weights, path, times):
    """How far the solution is from the path, from each of its points to the next."""
    total = 0.0 * path[0, 0]
    for k in rt.range(len(times) - 1):
        y, _ = solve(net(weights), path[k], times[k], times[k + 1], 1e-5)
        total += rt.reduce_sum((y - path[k + 1]) ** 2)
    return total


@rt.function
def train(weights, first, second, path, times, rounds):
    """The weights after rounds of Adam with moments `first` and `second`."""
    for _ in rt.range(rounds):
        gradient = rt.grad(loss)(weights, path, times)
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.99 * second[name] + 0.01 * g * g
            weights[name] = weights[name] - 0.02 * first[name] / (rt.sqrt(second[name]) + 1e-8)
    return weights


if __name__ == "__main__":
    times = rt.linspace(rt.constant(0.0, rt.float64), 4.0, 21)
    path = [rt.constant([1.0, 0.0], rt.float64)]
    solution = rt.function(lambda y, start, end: solve(spiral, y, start, end, 1e-8)[0])
    for k in range(20):
        path.append(solution(path[-1], times[k], times[k + 1]))
    path = rt.stack(path)

    shapes = {"in": [16, 2], "bias": [16], "out": [2, 16]}
    weights = {name: rt.random.stateless_normal(shape, [k, 0], stddev=0.3, dtype=rt.float64)
               for k, (name, shape) in enumerate(shapes.items())}
    value = rt.function(loss)
    by = rt.function(rt.grad(loss))(weights, path, times)["bias"].numpy()[0]
    nudged = [{**weights, "bias": weights["bias"] + np.eye(16)[0] * d} for d in (1e-6, -1e-6)]
    difference = (value(nudged[0], path, times) - value(nudged[1], path, times)).numpy() / 2e-6
    print(f"through the solver: gradient {by:.6f}, differences {difference:.6f}")

    zeros = {name: rt.zeros_like(w) for name, w in weights.items()}
    print(f"loss {value(weights, path, times).numpy():.4f} at first,", end=" ")
    weights = train(weights, zeros, dict(zeros), path, times, rt.constant(300))
    print(f"{value(weights, path, times).numpy():.6f} after 300 rounds")
    end, steps = rt.function(lambda y: solve(net(weights), y, times[0], times[-1], 1e-6))(path[0])
    print(f"solved at once to the end, in {steps.numpy()} steps: {end.numpy().round(2)},", end=" ")
    print(f"is {path[-1].numpy().round(2)}")
