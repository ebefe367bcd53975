"""Losses, metrics, Lambda layers, schedules and the like of users may branch and loop on tensors in `fit`."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import runtime as tf
import runtime.keras
from tests.freed_graphs import frees_graphs

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


class SeenRows(keras.metrics.Metric):
    """A variable that is written in a branch, and read where another one decides."""

    def __init__(self, name: str = "seen") -> None:
        super().__init__(name=name)
        self.seen = self.add_weight(name="seen", initializer="zeros")

    def update_state(self, target: Any, predicted: Any, sample_weight: Any = None) -> None:
        if tf.reduce_sum(target) > 0.0:
            self.seen.assign_add(float(target.shape[0]))

    def result(self) -> Any:
        if self.seen > 15.0:
            return self.seen * 10.0
        return tf.convert_to_tensor(self.seen)


class Flipping:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return self.scaled(x)

    def scaled(self, x: Any, scale: float = 1.0) -> Any:
        return flipped(x) * (self.scale * scale)


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
    {"loss": "mse", "metrics": [SeenRows()]},
    {"loss": "mse", "optimizer": Warm()},
    {"loss": "mse", "layer": {"kernel_regularizer": Unless()}},
    {"loss": "mse", "layer": {"kernel_constraint": Below()}},
], ids=["functions", "classes", "state", "schedule", "regularizer", "constraint"])
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


@pytest.mark.parametrize("layer", [
    lambda f: keras.layers.Dense(2, activation=f), lambda f: keras.layers.Activation(f),
    lambda f: keras.layers.Conv1D(2, 2, activation=f), lambda f: keras.layers.LSTM(2, activation=f),
    lambda f: keras.layers.GRU(2, recurrent_activation=f),
    lambda f: keras.layers.EinsumDense("abc,cd->abd", (4, 2), f),
], ids=["Dense", "Activation", "Conv1D", "LSTM", "GRU", "EinsumDense"])
def test_activations_of_users_branch_on_tensors(layer: Any) -> None:
    x = np.random.default_rng(1).normal(size=(4, 4, 3)).astype("float32")
    results = []
    for run_eagerly in (False, True):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((4, 3)), layer(flipped), keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=run_eagerly)
        results.append(model.fit(x, np.ones((4, 1), "float32"), epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(*results, rtol=1e-4)


@pytest.mark.parametrize("activation", [
    Flipping(2.0), Flipping(2.0).scaled, functools.partial(Flipping(1.0).scaled, scale=2.0)],
    ids=["object", "method", "partial"])
def test_what_can_be_called_is_an_activation(activation: Any) -> None:
    layer = keras.layers.Dense(2, activation=activation, kernel_initializer="ones")
    layer(X)  # builds it
    assert layer.activation is activation
    np.testing.assert_allclose(tf.function(layer)(X), 2.0 * np.sign(X.sum()) * (X @ np.ones((3, 2))), rtol=1e-5)


def test_functions_of_users_are_kept_as_they_are() -> None:
    """Conversion is of the call: what is compiled, and so saved, is the user's own function."""
    layer = keras.layers.Lambda(flipped)
    assert layer.function is flipped
    assert keras.losses.get(root_if_large) is root_if_large


def test_a_layer_as_a_traced_function_leaves_other_layers_as_they_are() -> None:
    """Keras' decorator of `__call__`, whose code all layers share, is converted for that one only."""
    layer, model = keras.layers.Dense(1), keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    expected = layer(X)
    np.testing.assert_allclose(tf.function(layer)(X), expected, rtol=1e-5, atol=1e-6)

    @tf.function
    def both(x: Any) -> Any:
        if tf.reduce_sum(x) > 1e9:
            return model(x)
        return layer(x)

    np.testing.assert_allclose(both(X), expected, rtol=1e-5, atol=1e-6)


class Signed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.dense = keras.layers.Embedding(9, 4), keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        y = self.dense(self.embed(x))
        if tf.reduce_sum(y) > 0.0:
            return y
        return -y


