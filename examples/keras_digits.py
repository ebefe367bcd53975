"""Keras on this runtime: digits to 97 % by `fit`, and a model whose `call` branches on a tensor, saved and resumed.

Needs the extra `examples` (`pip install 'autograph[examples]'`): Keras and scikit-learn.
"""
from __future__ import annotations

import os
import tempfile
import time

import numpy as np

import runtime as tf

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError as error:
    raise SystemExit("this example needs scikit-learn: pip install 'autograph[examples]'") from error

keras = tf.keras


@keras.saving.register_keras_serializable()
class Centred(keras.Model):
    """Subtracts the mean of bright batches before it classifies."""

    def __init__(self, **options):
        super().__init__(**options)
        self.hidden = keras.layers.Dense(128, activation="relu")
        self.classes = keras.layers.Dense(10)

    def call(self, x):
        if tf.reduce_mean(x) > 0.25:
            x = x - tf.reduce_mean(x, axis=0)
        return self.classes(self.hidden(x))


def digits():
    """Images in [0, 1] and classes, of which the last 397 are for the test."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return (x[order] / 16).astype("float32"), y[order]


def main():
    keras.utils.set_random_seed(0)
    x, y = digits()
    start = time.process_time()
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    model.fit(x[:1400], y[:1400], epochs=30, verbose=0)
    accuracy = model.evaluate(x[1400:], y[1400:], verbose=0, return_dict=True)["accuracy"]
    print(f"fit on backend {keras.config.backend()!r}: {100 * accuracy:.1f} % of unseen digits, "
          f"{time.process_time() - start:.1f} s")

    centred = Centred()
    centred.compile("adam", loss, metrics=["accuracy"])
    centred.fit(x[:1400], y[:1400], epochs=10, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        centred.save(os.path.join(folder, "centred.keras"))
        resumed = keras.models.load_model(os.path.join(folder, "centred.keras"))
    resumed.fit(x[:1400], y[:1400], epochs=10, verbose=0)
    accuracy = resumed.evaluate(x[1400:], y[1400:], verbose=0, return_dict=True)["accuracy"]
    print(f"a model with a branch, saved after {int(centred.optimizer.iterations.value)} steps and resumed: "
          f"{100 * accuracy:.1f} %")


if __name__ == "__main__":
    main()
