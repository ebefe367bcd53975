"""Kepler's equation for many orbits at once: a scalar `while`, mapped over lanes that end at different times."""
from __future__ import annotations

import numpy as np

import runtime as rt


def anomaly(eccentricity, time):
    """The eccentric anomaly E of `E - eccentricity * sin(E) = time`, by Newton's method; and the number of steps."""
    e = time
    steps = 0
    error = e - eccentricity * rt.sin(e) - time
    while rt.abs(error) > 1e-12:
        e = e - error / (1.0 - eccentricity * rt.cos(e))
        error = e - eccentricity * rt.sin(e) - time
        steps += 1
    return e, steps


def distance(eccentricity, time):
    e, _ = anomaly(eccentricity, time)
    return 1.0 - eccentricity * rt.cos(e)


if __name__ == "__main__":
    time = rt.constant(2.0, rt.float64)
    eccentricities = rt.constant(np.linspace(0.0, 0.9, 1000))
    orbits = rt.function(rt.vmap(anomaly, in_axes=(0, None)))
    e, steps = orbits(eccentricities, time)
    rest = e.numpy() - eccentricities.numpy() * np.sin(e.numpy()) - 2.0
    assert np.abs(rest).max() <= 1e-12
    print(f"{len(rest)} orbits, of {steps.numpy().min()} to {steps.numpy().max()} steps each, in one call")

    by_time = rt.function(rt.vmap(rt.grad(distance, argnums=1), in_axes=(0, None)))
    exact = eccentricities.numpy() * np.sin(e.numpy()) / (1 - eccentricities.numpy() * np.cos(e.numpy()))
    assert np.allclose(by_time(eccentricities, time).numpy(), exact)
    print("the speed at which each goes away from the sun is the derivative of its distance")
    print(f"traced {orbits.experimental_get_tracing_count()} time")
