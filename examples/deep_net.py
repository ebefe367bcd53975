"""Conversion goes through calls: `deep_net` calls `linear_layer`, which calls `activation`; only `deep_net` is
decorated, and the `if` and `for` of all three become graph.
"""
from __future__ import annotations

import itertools

import autograph as ag
import runtime as rt


def activation(x, leak):
    if leak > 0.0:
        x = rt.where(x > 0.0, x, leak * x)
    else:
        x = rt.nn.relu(x)
    return x


def linear_layer(x, weights, bias, leak):
    return activation(x @ weights + bias, leak)


@rt.function
def deep_net(x, layers, leak):
    """`layers` is a Python list, so this loop unrolls; `leak` is a tensor, so each `if` stays in the graph."""
    for weights, bias in layers:
        x = linear_layer(x, weights, bias, leak)
    return x


if __name__ == "__main__":
    sizes = [4, 8, 8, 3]
    layers = [
        (rt.Variable(rt.random.normal([n, m], stddev=0.5, seed=n)), rt.Variable(rt.zeros([m])))
        for n, m in itertools.pairwise(sizes)
    ]
    x = rt.reshape(rt.linspace(-1.0, 1.0, 8), [2, 4])

    for leak in (0.0, 0.1):
        print(f"leak {leak}:", *deep_net(x, layers, rt.constant(leak)).numpy().round(3))
    print("traced", deep_net.experimental_get_tracing_count(), "time\n")

    print(ag.to_code(deep_net))
    print(ag.to_code(activation))
    print(ag.explain(deep_net))
