"""Models train, and what a trained step computes is what eager code computes."""
from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import runtime as tf
import runtime.keras

keras = tf.keras
layers = keras.layers
RNG = np.random.default_rng(0)
SEQUENCES = RNG.normal(size=(12, 4, 5)).astype("float32")
IMAGES = RNG.normal(size=(12, 8, 8, 3)).astype("float32")
TOKENS = RNG.integers(0, 11, (12, 4))
CLASSES = RNG.integers(0, 3, 12)

STACKS: dict[str, tuple[Any, Any]] = {
    "dense": (SEQUENCES, lambda: [layers.Flatten(), layers.Dense(8, activation="relu", kernel_regularizer="l2")]),
    "lstm": (SEQUENCES, lambda: [layers.LSTM(4, return_sequences=True), layers.LSTM(4, go_backwards=True)]),
    "gru": (TOKENS, lambda: [layers.Embedding(11, 4), layers.GRU(4)]),
    "masked": (TOKENS, lambda: [layers.Embedding(11, 4, mask_zero=True), layers.LSTM(4)]),
    "bidirectional": (SEQUENCES, lambda: [layers.Bidirectional(layers.GRU(3, reset_after=False))]),
    # without a bias, which the normalisation removes: Adam would follow the rounding errors of its gradient, which is 0
    "convolution": (IMAGES, lambda: [layers.Conv2D(4, 3, use_bias=False), layers.BatchNormalization(),
                                     layers.MaxPooling2D(), layers.GlobalAveragePooling2D()]),
    "normalized": (SEQUENCES, lambda: [layers.Conv1D(4, 3), layers.LayerNormalization(), layers.Flatten()]),
}


def trained(x: Any, stack: Any, **options: Any) -> tuple[Any, list[float]]:
    """A model after two epochs on `x`, and its losses."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input(x.shape[1:], dtype=x.dtype.name), *stack(),
                              layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
    history = model.fit(x, CLASSES, batch_size=5, epochs=2, verbose=0, shuffle=False)
    return model, history.history["loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", STACKS)
def test_native_steps_compute_what_eager_ones_do(name: str) -> None:
    x, stack = STACKS[name]
    native, losses = trained(x, stack)
    eager, expected = trained(x, stack, run_eagerly=True)
    np.testing.assert_allclose(losses, expected, rtol=2e-4)
    for a, b in zip(native.get_weights(), eager.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-4)
    np.testing.assert_allclose(native.predict(x, verbose=0), eager.predict(x, verbose=0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(native.evaluate(x, CLASSES, verbose=0), eager.evaluate(x, CLASSES, verbose=0), rtol=1e-3)


def test_batches_in_groups_give_the_same_as_one_by_one() -> None:
    class EachBatch(keras.callbacks.Callback):
        steps: list[int] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.steps.append(batch)

    def run(**options: Any) -> list[Any]:
        keras.utils.set_random_seed(2)
        model = keras.Sequential([keras.Input((4, 5)), layers.Flatten(), layers.Dropout(0.5), layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.01), "mse", steps_per_execution=options.pop("steps", 1))
        model.fit(SEQUENCES, CLASSES, batch_size=5, epochs=4, verbose=0, **options)
        return model.get_weights()

    grouped, single = run(), run(callbacks=[EachBatch()])
    assert EachBatch.steps == [0, 1, 2] * 4
    for a, b, c in zip(grouped, single, run(steps=3), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_arrays_are_taken_in_the_order_of_keras(monkeypatch: pytest.MonkeyPatch) -> None:
    """By blocks of batches, by single batches, and by Keras' adapter, which the others stand for."""
    from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

    from runtime.keras.backend import datasets
    from runtime.keras.backend.datasets import batches

    monkeypatch.setattr(datasets, "global_seed", lambda: None)  # with a seed the order is that of TensorFlow
    data = {"a": np.arange(11), "b": np.arange(33.0).reshape(11, 3)}
    for shuffle in True, False, "batch":
        for size in 3, 11, 20:
            np.random.seed(0)
            expected = list(ArrayDataAdapter(data, data["a"], batch_size=size, shuffle=shuffle).get_numpy_iterator())
            options = {"x": data, "y": data["a"], "batch_size": size, "shuffle": shuffle}
            np.random.seed(0)
            found = [batch for _, _, one in batches(**options) for batch in one]
            ways = [found]
            if shuffle != "batch":
                np.random.seed(0)
                blocks = list(batches(**options).blocks(lambda: 2))
                assert [(a, b) for a, b, _ in blocks] == {3: [(0, 1), (2, 2), (3, 3)]}.get(size, [(0, 0)])
                ways.append([batch for _, _, block in blocks for batch in block])
            for way in ways:
                assert len(way) == len(expected)
                for (x, y), (other, label) in zip(way, expected, strict=True):
                    np.testing.assert_array_equal(x["a"], other["a"])
                    np.testing.assert_array_equal(x["b"], other["b"])
                    np.testing.assert_array_equal(y, label)


