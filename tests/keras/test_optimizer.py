"""Optimizers that are built at their first use inside of a traced function."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as tf

optimizers = tf.keras.optimizers


def steps(make: Callable[[], Any], trace: Callable[[Any], Any]) -> list[Any]:
    """The variable, the iterations and the optimizer's variables after 3 steps, then 2 more."""
    v, optimizer = tf.Variable([1.0, 2.0]), make()

    def train(n: Any) -> None:
        for _ in tf.range(n):
            optimizer.apply_gradients([(2 * v, v)])

    train = trace(train)
    found: list[Any] = []
    for n in (3, 2):
        train(tf.constant(n))
        found += [v.numpy(), *[np.asarray(each) for each in optimizer.variables]]
    return found


@pytest.mark.parametrize("make", [
    lambda: optimizers.SGD(0.1, momentum=0.9), optimizers.Adam, lambda: optimizers.Adam(use_ema=True),
    lambda: optimizers.Adam(gradient_accumulation_steps=2), optimizers.Adafactor, optimizers.Nadam,
    lambda: optimizers.LossScaleOptimizer(optimizers.SGD(0.1)),
    lambda: optimizers.Adam(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
], ids=["momentum", "adam", "ema", "accumulation", "adafactor", "nadam", "loss scale", "schedule"])
def test_an_optimizer_is_built_in_a_staged_loop(make: Callable[[], Any]) -> None:
    for staged, eager in zip(steps(make, tf.function), steps(make, lambda fn: fn), strict=True):
        np.testing.assert_allclose(staged, eager, rtol=1e-5)


def test_an_optimizer_is_built_in_a_staged_branch() -> None:
    v, optimizer = tf.Variable([1.0, 2.0]), optimizers.SGD(0.5)

    @tf.function
    def train(x: Any) -> None:
        if x > 0:
            optimizer.apply_gradients([(v, v)])

    train(tf.constant(-1))
    assert int(optimizer.iterations) == 0 and v.numpy().tolist() == [1, 2]
    train(tf.constant(1))
    assert int(optimizer.iterations) == 1 and v.numpy().tolist() == [0.5, 1]
