"""Transfer: a model of the digits 0 to 4 is trained and saved; another process loads it, freezes all but a new head and
trains that on the digits 5 to 9; a third one restores the checkpoint and tunes the whole.

Needs the extra `examples` (`pip install 'autograph[examples]'`): Keras and scikit-learn.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

import runtime as tf

keras = tf.keras


def write_digits(folder):
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise SystemExit("this example needs scikit-learn: pip install 'autograph[examples]'") from error
    x, y = load_digits(return_X_y=True)
    np.savez(os.path.join(folder, "digits.npz"), x=x, y=y)


def digits(folder, first):
    """Images of five digits from `first` on, and their numbers from 0 on: those to train with, and the rest."""
    data = np.load(os.path.join(folder, "digits.npz"))
    x, y = data["x"], data["y"]
    chosen = (y >= first) & (y < first + 5)
    x, y = (x[chosen] / 16).reshape(-1, 8, 8, 1).astype("float32"), y[chosen] - first
    return (x[:600], y[:600]), (x[600:], y[600:])


def compiled(model, rate):
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    return model


def accuracy(model, data):
    return f"{100 * model.evaluate(*data, verbose=0, return_dict=True)['accuracy']:.1f} %"


def with_new_head(pretrained):
    """The layers of a model but for the last, frozen, and a new last one."""
    trunk = keras.Sequential(pretrained.layers[:-1], name="trunk")
    trunk.trainable = False
    return trunk, keras.Sequential([keras.Input((8, 8, 1)), trunk, keras.layers.Dense(5)])


def pretrain(folder):
    train, test = digits(folder, 0)
    model = compiled(keras.Sequential([
        keras.Input((8, 8, 1)), keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.MaxPooling2D(),
        keras.layers.Flatten(), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(5)]), 0.005)
    model.fit(*train, epochs=8, verbose=0)
    model.save(os.path.join(folder, "digits.keras"))
    print(f"pretrained on 0 to 4: {accuracy(model, test)}", flush=True)


def transfer(folder):
    (x, y), test = digits(folder, 5)
    trunk, model = with_new_head(keras.models.load_model(os.path.join(folder, "digits.keras")))
    before = trunk.get_weights()
    compiled(model, 0.01).fit(x[:100], y[:100], batch_size=10, epochs=15, verbose=0)
    assert all(np.array_equal(a, b) for a, b in zip(before, trunk.get_weights()))
    path = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(os.path.join(folder, "transfer"))
    print(f"new head on 5 to 9, of 100 images: {accuracy(model, test)}, {os.path.basename(path)}")


def tune(folder):
    train, test = digits(folder, 5)
    trunk, model = with_new_head(keras.models.load_model(os.path.join(folder, "digits.keras")))
    tf.train.Checkpoint(model=model).restore(tf.train.latest_checkpoint(folder)).expect_partial()
    compiled(model, 0.001)
    print(f"restored: {accuracy(model, test)}")
    trunk.trainable = True
    compiled(model, 0.001).fit(*train, epochs=10, verbose=0)
    print(f"tuned, trunk and head: {accuracy(model, test)}")


def main():
    keras.utils.set_random_seed(0)
    if len(sys.argv) > 1:
        {"transfer": transfer, "tune": tune}[sys.argv[1]](sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        write_digits(folder)
        pretrain(folder)
        for step in ("transfer", "tune"):
            subprocess.run([sys.executable, __file__, step, folder], check=True)


if __name__ == "__main__":
    main()