@pytest.mark.slow
def test_predictions_of_many_batches() -> None:
    """In groups, as one by one."""
    class EachBatch(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[int] = []

        def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
            self.rows.append(len(logs["a"]))  # Keras flattens the outputs

    inputs = keras.Input((3,))
    model = keras.Model(inputs, {"a": layers.Dense(4)(inputs), "b": keras.ops.sum(inputs, axis=1)})
    x = RNG.normal(size=(163, 3)).astype("float32")
    each = EachBatch()
    expected = model.predict(x, batch_size=4, verbose=0, callbacks=[each])
    assert each.rows == [4] * 40 + [3]
    for found in (model.predict(x, batch_size=4, verbose=0), model.predict(x, batch_size=4, verbose=0),
                  model.predict(tf.data.Dataset.from_tensor_slices(x).batch(4), verbose=0)):
        for name, shape in ("a", (163, 4)), ("b", (163,)):
            assert found[name].shape == shape
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)
    traced = model.predict_function.__self__._traced.values()
    assert [one.has_loop for one in traced] == [True, False]


def test_a_step_is_traced_once_for_each_shape() -> None:
    traced = []

    class Counting(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            traced.append(tuple(data[0].shape))
            return super().train_step(data)

    model = Counting()
    model.compile("sgd", "mse")
    model.fit(np.ones((22, 4)), np.ones(22), batch_size=5, epochs=5, verbose=0)
    assert traced == [(5, 4), (5, 4), (2, 4)]  # the first trace makes the variables


def test_the_users_train_step_and_control_flow() -> None:
    class Switched(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = layers.Dense(3), layers.Dense(3)
            self.average = keras.metrics.Mean(name="loss")

        def call(self, x: Any) -> Any:
            if tf.reduce_sum(x) > 0:  # builds a layer in each branch
                return self.first(x)
            return self.second(x)

        def train_step(self, data: Any) -> dict[str, Any]:
            x, y = data
            with tf.GradientTape() as tape:
                logits = self(x, training=True)
                loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            self.average.update_state(loss)
            return {"loss": self.average.result()}

        @property
        def metrics(self) -> list[Any]:
            return [self.average]

    model = Switched()
    model.compile("sgd")
    ones = np.ones((4, 5), "float32")
    model.fit(np.concatenate([ones, -ones]), np.zeros(8), batch_size=4, shuffle=False, verbose=0)
    before = [w.copy() for w in model.get_weights()]
    model.fit(ones, np.zeros(4), verbose=0)
    changed = [not np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True)]
    assert changed == [True, True, False, False]


@pytest.mark.slow
def test_subnormal_numbers_are_zero_in_steps() -> None:
    class Decaying(keras.Model):
        def build(self, shape: Any) -> None:
            self.moment = self.add_weight(shape=(4,), initializer="ones", trainable=False)
            self.built = True

        def call(self, x: Any) -> Any:
            return x

        def train_step(self, data: Any) -> Any:
            self.moment.assign(self.moment * 0.25)
            return {"sum": keras.ops.sum(self.moment)}

    decaying = {}
    for eager in False, True:
        model = Decaying()
        model.compile(run_eagerly=eager)
        model.fit(np.zeros((70, 1), "float32"), batch_size=1, verbose=0)
        decaying[eager] = float(model.moment[0])
    assert decaying == {False: 0.0, True: 0.25 ** 70}


def test_a_saved_model_goes_on(tmp_path: Any) -> None:
    x, stack = STACKS["gru"]
    model, _ = trained(x, stack)
    model.save(tmp_path / "m.keras")
    model.save_weights(tmp_path / "m.weights.h5")
    other = keras.models.load_model(tmp_path / "m.keras")
    assert int(other.optimizer.iterations.value) == 6
    np.testing.assert_array_equal(model.predict(x, verbose=0), other.predict(x, verbose=0))
    for each in (model, other):
        each.load_weights(tmp_path / "m.weights.h5")
        each.fit(x, CLASSES, verbose=0, shuffle=False)
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_callbacks_schedules_and_validation(tmp_path: Any) -> None:
    model = keras.Sequential([layers.Flatten(), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)), "mse")
    log = tmp_path / "log.csv"
    history = model.fit(SEQUENCES, CLASSES, validation_split=0.25, epochs=3, verbose=0, callbacks=[
        keras.callbacks.CSVLogger(log), keras.callbacks.EarlyStopping(patience=5),
        keras.callbacks.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True)])
    assert sorted(history.history) == ["loss", "val_loss"] and len(log.read_text().splitlines()) == 4
    np.testing.assert_allclose(float(model.optimizer.learning_rate), 0.1 * 0.5 ** 1.5, rtol=1e-6)
    assert (tmp_path / "best.keras").exists()


