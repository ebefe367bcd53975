"""rt.Variable, rt.Module, rt.name_scope."""
from __future__ import annotations

import copy
import gc
import pickle
import re
import weakref
from pathlib import Path

import numpy as np
import pytest

import autograph as ag
import runtime as rt

HERE = re.escape(__file__)


def test_making_one():
    v = rt.Variable([1, 2, 3], name="v")
    assert v.shape == [3] and v.dtype is rt.int32 and v.name == "v:0" and v.trainable and v.ndim == 1
    assert repr(v) == "<rt.Variable 'v:0' shape=(3,) dtype=int32, numpy=array([1, 2, 3], dtype=int32)>"
    assert repr(rt.Variable(2.5, trainable=False)) == "<rt.Variable 'Variable:0' shape=() dtype=float32, numpy=2.5>"
    assert rt.Variable(3, dtype=rt.float64).dtype is rt.float64
    assert rt.Variable(lambda: rt.ones([2])).numpy().tolist() == [1.0, 1.0]
    assert rt.Variable(rt.Variable(5)).numpy() == 5
    with pytest.raises(ValueError, match="a Variable needs an initial value"):
        rt.Variable()


def test_it_does_not_share_the_array_it_is_made_of():
    mine = np.zeros(2, np.float32)
    v = rt.Variable(mine)
    mine[0] = 1
    v.assign(mine)
    mine[1] = 1
    assert v.numpy().tolist() == [1.0, 0.0]
    v.numpy()[0] = 3
    assert v.numpy().tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(v)[0] = 3


def test_assigning():
    v = rt.Variable(1.0)
    assert v.assign(2.0) is v
    assert v.assign_add(3.0) == 5.0 and v.assign_sub(1) == 4.0
    before = v.read_value()
    v.assign(9)
    assert before == 4.0 and v.value() == 9.0
    w = v
    w += 1
    assert isinstance(w, rt.Tensor) and w == 10.0 and v == 9.0


def test_assigning_what_does_not_fit():
    v = rt.Variable([1, 2], name="v")
    with pytest.raises(TypeError) as info:
        v.assign([1.5, 2.5])
    assert re.fullmatch(
        rf"{HERE}:\d+: cannot assign \[1\.5, 2\.5\] to variable 'v:0', which is int32\[2\]\n"
        r" +\d+ \|         v\.assign\(\[1\.5, 2\.5\]\)\n +\^\n"
        r"Give a value that fits, or cast it: rt\.cast\(x, rt\.int32\)\.", str(info.value))
    with pytest.raises(ValueError) as info:
        v.assign([1, 2, 3])
    assert re.fullmatch(
        rf"{HERE}:\d+: Cannot assign value to variable 'v:0': Shape mismatch\. The variable shape \[2\], and the "
        r"assigned value shape \[3\] are incompatible\n.*\n +\^\n"
        "Give the value that shape, or make the variable with shape= where None is a dimension that may change.",
        str(info.value))
    with pytest.raises(TypeError, match=r"cannot assign float32\[2\] to variable 'v:0', which is int32\[2\]"):
        v.assign(rt.ones([2]))
    with pytest.raises(ValueError):
        v.assign_add([1, 2, 3])
    with pytest.raises(TypeError, match="cannot add to variable 'Variable:0', which is bool"):
        rt.Variable(True).assign_add(True)
    assert v.numpy().tolist() == [1, 2]


def test_shapes_that_change():
    v = rt.Variable([1.0], shape=[None])
    assert v.shape == [None]
    v.assign([1.0, 2.0])

    @rt.function
    def f(x):
        v.assign(x)
        return v + v

    assert f(rt.ones([3])).shape == [3] and v.numpy().shape == (3,)
    w = rt.Variable([[1.0]], validate_shape=False)
    assert w.shape == [None, None]
    assert rt.Variable(1.0, shape=rt.TensorShape(None)).shape == []
    with pytest.raises(ValueError, match="the initial value of variable 'Variable:0' has shape"):
        rt.Variable([1.0], shape=[2])


