"""Keras' models and optimizers in the checkpoints of the runtime."""
from __future__ import annotations

import numpy as np
import pytest

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


class Net(rt.keras.Model):
    def __init__(self):
        super().__init__()
        self.l1, self.blocks = rt.keras.layers.Dense(2), [made()]

    def call(self, x):
        return self.l1(self.blocks[0](x)) + self.l1.bias


def test_parts_of_a_model_are_found_by_attributes(tmp_path):
    net = Net()
    net(rt.ones([1, 3]))
    net.l1.bias.assign([5.0, 6.0])
    path = rt.train.Checkpoint(net=net).save(tmp_path / "c")
    names = [name for name, _ in rt.train.list_variables(path)]
    assert "net/0" in names and not [name for name in names if "bias" in name]  # each value has one name
    bias, kernel = rt.Variable([0.0, 0.0]), rt.Variable(rt.zeros([3, 2]))
    checkpoint = rt.train.Checkpoint
    layer = checkpoint(kernel=kernel)
    parts = checkpoint(net=checkpoint(l1=checkpoint(bias=bias), blocks=[checkpoint(layers=[layer])]))
    parts.restore(path).expect_partial().assert_nontrivial_match()
    np.testing.assert_array_equal(bias, [5.0, 6.0])
    np.testing.assert_array_equal(kernel, net.blocks[0].layers[0].kernel)
    with pytest.raises(AssertionError, match="no values for 'net/l1/other'"):
        checkpoint(net=checkpoint(l1=checkpoint(other=bias))).restore(path).assert_existing_objects_matched()
    with pytest.raises(rt.errors.ShapeError, match="'net/.*' has the shape"):
        checkpoint(net=checkpoint(l1=checkpoint(bias=kernel))).restore(path)
