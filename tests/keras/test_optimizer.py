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


def on_arguments(
    make: Callable[[], Any], trace: Callable[[Any], Any], as_list: bool, is_used: bool, is_nested: bool
) -> list[Any]:
    """Two variables, and the optimizer's, after 3 calls of a step that takes the variables as arguments."""
    optimizer, a, b = make(), tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    if is_used:
        optimizer.apply_gradients([(tf.ones([2]), a), (tf.ones([2]), b)])

    def step(variables: list[Any]) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(v ** 2) for v in variables])
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    traced = trace(step) if as_list else trace(lambda v, w: step([v, w]))
    outer = trace(lambda *args: traced(*args)) if is_nested else traced
    losses = [outer(*([[a, b]] if as_list else [a, b])) for _ in range(3)]
    return [np.asarray(each) for each in (*losses, a, b, *optimizer.variables)]


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("make", [
    lambda: optimizers.SGD(0.1), lambda: optimizers.SGD(0.1, momentum=0.9), optimizers.Adam,
    lambda: optimizers.LossScaleOptimizer(optimizers.Adam())], ids=["sgd", "momentum", "adam", "loss scale"])
@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_variables_are_arguments(
    executor: str, make: Callable[[], Any], as_list: bool, is_used: bool, is_nested: bool
) -> None:
    case = as_list, is_used, is_nested
    staged = on_arguments(make, lambda fn: tf.function(fn, executor=executor), *case)
    for found, expected in zip(staged, on_arguments(make, lambda fn: fn, *case), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_each_variable_has_its_own_trace_and_slots() -> None:
    optimizer, a, b = optimizers.SGD(0.5, momentum=0.5), tf.Variable([1.0, 2.0]), tf.Variable([8.0, 8.0])
    optimizer.build([a, b])

    @tf.function
    def train(v: Any) -> None:
        optimizer.apply_gradients([(tf.ones([2]), v)])

    for v in (a, b, a):
        train(v)
    assert a.numpy().tolist() == [-0.25, 0.75] and b.numpy().tolist() == [7.5, 7.5]
    other = tf.Variable([0.0, 0.0])
    with pytest.raises(ValueError, match="Unknown variable"):
        train(other)
    assert other.numpy().tolist() == [0, 0]
