"""Layers and datasets for which Keras needs TensorFlow on every backend. The expected values are TensorFlow's."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as tf

keras = tf.keras
layers = keras.layers
Dataset = tf.data.Dataset
TEXTS = ["the cat sat on the mat", "The DOG, sat!", "café dog <br />", "", "a b c d e f"]


def adapted(**options: Any) -> Any:
    layer = layers.TextVectorization(**options)
    layer.adapt(np.array(TEXTS))
    return layer


def test_ids_of_words() -> None:
    layer = adapted()
    assert layer.get_vocabulary()[:5] == ["", "[UNK]", "the", "sat", "dog"] and layer.vocabulary_size() == 16
    assert layer(np.array(TEXTS[:2])).numpy().tolist() == [[2, 10, 3, 5, 2, 6], [2, 4, 3, 0, 0, 0]]
    assert layer(tf.constant("sat dog")).numpy().tolist() == [3, 4]
    assert adapted(output_sequence_length=2)(TEXTS[1:4]).numpy().tolist() == [[2, 4], [11, 4], [0, 0]]


def test_bags_of_words() -> None:
    found = {mode: adapted(output_mode=mode, max_tokens=4)(TEXTS[:2]).numpy().tolist()
             for mode in ("multi_hot", "count", "tf_idf")}
    assert found["multi_hot"] == [[1, 1, 1, 0], [0, 1, 1, 1]] and found["count"] == [[3, 2, 1, 0], [0, 1, 1, 1]]
    weight = 0.9808292388916016
    np.testing.assert_allclose(found["tf_idf"], [[3 * weight, 2 * weight, weight, 0], [0, weight, weight, weight]])


def test_ngrams_and_characters() -> None:
    layer = layers.TextVectorization(ngrams=2, vocabulary=["a", "a b", "b c"])
    assert layer(["a b c", "a"]).numpy().tolist() == [[2, 1, 1, 3, 4], [2, 0, 0, 0, 0]]
    layer = layers.TextVectorization(split="character", vocabulary=["a", "é"])
    assert layer(["aé", "x"]).numpy().tolist() == [[2, 3], [1, 0]]


def test_a_dataset_of_texts_trains_a_model(tmp_path: Any) -> None:
    for name, words in (("neg", "bad awful poor"), ("pos", "good great fine")):
        (tmp_path / name).mkdir()
        for i, word in enumerate(words.split()):
            (tmp_path / name / f"{i}.txt").write_text(f"This, movie was<br />{word}")
    texts = keras.utils.text_dataset_from_directory(str(tmp_path), batch_size=2, seed=1)
    assert texts.class_names == ["neg", "pos"]
    vectorize = layers.TextVectorization(
        standardize=lambda x: tf.strings.regex_replace(tf.strings.lower(x), "<br />|,", " "), output_sequence_length=5)
    vectorize.adapt(texts.map(lambda x, y: x))
    assert sorted(vectorize.get_vocabulary())[2:] == ["awful", "bad", "fine", "good", "great", "movie", "poor", "this",
                                                      "was"]
    batches = texts.map(lambda x, y: (vectorize(tf.expand_dims(x, -1)), y))
    assert batches.element_spec[0].shape == (None, 5)
    model = keras.Sequential([layers.Embedding(12, 4), layers.GlobalAveragePooling1D(),
                              layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    losses = model.fit(batches, epochs=30, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    whole = keras.Sequential([vectorize, model])
    assert whole.predict(tf.constant(["a great movie"]), verbose=0).shape == (1, 1)


def test_a_model_of_strings(tmp_path: Any) -> None:
    inputs = keras.Input((1,), dtype="string")
    ids = layers.StringLookup(vocabulary=["r", "g", "b"])(inputs)
    outputs = layers.Flatten()(layers.Embedding(5, 2, embeddings_initializer="ones")(ids))
    model = keras.Model(inputs, layers.Dense(1, kernel_initializer="ones")(outputs))
    model.compile("sgd", "mse")
    colours = tf.constant([["r"], ["g"], ["q"], ["b"]])
    np.testing.assert_allclose(model.fit(colours, np.ones((4, 1)), verbose=0, shuffle=False).history["loss"], [1.0])
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(model.predict(colours, verbose=0), again.predict(colours, verbose=0))


def test_tables_of_values() -> None:
    assert layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(["a", "x"]).numpy().tolist() == [
        [0, 1, 0], [1, 0, 0]]
    back = layers.StringLookup(vocabulary=["a", "b"], invert=True)([[1, 2, 0]])
    assert back.numpy().tolist() == [[b"a", b"b", b"[UNK]"]]
    numbers = layers.IntegerLookup()
    numbers.adapt(np.array([[12, 1138, 42], [42, 1000, 36]]))
    assert numbers.get_vocabulary() == [-1, 42, 1138, 1000, 36, 12] and numbers([12, 5]).numpy().tolist() == [5, 0]
    assert layers.Hashing(3)([["A"], ["B"], ["C"]]).numpy().tolist() == [[1], [0], [1]]
    assert layers.Hashing(5, salt=[1, 2])([["A"], ["B"]]).numpy().tolist() == [[0], [1]]
    ids = Dataset.from_tensor_slices(["a", "b", "x"]).batch(2).map(layers.StringLookup(vocabulary=["a", "b"]))
    assert [x.numpy().tolist() for x in ids] == [[1, 2], [0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="found OOV values"):
        layers.StringLookup(vocabulary=["a"], num_oov_indices=0)(["q"])


def test_windows_of_a_series() -> None:
    windows = keras.utils.timeseries_dataset_from_array(
        np.arange(10), np.arange(10) * 10, 3, sequence_stride=2, sampling_rate=2, batch_size=2)
    assert [(x.numpy().tolist(), y.numpy().tolist()) for x, y in windows] == [
        ([[0, 2, 4], [2, 4, 6]], [0, 20]), ([[4, 6, 8]], [40])]


def test_layers_that_adapt_to_datasets() -> None:
    normalize = layers.Normalization(axis=None)
    normalize.adapt(Dataset.from_tensor_slices(np.arange(6.0, dtype="float32").reshape(6, 1)).batch(4))
    np.testing.assert_allclose(normalize([[3.0]]).numpy(), [[0.2927700]], rtol=1e-5)
    bins = layers.Discretization(num_bins=3)
    bins.adapt(Dataset.from_tensor_slices(np.arange(12.0)).batch(3))
    assert bins(np.array([1.0, 5.0, 11.0])).numpy().tolist() == [0, 1, 2]
    space = keras.utils.FeatureSpace({"age": keras.utils.FeatureSpace.float_normalized(),
                                      "sex": keras.utils.FeatureSpace.string_categorical(num_oov_indices=0)})
    space.adapt(Dataset.from_tensor_slices({"age": [1.0, 3.0], "sex": ["m", "f"]}))
    assert space({"age": [[1.0]], "sex": [["f"]]}).numpy().tolist() == [[-1, 0, 1]]
    left, right = keras.utils.split_dataset(Dataset.range(10), left_size=0.7)
    assert [int(x) for x in left] == list(range(7)) and int(right.cardinality()) == 3


def test_ragged_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="ragged"):
        layers.TextVectorization(ragged=True)


def test_old_functions_of_the_backend() -> None:
    backend = keras.backend
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert backend.int_shape(x) == (2, 2) and float(backend.mean(x)) == 2.5 and backend.floatx() == "float32"
    assert backend.batch_dot(x, x, 1).numpy().tolist() == [[5], [25]]
    assert backend.gather(x, [0]).numpy().tolist() == [[1, 2]]
    assert backend.in_top_k(x, [0, 1], 1).numpy().tolist() == [False, True]
    assert backend.pool2d(x[None, :, :, None], (2, 2)).numpy().tolist() == [[[[4]]]]
    assert backend.conv2d(x[None, :, :, None], tf.ones([1, 1, 1, 1])).shape == (1, 2, 2, 1)
    assert backend.switch(tf.constant(False), lambda: x, lambda: -x).numpy().tolist() == (-x).numpy().tolist()
    np.testing.assert_allclose(backend.softmax(x).numpy(), [[0.26894143, 0.73105854]] * 2, rtol=1e-6)
    assert backend.random_normal((2, 3)).shape == (2, 3)
    even = np.full((1, 5, 4), 0.25, "float32")
    loss = backend.ctc_batch_cost(np.array([[1, 2]]), even, np.array([[5]]), np.array([[2]]))
    np.testing.assert_allclose(loss.numpy(), [[3.3761237]], rtol=1e-6)


def test_images_are_cropped_and_resized_in_a_dataset() -> None:
    augment = keras.Sequential([layers.RandomCrop(6, 6), layers.Resizing(4, 4), layers.Rescaling(0.5)])
    images = Dataset.from_tensor_slices(np.ones((3, 8, 8, 1), "float32")).batch(2)
    found = [batch.numpy() for batch in images.map(lambda x: augment(x, training=True))]
    assert [x.shape for x in found] == [(2, 4, 4, 1), (1, 4, 4, 1)] and all((x == 0.5).all() for x in found)


def test_names_of_older_releases() -> None:
    text, sequence = keras.preprocessing.text, keras.preprocessing.sequence
    tokenizer = text.Tokenizer(num_words=5, oov_token="?")
    tokenizer.fit_on_texts(["I love my dog", "I, love my cat!"])
    assert tokenizer.texts_to_sequences(["my dog"]) == [[4, 1]]
    assert sequence.pad_sequences([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]
    assert sequence.skipgrams([1, 2, 3], 4, 1, 0.0, shuffle=False)[0] == [[1, 2], [2, 1], [2, 3], [3, 2]]
    windows = sequence.TimeseriesGenerator(np.arange(6.0).reshape(6, 1), np.arange(6.0), length=3, batch_size=2)
    model = keras.Sequential([layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(windows, epochs=2, verbose=0, shuffle=False).history["loss"]) == 2
    images = keras.preprocessing.image.ImageDataGenerator(rescale=0.5).flow(np.ones((4, 2, 2, 1)), batch_size=2)
    assert (next(images) == 0.5).all()


def test_folders_of_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = {}
    for kind in ("cats", "dogs"):
        (tmp_path / kind).mkdir()
        for number in range(3):
            images[kind, number] = rng.integers(0, 256, (4, 5, 3)).astype("uint8")
            tf.io.write_file(str(tmp_path / kind / f"{number}.png"), tf.io.encode_png(images[kind, number]))
    found = keras.utils.image_dataset_from_directory(tmp_path, image_size=(4, 5), batch_size=4, shuffle=False)
    assert found.class_names == ["cats", "dogs"]
    batches = [*found]
    assert [x.shape.as_list() for x, _ in batches] == [[4, 4, 5, 3], [2, 4, 5, 3]]
    np.testing.assert_array_equal(np.concatenate([x for x, _ in batches]), list(images.values()))
    assert np.concatenate([y for _, y in batches]).tolist() == [0, 0, 0, 1, 1, 1]


def test_the_modules_of_keras_can_be_imported_as_submodules() -> None:
    import runtime.keras.losses
    from runtime.keras.applications.resnet50 import preprocess_input
    from runtime.keras.layers import Dense
    from runtime.keras.preprocessing.text import Tokenizer

    assert Dense is layers.Dense and runtime.keras.losses.mse is keras.losses.mse
    assert preprocess_input is keras.applications.resnet50.preprocess_input
    assert Tokenizer is keras.preprocessing.text.Tokenizer
    from runtime.keras.backend.core import Variable  # what Keras runs on, not Keras' module `backend`

    assert Variable.__module__ == "runtime.keras.backend.core"
    assert {"keras", "losses", "metrics", "optimizers"} <= {*dir(tf)}
