"""Exported models are saved models, which are loaded without Keras and without the source."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as tf

pytest.importorskip("keras")
keras = tf.keras
X = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")


class Folding(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x: Any, training: bool = False) -> Any:
        while tf.reduce_max(tf.abs(x)) > 0.5:
            x = x / 2.0
        return self.dense(x) + (100.0 if training else 0.0)


def test_an_exported_model_runs_in_a_process_without_keras(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"),
                              keras.layers.BatchNormalization(), keras.layers.Dropout(0.5), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(X, X[:, :2], epochs=2, verbose=0)
    model.export(tmp_path / "model")
    assert "with the endpoints serve" in capsys.readouterr().out
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", model.predict(X, verbose=0))
    program = """if True:
        import sys, numpy as np, runtime as rt
        model = rt.saved_model.load("model")
        np.testing.assert_allclose(model.serve(np.load("x.npy")), np.load("y.npy"), rtol=1e-5)
        print(list(model.signatures), len(model.trainable_variables), len(model.variables), "keras" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['serving_default', 'serve'] 6 9 False\n", "")


def test_a_subclass_with_a_loop_and_several_endpoints(tmp_path: Path) -> None:
    model = Folding()
    with pytest.raises(ValueError, match="has not yet been built"):
        model.export(tmp_path / "unbuilt", verbose=False)
    assert not (tmp_path / "unbuilt").exists()
    expected = model(X)
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 3), dtype="float32")]
    archive.add_endpoint("plain", model.call, spec)
    archive.add_endpoint("trained", lambda x: {"y": model.call(x, training=True)}, spec)
    archive.add_variable_collection("weights_of_dense", model.dense.weights)
    with pytest.raises(ValueError, match="'plain' is already taken"):
        archive.add_endpoint("plain", model.call, spec)
    archive.write_out(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.plain(X), expected, rtol=1e-5)
    np.testing.assert_allclose(loaded.trained(X)["y"], expected + 100.0, rtol=1e-5)
    assert [v.shape for v in loaded.weights_of_dense] == [[3, 2], [2]]
    loaded.weights_of_dense[1].assign([1.0, 2.0])  # the one that the functions read
    np.testing.assert_allclose(loaded.plain(X), expected + np.array([1.0, 2.0]), rtol=1e-5)
    assert set(loaded.signatures) == {"serving_default", "plain", "trained"}


def test_named_inputs(tmp_path: Path) -> None:
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    model = keras.Model({"a": a, "b": b}, {"sum": keras.layers.Dense(1)(keras.layers.Concatenate()([a, b]))})
    model.export(tmp_path, verbose=False)
    given = {"a": X, "b": X[:, :2]}
    np.testing.assert_allclose(  # a sum may be near 0
        tf.saved_model.load(tmp_path).serve(given)["sum"], model(given)["sum"], rtol=1e-5, atol=1e-6)


def test_bad_archives(tmp_path: Path) -> None:
    archive = keras.export.ExportArchive()
    with pytest.raises(ValueError, match="No endpoints have been set"):
        archive.write_out(tmp_path / "none")
    with pytest.raises(ValueError, match=r"must provide an `input_signature`.*'f'"):
        archive.add_endpoint("f", lambda x: x)
    with pytest.raises(ValueError, match="does not take is_static"):
        archive.add_endpoint("f", lambda x: x, [tf.TensorSpec([])], is_static=True)
    with pytest.raises(ValueError, match=r"to be `keras.Variable` instances"):
        archive.add_variable_collection("v", [1])
    assert not (tmp_path / "none").exists()


def test_signatures_of_other_kinds(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.export(tmp_path, verbose=False, input_signature=[tf.constant(X)])
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.serve(X[:2]), model(X[:2]), rtol=1e-5)  # of a batch of any size
    for wrong in 123, "float32":
        with pytest.raises(TypeError, match="Unsupported x="):
            model.export(tmp_path / "wrong", verbose=False, input_signature=[wrong])
    with pytest.raises(ValueError, match="`shape` and `dtype` must be provided"):
        model.export(tmp_path / "wrong", verbose=False, input_signature=[keras.InputSpec(ndim=2)])
    assert not (tmp_path / "wrong").exists()


def test_arguments_keep_their_names(tmp_path: Path) -> None:
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    archive = keras.export.ExportArchive()
    archive.track(layer)
    assert archive.trainable_variables == archive.variables == layer.weights and not archive.non_trainable_variables
    rows, scale = tf.TensorSpec([None, 3]), tf.TensorSpec([])
    archive.add_endpoint("scaled", lambda rows, scale: layer(rows) * scale, [rows, scale])
    archive.track_and_add_endpoint("layer", layer, [rows])
    with pytest.raises(ValueError, match="Invalid resource type"):
        archive.track("layer")
    archive.write_out(tmp_path, verbose=False)
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.scaled(scale=2.0, rows=X), loaded.layer(inputs=X) * 2.0, rtol=1e-5)
    assert list(loaded.signatures["scaled"].inputs) == ["rows", "scale"]


def test_saved_model_save_exports(tmp_path: Any) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def next_of(x: Any) -> Any:
        return {"y": model(x) + 1.0}

    x = tf.ones([3, 2])
    tf.saved_model.save(model, tmp_path / "a")
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path / "a").serve(x), model(x))
    tf.saved_model.save(model, tmp_path / "b", signatures={"next": next_of})
    loaded = tf.saved_model.load(tmp_path / "b")
    np.testing.assert_array_equal(loaded.signatures["next"](x=x)["y"], model(x) + 1.0)
    assert [v.shape for v in loaded.variables] == [(2, 1), (1,)]
