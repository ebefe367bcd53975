"""Losses of probabilities take the logits that a softmax or sigmoid got, as Keras does on TensorFlow."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as tf
from runtime import keras

LOGITS = np.array([[0, 0, 60], [50, 0, 1]], np.float32)
ONE_HOT = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
SHIFTED = np.array([[0, 1, 2], [3, 4, 5]], np.float32)


def of_softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def of_sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


LOSSES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "sparse": ("softmax", lambda p: keras.losses.sparse_categorical_crossentropy(np.array([0, 1]), p)),
    "categorical": ("softmax", lambda p: keras.losses.categorical_crossentropy(ONE_HOT, p)),
    "object": ("softmax", lambda p: keras.losses.SparseCategoricalCrossentropy(reduction="sum")(np.array([0, 1]), p)),
    "binary": ("sigmoid", lambda p: keras.ops.binary_crossentropy(ONE_HOT, p)),
}
KERAS = {
    "softmax": [keras.ops.softmax, keras.activations.softmax, keras.layers.Softmax(),
                keras.Sequential([keras.Input((3,)), keras.layers.Activation("softmax")])],
    "sigmoid": [keras.ops.sigmoid, keras.activations.sigmoid,
                keras.Sequential([keras.Input((3,)), keras.layers.Activation("sigmoid")])],
}


def gradient(step: Callable[[Any], Any], is_graph: bool, x: np.ndarray = LOGITS) -> np.ndarray:
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = step(x)
        return tape.gradient(loss, x)

    found: np.ndarray = (tf.function(run) if is_graph else run)(tf.constant(x)).numpy()
    return found


def expected(kind: str, x: np.ndarray = LOGITS) -> np.ndarray:
    return (of_softmax if kind == "softmax" else of_sigmoid)(x) - ONE_HOT


@pytest.mark.parametrize("is_graph", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_saturated_probabilities_of_keras_have_a_gradient(loss: str, is_graph: bool) -> None:
    kind, of = LOSSES[loss]
    for activation in KERAS[kind]:
        found = gradient(lambda x, f=activation: of(f(x)), is_graph)  # type: ignore[misc]
        np.testing.assert_allclose(found, expected(kind), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("loss", LOSSES)
def test_saturated_probabilities_of_a_graph_have_a_gradient(loss: str, executor: str) -> None:
    kind, of = LOSSES[loss]
    activation = tf.nn.softmax if kind == "softmax" else tf.sigmoid
    tf.config.set_default_executor(executor)
    try:
        np.testing.assert_allclose(gradient(lambda x: of(activation(x)), True), expected(kind), rtol=1e-5, atol=1e-6)
    finally:
        tf.config.set_default_executor("native")


@pytest.mark.parametrize("loss", LOSSES)
def test_other_probabilities_are_clipped(loss: str) -> None:
    kind, of = LOSSES[loss]
    activation = tf.nn.softmax if kind == "softmax" else tf.sigmoid
    ones = expected(kind) * (np.abs(expected(kind)) < 0.9)  # the gradients of what is not saturated
    cases: dict[str, tuple[Callable[[Any], Any], bool]] = {
        "eager": (activation, False),
        "reshaped": (lambda x: tf.reshape(activation(x), [2, 3]), True),
        "along another axis": (lambda x: tf.transpose(tf.nn.softmax(tf.transpose(x), axis=0)), True),
    }
    for name, (probabilities, is_graph) in cases.items():
        if name != "along another axis" or kind == "softmax":
            found = gradient(lambda x, f=probabilities: of(f(x)), is_graph)  # type: ignore[misc]
            np.testing.assert_allclose(found, ones, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("loss", LOSSES)
def test_logits_and_probabilities_agree_where_nothing_saturates(loss: str) -> None:
    kind, of = LOSSES[loss]
    for activation, is_graph in [(KERAS[kind][0], False), (tf.nn.softmax if kind == "softmax" else tf.sigmoid, False)]:
        found = gradient(lambda x, f=activation: of(f(x)), is_graph, SHIFTED)  # type: ignore[misc]
        np.testing.assert_allclose(found, expected(kind, SHIFTED), rtol=1e-4, atol=1e-6)


def test_a_focal_loss_of_classes_clips_and_a_binary_one_takes_logits() -> None:
    found = gradient(lambda x: keras.losses.categorical_focal_crossentropy(ONE_HOT, keras.ops.softmax(x)), True)
    np.testing.assert_array_equal(found, np.zeros((2, 3)))
    losses = keras.losses.binary_focal_crossentropy(ONE_HOT, keras.ops.sigmoid(tf.constant(LOGITS)))
    np.testing.assert_allclose(losses, [20.115524, 16.958385], rtol=1e-5)  # TensorFlow 2.21


def test_probabilities_that_are_called_logits_warn() -> None:
    with pytest.warns(UserWarning, match='`categorical_crossentropy` received `from_logits=True`, but the `output` '
                                         "argument was produced by a Softmax activation"):
        loss = keras.losses.categorical_crossentropy(ONE_HOT, keras.ops.softmax(tf.constant(LOGITS)), from_logits=True)
    np.testing.assert_allclose(loss, [60, 50])


@pytest.mark.parametrize(("kind", "loss", "target"), [
    ("softmax", "sparse_categorical_crossentropy", np.array([0, 1])),
    ("softmax", "categorical_crossentropy", ONE_HOT),
    ("sigmoid", "binary_crossentropy", ONE_HOT)])
@pytest.mark.parametrize("is_eager", [False, True])
def test_a_saturated_model_trains(kind: str, loss: str, target: np.ndarray, is_eager: bool) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, kind, kernel_initializer="identity")])
    model.compile(keras.optimizers.SGD(0.5), loss, run_eagerly=is_eager)
    model.fit(LOGITS, target, epochs=1, verbose=0)
    step = expected(kind) / (2 if kind == "softmax" else 6)
    np.testing.assert_allclose(model.get_weights()[0], np.eye(3) - 0.5 * LOGITS.T @ step, rtol=1e-4)
    np.testing.assert_allclose(model.get_weights()[1], -0.5 * step.sum(0), rtol=1e-4)