def test_nan_ends_the_training_where_asked() -> None:
    model = keras.Sequential([layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1e30), "mse")
    history = model.fit(np.full((8, 2), 1e20, "float32"), np.ones(8), batch_size=2, epochs=9, verbose=0,
                        callbacks=[keras.callbacks.TerminateOnNaN()])
    assert len(history.epoch) == 1


def test_a_dataset_of_this_runtime() -> None:
    dataset = tf.data.Dataset.from_tensor_slices((SEQUENCES, CLASSES)).batch(5)
    model = keras.Sequential([layers.Flatten(), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(dataset, epochs=2, verbose=0, validation_data=dataset)
    assert model.predict(dataset, verbose=0).shape == (12, 3)
    with pytest.raises(ValueError, match="`y` cannot be given beside a dataset"):
        model.fit(dataset, CLASSES, verbose=0)


def test_bad_data() -> None:
    model = keras.Sequential([keras.Input((4, 5)), layers.Flatten(), layers.Dense(3)])
    model.compile("adam", "mse")
    with pytest.raises(ValueError, match=r"incompatible|expected"):
        model.fit(np.ones((4, 7, 9)), np.ones((4, 3)), verbose=0)
    with pytest.raises(ValueError, match="Data cardinality"):
        model.fit(SEQUENCES, CLASSES[:5], verbose=0)

    def generator() -> Any:
        yield SEQUENCES[:4], np.ones((4, 3))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model.fit(generator(), verbose=0, steps_per_epoch=3)
    losses = model.fit(SEQUENCES[:4], np.ones((4, 3)), verbose=0).history["loss"]  # it goes on
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("kind", ["dataset", "arrays"])
def test_no_data(kind: str, is_built: bool) -> None:
    x, y = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
    model = keras.Sequential([layers.Dense(2)])
    model.compile("adam", "mse")
    if is_built:
        model.fit(x, y, verbose=0)
    none = (tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda a, b: False).batch(2),) if kind == "dataset" else (
        x[:0], y[:0])
    for run in model.fit, model.evaluate:
        with pytest.raises(ValueError, match="input data to be non-empty"):
            run(*none, verbose=0)
    with pytest.raises(ValueError, match="input data to be non-empty"):
        model.predict(none[0] if kind == "arrays" else none[0].map(lambda a, b: a), verbose=0)


def test_losses_that_are_not_finite() -> None:
    x, y = np.full((8, 3), np.inf, np.float32), np.ones((8, 2), np.float32)

    def compiled() -> Any:
        root = layers.Lambda(lambda t: tf.sqrt(-tf.abs(t) - 1.0))
        model = keras.Sequential([keras.Input((3,)), layers.Dense(2), root])
        model.compile("sgd", "mse")
        return model

    model = compiled()
    history = model.fit(x, y, epochs=3, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()])
    assert history.epoch == [0] and np.isnan(history.history["loss"]).all()
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_training.py:\d+: the result of sqrt is not "):
            compiled().fit(np.ones((8, 3), np.float32), y, verbose=0)
    finally:
        tf.debugging.disable_check_numerics()


