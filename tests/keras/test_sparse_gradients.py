"""Gradients of embeddings: what Keras 3.15 with TensorFlow 2.21 computes for ids that occur several times."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("keras")

import runtime as rt
from runtime import keras

IDS = [np.array([[1, 1, 3], [0, 2, 1]]), np.array([[4, 4, 4], [4, 1, 0]]), np.array([[2, 3, 3], [2, 0, 0]])]
made = keras.optimizers
OPTIMIZERS = {
    "sgd": (lambda: made.SGD(0.1), [
        -0.975545, -0.869772, -0.586318, -0.558209, -0.235873, -0.165068, 0.136134,
        0.181704, 0.526406, 0.455239, 0.818182, 1]),
    "mom": (lambda: made.SGD(0.1, momentum=0.9, nesterov=True), [
        -0.973216, -0.868322, -0.482903, -0.767451, -0.207743, -0.222717, 0.175533,
        0.0982948, 0.601377, 0.16554, 0.818182, 1]),
    "rms": (lambda: made.RMSprop(0.1), [
        -0.848574, -0.840979, -0.138715, -0.844788, 0.0719753, -0.440168, 0.530936,
        -0.18532, 1.08699, 0.00390828, 0.818182, 1]),
    "rmsc": (lambda: made.RMSprop(0.1, centered=True, momentum=0.3), [
        -0.954737, -0.648967, 0.186968, -1.10823, 0.0697768, -0.358241, 0.554911,
        -0.19179, 1.51596, -0.425081, 0.818182, 1]),
    "adam": (lambda: made.Adam(0.1), [
        -0.741405, -1.08719, -0.234572, -0.862147, -0.014369, -0.355175, 0.353377,
        0.0053389, 0.718413, 0.372495, 0.818182, 1]),
    "ams": (lambda: made.Adam(0.1, amsgrad=True), [
        -0.741405, -1.08719, -0.234622, -0.862096, -0.0144006, -0.355143, 0.353345,
        0.00537156, 0.718355, 0.372553, 0.818182, 1]),
    "adagrad": (lambda: made.Adagrad(0.1), [
        -0.919974, -0.961656, -0.513672, -0.628193, -0.164732, -0.25097, 0.213856,
        0.101012, 0.608479, 0.445382, 0.818182, 1]),
    "adadelta": (lambda: made.Adadelta(0.5), [
        -0.997339, -0.820844, -0.634631, -0.456279, -0.270862, -0.0927744, 0.0927744,
        0.270862, 0.45596, 0.634949, 0.818182, 1]),
    "adamax": (lambda: made.Adamax(0.1), [
        -0.790352, -1.03976, -0.445607, -0.650324, -0.0616531, -0.299511, 0.302566,
        0.0681571, 0.540421, 0.550488, 0.818182, 1]),
    "nadam": (lambda: made.Nadam(0.1), [
        -0.79519, -1.03645, -0.405958, -0.692495, -0.0563646, -0.313109, 0.312798,
        0.0452598, 0.676035, 0.414874, 0.818182, 1]),
    "ftrl": (lambda: made.Ftrl(0.1), [
        0.0227941, -0.305106, -0.0159987, -0.378915, 0.0460312, -0.161059, 0.101604,
        -0.0295863, 0.0799098, -0.144371, 0, 0]),
    "lion": (lambda: made.Lion(0.1), [
        -0.7, -1.11818, -0.336364, -0.754546, 0.0272727, -0.390909, 0.390909,
        -0.0272727, 0.654545, 0.436364, 0.818182, 1]),
    "adafactor": (lambda: made.Adafactor(0.1), [
        -0.780167, -1.03026, -0.493554, -0.600112, -0.0820828, -0.268027, 0.282015,
        0.0951963, 0.608486, 0.469976, 0.818182, 1]),
    "lamb": (lambda: made.Lamb(0.1), [
        -0.812034, -1.01191, -0.37683, -0.716957, -0.103706, -0.261924, 0.260802,
        0.101074, 0.624367, 0.466542, 0.818182, 1]),
    "clipn": (lambda: made.Adam(0.1, clipnorm=0.5), [
        -0.746761, -1.08188, -0.238987, -0.857233, -0.00597247, -0.361199, 0.360205,
        0.00164167, 0.71841, 0.372496, 0.818182, 1]),
    "gclip": (lambda: made.Adam(0.1, global_clipnorm=0.5), [
        -0.742612, -1.08642, -0.401637, -0.694597, -0.0245298, -0.336806, 0.337748,
        0.0285649, 0.586477, 0.50443, 0.818182, 1]),
    "clipv": (lambda: made.Adam(0.1, clipvalue=0.3), [
        -0.745055, -1.08265, -0.234572, -0.862147, -0.0142753, -0.357918, 0.353771,
        0.00211675, 0.718413, 0.372496, 0.818182, 1]),
    "acc": (lambda: made.Adam(0.1, gradient_accumulation_steps=2), [
        -0.900003, -0.91818, -0.536365, -0.554544, -0.172732, -0.190907, 0.190905,
        0.172729, 0.554544, 0.536365, 0.818182, 1]),
}


def trained(make: Callable[[], Any], way: str) -> list[float]:
    """The table after three steps: eager ones, traced ones, or those of fit."""
    table = keras.layers.Embedding(6, 2)
    table.build(None)
    table.set_weights([np.linspace(-1, 1, 12).reshape(6, 2).astype("float32")])
    dense = keras.layers.Dense(1)
    dense.build((None, 3, 2))
    dense.set_weights([np.array([[0.5], [-1.0]], "float32"), np.zeros(1, "float32")])
    optimizer = make()
    if way == "fit":
        model = keras.Sequential([table, dense])
        model.compile(optimizer, "mse")
        for ids in IDS:
            model.fit(ids, np.ones((2, 3, 1), "float32"), verbose=0, batch_size=2, shuffle=False)
        return np.ravel(table.get_weights()[0]).tolist()
    weights = table.trainable_variables + dense.trainable_variables

    def step(ids: Any) -> None:
        with rt.GradientTape() as tape:
            loss = rt.reduce_mean((dense(table(ids)) - 1.0) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    optimizer.build(weights)
    run = rt.function(step) if way == "traced" else step
    for ids in IDS:
        run(rt.constant(ids))
    return np.ravel(table.get_weights()[0]).tolist()


@pytest.mark.parametrize("way", ["eager", "traced", "fit"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str, way: str) -> None:
    make, expected = OPTIMIZERS[name]
    np.testing.assert_allclose(trained(make, way), expected, rtol=2e-5, atol=1e-6)
