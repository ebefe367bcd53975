"""Keras' models and optimizers in the checkpoints of the runtime."""
from __future__ import annotations

import numpy as np

import runtime as rt


def made():
    keras = rt.keras
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2), keras.layers.Dropout(0.5)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.optimizer.build(model.trainable_variables)
    return model


def test_a_model_goes_on_as_it_was(tmp_path):
    x, y = np.ones((8, 3), np.float32), np.zeros((8, 2), np.float32)
    model = made()
    model.fit(x, y, epochs=2, verbose=0)
    path = rt.train.Checkpoint(model=model, optimizer=model.optimizer).save(tmp_path / "c")
    assert ("model/0", [3, 2]) in rt.train.list_variables(path)
    again = made()
    rt.train.Checkpoint(model=again, optimizer=again.optimizer).restore(path).assert_consumed()
    assert int(again.optimizer.iterations.numpy()) == 2
    for one in (model, again):
        one.fit(x, y, epochs=3, verbose=0)
    np.testing.assert_array_equal(model.predict(x, verbose=0), again.predict(x, verbose=0))
