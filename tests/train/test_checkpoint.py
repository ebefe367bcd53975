"""Checkpoints: what they hold, restoring in any order, bad files, and writers that are killed."""
from __future__ import annotations

import json
import os
import random
import signal
import time
import warnings

import numpy as np
import pytest
import safetensors.numpy

import runtime as rt
from runtime.train.storage import read_arrays, write_arrays


class Layer(rt.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.kernel = None

    def build(self):
        self.kernel = rt.Variable(rt.ones([self.size, self.size]), name="kernel")


class Net(rt.Module):
    def __init__(self, value=0.0):
        super().__init__()
        self.layers = [rt.Variable([value, value + 1]), {"b": rt.Variable(value, dtype=rt.float64)}]
        self.shared = self.layers[0]
        self.step = rt.Variable(7, dtype=rt.int64)
        self.note = "not a variable"


def test_values_come_back(tmp_path):
    first = rt.train.Checkpoint(model=Net(1.5), bias=rt.Variable([True, False]))
    path = first.save(tmp_path / "ckpt")
    assert path == str(tmp_path / "ckpt-1") and os.listdir(tmp_path) == ["ckpt-1.safetensors"]
    assert rt.train.list_variables(path) == [
        ("bias", [2]), ("model/layers/0", [2]), ("model/layers/1/b", []), ("model/shared", [2]), ("model/step", []),
        ("save_counter", [])]
    second = rt.train.Checkpoint(model=Net(), bias=rt.Variable([False, False]))
    second.restore(path).assert_consumed()
    assert second.model.layers[0].numpy().tolist() == [1.5, 2.5] and second.bias.numpy().tolist() == [True, False]
    assert second.model.layers[1]["b"].numpy() == 1.5 and int(second.save_counter.numpy()) == 1
    reader = rt.train.load_checkpoint(path)
    assert reader.get_tensor("model/shared").tolist() == [1.5, 2.5] and reader.has_tensor("bias")
    assert reader.get_variable_to_dtype_map()["model/layers/1/b"] is rt.float64
    with pytest.raises(rt.errors.NotFoundError, match=r"test_checkpoint.py:\d+: .* has no 'kernel'"):
        reader.get_tensor("kernel")


def test_strings(tmp_path):
    for value in ("", "abc", ["d\xe9", ""], [["a", "bb"]], np.empty((0, 2), object)):
        v = rt.Variable(rt.constant(value, rt.string))
        path = rt.train.Checkpoint(v=v).write(tmp_path / "c")
        other = rt.Variable(rt.zeros(v.shape).numpy().astype(str) if v.ndim else "other")
        rt.train.Checkpoint(v=other).read(path).assert_consumed()
        assert np.asarray(other).tolist() == np.asarray(v).tolist()
        assert rt.train.load_checkpoint(path).get_variable_to_dtype_map()["v"] is rt.string
    with pytest.raises(TypeError, match="is int32, but the checkpoint .* has string"):
        rt.train.Checkpoint(v=rt.Variable(3)).read(path)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint64", "bool", "complex64", "complex128"])
def test_dtypes_and_shapes(tmp_path, dtype):
    for shape in ((), (0, 3), (2, 3, 1)):
        value = np.arange(np.prod(shape), dtype="f8").reshape(shape).astype(dtype)
        rt.train.Checkpoint(v=rt.Variable(value)).write(tmp_path / "c")
        target = rt.Variable(np.zeros(shape, dtype))
        rt.train.Checkpoint(v=target).read(tmp_path / "c").assert_consumed()
        assert target.numpy().dtype == value.dtype and np.array_equal(target.numpy(), value)


def test_a_root_and_names_with_slashes(tmp_path):
    net = rt.Module()
    net.parts = {"a/b": rt.Variable(1.0), "a": {"b": rt.Variable(2.0)}, "c%2F": rt.Variable(3.0)}
    path = rt.train.Checkpoint(net).save(tmp_path / "c")
    assert [name for name, _ in rt.train.list_variables(path)] == [
        "parts/a%2Fb", "parts/a/b", "parts/c%252F", "save_counter"]
    assert rt.train.load_checkpoint(path).get_tensor("parts/a/b") == 2.0


def test_variables_that_are_made_later(tmp_path):
    net = Layer(2)
    net.build()
    net.kernel.assign([[1.0, 2.0], [3.0, 4.0]])
    path = rt.train.Checkpoint(net=net).save(tmp_path / "c")
    late = Layer(2)
    checkpoint = rt.train.Checkpoint(net=late)
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError, match="no variable was found for these values .*: 'net/kernel'"):
        status.assert_consumed()
    late.build()
    status.assert_consumed()
    assert late.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    attached = rt.train.Checkpoint()
    status = attached.restore(path)
    other = Layer(2)
    other.build()
    attached.net = other
    assert other.kernel.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    status.assert_consumed()


