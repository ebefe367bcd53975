"""Layers and models that are called first, so built, inside staged code or by the steps of a model without `call`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as tf

keras = tf.keras
layers = keras.layers


class Lazy(layers.Layer):
    """Makes a layer and a weight when it is built."""

    def build(self, input_shape: Any) -> None:
        self.inner = layers.Dense(3)
        self.inner.build(input_shape)
        self.w = self.add_weight(shape=(3,))

    def call(self, x: Any) -> Any:
        return self.inner(x) * self.w


LAYERS: dict[str, Callable[[], Any]] = {
    "dense": lambda: layers.Dense(3),
    "gru": lambda: layers.GRU(3, return_sequences=True, stateful=True),
    "lstm": lambda: layers.LSTM(3, return_sequences=True),
    "cells": lambda: layers.RNN([layers.GRUCell(4), layers.LSTMCell(3)], return_sequences=True),
    "bidirectional": lambda: layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="sum"),
    "distributed": lambda: layers.TimeDistributed(layers.Dense(3)),
    "sequential": lambda: keras.Sequential([layers.Dense(8), keras.Sequential([layers.GRU(3, return_sequences=True)])]),
    "lazy": Lazy,
}


def in_loop(layer: Any) -> Any:
    def f(x: Any, n: Any) -> Any:
        s = tf.zeros([2, 4, 3])
        for i in tf.range(n):
            s = s + layer(x) if i > 0 else layer(s + x)
        return s

    return f


def in_branch(layer: Any) -> Any:
    def f(x: Any, n: Any) -> Any:
        if n > 1:
            return layer(x)
        return tf.zeros([2, 4, 3])

    return f


@pytest.mark.parametrize("place", [in_loop, in_branch])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_built_in_staged_code(name: str, place: Any) -> None:
    layer, x, n = LAYERS[name](), tf.ones([2, 4, 3]), tf.constant(2)
    traced = tf.function(place(layer))
    found = [traced(x, n), traced(x, n)]
    assert layer.built and len(layer.weights) == len({id(w) for w in layer.weights}) > 0
    if getattr(layer, "stateful", False):
        layer.reset_states()
    for each in found:
        np.testing.assert_allclose(each, place(layer)(x, n), rtol=1e-5, atol=1e-6)


METRICS: dict[str, Callable[[], Any]] = {
    "auc": keras.metrics.AUC, "f1": lambda: keras.metrics.F1Score(threshold=0.5), "r2": keras.metrics.R2Score,
    "accuracy": keras.metrics.BinaryAccuracy,
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_makes_its_variables_in_a_staged_loop(name: str, executor: str) -> None:
    def results(trace: Callable[[Any], Any]) -> list[Any]:
        metric = METRICS[name]()

        def f(x: Any, n: Any) -> Any:
            for i in tf.range(n):
                metric.update_state(tf.cast(x > 0.4, tf.float32), x * tf.cast(i + 1, tf.float32) / 3.0)
            return metric.result()

        traced, x = trace(f), tf.constant([[0.1, 0.6], [0.3, 0.9], [0.7, 0.2]])
        return [np.asarray(traced(x, tf.constant(n))) for n in (3, 2)]

    for found, expected in zip(results(lambda fn: tf.function(fn, executor=executor)), results(lambda fn: fn),
                               strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_losses_and_metrics_of_compile_are_built_in_a_staged_loop() -> None:
    class Looping(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2, kernel_initializer="ones")

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            x, y = data
            total = tf.constant(0.0)
            for _ in tf.range(2):
                with tf.GradientTape() as tape:
                    found = self(x, training=True)
                    loss = self.compute_loss(x, y, found)
                weights = self.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
                total += loss
                self.compute_metrics(x, y, found)
            return {"total": total, "mae": self.compute_metrics(x, y, found)["mae"]}

    def trained(run_eagerly: bool) -> Any:
        model = Looping()
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae", keras.metrics.AUC()], run_eagerly=run_eagerly)
        history = model.fit(np.ones((16, 2)), np.zeros((16, 2)), batch_size=4, epochs=2, verbose=0).history
        return [history["total"], history["mae"], *model.get_weights()]

    for found, expected in zip(trained(False), trained(True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_model_without_call_trains_by_its_own_step() -> None:
    class Encoder(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = keras.Sequential([layers.Dense(4)]), layers.Dense(6)
            self.loss_of_epoch = keras.metrics.Mean(name="loss")

        @property
        def metrics(self) -> Any:
            return [self.loss_of_epoch]

        def train_step(self, x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.decode(self.encode(x)) - x) ** 2)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
            self.loss_of_epoch.update_state(loss)
            return {"loss": self.loss_of_epoch.result()}

        def test_step(self, x: Any) -> Any:
            return {"loss": tf.reduce_mean((self.decode(self.encode(x)) - x) ** 2)}

    model, x = Encoder(), np.random.default_rng(0).normal(size=(64, 6)).astype("float32")
    model.compile(keras.optimizers.Adam(1e-2))
    losses = model.fit(x, epochs=8, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and model.evaluate(x, verbose=0) < losses[-1]
    with pytest.raises(NotImplementedError, match="does not have a `call"):
        model.predict(x, verbose=0)


Program = tuple[Callable[..., Any], Any]
"""A step, and its argument in each of several calls."""


def losses_of(step: Callable[..., Any], argument: Any) -> list[Any]:
    return [np.concatenate([np.ravel(x) for x in tf.nest.flatten(step(argument))]) for _ in range(5)]


def scaling() -> Any:
    return keras.mixed_precision.LossScaleOptimizer(
        keras.optimizers.SGD(0.1), initial_scale=8.0, dynamic_growth_steps=2)


def scaled(w: Any, optimizer: Any, apply: Callable[[Any], object]) -> Any:
    with tf.GradientTape() as tape:
        loss = optimizer.scale_loss(w * 1.0)
    apply(tape.gradient(loss, w))
    return w + 0.0


def scaled_loss(trace: Callable[[Any], Any]) -> Program:
    w, optimizer = tf.Variable(1.0), scaling()
    return trace(lambda _: scaled(w, optimizer, lambda g: optimizer.apply_gradients([(g, w)]))), tf.constant(0)


def scaled_loss_and_nested_update(trace: Callable[[Any], Any]) -> Program:
    w, optimizer = tf.Variable(1.0), scaling()
    update = trace(lambda g: optimizer.apply_gradients([(g, w)]))
    return trace(lambda _: scaled(w, optimizer, update)), tf.constant(0)


def scaled_loss_in_a_loop(trace: Callable[[Any], Any]) -> Program:
    w, optimizer = tf.Variable(1.0), scaling()

    def step(n: Any) -> Any:
        for _ in tf.range(n):
            scaled(w, optimizer, lambda g: optimizer.apply_gradients([(g, w)]))
        return w + 0.0

    return trace(step), tf.constant(3)


def area_under_curve(trace: Callable[[Any], Any]) -> Program:
    metric = keras.metrics.AUC()

    def step(x: Any) -> Any:
        metric.update_state(x > 0.4, x)
        return metric.result()

    return trace(step), tf.constant([0.1, 0.4, 0.5, 0.9])


def averages_of_a_batch(trace: Callable[[Any], Any]) -> Program:
    layer = layers.BatchNormalization()
    return trace(lambda x: (layer(x, training=True), layer.moving_mean + 0.0)), tf.constant([[1.0, 2.0], [3.0, 5.0]])


def unseeded_numbers(trace: Callable[[Any], Any]) -> Program:
    keras.utils.set_random_seed(5)
    layer = layers.GRU(2, dropout=0.5, recurrent_dropout=0.3)
    return trace(lambda x: layer(x, training=True) + keras.random.normal([2])), tf.ones([2, 3, 2])


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("program", [
    scaled_loss, scaled_loss_and_nested_update, scaled_loss_in_a_loop, area_under_curve, averages_of_a_batch,
    unseeded_numbers])
def test_state_made_by_the_first_call_is_found_by_all_calls(program: Callable[[Any], Program], executor: str) -> None:
    expected = losses_of(*program(lambda fn: fn))
    for found, each in zip(losses_of(*program(lambda fn: tf.function(fn, executor=executor))), expected, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_the_first_call_runs_the_trace_that_follows_the_making_of_variables(executor: str) -> None:
    layer, seen = layers.Dense(2, kernel_initializer="ones"), list[int]()

    def step(x: Any) -> Any:
        seen.append(len(layer.trainable_variables))
        norm = sum(tf.reduce_sum(w) for w in layer.trainable_variables)
        return layer(x) + norm

    traced = tf.function(step, executor=executor)
    for _ in range(3):
        np.testing.assert_array_equal(traced(tf.ones([1, 3])), [[9, 9]])
    assert seen[:2] == [0, 2] and 0 not in seen[1:]


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_a_models_own_step_scales_its_loss(policy: str) -> None:
    def trained(run_eagerly: bool) -> Any:
        class Scaled(keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.dense = layers.Dense(1, kernel_initializer="ones", dtype=policy)

            def call(self, x: Any) -> Any:
                return self.dense(x)

            def train_step(self, data: Any) -> Any:
                x, y = data
                with tf.GradientTape() as tape:
                    loss = self.compute_loss(x, y, self(x, training=True))
                    scaled = self.optimizer.scale_loss(loss)
                gradients = tape.gradient(scaled, self.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
                return {"loss": loss}

        model = Scaled()
        model.compile(scaling(), "mse", run_eagerly=run_eagerly)
        model.fit(np.ones((16, 3)), np.zeros((16, 1)), batch_size=4, verbose=0)
        return [*model.get_weights(), np.asarray(model.optimizer.dynamic_scale)]

    for found, expected in zip(trained(False), trained(True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3)