def test_digits_in_seconds() -> None:
    """97 % of digits that the model has not seen, by `fit`, in less than 10 seconds."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    keras.utils.set_random_seed(0)
    start = time.process_time()
    order = np.random.default_rng(0).permutation(len(x))
    x, y = (x[order] / 16).astype("float32"), y[order]
    model = keras.Sequential([keras.Input((64,)), layers.Dense(128, activation="relu"), layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x[:1400], y[:1400], epochs=30, verbose=0)
    accuracy = model.evaluate(x[1400:], y[1400:], verbose=0, return_dict=True)["accuracy"]
    assert accuracy >= 0.97
    assert time.process_time() - start < 10


def test_what_is_not_offered_says_so(tmp_path: Any) -> None:
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    with pytest.raises(ValueError, match="LiteRT export requires TensorFlow or PyTorch"):
        model.export(tmp_path / "saved", format="litert")
    with pytest.raises(ValueError, match="runs on the CPU"), keras.device("gpu:0"):
        pass
    from keras.distribution import list_devices
    assert list_devices() == ["cpu:0"]


def test_an_epoch_of_the_users_own_loop_is_one_call() -> None:
    """Model, tape, optimizer and metric inside one `tf.function` that loops over a dataset."""
    x = RNG.normal(size=(64, 4)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((x, x[:, :1] * 2)).batch(16)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    optimizer, average = keras.optimizers.Adam(0.1), keras.metrics.Mean()
    optimizer.build(model.trainable_variables)

    @tf.function
    def epoch() -> Any:
        for rows, targets in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(rows, training=True) - targets) ** 2)
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            average.update_state(loss)
        return average.result()

    losses = []
    for _ in range(20):
        average.reset_state()
        losses.append(float(epoch()))
    assert losses[-1] < losses[0] / 20
    assert int(optimizer.iterations.value) == 80 and epoch.cache_info().misses == 1


def test_tangents_of_weights() -> None:
    dense, x = layers.Dense(1), tf.constant([[2.0, 3.0], [1.0, 4.0]])
    dense.build([None, 2])

    def program() -> Any:
        with tf.autodiff.ForwardAccumulator(dense.kernel, tf.constant([[1.0], [0.0]])) as accumulator:
            loss = tf.reduce_sum(dense(x) ** 2.0)
        return accumulator.jvp(loss), accumulator.jvp(dense.kernel)

    expected = 2.0 * np.sum(dense(x) * x[:, :1])
    for way in program, tf.function(program):
        tangent, own = way()
        np.testing.assert_allclose(tangent, expected, rtol=1e-5)
        np.testing.assert_array_equal(own, [[1.0], [0.0]])


class TwoStates(layers.Layer):
    """A cell whose output is none of its states."""

    state_size, output_size = [1, 1], 1

    def call(self, x: Any, states: Any) -> Any:
        total = states[1] + x
        return total * 10.0, [states[0] - 1.0, total]


@pytest.mark.parametrize("options", [{}, {"unroll": True}, {"go_backwards": True}])
def test_masked_steps_repeat_the_output(options: dict[str, Any]) -> None:
    """As on TensorFlow's backend: the output of the last valid step, zeros before the first one."""
    x = tf.constant([[[1.0], [2.0], [4.0], [8.0]]])
    mask = tf.constant([[False, True, False, True]])
    backwards = "go_backwards" in options
    rnn = layers.RNN(TwoStates(), return_sequences=True, return_state=True, **options)
    for way in rnn, tf.function(rnn):
        outputs, steps, total = way(x, mask=mask)
        np.testing.assert_array_equal(outputs[0, :, 0], [80, 80, 100, 100] if backwards else [0, 20, 20, 100])
        np.testing.assert_array_equal([steps, total], [[[-2.0]], [[10.0]]])
    zeros = layers.RNN(TwoStates(), return_sequences=True, zero_output_for_mask=True, **options)(x, mask=mask)
    np.testing.assert_array_equal(zeros[0, :, 0], [80, 0, 100, 0] if backwards else [0, 20, 0, 100])
    np.testing.assert_array_equal(layers.RNN(TwoStates(), **options)(x, mask=mask), [[100.0]])