def test_it_is_used_as_a_tensor():
    v = rt.Variable([3.0, 4.0])
    assert (v + 1).numpy().tolist() == [4.0, 5.0] and (1 - v).numpy().tolist() == [-2.0, -3.0]
    assert (v * v / 2 // 1 % 3 ** v).shape == [2] and (-v)[0] == -3.0 and abs(-v)[1] == 4.0
    assert rt.reduce_sum(v) == 7.0 and rt.stack([v, v]).shape == [2, 2]
    assert np.sum(v) == 7.0 and len(v) == 2 and [float(x) for x in v] == [3.0, 4.0]
    assert (v == [3.0, 5.0]).numpy().tolist() == [True, False] and (v != v).numpy().tolist() == [False, False]
    assert (v > 3).numpy().tolist() == [False, True] and (v == None) is False  # noqa: E711
    n = rt.Variable(3)
    assert int(n) == 3 and float(n) == 3.0 and bool(n) and list(range(n)) == [0, 1, 2]
    assert rt.is_tensor(n) and rt.convert_to_tensor(n) == 3
    assert (rt.Variable(True) & False) == False and ~rt.Variable(True) == False  # noqa: E712
    with pytest.raises(TypeError, match="Variable is unhashable. Instead, use variable.ref\\(\\) as the key."):
        hash(n)
    assert {n.ref(): 1}[n.ref()] == 1 and n.ref().deref() is n


def test_parts():
    v = rt.Variable([[1, 2], [3, 4]])
    assert v[0, 1] == 2
    v[0].assign([8, 9])
    v[:, 1].assign_add([1, 1])
    v[1, 0].assign_sub(1)
    assert v.numpy().tolist() == [[8, 10], [2, 5]]

    @rt.function
    def f(i):
        v[i].assign(v[i] * 2)
        return v[i, 0]

    assert f(rt.constant(1)) == 4
    assert v.numpy().tolist() == [[8, 10], [4, 10]]


def test_scatter():
    v = rt.Variable([1, 2, 3, 4])
    slices = rt.IndexedSlices(values=[10, 20], indices=[0, 2])
    assert v.scatter_update(slices).numpy().tolist() == [10, 2, 20, 4]
    assert v.scatter_add(slices).numpy().tolist() == [20, 2, 40, 4]
    assert v.scatter_sub(slices).numpy().tolist() == [10, 2, 20, 4]
    assert v.scatter_max(rt.IndexedSlices([15, 15], [0, 2])).numpy().tolist() == [15, 2, 20, 4]
    assert v.scatter_min(rt.IndexedSlices([1, 1], [0, 1])).numpy().tolist() == [1, 1, 20, 4]
    assert v.scatter_nd_update([[3], [1]], [7, 8]).numpy().tolist() == [1, 8, 20, 7]
    assert v.scatter_nd_add([[0], [0]], [1, 1]).numpy().tolist() == [3, 8, 20, 7]
    assert v.scatter_nd_sub([[0]], [3]).numpy().tolist() == [0, 8, 20, 7]
    with pytest.raises(TypeError, match=r"sparse_delta is not an rt.IndexedSlices"):
        v.scatter_add([1])
    with pytest.raises(IndexError):
        v.scatter_update(rt.IndexedSlices([1], [9]))


@pytest.mark.parametrize("trace", [lambda fn: fn, rt.function], ids=["eager", "traced"])
def test_updates_in_each_row_of_a_batch(trace):
    v = rt.Variable(rt.zeros([2, 3], rt.int32))

    @trace
    def change(indices, updates):
        return v.batch_scatter_update(rt.IndexedSlices(updates, indices)) + 0

    found = change(rt.constant([[0, 1], [2, 0]]), rt.constant([[1, 2], [3, 4]]))
    assert found.numpy().tolist() == [[1, 2, 0], [4, 0, 3]]
    assert change(rt.constant([1]), rt.constant([[7, 8, 9]])).numpy().tolist() == [[1, 2, 0], [7, 8, 9]]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1"):
        change(rt.constant([[0], [3]]), rt.constant([[1], [2]]))


def test_reads_and_writes_run_in_program_order():
    v = rt.Variable(1)

    @rt.function
    def f(n):
        seen = [v.read_value()]
        v.assign_add(n)
        seen.append(v + 0)
        for i in range(n):
            if i % 2 == 0:
                v.assign(v * 2)
        seen.append(v.value())
        return seen

    assert [int(x) for x in f(rt.constant(3))] == [1, 4, 16]
    assert [int(x) for x in f(rt.constant(3))] == [16, 19, 76]
    assert f.experimental_get_tracing_count() == 1


def test_control_flow_on_a_variable_stages():
    v = rt.Variable(10)

    @rt.function
    def f():
        steps = 0
        while v > 3:
            v.assign_sub(2)
            steps += 1
        if v:
            return steps, v
        return -steps, v

    steps, value = f()
    assert steps == 4 and value == 2 and isinstance(value, rt.Tensor)
    v.assign(11)
    assert f()[0] == 4


def test_a_variable_has_no_value_while_a_function_is_traced():
    v = rt.Variable(1, name="v")
    debugged = ag.do_not_convert(lambda: repr(v))

    @rt.function
    def f():
        assert debugged() == "<rt.Variable 'v:0' shape=() dtype=int32>"
        return v.numpy()

    with pytest.raises(rt.errors.FailedPreconditionError,
                       match="variable 'v:0' has no value while a function is traced"):
        f()


def test_variables_made_on_the_first_call():
    class Dense(rt.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @rt.function
        def __call__(self, x):
            if self.w is None:
                self.w = rt.Variable(rt.ones([x.shape[-1], 2]) * 3, name="w")
                self.b = rt.Variable(lambda: rt.zeros([2]), name="b")
                self.first = rt.Variable(x, name="first")
            return rt.matmul(x, self.w) + self.b

    layer = Dense()
    assert layer(rt.ones([1, 2])).numpy().tolist() == [[6.0, 6.0]]
    assert layer.first.numpy().tolist() == [[1.0, 1.0]]
    layer.b.assign([1.0, 2.0])
    assert layer(rt.ones([1, 2])).numpy().tolist() == [[7.0, 8.0]]
    assert [v.name for v in layer.variables] == ["b:0", "first:0", "w:0"]
    ops = [node.op.name for node in layer.__call__.concrete_functions[0].graph.nodes]
    assert ops == ["read_variable", "matmul", "read_variable", "add"]


def test_variables_made_on_each_call_are_an_error():
    @rt.function
    def f(x):
        v = rt.Variable(1.0)
        return v + x

    for _ in range(2):
        with pytest.raises(ValueError) as info:
            f(rt.constant(1.0))
        assert re.fullmatch(
            rf"{HERE}:\d+: rt\.function only supports singleton rt\.Variables created on the first call\. Make sure "
            r"the rt\.Variable is only created once or created outside rt\.function\.\n"
            r" +\d+ \|         v = rt\.Variable\(1\.0\)\n +\^", str(info.value))


class Lazy(rt.Module):
    v = None

    @rt.function
    def by_branch(self, x):
        if x > 0:
            if self.v is None:
                self.v = rt.Variable(1.0)
            x = x * self.v
        return x

    @rt.function
    def by_loop(self, x):
        for _ in rt.range(3):
            if self.v is None:
                self.v = rt.Variable(1.0)
            x = x * self.v
        return x


@pytest.mark.parametrize(("kind", "line", "call"), [
    ("if", "        if x > 0:", Lazy.by_branch), ("for", "        for _ in rt.range(3):", Lazy.by_loop)])
def test_a_variable_made_in_a_staged_body_is_an_error_that_names_the_statement(kind, line, call):
    lines = Path(__file__).read_text().split("\n")
    number = lines.index(line, lines.index("class Lazy(rt.Module):")) + 1
    with pytest.raises(ValueError) as info:
        call(Lazy(), rt.constant(2.0))
    text = str(info.value)
    assert f"This one is made in the body of the `{kind}` at line {number}, which a tensor decides" in text
    assert text.endswith(f"Make it before the `{kind}`, for example in `__init__`.")


def test_variables_made_on_a_later_call_are_an_error():
    made = []

    @rt.function
    def f(x):
        if x.dtype == rt.float32:
            made.append(rt.Variable(x))
        return x

    f(rt.constant(1))
    with pytest.raises(ValueError, match="only supports singleton"):
        f(rt.constant(1.0))
    with rt.init_scope():
        assert rt.Variable(1) == 1


def test_an_initial_value_that_is_not_known_yet():
    @rt.function
    def f(x):
        rt.Variable(x)
        return x

    with pytest.raises(rt.errors.FailedPreconditionError) as info:
        f.get_concrete_function(rt.TensorSpec([], rt.float32))
    assert "a Variable needs its initial value now, but the value depends on 'x', which is not known" in str(info.value)
    assert "Make the variable outside the function, or give a function without arguments" in str(info.value)


def test_it_goes_when_it_is_dropped():
    v = rt.Variable(1)
    f = rt.function(lambda v: v + 1)
    f(v)
    gone = weakref.ref(v)
    del v, f
    gc.collect()
    assert gone() is None


def test_copies():
    v = rt.Variable([1, 2], name="v", trainable=False, shape=[None])
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        other.assign([3])
        assert v.numpy().tolist() == [1, 2] and other.name == "v:0" and not other.trainable


def test_name_scope():
    with rt.name_scope("layer") as scope:
        assert scope == "layer/"
        with rt.name_scope("inner"):
            assert rt.Variable(1, name="w").name == "layer/inner/w:0"
        assert rt.Variable(1).name == "layer/Variable:0"
    assert rt.Variable(1, name="w").name == "w:0"


def test_module():
    class Block(rt.Module):
        def __init__(self):
            super().__init__()
            self.w = rt.Variable(1.0)
            self.n = rt.Variable(0, trainable=False)

    class MyNet(rt.Module):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(), Block()]
            self.again = self.blocks[0]
            self.named = {"head": Block(), "v": rt.Variable(2.0)}

        @rt.Module.with_name_scope
        def make(self):
            return rt.Variable(1, name="w").name

    net = MyNet()
    assert net.name == "my_net" and net.make() == "my_net/w:0"
    assert len(net.variables) == 7 and len(net.trainable_variables) == 4 and len(net.non_trainable_variables) == 3
    assert len(net.submodules) == 3 and net.submodules[0] is net.again


def test_strings():
    v = rt.Variable(["abc", "d"])
    assert v.dtype is rt.string and v.shape == (2,)

    @rt.function
    def extend(x):
        v.assign(v + x)
        return v.read_value()

    assert extend(rt.constant("é")).numpy().tolist() == [b"abc\xc3\xa9", b"d\xc3\xa9"] == v.numpy().tolist()
    v.assign(["", "x"])
    assert v.numpy().tolist() == [b"", b"x"] == copy.deepcopy(v).numpy().tolist()
    assert "dtype=string, numpy=b'abc'>" in repr(rt.Variable("abc"))
    with pytest.raises(TypeError, match=r"(?s)cannot assign 3 to variable .* is string\[2\]\n.*rt.as_string\(x\)"):
        v.assign(3)
    with pytest.raises(TypeError, match="cannot assign 'x' to variable"):
        rt.Variable(3).assign("x")


def test_methods_of_arrays() -> None:
    """A variable has the methods of NumPy's arrays, of its current value, eagerly and in graphs."""
    x = np.arange(6.0).reshape(2, 3)
    v = rt.Variable(x)
    for name, args in (("sum", (0,)), ("mean", ()), ("reshape", (3, 2)), ("astype", ("float32",)), ("clip", (1, 3)),
                       ("dot", (np.ones(3),)), ("argmax", (1,)), ("cumsum", (0,)), ("transpose", ()), ("copy", ())):
        def call(v, name=name, args=args):
            return getattr(v, name)(*args)

        want = getattr(x, name)(*args)
        for got in (call(v), rt.function(call)(v), rt.function(lambda call=call: call(v))()):
            np.testing.assert_allclose(got, want)
    assert v.T.shape == (3, 2) and v.size == 6 and v.tolist() == x.tolist() and v[0].sum().numpy() == 3.0
    assert rt.Variable(2.0).item() == 2.0
    before = v.copy()
    v.assign_add(v)
    np.testing.assert_array_equal(before, x)


def test_numpys_functions_read_it() -> None:
    x = np.arange(6.0).reshape(2, 3)
    v, narrow = rt.Variable(x), rt.Variable(x.astype(np.float32))
    for got, want in ((np.sqrt(v), np.sqrt(x)), (np.sum(v, axis=0), x.sum(0)), (x + v, x + x), (v - x, x - x),
                      (np.concatenate([v, x]), np.concatenate([x, x])), (np.float64(2) * v, 2 * x)):
        assert isinstance(got, rt.Tensor)
        np.testing.assert_allclose(got, want)
    assert (x + narrow).dtype is rt.float32 and (narrow * x).dtype is rt.float32
    array = np.zeros((2, 3))
    array += v
    np.testing.assert_array_equal(array, x)
    f = rt.function(lambda: np.sqrt(v).sum() + (x * v).mean())
    np.testing.assert_allclose(f(), np.sqrt(x).sum() + (x * x).mean())
    with rt.GradientTape() as tape:
        y = (np.sqrt(v + 1.0) * v.sum()).mean()
    assert tape.gradient(y, v).shape == (2, 3)


@pytest.mark.parametrize("trace", [lambda fn: fn, rt.function], ids=["eager", "traced"])
def test_products_of_rows(trace):
    v, n = rt.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), rt.Variable([7, -7, 9])

    @trace
    def change():
        v.scatter_mul(rt.IndexedSlices(rt.constant([[2.0, 3.0], [4.0, 5.0], [0.5, 1.0]]), rt.constant([2, 2, 0])))
        v.scatter_div(rt.IndexedSlices(rt.constant([[2.0, 2.0]]), rt.constant([1])))
        n.scatter_div(rt.IndexedSlices(rt.constant([2, 2]), rt.constant([0, 1])))
        return v.gather_nd([[2, 0], [1, 1]]), v.gather_nd([0])

    items, row = change()
    assert v.numpy().tolist() == [[0.5, 2.0], [1.5, 2.0], [40.0, 90.0]] and n.numpy().tolist() == [3, -3, 9]
    assert items.numpy().tolist() == [40.0, 2.0] and row.numpy().tolist() == [0.5, 2.0]
    with pytest.raises(IndexError, match="out of bounds"):
        n.scatter_mul(rt.IndexedSlices(rt.constant([2]), rt.constant([3])))


