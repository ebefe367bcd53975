"""Batches from datasets: weights of classes, and steps of models that take other elements than (x, y)."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runtime as tf
from runtime import keras

X = np.random.default_rng(0).normal(size=(20, 3)).astype("float32")
CLASSES = (X.sum(1) > 0).astype("int32")
WEIGHTS = {0: 1.0, 1: 5.0}


def trained(loss: Any, units: int, data: tuple[Any, ...], is_eager: bool, **options: Any) -> list[Any]:
    activation = "sigmoid" if loss == "binary_crossentropy" else None
    model = keras.Sequential([keras.layers.Dense(units, activation, kernel_initializer="ones")])
    model.compile("sgd", loss, weighted_metrics=["accuracy"], run_eagerly=is_eager)
    history = model.fit(*data, epochs=2, shuffle=False, verbose=0, **options).history
    return [*history.values(), *model.get_weights()]


@pytest.mark.parametrize("is_eager", [False, True])
@pytest.mark.parametrize(("loss", "units", "labels"), [
    (keras.losses.SparseCategoricalCrossentropy(from_logits=True), 2, CLASSES),
    (keras.losses.SparseCategoricalCrossentropy(from_logits=True), 2, CLASSES[:, None]),
    (keras.losses.CategoricalCrossentropy(from_logits=True), 2, np.eye(2, dtype="float32")[CLASSES]),
    ("binary_crossentropy", 1, CLASSES[:, None].astype("float32")),
], ids=["classes", "column", "one-hot", "binary"])
@pytest.mark.parametrize("weights", [WEIGHTS, {1: 3}], ids=["all", "some"])
def test_class_weight_of_a_dataset_is_that_of_arrays(
    weights: dict[int, float], loss: Any, units: int, labels: Any, is_eager: bool
) -> None:
    dataset = tf.data.Dataset.from_tensor_slices((X, labels)).batch(6)
    found = trained(loss, units, (dataset,), is_eager, class_weight=weights)
    expected = trained(loss, units, (X, labels), is_eager, class_weight=weights, batch_size=6)
    plain = trained(loss, units, (X, labels), is_eager, batch_size=6)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert not np.allclose(found[-1], plain[-1])


def test_class_weight_of_each_pixel() -> None:
    x, classes = X.reshape(5, 4, 3), CLASSES.reshape(5, 4)
    weights = np.where(classes == 1, 5, 1).astype("float32")
    found = trained("mse", 1, (tf.data.Dataset.from_tensor_slices((x, classes[..., None])).batch(2),), False,
                    class_weight=WEIGHTS)
    expected = trained("mse", 1, (x, classes[..., None]), False, sample_weight=weights, batch_size=2)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


NO_LABELS = "`class_weight` needs a dataset of (x, y) where y is one array, that of a model with one output"
TWO_WEIGHTS = ("`class_weight` cannot be given beside a dataset of (x, y, sample_weight): multiply the weights in its "
               "`map` instead")


@pytest.mark.parametrize(("element", "message"), [
    ((X, CLASSES, np.ones(20)), TWO_WEIGHTS), (X, NO_LABELS), ((X, {"a": CLASSES}), NO_LABELS)])
def test_class_weight_that_does_not_fit(element: Any, message: str) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(element).batch(6)
    with pytest.raises(ValueError, match=re.escape(message)):
        trained("mse", 1, (dataset,), False, class_weight=WEIGHTS)


class Triplets(keras.Model):  # type: ignore[misc]
    """A model whose `call` takes one image, and whose steps take three."""

    def __init__(self, error: str = "") -> None:
        super().__init__()
        self.net = keras.layers.Dense(2, kernel_initializer="ones")
        self.mean = keras.metrics.Mean(name="loss")
        self.error = error

    def call(self, x: Any) -> Any:
        if self.error == "call":
            raise KeyError("of the call")
        a, b, c = x
        return self.net(a) - self.net(b), self.net(a) - self.net(c)

    def test_step(self, data: Any) -> Any:
        near, far = self(data)
        self.mean.update_state(tf.reduce_mean(near ** 2 - far))
        return {"loss": self.mean.result()}

    def train_step(self, data: Any) -> Any:
        if self.error == "step":
            raise KeyError("of the step")
        with tf.GradientTape() as tape:
            near, far = self(data)
            loss = tf.reduce_mean(near ** 2 - far)
        weights = self.net.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.mean.update_state(loss)
        return {"loss": self.mean.result()}

    @property
    def metrics(self) -> list[Any]:
        return [self.mean]


TRIPLES = tf.data.Dataset.from_tensor_slices((X, X[::-1].copy(), X * 2)).batch(6)


def test_steps_of_the_user_take_any_elements() -> None:
    found = []
    for is_eager in (False, True):
        model = Triplets()
        model.compile("adam", run_eagerly=is_eager)
        history = model.fit(TRIPLES, epochs=2, verbose=0, validation_data=TRIPLES).history
        found.append([*history.values(), *model.get_weights()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize("part", ["step", "call"])
def test_errors_of_the_steps_of_the_user_show(part: str) -> None:
    model = Triplets(part)
    model.compile("adam")
    with pytest.raises(KeyError, match=f"of the {part}"):
        model.fit(TRIPLES, verbose=0)


def test_layers_get_the_shapes_that_the_step_of_the_user_calls_them_with() -> None:
    class Decoding(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = keras.layers.Dense(2), keras.layers.Dense(3)

        def call(self, code: Any) -> Any:
            return self.decoder(code)

        def train_step(self, data: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(self.encoder(data)) - data) ** 2)
            weights = self.trainable_weights
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss}

    model = Decoding()
    model.compile("adam")
    model.fit(X, verbose=0)
    assert [w.shape for w in model.get_weights()] == [(3, 2), (2,), (2, 3), (3,)]
    assert model.predict(np.ones((4, 2), np.float32), verbose=0).shape == (4, 3)


def test_a_step_that_extends_that_of_keras() -> None:
    class Doubled(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            x, y = data
            return super().train_step((2 * x, y))

    model, y = Doubled(), CLASSES[:, None].astype("float32")
    model.compile("adam", "mse", metrics=["mae"])
    like = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
    like.compile("adam", "mse", metrics=["mae"])
    found = model.fit(X, y, epochs=2, shuffle=False, verbose=0).history
    expected = like.fit(2 * X, y, epochs=2, shuffle=False, verbose=0).history
    for name in ("loss", "mae"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
