"""REINFORCE on a cart-pole: policy, simulation, gradient and update are one traced function.

Each episode ends when its pole falls, which a tensor decides; sixteen of them run side by side, in a `while` that ends
when all have. Adam is written by hand, over a structure of parameters.
"""
from __future__ import annotations

import runtime as rt

EPISODES, LONGEST, HIDDEN = 16, 200, 16


def moved(state, push):
    """The states [episodes, 4] (position, speed, angle, angular speed) after 0.02 s of pushes of -1 or 1."""
    x, speed, angle, turning = rt.unstack(state, axis=1)
    sin, cos = rt.sin(angle), rt.cos(angle)
    force = (10.0 * push + 0.05 * turning * turning * sin) / 1.1
    turn = (9.8 * sin - cos * force) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1))
    pull = force - 0.05 * turn * cos / 1.1
    return rt.stack([x + 0.02 * speed, speed + 0.02 * pull, angle + 0.02 * turning, turning + 0.02 * turn], axis=1)


def right_logit(weights, state):
    """How much the policy wants to push to the right: the log of the odds."""
    hidden = rt.tanh(state @ weights["in"] + weights["bias"])
    return rt.linalg.matvec(hidden, weights["out"])


def episodes(weights, seed):
    """A loss whose gradient is the policy gradient, and how many steps each pole stood."""
    state = rt.random.stateless_uniform([EPISODES, 4], [seed, 0], -0.05, 0.05)
    alive = rt.ones([EPISODES])
    stood = rt.zeros([EPISODES])
    logs, alives = [], []
    t = 0
    while t < LONGEST and rt.reduce_any(alive > 0.0):
        logit = right_logit(weights, rt.stop_gradient(state))
        right = rt.cast(rt.random.stateless_uniform([EPISODES], [seed, t + 1]) < rt.sigmoid(logit), rt.float32)
        logs.append(-rt.math.softplus((1.0 - 2.0 * right) * logit))  # the log of the probability of this push
        alives.append(alive)
        state = moved(state, 2.0 * right - 1.0)
        stood += alive
        alive = alive * rt.cast((rt.abs(state[:, 0]) < 2.4) & (rt.abs(state[:, 2]) < 0.21), rt.float32)
        t += 1
    alives = rt.stack(alives)  # [steps, episodes]
    still = rt.cumsum(alives, axis=0, reverse=True) * alives  # how many more steps the pole stands
    advantage = still - rt.reduce_mean(still, axis=1, keepdims=True)
    return -rt.reduce_sum(rt.stack(logs) * alives * advantage) / rt.reduce_sum(alives), stood


@rt.function
def train(weights, first, second, rounds):
    """The weights after rounds of Adam with moments `first` and `second`, and for each round how long poles stood."""
    lengths = rt.TensorArray(rt.float32, size=rounds)
    for k in rt.range(rounds):
        (_, stood), gradient = rt.value_and_grad(episodes, has_aux=True)(weights, k)
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.99 * second[name] + 0.01 * g * g
            step = rt.cast(k + 1, rt.float32)
            size = 0.03 * rt.sqrt(1.0 - 0.99 ** step) / (1.0 - 0.9 ** step)
            weights[name] = weights[name] - size * first[name] / (rt.sqrt(second[name]) + 1e-8)
        lengths = lengths.write(k, rt.reduce_mean(stood))
    return weights, lengths.stack()


if __name__ == "__main__":
    weights = {"in": rt.random.stateless_normal([4, HIDDEN], [1, 2]), "bias": rt.zeros([HIDDEN]),
               "out": rt.zeros([HIDDEN])}
    zeros = {name: rt.zeros_like(w) for name, w in weights.items()}
    weights, lengths = train(weights, zeros, dict(zeros), rt.constant(60))
    lengths = lengths.numpy()
    for k in range(0, len(lengths), 20):
        print(f"rounds {k:3} to {k + 20:3}: poles stand {lengths[k:k + 20].mean():5.1f} steps of {LONGEST}")
    assert lengths[-20:].mean() > 4 * lengths[:5].mean()
    print(f"learned: {lengths[:5].mean():.0f} steps at first, {lengths[-20:].mean():.0f} at last")
