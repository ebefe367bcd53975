"""`saved_model`: what is loaded does what was saved, without the program that saved it."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_model.models import Net

import runtime as rt
from runtime.saved_model import storage
from runtime.tools.cli import main

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)


@pytest.fixture
def net() -> Net:
    made = Net()
    made.step(X)
    made.step(X, training=True)
    return made


def equal(found: Any, expected: Any) -> None:
    flat, wanted = rt.nest.flatten(found), rt.nest.flatten(expected)
    assert len(flat) == len(wanted)
    for x, y in zip(flat, wanted, strict=True):
        assert type(x) is type(y), (x, y)
        if isinstance(x, rt.Tensor):
            assert x.dtype is y.dtype and x.shape == y.shape
            np.testing.assert_array_equal(x, y)
        else:
            assert x == y


def test_functions_and_attributes(net: Net, tmp_path: Path) -> None:
    rt.saved_model.save(net, tmp_path / "model")
    loaded = rt.saved_model.load(tmp_path / "model")
    assert rt.saved_model.contains_saved_model(tmp_path / "model")
    assert loaded.first is loaded.layers[0] and loaded.me is loaded and loaded.table == net.table
    assert loaded.name == "net" and not hasattr(loaded, "left_out")
    assert [(v.name, v.trainable, v.type) for v in loaded.variables] == [
        (v.name, v.trainable, v.type) for v in net.variables]
    assert loaded.tensor.numpy().tolist() == [1, 2] and type(loaded.array) is np.ndarray
    equal(loaded(X), net(X))
    equal(loaded(X[:2]), net(X[:2]))
    for arguments in ({}, {"training": True}):
        equal(loaded.step(X, **arguments), net.step(X, **arguments))
    assert int(loaded.steps) == int(net.steps) == 4


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_functions_run_as_graphs_where_others_run_eagerly(executor: str, tmp_path: Path) -> None:
    class Scaled(rt.Module):
        def __init__(self) -> None:
            self.v = rt.Variable(3.0)

        @rt.function(input_signature=[rt.TensorSpec([None], name="x")], executor=executor)
        def predict(self, x: Any) -> Any:
            return {"y": x * self.v}

    made = Scaled()
    rt.saved_model.save(made, tmp_path, signatures=made.predict)
    loaded = rt.saved_model.load(tmp_path)
    rt.config.run_functions_eagerly(True)
    try:
        for predict, v in ((made.predict, made.v), (loaded.predict, loaded.v),
                           (loaded.signatures["serving_default"], loaded.v)):
            with rt.GradientTape() as tape:
                y = predict(rt.constant([1.0, 2.0]))["y"]
            assert y.numpy().tolist() == [3.0, 6.0]
            assert tape.gradient(y, v) == 3.0
        assert rt.function(lambda x: loaded.predict(x)["y"] + 1.0)(rt.ones([1])) == 4.0
    finally:
        rt.config.run_functions_eagerly(False)


def test_shapes_that_a_program_says_are_checked_when_loaded(tmp_path: Path) -> None:
    class Fixed(rt.Module):
        @rt.function(input_signature=[rt.TensorSpec([None])])
        def double(self, x: Any) -> Any:
            x.set_shape([3])
            return x * 2.0

    rt.saved_model.save(Fixed(), tmp_path)
    loaded = rt.saved_model.load(tmp_path)
    assert loaded.double(rt.ones([3])).numpy().tolist() == [2.0] * 3
    with pytest.raises(rt.errors.ShapeError, match=r"test_saved_model.py:\d+: .* shape \[2\], but set_shape says"):
        loaded.double(rt.ones([2]))


def test_variables_gradients_and_functions_around(net: Net, tmp_path: Path) -> None:
    rt.saved_model.save(net, tmp_path)
    loaded = rt.saved_model.load(tmp_path)
    found = []
    for model in net, loaded:
        with rt.GradientTape() as tape:
            loss = rt.reduce_sum(model(X)["y"] ** 2)
        found.append(tape.gradient(loss, [layer.w for layer in model.layers]))
        assert len(model.trainable_variables) == 3
    equal(*found)

    @rt.function
    def around(x):
        return loaded(x)["y"] + 1.0

    equal(around(X), net(X)["y"] + 1.0)
    for model in net, loaded:
        model.first.w.assign_add(rt.ones([3, 4]))
    equal(loaded(X), net(X))
    rt.saved_model.save(loaded, tmp_path / "again")
    again = rt.saved_model.load(tmp_path / "again")
    equal(again(X), net(X))
    equal(again.step(X), loaded.step(X))


@pytest.mark.parametrize("arguments, why", [
    (((X[:, :2],), {}), "args[0] is float32[5,2], and float32[5,3] is wanted"),
    (((X,), {"scale": 2.0}), "args[2] is 2.0, and 1.0 is wanted"),
    (((X,), {"other": 1}), "got an unexpected keyword argument 'other'"),
    ((("text",), {}), "args[0]: "),
])
def test_arguments_that_no_trace_takes(net: Net, tmp_path: Path, arguments: Any, why: str) -> None:
    rt.saved_model.save(net, tmp_path)
    loaded = rt.saved_model.load(tmp_path)
    args, kwargs = arguments
    with pytest.raises(TypeError) as info:
        loaded.step(*args, **kwargs)
    with pytest.raises(ValueError, match="no saved trace"):  # as TF raises
        loaded.step(*args, **kwargs)
    assert "no saved trace of step takes these arguments" in str(info.value) and why in str(info.value)
    assert Path(__file__).name in str(info.value)


@pytest.mark.parametrize("is_called", [False, True])
def test_a_signature_has_the_names_of_the_input_signature(is_called: bool, tmp_path: Path) -> None:
    class Sum(rt.Module):
        @rt.function(input_signature=[rt.TensorSpec([None], name="left"), rt.TensorSpec([None])])
        def total(self, x: Any, y: Any) -> Any:
            return x + y

    made, ones = Sum(), rt.ones([2])
    if is_called:
        made.total(ones, ones)
    rt.saved_model.save(made, tmp_path, signatures=made.total)
    loaded = rt.saved_model.load(tmp_path).signatures["serving_default"]
    assert list(loaded.inputs) == ["left", "y"]
    assert loaded(left=ones, y=ones)["output_0"].numpy().tolist() == [2.0, 2.0]


def test_signatures(net: Net, tmp_path: Path) -> None:
    @rt.function(input_signature=[rt.TensorSpec([], rt.float32), rt.TensorSpec([2], rt.int32)])
    def two(a, b):
        return a + 1.0, [b, 7]

    rt.saved_model.save(net, tmp_path, signatures={"two": two, "call": net.__call__})
    loaded = rt.saved_model.load(tmp_path)
    assert sorted(loaded.signatures) == ["call", "two"]
    found = loaded.signatures["two"](a=1, b=[2, 3])
    equal(found, {"output_0": rt.constant(2.0), "output_1": rt.constant([2, 3]), "output_2": rt.constant(7)})
    equal(loaded.signatures["two"](1.0, b=np.array([2, 3])), found)
    equal(loaded.signatures["call"](x=X), net(X))
    assert loaded.signatures["two"].structured_outputs == {
        "output_0": rt.TensorSpec([], rt.float32, "output_0"), "output_1": rt.TensorSpec([2], rt.int32, "output_1"),
        "output_2": rt.TensorSpec([], rt.int32, "output_2")}
    assert loaded.signatures["two"].structured_input_signature == ((), {
        "a": rt.TensorSpec([], rt.float32, "a"), "b": rt.TensorSpec([2], rt.int32, "b")})
    assert repr(loaded.signatures["two"]).startswith("<signature two(a: float32[], b: int32[2]) -> {output_0: float32")
    with pytest.raises(TypeError, match="the signature 'two' takes a, b, not 0 positional arguments and a"):
        loaded.signatures["two"](a=1.0)
    with pytest.raises(rt.errors.ShapeError, match="input 'b' of the signature 'two' is int32"):
        loaded.signatures["two"](a=1.0, b=[1, 2, 3])
    with pytest.raises(rt.errors.FailedPreconditionError, match="the signature 'serving_default' has 2 traces"):
        rt.saved_model.save(net, tmp_path, signatures=net.step)
    with pytest.raises(TypeError, match="the signature 'a' is an rt.function, not 5"):
        rt.saved_model.save(net, tmp_path, signatures={"a": 5})


def test_what_graphs_hold(tmp_path: Path) -> None:
    class TooLargeError(ValueError):
        pass

    words = rt.lookup.StaticHashTable(rt.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    generator = rt.random.Generator.from_seed(3)
    hidden = rt.constant([10.0, 20.0])

    @rt.function
    def program(text, x):
        def depth(n):
            return 0 if n < 1 else depth(n - 2) + 1

        pairs = []
        for y in x:
            pairs.append((y, y * 2))
        noise = generator.uniform([2])
        if rt.reduce_sum(x) > 100.0:
            raise TooLargeError(f"sum {rt.reduce_sum(x):.1f}")
        return words.lookup(rt.strings.lower(text)), pairs, hidden + noise, depth(rt.cast(x[0], rt.int32))

    text, x = rt.constant(["A", "c"]), rt.constant([5.0, 2.0])
    program.get_concrete_function(text, x)
    rt.saved_model.save(program, tmp_path)
    loaded = rt.saved_model.load(tmp_path)
    equal(loaded(text, x), program(text, x))
    with pytest.raises(ValueError, match="sum 120.0") as info:
        loaded(text, rt.constant([100.0, 20.0]))
    assert type(info.value).__name__ == "TooLargeError"


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    class Odd(Exception):
        def __str__(self):
            return "odd"

    def calls_python(x):
        return rt.py_function(lambda a: a, [x], rt.float32)

    def raises(x):
        if x > 0.0:
            raise Odd(1)
        return x

    def reads(x):
        for y in rt.data.Dataset.range(3):
            x = x + rt.cast(y, rt.float32)
        return x

    def text(x):
        return f"{x}"

    rt.saved_model.save(rt.function(lambda x: x + 1, input_signature=[rt.TensorSpec([])]), tmp_path)
    for f, what in ((calls_python, "py_function cannot be saved"), (raises, "whose text its own __str__ makes"),
                    (reads, "cannot be saved: it has a"), (text, "is among its arguments and results")):
        function = rt.function(f)
        function.get_concrete_function(rt.constant(0.0))
        with pytest.raises(rt.errors.UnimplementedError, match=what) as info:
            rt.saved_model.save(function, tmp_path)
        assert Path(__file__).name in str(info.value)
    for thing in (5, "x", object(), [1]):
        with pytest.raises(TypeError, match=r"an rt\.Module, an rt\.function or a Keras model"):
            rt.saved_model.save(thing, tmp_path)
    assert float(rt.saved_model.load(tmp_path)(1.0)) == 2.0  # what was there is whole


def test_a_save_that_stops_leaves_the_model_that_was_there(
    net: Net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt.saved_model.save(net, tmp_path)
    before = net(X)
    net.first.w.assign(net.first.w * 0.5)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_text", stop)
    with pytest.raises(KeyboardInterrupt):
        rt.saved_model.save(net, tmp_path)
    equal(rt.saved_model.load(tmp_path)(X), before)
    monkeypatch.undo()
    rt.saved_model.save(net, tmp_path)
    equal(rt.saved_model.load(tmp_path)(X), net(X))
    assert len(list(tmp_path.iterdir())) == 2  # the arrays that are not used any more are gone


def test_another_process_needs_no_source(net: Net, tmp_path: Path) -> None:
    rt.saved_model.save(net, tmp_path / "model")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.asarray(net(X)["y"]))
    script = ("import sys, numpy as np, runtime as rt; model = rt.saved_model.load('model')\n"
              "np.testing.assert_array_equal(model(np.load('x.npy'))['y'], np.load('y.npy'))\n"
              "assert not [name for name in sys.modules if 'models' in name]")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_command(net: Net, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, x, y = str(tmp_path / "model"), str(tmp_path / "x.npy"), str(tmp_path / "y.npz")
    rt.saved_model.save(net, model)
    np.save(x, X)
    assert main(["run", model, "--input", x, "--output", y]) == 0
    np.testing.assert_array_equal(np.load(y)["y"], net(X)["y"])
    assert main(["run", model, "--input", "x=[[1, 2, 3]]"]) == 0
    assert "y: float32[1, 2]\n[[" in capsys.readouterr().out
    for arguments, status, what in (
            ([], 2, "no --input was given for x"), (["--input", "a.npy"], 2, "a.npy: "),
            (["--input", "?"], 2, "nor JSON"),
            (["--input", x, "--input", x], 2, "one input too many"), (["--signature", "s"], 2, "has no signature 's'"),
            (["--input", "[[1, 2]]"], 1, "input 'x' of the signature"),
            (["--input", x, "--output", "y.txt"], 2, "go into an .npz file")):
        assert main(["run", model, *arguments]) == status
        assert what in capsys.readouterr().err
    assert main(["run", str(tmp_path / "nothing")]) == 2
    assert "there is no saved model in" in capsys.readouterr().err


def test_versions_and_damage(net: Net, tmp_path: Path) -> None:
    rt.saved_model.save(net, tmp_path)
    path = tmp_path / "graph.json"
    document = json.loads(path.read_text())
    assert document["version"] == 1 and document["format"] == "runtime.saved_model"
    path.write_text(json.dumps({**document, "version": 2}))
    with pytest.raises(rt.errors.UnimplementedError, match="is of version 2 of its format"):
        rt.saved_model.load(tmp_path)
    (tmp_path / document["arrays"]).unlink()
    path.write_text(json.dumps(document))
    with pytest.raises(rt.errors.DataLossError, match="is damaged"):
        rt.saved_model.load(tmp_path)
    with pytest.raises(rt.errors.NotFoundError, match=r"it has no graph\.json"):
        rt.saved_model.load(tmp_path / "nothing")


def test_functions_of_any_rank(tmp_path: Path) -> None:
    class Doubling(rt.Module):
        @rt.function(input_signature=[rt.TensorSpec(None, rt.float32)])
        def __call__(self, x):
            return x + x

    module = Doubling()
    concrete = rt.function(lambda x: x + x).get_concrete_function(rt.TensorSpec(None, rt.float32))
    for signatures in None, concrete:
        with pytest.raises(rt.errors.FailedPreconditionError, match=r"(?s)any rank\) has no trace.*give the rank: "):
            rt.saved_model.save(module, tmp_path, signatures=signatures)
    for x in rt.constant(1.0), rt.constant([1.0, 2.0]):
        module(x)
    concrete(rt.constant([1.0]))
    rt.saved_model.save(module, tmp_path, signatures=concrete)
    loaded = rt.saved_model.load(tmp_path)
    assert loaded(rt.constant(3.0)) == 6.0
    equal(loaded.signatures["serving_default"](rt.constant([1.0])), {"output_0": rt.constant([2.0])})


def test_options_of_tensorflow_are_taken(net: Net, tmp_path: Path) -> None:
    rt.saved_model.save(net, str(tmp_path), options=rt.saved_model.SaveOptions(experimental_io_device="/job:localhost"))
    loaded = rt.saved_model.load(str(tmp_path), options=rt.saved_model.LoadOptions(allow_partial_checkpoint=True))
    assert sorted(vars(loaded)) == sorted(vars(rt.saved_model.load(str(tmp_path))))
