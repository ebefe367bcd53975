"""Losses, metrics, Lambda layers, schedules and the like of users may branch and loop on tensors in `fit`."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as tf
import runtime.keras

keras = tf.keras
X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def flipped(x: Any) -> Any:
    if tf.reduce_sum(x) > 0.0:
        return x
    return -x


def root_if_large(target: Any, predicted: Any) -> Any:
    error = tf.reduce_mean(tf.square(target - predicted))
    if error > 1.0:
        error = tf.sqrt(error)
    return error


def positive_rows(target: Any, predicted: Any) -> Any:
    count = 0.0
    for row in predicted:
        if row[0] > 0.0:
            count += 1.0
    return count


class RootIfLarge(keras.losses.Loss):
    def call(self, target: Any, predicted: Any) -> Any:
        return root_if_large(target, predicted)


class PositiveRows(keras.metrics.Metric):
    def __init__(self, name: str = "positive_rows") -> None:
        super().__init__(name=name)
        self.rows = self.add_weight(name="rows", initializer="zeros")

    def update_state(self, target: Any, predicted: Any, sample_weight: Any = None) -> None:
        self.rows.assign_add(positive_rows(target, predicted))

    def result(self) -> Any:
        rows = tf.convert_to_tensor(self.rows)
        if rows > 1000.0:
            rows = rows * 0.0
        return rows


class Warm(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step: Any) -> Any:
        if step < 2:
            return 0.0
        return 0.1

    def get_config(self) -> dict[str, Any]:
        return {}


class Unless(keras.regularizers.Regularizer):
    def __call__(self, weights: Any) -> Any:
        if tf.reduce_max(weights) > 0.1:
            return 0.01 * tf.reduce_sum(tf.square(weights))
        return 0.0


class Below(keras.constraints.Constraint):
    def __call__(self, weights: Any) -> Any:
        if tf.reduce_max(weights) > 0.5:
            return tf.minimum(weights, 0.5)
        return weights


@pytest.mark.parametrize("options", [
    {"loss": root_if_large, "metrics": [positive_rows]},
    {"loss": RootIfLarge(), "metrics": [PositiveRows()]},
    {"loss": "mse", "optimizer": Warm()},
    {"loss": "mse", "layer": {"kernel_regularizer": Unless()}},
    {"loss": "mse", "layer": {"kernel_constraint": Below()}},
], ids=["functions", "classes", "schedule", "regularizer", "constraint"])
def test_what_users_give_branches_on_tensors(options: dict[str, Any]) -> None:
    results = []
    for run_eagerly in (False, True):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(flipped),
                                  keras.layers.Dense(1, **options.get("layer", {}))])
        model.compile(keras.optimizers.SGD(options.get("optimizer", 0.1)), options["loss"],
                      metrics=options.get("metrics", []), run_eagerly=run_eagerly)
        history = model.fit(X, Y, batch_size=8, epochs=3, verbose=0, shuffle=False).history
        results.append((history, model.get_weights(), model.evaluate(X, Y, verbose=0, return_dict=True)))
    (history, weights, tested), (expected, expected_weights, expected_tested) = results
    assert history.keys() == expected.keys()
    for name in history:
        np.testing.assert_allclose(history[name], expected[name], rtol=1e-4)
    for a, b in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert tested == pytest.approx(expected_tested, rel=1e-4)


def test_functions_of_users_are_kept_as_they_are() -> None:
    """Conversion is of the call: what is compiled, and so saved, is the user's own function."""
    layer = keras.layers.Lambda(flipped)
    assert layer.function is flipped
    assert keras.losses.get(root_if_large) is root_if_large