def test_partial_restores(tmp_path):
    path = rt.train.Checkpoint(a=rt.Variable(1.0), b=rt.Variable(2.0)).save(tmp_path / "c")
    a, c = rt.Variable(0.0), rt.Variable(0.0)
    with pytest.warns(UserWarning, match="were not restored: 'b'"):
        checkpoint = rt.train.Checkpoint(a=a)
        checkpoint.restore(path)
        checkpoint.write(tmp_path / "e")
    assert a.numpy() == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint = rt.train.Checkpoint(a=a)
        checkpoint.restore(path).expect_partial()
        checkpoint.write(tmp_path / "e")
    with pytest.raises(AssertionError, match="has no values for 'c': it has 'a', 'b', 'save_counter'"):
        rt.train.Checkpoint(c=c).restore(path).expect_partial().assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="nothing of the checkpoint"):
        rt.train.Checkpoint(c=c, save_counter=None).read(
            rt.train.Checkpoint(x=a).write(tmp_path / "d")).expect_partial().assert_nontrivial_match()
    nothing = rt.train.Checkpoint(a=a).restore(rt.train.latest_checkpoint(tmp_path / "none"))
    with pytest.raises(AssertionError, match="no checkpoint was given"):
        nothing.expect_partial().assert_consumed()


@pytest.mark.parametrize(("value", "error", "text"), [
    ([1.0, 2.0, 3.0], rt.errors.ShapeError, r"'a' has the shape \[3\], but the checkpoint .* has a value of \[2\]"),
    ([1, 2], rt.errors.DTypeError, "'a' is int32, but the checkpoint .* has float32 for it"),
])
def test_values_that_do_not_fit_change_nothing(tmp_path, value, error, text):
    path = rt.train.Checkpoint(a=rt.Variable([1.0, 2.0]), b=rt.Variable(5.0)).save(tmp_path / "c")
    b = rt.Variable(0.0)
    with pytest.raises(error, match=text):
        rt.train.Checkpoint(b=b, a=rt.Variable(value)).restore(path)
    assert b.numpy() == 0.0


def test_damaged_files(tmp_path):
    path = rt.train.Checkpoint(a=rt.Variable([1.0, 2.0])).write(tmp_path / "c")
    file = tmp_path / "c.safetensors"
    whole = file.read_bytes()
    draw = random.Random(5)
    for k in range(300):
        data = bytearray(whole[:draw.randrange(len(whole))] if k % 2 else whole)
        if not k % 2:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        file.write_bytes(bytes(data))
        try:
            rt.train.load_checkpoint(path)
        except (rt.errors.DataLossError, rt.errors.UnimplementedError) as error:
            assert "c.safetensors" in str(error)
    write_arrays(str(file), {}, {}, 2)
    with pytest.raises(rt.errors.UnimplementedError, match="is of version 2 of its format, and .* reads up to 1"):
        rt.train.load_checkpoint(path)
    with pytest.raises(rt.errors.NotFoundError, match="there is no file .*missing.safetensors"):
        rt.train.load_checkpoint(tmp_path / "missing")
    assert json.dumps(read_arrays(str(file), 2)[1])


