"""Training: the same Keras script on this backend, on JAX and on TensorFlow, each in a process of its own.

`python -m benchmarks.training SUBJECT BACKEND EPOCHS` is such a process: it prints the seconds of the first epoch,
the median of the others, and the peak memory in MB.
"""
from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import OURS, Budget, Row
from benchmarks.peers import installed

__all__ = ["run"]

RNG = np.random.default_rng(0)
BACKENDS = {OURS: "runtime", "jax": "jax", "TF": "tensorflow"}


def mlp(keras: Any) -> tuple[Any, Any, Any, int]:
    """64-128-64-10 on 1500 images of 8 x 8, batches of 32."""
    layers = keras.layers
    return (keras.Sequential([keras.Input((64,)), layers.Dense(128, activation="relu"),
                              layers.Dense(64, activation="relu"), layers.Dense(10)]),
            RNG.random((1500, 64), np.float32), RNG.integers(0, 10, 1500), 32)


def cnn(keras: Any) -> tuple[Any, Any, Any, int]:
    """Two convolutions with pooling and batch normalization on 256 images of 32 x 32 x 3, batches of 32."""
    layers = keras.layers
    return (keras.Sequential([
        keras.Input((32, 32, 3)), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(),
        layers.BatchNormalization(), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(10)]), RNG.random((256, 32, 32, 3), np.float32), RNG.integers(0, 10, 256), 32)


def lstm(keras: Any) -> tuple[Any, Any, Any, int]:
    """A character model: embedding, LSTM(128) and classes at each of 32 steps, 256 rows, batches of 32."""
    layers = keras.layers
    tokens = RNG.integers(0, 64, (256, 33))
    return (keras.Sequential([keras.Input((32,)), layers.Embedding(64, 32), layers.LSTM(128, return_sequences=True),
                              layers.Dense(64)]), tokens[:, :-1], tokens[:, 1:], 32)


def transformer(keras: Any) -> tuple[Any, Any, Any, int]:
    """One block: attention with 4 heads and a feed-forward layer, width 64, 32 steps, 256 rows, batches of 32."""
    layers = keras.layers
    tokens = RNG.integers(0, 64, (256, 33))
    inputs = keras.Input((32,))
    x = layers.Embedding(64, 64)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.Dense(64)(layers.Dense(256, activation="relu")(x)))
    return keras.Model(inputs, layers.Dense(64)(x)), tokens[:, :-1], tokens[:, 1:], 32


SUBJECTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "mlp": (mlp, 30), "cnn": (cnn, 6), "lstm": (lstm, 6), "transformer": (transformer, 6)}
"""By name, the model with its data, and the number of epochs that are measured."""


def run(budget: Budget) -> Iterator[Row]:
    try:
        importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        return
    names = [name for name in BACKENDS if name == OURS or (budget.peers and installed(name))]
    for subject, (_, epochs) in SUBJECTS.items() if budget.share == 1 else [("mlp", (mlp, 2))]:
        found = {name: _child(subject, BACKENDS[name], epochs) for name in names}
        for what, unit, scale in (("an epoch", "ms", 1e3), ("first epoch", "s", 1.0), ("memory", "MB", 1.0)):
            yield Row(f"{subject}: {what}", unit, {name: each[what] * scale for name, each in found.items()})


def _child(subject: str, backend: str, epochs: int) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.training", subject, backend, str(epochs)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {
        "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(subject: str, backend: str, epochs: str) -> None:
    if backend == "runtime":
        import runtime.keras  # noqa: F401
    import keras

    class Clock(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.times: list[float] = []

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.times.append(time.perf_counter() - self.start)

    keras.utils.set_random_seed(0)
    model, x, y, batch_size = SUBJECTS[subject][0](keras)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    clock = Clock()
    model.fit(x, y, batch_size=batch_size, epochs=int(epochs) + 1, verbose=0, callbacks=[clock])
    print(json.dumps({"first epoch": clock.times[0], "an epoch": statistics.median(clock.times[1:]),
                      "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main(*sys.argv[1:])
