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