def test_each_changed_bit_of_the_values_is_found(tmp_path):
    path = rt.train.Checkpoint(a=rt.Variable([1.0, 2.0])).write(tmp_path / "c")
    file = tmp_path / "c.safetensors"
    whole = file.read_bytes()
    a = rt.Variable([3.0, 4.0])
    for bit in range(64):
        data = bytearray(whole)
        data[-1 - bit // 8] ^= 1 << bit % 8
        file.write_bytes(bytes(data))
        with pytest.raises(rt.errors.DataLossError, match="the bytes of 'a' are not those that were written"):
            rt.train.Checkpoint(a=a).restore(path)
    assert a.numpy().tolist() == [3.0, 4.0]


def test_files_without_checksums_are_read(tmp_path):
    """Those of earlier releases."""
    described = {"version": 1, "arrays": {"a": {"dtype": "float32", "shape": [2]}}}
    bits = np.array([1.0, 2.0], np.float32).view(np.uint32)
    (tmp_path / "old.safetensors").write_bytes(safetensors.numpy.save({"a": bits}, {"runtime": json.dumps(described)}))
    arrays, _ = read_arrays(str(tmp_path / "old.safetensors"), 1)
    assert arrays["a"].tolist() == [1.0, 2.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is a forked process")
def test_a_writer_that_is_killed_leaves_the_last_whole_one(tmp_path):
    values = np.zeros(20000)
    draw = random.Random(1)
    partial = 0
    for _ in range(80):
        writer = os.fork()
        if not writer:
            try:
                for k in range(1, 1000):
                    values[:] = k
                    write_arrays(str(tmp_path / f"c-{k}.safetensors"), {"v": values}, {}, 1)
            finally:
                os._exit(0)
        end = time.monotonic() + 10
        while rt.train.latest_checkpoint(tmp_path) is None and time.monotonic() < end:
            time.sleep(0.0005)
        time.sleep(draw.uniform(0.0, 0.004))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        latest = rt.train.latest_checkpoint(tmp_path)
        v = read_arrays(f"{latest}.safetensors", 1)[0]["v"]
        assert (v == v[0]).all() and v[0] == int(latest.rpartition("-")[2])
        partial += any(file.name.endswith(".tmp") for file in tmp_path.iterdir())
        for file in tmp_path.iterdir():
            file.unlink()
    assert partial > 8  # that many were in the middle of a file


def test_managers_keep_the_last(tmp_path):
    step = rt.Variable(0)
    checkpoint = rt.train.Checkpoint(step=step)
    inits = []
    manager = rt.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2, step_counter=step,
                                         checkpoint_interval=2, init_fn=lambda: inits.append(1))
    assert manager.restore_or_initialize() is None and inits == [1] and manager.latest_checkpoint is None
    saved = []
    for k in range(7):
        step.assign(k)
        saved.append(manager.save())
    assert [path is not None for path in saved] == [True, False, True, False, True, False, True]
    assert manager.checkpoints == [str(tmp_path / "ckpt-3"), str(tmp_path / "ckpt-4")]
    assert manager.latest_checkpoint == rt.train.latest_checkpoint(tmp_path) == saved[-1]
    assert manager.save(check_interval=False) == str(tmp_path / "ckpt-5")
    assert manager.save(checkpoint_number=100, check_interval=False) == str(tmp_path / "ckpt-100")
    again = rt.train.CheckpointManager(rt.train.Checkpoint(step=rt.Variable(0)), tmp_path, max_to_keep=2)
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-100") and again.checkpoint.step.numpy() == 6
    for options, text in (({"max_to_keep": 0}, "at least 1"), ({"checkpoint_interval": 2}, "needs the step_counter")):
        with pytest.raises(ValueError, match=text):
            rt.train.CheckpointManager(checkpoint, tmp_path, **{"max_to_keep": 2, **options})


def test_checkpoints_that_are_kept_for_their_hours(tmp_path):
    checkpoint = rt.train.Checkpoint(v=rt.Variable(0))
    manager = rt.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1)
    now = time.time_ns()
    for k in range(5):
        path = manager.save()
        os.utime(path + ".safetensors", ns=(now, now + k * 1800 * 10 ** 9))
    manager.save()
    assert {path.rpartition("-")[2] for path in manager.checkpoints} == {"1", "3", "5", "6"}


def test_iterators_go_on_where_they_were(tmp_path):
    def dataset():
        return rt.data.Dataset.range(10).shuffle(10).repeat(3).batch(4)

    stream = iter(dataset())
    checkpoint = rt.train.Checkpoint(stream=stream)
    for _ in range(4):
        next(stream)
    path = checkpoint.save(tmp_path / "c")
    rest = [x.numpy().tolist() for x in stream]
    other = iter(dataset())
    rt.train.Checkpoint(stream=other).restore(path).assert_consumed()
    assert [x.numpy().tolist() for x in other] == rest and len(rest) == 4
    with pytest.raises(ValueError, match="the position of an iterator over another dataset"):
        rt.train.Checkpoint(stream=iter(rt.data.Dataset.range(9))).restore(path)
    plain = iter(rt.data.Dataset.range(9))
    path = rt.train.Checkpoint(s=[next(plain), next(plain), plain]).save(tmp_path / "d")
    with pytest.raises(ValueError, match="the position after element 2 of a dataset, which now has 1"):
        rt.train.Checkpoint(s=[0, 0, iter(rt.data.Dataset.range(1))]).restore(path)


def test_random_generators(tmp_path):
    generator = rt.random.Generator.from_seed(5)
    checkpoint = rt.train.Checkpoint(generator=generator, v=rt.Variable(1.0))
    generator.normal([3])
    path = checkpoint.save(tmp_path / "c")
    drawn = generator.normal([2]).numpy()
    checkpoint.restore(path).assert_consumed()
    np.testing.assert_array_equal(generator.normal([2]), drawn)
    other = rt.random.Generator.from_seed(9)
    rt.train.Checkpoint(generator=other).restore(path).expect_partial()
    np.testing.assert_array_equal(other.normal([2]), drawn)


def test_what_a_folder_of_checkpoints_has(tmp_path):
    assert rt.train.get_checkpoint_state(tmp_path) is None
    v = rt.Variable([1.0, 2.0])
    checkpoint = rt.train.Checkpoint(v=v)
    paths = [checkpoint.save(str(tmp_path / "ckpt"), options=rt.train.CheckpointOptions()) for _ in range(3)]
    state = rt.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == paths[-1] == rt.train.latest_checkpoint(str(tmp_path))
    assert state.all_model_checkpoint_paths == paths
    (name,) = [name for name, _ in rt.train.list_variables(paths[0]) if name.startswith("v")]
    assert rt.train.load_variable(paths[0], name).tolist() == [1, 2]
    with pytest.raises(rt.errors.NotFoundError, match="has no 'w'"):
        rt.train.load_variable(paths[0], "w")
