"""Implicit differentiation: the gradient of a fixed point is a linear equation, and needs none of the iterations.

z = tanh(w z + x) is iterated until it is at rest, however long that takes. `custom_gradient` says that the cotangent u
at rest solves u = u d tanh + ct, which is iterated, too, and is pulled back through one step.
"""
from __future__ import annotations

import runtime as rt


def layer(w, x, z):
    return rt.tanh(rt.linalg.matvec(w, z) + x)


def at_rest(f, z):
    """The point that `f` maps to itself, from `z`, and the number of steps."""
    steps = 0
    new = f(z)
    while rt.reduce_max(rt.abs(new - z)) > 1e-12:
        z, new = new, f(new)
        steps += 1
    return new, steps


def unrolled(w, x):
    return at_rest(lambda z: layer(w, x, z), rt.zeros_like(x))[0]


@rt.custom_gradient
def equilibrium(w, x):
    z = unrolled(w, x)

    def gradient(ct):
        _, pull = rt.vjp(layer, w, x, z)
        u, _ = at_rest(lambda u: ct + pull(u)[2], ct)
        by_w, by_x, _ = pull(u)
        return by_w, by_x

    return z, gradient


def loss(solve):
    return lambda w, x, target: rt.reduce_sum((solve(w, x) - target) ** 2)


@rt.function
def fit(w, x, target, steps):
    """The input after steps of gradient descent, with the loss before and after."""
    before = loss(equilibrium)(w, x, target)
    for _ in rt.range(steps):
        x = x - 0.3 * rt.grad(loss(equilibrium), argnums=1)(w, x, target)
    return x, before, loss(equilibrium)(w, x, target)


if __name__ == "__main__":
    w = 0.15 * rt.random.stateless_normal([8, 8], [1, 2], dtype=rt.float64)
    x = rt.random.stateless_normal([8], [3, 4], dtype=rt.float64)
    target = rt.random.stateless_uniform([8], [5, 6], -0.5, 0.5, rt.float64)

    implicit = rt.function(rt.grad(loss(equilibrium), argnums=(0, 1)))
    through = rt.function(rt.grad(loss(unrolled), argnums=(0, 1)))
    pairs = zip(implicit(w, x, target), through(w, x, target), strict=True)
    print(f"gradients differ by at most {max(rt.reduce_max(rt.abs(a - b)).numpy() for a, b in pairs):.0e}")
    for name, f in (("implicit", implicit), ("through the iterations", through)):
        saves = [line.strip() for line in f.get_concrete_function(w, x, target).explain_native().splitlines()
                 if " saves " in line]
        print(f"{name}: {saves[0] if saves else 'saves nothing in an iteration'}")

    x, before, after = fit(w, x, target, rt.constant(200))
    print(f"loss {before.numpy():.3f} at first, {after.numpy():.5f} after 200 steps")