@pytest.mark.parametrize("make", [
    lambda: keras.layers.Embedding(9, 4), Signed,
    lambda: keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.LSTM(3)]),
])
def test_a_layer_as_the_traced_function(make: Any) -> None:
    """Keras' own code is left alone, as in a function that calls the layer."""
    layer, x = make(), tf.constant([[1, 2, 3], [4, 5, 6]])
    found = tf.function(layer)(x)
    np.testing.assert_allclose(found, tf.function(lambda x: layer(x))(x))
    np.testing.assert_allclose(found, layer(x), rtol=1e-5)


def test_names_that_keras_has_only_in_tensorflow() -> None:
    assert keras.losses.mse is keras.losses.MSE is keras.losses.mean_squared_error
    assert keras.losses.KLD is keras.losses.kl_divergence and keras.metrics.mae is keras.losses.mean_absolute_error
    assert tf.losses is keras.losses and tf.metrics is keras.metrics and tf.optimizers is keras.optimizers


@pytest.mark.parametrize("make", [lambda: keras.layers.Dense(2), lambda: keras.Sequential([keras.layers.LSTM(2)])])
def test_arrays_of_changing_sizes_go_through_layers(make: Any) -> None:
    """The traced function takes arrays of NumPy; from the third size on the number of rows is unknown."""
    layer = make()
    traced = tf.function(lambda x: layer(x))
    for rows in (2, 3, 4, 5):
        x = np.ones((rows, 3, 4), np.float32)
        np.testing.assert_allclose(traced(x), layer(x), rtol=1e-5)

    @tf.function(input_signature=[tf.TensorSpec([None, 3, 4])])
    def declared(x: Any) -> Any:
        assert tf.convert_to_tensor(x).shape.as_list() == [None, 3, 4]
        return layer(x)

    np.testing.assert_allclose(declared(x), layer(x), rtol=1e-5)


class Noting(keras.layers.Layer):
    """As in tutorials on attention: `call` stores what may be shown later."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(3, kernel_initializer="ones")
        self.shown = {"total": None, "calls": 0}

    def call(self, x: Any) -> Any:
        y = self.dense(x)
        self.last_scores = y * 2.0
        self.pair = y, x
        self.shown["total"] = tf.reduce_sum(y)
        return y / 4.0


def noting_called() -> Any:
    model = keras.Sequential([Noting()])
    model(np.ones((1, 3), np.float32))
    return model


def noting_symbolic() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, Noting()(x))


def noting_fitted() -> Any:
    model = keras.Sequential([Noting(), keras.layers.Dense(3, kernel_initializer="zeros", bias_initializer="zeros")])
    model.compile("sgd", "mse")
    model.fit(X, np.zeros_like(X), batch_size=8, verbose=0)
    model.predict(X, verbose=0)
    return model.layers[0]


@pytest.mark.parametrize("make", [noting_called, noting_symbolic, noting_fitted])
def test_tensors_that_call_stores_in_attributes(make: Any) -> None:
    def once(x: Any) -> Any:
        return model(x)

    def repeatedly(x: Any) -> Any:
        for _ in tf.range(2):
            x = model(x)
        return x

    def on_one_way(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            x = model(x)
        return x

    x = tf.constant([[1.0, 2.0, 3.0]])
    for fn in (once, repeatedly, on_one_way):
        model = make()
        layer = next((each for each in getattr(model, "layers", ()) if isinstance(each, Noting)), model)
        found = tf.function(fn)(x)
        left = layer.last_scores, *layer.pair
        np.testing.assert_allclose(found, fn(x), rtol=1e-6)
        for one, other in zip(left, (layer.last_scores, *layer.pair), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def fit() -> None:
    model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, Y, batch_size=12, verbose=0)


def metric_in_a_loop() -> None:
    mean = keras.metrics.Mean()

    @tf.function
    def f(x: Any) -> Any:
        for i in range(20):
            mean.update_state(x * i)
        return mean.result()

    f(tf.ones([3]))


@pytest.mark.parametrize("program", [fit, metric_in_a_loop])
def test_graphs_are_freed_with_their_models(program: Any) -> None:
    assert frees_graphs(program)