def test_a_scope_of_a_module_has_its_prefix_as_name() -> None:
    scope = rt.Module(name="m").name_scope
    with scope:
        assert scope.name == "m/" and rt.Variable(1.0, name="v").name == "m/v:0"


def test_a_variable_keeps_its_rank() -> None:
    v = rt.Variable(rt.zeros([2, 2]), shape=rt.TensorShape(None))
    v.assign(rt.ones([3, 1]))
    with pytest.raises(rt.errors.ShapeError, match=r"(?s)keeps the rank of its initial value.*for each rank"):
        v.assign(rt.ones([3]))


def test_order_of_a_modules_variables() -> None:
    """As in TF: those of a module, by the names of its attributes and the keys of dicts, then those of its modules."""
    class Part(rt.Module):
        def __init__(self, name, *parts):
            super().__init__(name=name)
            self.w = rt.Variable(0.0, name=f"{name}_w")
            self.bias = rt.Variable(0.0, name=f"{name}_b", trainable=False)
            self.parts = parts

    class Whole(rt.Module):
        def __init__(self) -> None:
            super().__init__()
            self.z = rt.Variable(0.0, name="z")
            self.layers = [Part("first", Part("inner")), Part("second")]
            self.by_key = {3: rt.Variable(0.0, name="three"), 1: rt.Variable(0.0, name="one")}
            self.again = self.layers[1]
            self.layers[1].owner = self

    whole = Whole()
    assert [v.name for v in whole.variables] == [f"{name}:0" for name in (
        "one", "three", "z", "second_b", "second_w", "first_b", "first_w", "inner_b", "inner_w")]
    assert [m.name for m in whole.submodules] == ["second", "first", "inner"]
    assert [v.name for v in whole.non_trainable_variables] == ["second_b:0", "first_b:0", "inner_b:0"]