def test_masked_first_steps_give_zeros_whatever_the_initial_state() -> None:
    lstm, x, state = layers.LSTM(2, return_sequences=True), tf.ones([2, 3, 1]), [tf.ones([2, 2]), tf.ones([2, 2])]
    outputs = lstm(x, initial_state=state, mask=tf.constant([[False, True, True], [True, False, True]]))
    np.testing.assert_array_equal(outputs[0, 0], [0.0, 0.0])
    np.testing.assert_array_equal(outputs[1, 1], outputs[1, 0])


def test_floats_of_arrays_have_kerass_dtype() -> None:
    seen = []

    class Weighted(keras.Model):
        def train_step(self, data: Any) -> dict[str, Any]:
            x, y, weight = data
            seen.append((x.dtype, y.dtype, weight.dtype))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(weight * tf.square(tf.squeeze(self(x), 1) - y))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return {"loss": loss}

    inputs, weights, options = keras.Input((2,)), np.array([1.0, 3.0]), {"verbose": 0, "epochs": 2, "shuffle": False}
    for eager in False, True:
        model = Weighted(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))
        model.compile(keras.optimizers.SGD(0.1), run_eagerly=eager)
        model.fit(np.eye(2), np.zeros(2), sample_weight=weights, **options)
        np.testing.assert_allclose(model.get_weights()[0], [[0.85], [0.61]], rtol=1e-6)
    assert set(seen) == {(tf.float32,) * 3}


def test_an_error_in_every_step_is_the_users() -> None:
    class Failing(keras.Model):
        def train_step(self, data: Any) -> Any:
            x, _ = data
            if tf.reduce_sum(x) > 0:
                raise ValueError("positive")
            raise KeyError("not positive")

    inputs = keras.Input((2,))
    model = Failing(inputs, layers.Dense(1)(inputs))
    model.compile("sgd")
    with pytest.raises(ValueError, match="positive"):
        model.fit(np.ones((8, 2)), np.ones(8), batch_size=2, verbose=0)


def test_iterations_are_int64_as_on_tensorflow() -> None:
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.ones(4), batch_size=2, verbose=0)
    assert model.optimizer.iterations.dtype == "int64" and int(model.optimizer.iterations) == 2


@pytest.mark.parametrize("as_tensors", [False, True])
def test_seeded_training_is_that_of_tensorflow(as_tensors: bool) -> None:
    """Weights, dropout and the order of rows are Keras' on TensorFlow, so the losses are, too."""
    x = np.linspace(-1, 1, 60, dtype="float32").reshape(20, 3)
    y = x[:, :1] * 2 - x[:, 1:2] ** 2
    keras.utils.set_random_seed(42)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2),
                              keras.layers.Dense(1)])
    model.compile("adam", "mse")
    data = (tf.constant(x), tf.constant(y)) if as_tensors else (x, y)
    history = model.fit(*data, batch_size=6, epochs=3, verbose=0).history
    np.testing.assert_allclose(history["loss"], [1.6177118, 1.3484056, 1.6628006], rtol=1e-5)
