"""A ball that bounces, simulated with a `while` that finds each bounce; the gradient goes through the bounces.

The derivative of where the ball ends by where it started finds the start from which it ends where it should.
"""
from __future__ import annotations

import runtime as rt

GRAVITY = 9.81
RESTITUTION = 0.8


def simulate(height, duration):
    """The height after `duration` seconds of a ball that is let go, and how often it has bounced: from bounce to
    bounce, each at the time at which the ball meets the floor."""
    left, velocity, bounces = duration, height * 0.0, 0
    falling = True
    while falling:
        until_floor = (velocity + rt.sqrt(velocity * velocity + 2.0 * GRAVITY * height)) / GRAVITY
        if until_floor < left:
            velocity = RESTITUTION * (GRAVITY * until_floor - velocity)
            height = height * 0.0
            left = left - until_floor
            bounces += 1
        else:
            height = height + velocity * left - 0.5 * GRAVITY * left * left
            falling = False
    return height, bounces


def final_height(height):
    return simulate(height, rt.constant(3.0, rt.float64))[0]


@rt.function
def aimed(target, height):
    """The height from which the ball ends at `target`, by Newton's method through the simulation."""
    error = final_height(height) - target
    while rt.abs(error) > 1e-9:
        height = height - error / rt.grad(final_height)(height)
        error = final_height(height) - target
    return height


if __name__ == "__main__":
    start = rt.constant(2.0, rt.float64)
    height, bounces = rt.function(simulate)(start, rt.constant(3.0, rt.float64))
    print(f"height after 3 s: {height.numpy():.4f} m, after {bounces.numpy()} bounces")

    gradient = rt.function(rt.grad(final_height))(start).numpy()
    difference = (final_height(start + 1e-6) - final_height(start - 1e-6)).numpy() / 2e-6
    assert abs(gradient - difference) < 1e-6
    print(f"by the first height: gradient {gradient:8.5f}, differences {difference:8.5f}")

    found = aimed(rt.constant(0.5, rt.float64), start)
    print(f"let go from {found.numpy():.4f} m, it ends at {final_height(found).numpy():.3f} m")
