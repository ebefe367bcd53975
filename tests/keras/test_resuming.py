"""A `fit` that is killed within an epoch and run again gives, bit for bit, what one that is not killed gives."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as tf
import runtime.keras

keras = tf.keras
X = np.random.default_rng(0).normal(size=(26, 3)).astype("float32")
Y = X.sum(1, keepdims=True)

PROGRAM = """
import os, signal, sys
from tests.keras.test_resuming import fitted, keras

kind, path, *batches = sys.argv[1:]

class Killed(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations.numpy()) == at:
            os.kill(os.getpid(), signal.SIGKILL)

for at in map(int, batches):
    if not (pid := os.fork()):
        fitted(kind, path, [Killed()])
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.path.exists(path))
"""
"""Fits that are killed at these batches, one after the other, each in a process that nothing ran in before."""


def made() -> Any:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dropout(0.5),
                              keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    return model


def fitted(kind: str, path: str, others: Any = (), save_freq: int = 2) -> tuple[Any, Any]:
    """The history, and the values of all variables, after three epochs of seven batches."""
    keras.utils.set_random_seed(3)
    model = made()
    data: dict[str, Any] = {"x": X, "y": Y, "batch_size": 4}
    if kind != "arrays":
        data = {"x": tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(26, seed=5).batch(4)}
    if kind == "steps":  # the epochs begin in the middle of the data
        data = {"x": data["x"].repeat(), "steps_per_epoch": 6}
    callbacks = [runtime.keras.Resume(path, save_freq=save_freq), *others]
    history = model.fit(**data, epochs=3, verbose=0, validation_data=(X, Y), callbacks=callbacks)
    assert not os.path.exists(path)
    return history, [np.asarray(v) for v in (*model.variables, *model.optimizer.variables)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrays", "dataset", "steps"])
def test_killed_at_several_batches(kind: str, tmp_path: Path) -> None:
    history, expected = fitted(kind, str(tmp_path / "none"))
    path = str(tmp_path / "state")
    child = subprocess.run(  # in the first epoch, and in the second or at its end
        [sys.executable, "-c", PROGRAM, kind, path, "3", "12"], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert child.stdout == f"{-signal.SIGKILL} True\n" * 2, child.stderr
    np.random.seed(99)  # what the process drew before does not matter
    again, values = fitted(kind, path)
    assert (again.epoch, again.history) == (history.epoch, history.history)
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_array_equal(a, b)


class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == 2:
            raise KeyboardInterrupt


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    with pytest.raises(KeyboardInterrupt):
        fitted("arrays", str(tmp_path / "state"), [Stop()])
    return tmp_path / "state"


def test_a_damaged_file(interrupted: Path) -> None:
    interrupted.write_bytes(interrupted.read_bytes()[:-5])
    with pytest.raises(tf.errors.DataLossError, match="is damaged"):
        fitted("arrays", str(interrupted))


def test_a_file_of_a_later_release(interrupted: Path) -> None:
    data = interrupted.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"]["runtime"] = header["__metadata__"]["runtime"].replace('"version": 2', '"version": 3')
    changed = json.dumps(header).encode()
    interrupted.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + size:])
    with pytest.raises(tf.errors.UnimplementedError, match="version 3"):
        fitted("arrays", str(interrupted))


def test_a_file_of_another_model(interrupted: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    with pytest.raises(ValueError, match="of another model, optimizer or metrics: .* here and .* there"):
        model.fit(X, Y, verbose=0, callbacks=[runtime.keras.Resume(interrupted)])
    for a, b in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    model = made()
    with pytest.raises(ValueError, match="arrays or an rt.data.Dataset"):
        model.fit(((X, Y) for _ in range(2)), verbose=0, callbacks=[runtime.keras.Resume(tmp_path / "state")])
    with pytest.raises(ValueError, match="takes no steps_per_epoch"):
        model.fit(X, Y, steps_per_epoch=2, verbose=0, callbacks=[runtime.keras.Resume(tmp_path / "state")])
    with pytest.raises(ValueError, match="save_freq is a number of batches"):
        runtime.keras.Resume(tmp_path / "state", save_freq=0)


class Counting(keras.callbacks.Callback):
    """Sums in a list, an array and a dict what it has seen, within epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.total = np.zeros(2)
        self.of_epochs: dict[str, tuple[int, float]] = {}
        self.says = print  # is not saved, and stays

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen = [*self.seen, batch]
        self.total = self.total + np.array([1.0, batch])

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.of_epochs[str(epoch)] = epoch, float(logs["loss"])


def with_callbacks(path: Path, stop_at: int | None = None) -> tuple[Any, ...]:
    """The history, learning rate, weights, callbacks and log of a fit that stops early or is interrupted at a step."""
    class Interrupted(Exception):
        pass

    class Interrupting(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if int(self.model.optimizer.iterations.numpy()) == stop_at:
                raise Interrupted

    keras.utils.set_random_seed(3)
    model = made()
    early = keras.callbacks.EarlyStopping("val_loss", min_delta=0.05, patience=2, restore_best_weights=True)
    slower = keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.5, min_delta=0.05, patience=1)
    counting = Counting()
    resume = runtime.keras.Resume(path, save_freq=1)
    log = keras.callbacks.CSVLogger(f"{path}.csv")
    others = [resume, early, slower, counting, log, *([Interrupting()] if stop_at is not None else [])]
    try:
        history = model.fit(X, Y, batch_size=4, epochs=30, verbose=0, validation_data=(X, Y), callbacks=others)
    except Interrupted:
        return ()
    return (history.history, float(model.optimizer.learning_rate.numpy()), [w.tolist() for w in model.get_weights()],
            early.best_epoch, early.wait, early.min_delta, slower.wait, counting.seen, counting.total.tolist(),
            counting.of_epochs, counting.says, Path(log.filename).read_text())


@pytest.mark.slow
def test_other_callbacks_go_on(tmp_path: Path) -> None:
    """What stops early, and when the learning rate falls, is as without the interruption."""
    expected = with_callbacks(tmp_path / "a")
    assert len(expected[0]["loss"]) < 30 and expected[1] < 0.05  # it stopped early, and the rate fell
    for stop_at in 10, 25:
        assert with_callbacks(tmp_path / str(stop_at), stop_at) == ()
        assert with_callbacks(tmp_path / str(stop_at)) == expected
