"""Losses that layers add in their calls, within staged loops and branches."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as tf

keras = tf.keras
layers = keras.layers


class AddsLoss(layers.Layer):
    def call(self, x: Any) -> Any:
        self.add_loss(tf.reduce_mean(x ** 2))
        return 2.0 * x


class AddsTwo(layers.Layer):
    """Adds the losses of a layer within, of its own, and of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = layers.Dense(2, kernel_initializer="ones", kernel_regularizer="l2", activity_regularizer="l1")

    def call(self, x: Any) -> Any:
        self.add_loss(tf.reduce_sum(x))
        return self.inner(x)


LAYERS: dict[str, Callable[[], Any]] = {
    "add_loss": AddsLoss, "two": AddsTwo,
    "activity": lambda: layers.Dense(2, activity_regularizer="l2", kernel_initializer="ones"),
    "weights": lambda: layers.Dense(2, kernel_regularizer="l2", kernel_initializer="ones"),
    "model": lambda: keras.Sequential([keras.Input((2,)), AddsLoss(), layers.ActivityRegularization(0.1), AddsTwo()]),
}


def in_loop(layer: Any, x: Any, n: Any) -> Any:
    for _ in tf.range(n):
        x = layer(x)
    return x


def read_in_loop(layer: Any, x: Any, n: Any) -> Any:
    t = 0.0
    for _ in tf.range(n):
        x = layer(x)
        t += tf.add_n(layer.losses)
    return x, t


def read_after_loop(layer: Any, x: Any, n: Any) -> Any:
    for _ in tf.range(n):
        x = layer(x)
    return x, sum(layer.losses)


def read_in_the_next_iteration(layer: Any, x: Any, n: Any) -> Any:
    t = 0.0
    x = layer(x)
    for _ in tf.range(n):
        t += sum(layer.losses)
        x = layer(x)
    return x, t


def in_branch(layer: Any, x: Any, n: Any) -> Any:
    if n > 1:
        x = layer(x)
    return x


def read_after_branch(layer: Any, x: Any, n: Any) -> Any:
    y = layer(x)
    if n > 1:
        y = layer(y)
    return y, sum(layer.losses)


def differentiated_in_loop(layer: Any, x: Any, n: Any) -> Any:
    total = tf.zeros_like(x)
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(layer(x)) + sum(layer.losses)
        total += tape.gradient(y, x)
        x = x + 1.0
    return total


def over_dataset(layer: Any, x: Any, n: Any) -> Any:
    t = 0.0
    for row in tf.data.Dataset.from_tensors(x).repeat(2):
        y = layer(row)
        t += tf.reduce_sum(y) + sum(layer.losses)
    return t


PROGRAMS = [in_loop, read_in_loop, read_after_loop, read_in_the_next_iteration, in_branch, read_after_branch,
            differentiated_in_loop, over_dataset]


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", LAYERS)
def test_losses_in_staged_code_are_those_of_python(name: str, program: Callable[..., Any], executor: str) -> None:
    layer = LAYERS[name]()
    layer(tf.ones([1, 2]))
    traced = tf.function(lambda x, n: program(layer, x, n), executor=executor)
    for rows, n in ((1, 2), (1, 1), (3, 3)):  # the last is traced anew
        x, times = tf.ones([rows, 2]), tf.constant(n)
        for found, expected in zip(tf.nest.flatten(traced(x, times)), tf.nest.flatten(program(layer, x, times)),
                                   strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("count", [tf.constant(3), 3, 12])
@pytest.mark.parametrize("has_own_step", [False, True])
def test_models_with_losses_in_loops_train(count: Any, has_own_step: bool) -> None:
    class Looping(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2, kernel_initializer="ones", activity_regularizer="l2")
            self.adding = AddsLoss()

        def call(self, x: Any) -> Any:
            for _ in tf.range(count) if isinstance(count, tf.Tensor) else range(count):
                x = self.adding(self.dense(x)) * 0.2
            return x

    class Stepping(Looping):
        def train_step(self, data: Any) -> Any:
            x, y = data
            total = 0.0
            for _ in tf.range(3) if isinstance(count, tf.Tensor) else range(9):
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y, self(x, training=True))
                weights = self.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
                total += loss
            return {"total": total}

    def trained(run_eagerly: bool) -> Any:
        model = (Stepping if has_own_step else Looping)()
        model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=run_eagerly)
        history = model.fit(np.ones((8, 2)), np.zeros((8, 2)), batch_size=4, epochs=2, verbose=0).history
        return [*history.values(), *model.get_weights()]

    for found, expected in zip(trained(False), trained(True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_a_layer_with_losses_is_built_in_a_loop() -> None:
    layer = layers.Dense(2, activity_regularizer="l2", kernel_initializer="ones")
    x, t = tf.function(lambda x, n: read_in_loop(layer, x, n))(tf.ones([1, 2]), tf.constant(2))
    np.testing.assert_allclose(x, [[4, 4]])
    np.testing.assert_allclose(t, 0.01 * 8 + 0.01 * 32)


def test_losses_of_a_traced_call_cannot_be_used_after_it() -> None:
    layer = AddsLoss()
    tf.function(layer)(tf.ones([1, 2]))
    with pytest.raises(tf.errors.InaccessibleTensorError, match="is used outside of it"):
        sum(layer.losses)
    assert float(sum(tf.function(lambda x: [layer(x), *layer.losses])(tf.ones([1, 2]))[1:])) == 1
    layer(tf.ones([1, 2]) * 3)
    assert [float(x) for x in layer.losses] == [9]


def test_a_nested_trace_leaves_the_losses_of_the_caller() -> None:
    layer = AddsLoss()
    inner = tf.function(lambda x: x * float(len(layer.weights) + 2))

    @tf.function
    def outer(x: Any) -> Any:
        y = layer(x)
        return inner(y) + sum(layer.losses)

    np.testing.assert_allclose(outer(tf.ones([1, 2])), [[5, 5]])


def test_calls_with_losses_share_a_trace() -> None:
    layer = AddsLoss()
    layer(tf.ones([1, 2]))
    traced = tf.function(lambda x, n: read_after_loop(layer, x, n))
    for k in range(4):
        traced(tf.ones([1, 2]) * float(k), tf.constant(k))
    assert traced.cache_info().misses == 1
