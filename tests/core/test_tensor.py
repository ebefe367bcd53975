"""Eager tensors, conversion of Python values, and what graph tensors refuse."""
from __future__ import annotations

import copy
import operator
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.trace import add_input, convert_to_tensor, init_scope, tracing
from runtime.errors import (
    DTypeError,
    InaccessibleTensorError,
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    ShapeError,
)
from runtime.ops import math

assert math


def tensor(value: Any, dtype: Any = None) -> EagerTensor:
    result = convert_to_tensor(value, dtype)
    assert isinstance(result, EagerTensor)
    return result


def symbol(shape: t.Shape = (), dtype: t.DType = t.int32, name: str = "x") -> GraphTensor:
    result = add_input(Graph("f"), t.TensorType(dtype, shape), name)
    assert isinstance(result, GraphTensor)
    return result


@pytest.mark.parametrize(("value", "dtype"), [
    (1, t.int32), (1 << 40, t.int64), (1.5, t.float32), (True, t.bool_), (1j, t.complex128), ([], t.float32),
    ([1, 2.5], t.float32), ([[1], [2]], t.int32), (range(3), t.int32), ([True, False], t.bool_),
    ([1 << 40], t.int64), (np.float64(1), t.float64), (np.arange(3), t.int64), ([np.float64(1)], t.float64),
    (np.array(1, ">i4"), t.int32),
])
def test_dtypes_of_python_values(value: Any, dtype: t.DType) -> None:
    assert tensor(value).dtype is dtype
    np.testing.assert_array_equal(tensor(value).numpy(), np.array(value))


def test_conversion_with_dtype() -> None:
    assert tensor(1, t.float64).dtype is t.float64 and tensor([1, 2], "uint8").dtype is t.uint8
    assert tensor(tensor(1)).dtype is t.int32
    assert convert_to_tensor([1, 2], dtype_hint=t.float32).dtype is t.float32
    assert convert_to_tensor(1.5, dtype_hint=t.int32).dtype is t.float32
    rows = convert_to_tensor([np.zeros(2), np.ones(2)])
    assert rows.shape == (2, 2) and rows.dtype is t.float64


@pytest.mark.parametrize(("value", "dtype", "error", "message"), [
    (1.5, t.int32, DTypeError, "1.5 cannot become int32"),
    (300, t.uint8, DTypeError, "300 does not fit uint8, which goes from 0 to 255"),
    (1, t.bool_, DTypeError, "1 cannot become bool"),
    (1 << 70, None, DTypeError, "1180591620717411303424 does not fit int64"),
    ([1 << 70], None, DTypeError, r"\[1180591620717411303424\] does not fit int64"),
    (np.array([1.5]), t.int32, DTypeError, r"\[1.5\] cannot become int32"),
    (np.array([300]), t.uint8, DTypeError, r"\[300\] does not fit uint8, which goes from 0 to 255"),
    (np.array([True]), t.int32, DTypeError, "dtype bool was given where int32 is wanted"),
    ([EagerTensor(np.float64(1))], t.float32, DTypeError, "dtype float64 was given where float32 is wanted"),
    (None, None, ValueError, r"Attempt to convert a value \(None\) with an unsupported type"),
    ([1, None], None, ValueError, r"Attempt to convert a value \(\[1, None\]\) with an unsupported type"),
    (object, None, ValueError, "with an unsupported type"),
    ("text", None, DTypeError, "'text' is text, and a tensor of numbers"),
    ([[1], [1, 2]], None, ShapeError, r"rows have different lengths is no tensor: \[\[1\], \[1, 2\]\]"),
])
def test_conversion_refuses(value: Any, dtype: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as info:
        tensor(value, dtype)
    assert str(info.value).startswith(f"{__file__}:")


def test_arrays_are_not_copied_and_read_only() -> None:
    array = np.arange(4.0)
    x = EagerTensor(array)
    assert np.shares_memory(np.asarray(x), array) and array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1
    assert np.asarray(x) is np.asarray(x)
    mine = x.numpy()
    mine[0] = 5
    mine.sort()
    assert [*x.numpy()] == [*array] == [0, 1, 2, 3], "the value of a tensor does not change"
    copied = np.array(x)
    copied[0] = 7
    assert np.asarray(x, np.float32).dtype == "float32"


def test_attributes() -> None:
    x = tensor([[1, 2], [3, 4]])
    assert x.shape == (2, 2) and x.ndim == 2 and x.dtype is t.int32 and x.get_shape() == x.shape
    x.set_shape([None, 2])
    with pytest.raises(ValueError, match="incompatible"):
        x.set_shape([3, 2])
    assert x.type == t.TensorType(t.int32, (2, 2)) and (+x) is x and isinstance(x, Tensor)


def test_text() -> None:
    assert repr(tensor(3)) == "<rt.Tensor: shape=(), dtype=int32, numpy=3>"
    assert str(tensor(3)) == "rt.Tensor(3, shape=(), dtype=int32)"
    assert repr(tensor([1, 2])) == "<rt.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    assert str(tensor([1, 2])) == "rt.Tensor([1 2], shape=(2,), dtype=int32)"
    assert repr(tensor([[1]])) == "<rt.Tensor: shape=(1, 1), dtype=int32, numpy=\narray([[1]], dtype=int32)>"
    assert f"{tensor(1.5):.2f} {tensor(3)} {tensor([1, 2])}" == "1.50 3 [1 2]"


def test_python_protocols() -> None:
    x = tensor([1, 2, 3])
    assert len(x) == 3 and [int(row) for row in x] == [1, 2, 3] and float(tensor(1.5)) == 1.5
    assert complex(tensor(2)) == 2 and int(tensor([[7]])) == 7 and [10, 20][tensor(1)] == 20
    assert bool(tensor([1]))
    assert not tensor(0) and copy.deepcopy(x) is x
    assert pickle.loads(pickle.dumps(x)).numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(("action", "error", "message"), [
    (lambda x: bool(x), ValueError, "The truth value of an array with more than one element is ambiguous"),
    (lambda x: int(x), TypeError, "only a tensor with one element converts to int"),
    (lambda x: [1, 2][x], TypeError, "only integer scalar tensors can be converted to an index"),
    (lambda x: {x: 1}, TypeError, r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key."),
])
def test_protocols_refuse(action: Callable[[Tensor], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as info:
        action(tensor([1, 2]))
    assert f"{__file__}:" in str(info.value)  # since Python 3.14, first what cannot be a key of the dict
    with pytest.raises(TypeError, match="Scalar tensor has no"):
        len(tensor(1))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        iter(tensor(1))


# What asks for the iterator is the statement; from Python 3.13 on, its iterable.
@pytest.mark.parametrize(("convert", "col"), [
    (lambda fn: fn, 19 if sys.version_info >= (3, 13) else 8), (rt.function, 8)])
def test_a_loop_over_a_scalar_says_where(convert: Callable[[Any], Any], col: int) -> None:
    def rows(x):
        for row in x:
            pass

    line = rows.__code__.co_firstlineno + 1
    with pytest.raises(rt.errors.NotIterableError) as info:
        convert(rows)(tensor(1))
    margin = f"    {line} | "
    assert str(info.value) == (
        f"{__file__}:{line}: Cannot iterate over a scalar tensor\n{margin}        for row in x:\n"
        f"{' ' * (len(margin) + col)}^\nLoop over a tensor with rows, or over rt.range(n).")


def test_ref() -> None:
    x = tensor(1)
    assert x.ref().deref() is x and x.ref() == x.ref() and x.ref() != tensor(1).ref()
    assert {x.ref(): 1}[x.ref()] == 1


def test_operators_and_adaptation() -> None:
    x = tensor([1.0, 2.0])
    assert (x + 1).dtype is t.float32 and (1 - x).numpy().tolist() == [0.0, -1.0]
    assert (tensor(1, "int8") + 2).dtype is t.int8 and (tensor(1, "float16") * 0.5).dtype is t.float16
    assert (x * [1, 2]).numpy().tolist() == [1.0, 4.0] and ([1, 2] - x).dtype is t.float32
    assert (np.ones(2, np.float32) + x).dtype is t.float32 and isinstance(np.float32(2) * x, EagerTensor)
    assert isinstance(x * np.float32(2), EagerTensor) and math.add(1, 2.5).dtype == t.float32
    assert isinstance(np.ones(2, np.float32) > x, EagerTensor)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "text") is False and (x < 3).dtype is t.bool_
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None


class _Reflects:
    def __radd__(self, other: object) -> str:
        return "reflected"


def test_foreign_operand_has_its_say() -> None:
    assert tensor(1) + _Reflects() == "reflected"


def test_objects_that_become_tensors() -> None:
    class Box:
        def __tensor__(self) -> Tensor:
            return tensor(5)

    assert int(tensor(1) + Box()) == 6 and int(convert_to_tensor(Box())) == 5


def test_operand_errors_have_the_common_form() -> None:
    with pytest.raises(DTypeError) as info:
        tensor([1]) & 1.5
    where, line, caret, remedy = str(info.value).split("\n")
    assert where.startswith(f"{__file__}:")
    assert where.endswith(": the operands of bitwise_and have different dtypes: int32 and a Python float")
    assert line.endswith("tensor([1]) & 1.5") and caret.strip() == "^"
    assert remedy == "Cast the tensor, for example rt.cast(x, rt.float32)."
    with pytest.raises(InvalidArgumentError, match=r"the operands of add do not broadcast: \[2\] and \[3\]"):
        tensor([1, 2]) + tensor([1, 2, 3])
    with pytest.raises(DTypeError, match="300 does not fit int8, which goes from -128 to 127"):
        tensor(1, "int8") + 300
    with pytest.raises(DTypeError, match="less does not take complex128"):
        assert tensor(1j) < tensor(2j)


def test_graph_tensor_text() -> None:
    x = symbol((None, 3))
    assert repr(x) == str(x) == f"{x}" == "<rt.Tensor 'x' shape=(None, 3) dtype=int32>"


def rows(x: GraphTensor) -> Any:
    """A vector of unknown length, of the same graph."""
    return add_input(x.graph, t.TensorType(t.int32, (None,)))


@pytest.mark.parametrize(("action", "message"), [
    (lambda x: bool(x), "a tensor cannot be used as a Python bool here"),
    (lambda x: int(x), "a tensor cannot become a Python int here"),
    (lambda x: float(x), "a tensor cannot become a Python float here"),
    (lambda x: complex(x), "a tensor cannot become a Python complex here"),
    (lambda x: [1, 2][x], "a tensor cannot be a Python index here"),
    (lambda x: [1, 2][:x], "a tensor cannot be a Python index here"),
    (lambda x: operator.setitem([1, 2], x, 3), "a tensor cannot be used as a Python int here"),
    (lambda x: b"abc" * x, "a tensor cannot be used as a Python int here"),
    (lambda x: np.asarray(x), "a tensor cannot become a NumPy array here"),
    (lambda x: {x: 1}, "a tensor cannot be a key of a dict or an item of a set here"),
    (lambda x: {3, x}, "a tensor cannot be a key of a dict or an item of a set here"),
    (lambda x: len(rows(x)), "the length of a tensor is not known here"),
    (lambda x: iter(rows(x)), "a tensor of unknown length cannot be iterated over here"),
    (lambda x: [a + b for a, b in [rows(x)]], "a tensor of unknown length cannot be unpacked here"),
])
def test_graph_tensor_has_no_value(action: Callable[[Tensor], Any], message: str) -> None:
    x = symbol()
    with tracing(x.graph), pytest.raises(TypeError, match=message) as info:
        action(x)
    assert str(info.value).startswith(f"{__file__}:")
    assert isinstance(info.value, OperatorNotAllowedInGraphError)


def test_graph_tensor_full_message() -> None:
    x = symbol()
    with tracing(x.graph), pytest.raises(OperatorNotAllowedInGraphError) as info:
        if x:
            pass
    line = info.traceback[0].lineno + 1
    what = f"{__file__}:{line}: a tensor cannot be used as a Python bool here: "
    assert str(info.value).split("\n")[0] == (
        what + "<rt.Tensor 'x' shape=() dtype=int32> has no value while its function is traced")
    assert str(info.value).split("\n")[-1] == (
        "Decorate the function with @rt.function or autograph.convert. In a converted function this statement "
        "stays Python (autograph.explain says why): use rt.cond or rt.where.")


def test_an_unpacked_row_full_message() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None, None], rt.int32)])
    def total(edges: Any) -> Any:
        result = 0
        for i, (a, *b) in enumerate(edges):
            result += a * i
        return result

    with pytest.raises(OperatorNotAllowedInGraphError) as info:
        total(rt.constant([[1, 2]]))
    first, *_, remedy = str(info.value).split("\n")
    assert first.endswith(": a tensor of unknown length cannot be unpacked here: <rt.Tensor 'getitem' shape=(None,) "
                          "dtype=int32> has no value while its function is traced")
    assert remedy == (
        "Take its items one by one: a, b = x[0], x[1]. Or let a TensorSpec say how many there are.")


def test_a_graph_tensor_as_a_key_full_message() -> None:
    x, counts = symbol(), {1: 0}
    with tracing(x.graph), pytest.raises(OperatorNotAllowedInGraphError) as info:
        counts[x] += 1  # type: ignore[index]
    first, *_, remedy = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{info.traceback[0].lineno + 1}: a tensor cannot be a key of a dict or an item of a set here: "
        "<rt.Tensor 'x' shape=() dtype=int32> has no value while its function is traced")
    assert remedy == (
        "In a traced function d[x], d[x] = v, del d[x] and the methods of d take a scalar x, or a tuple or frozen"
        " dataclass of scalars (but no object with a `__hash__` of its own), where d is a dict and converted code"
        " does it. If the tensor itself is the key, not its value, use x.ref().")
    assert x.ref() in {x.ref(): 1}


def test_items_of_a_tensor_do_not_change_in_place() -> None:
    x = tensor([[1, 2], [3, 4]])
    with pytest.raises(TypeError) as info:
        x[0][1] = 5
    first, *_, remedy = str(info.value).split("\n")
    line = info.traceback[0].lineno + 1
    assert first == f"{__file__}:{line}: the items of a tensor cannot be set here: it does not change in place"
    assert remedy == (
        "In a traced function set an item of what a variable of the same function, an attribute or an element has, "
        "with all indices: x[i, j] = value.")
    with pytest.raises(TypeError, match=r"cannot be deleted here: it does not change in place\n(.*\n)+Keep the others: "
                                        r"rt\.concat, or rt\.boolean_mask\."):
        del x[0]


def test_graph_tensor_has_no_numpy() -> None:
    assert not hasattr(symbol(), "numpy") and len(symbol((3,))) == 3
    with pytest.raises(AttributeError) as info:
        symbol().numpy()
    first, *_, remedy = str(info.value).split("\n")
    assert first == (f"{__file__}:{info.traceback[0].lineno + 1}: a graph tensor has no numpy(): it has no value while "
                     "its function is traced")
    assert remedy == (
        "Return it from the function, keep it in an rt.Variable, or look at it with rt.print or rt.py_function.")


def test_set_shape_refines_a_graph_tensor() -> None:
    x = symbol((None, 3))
    with tracing(x.graph):
        x.set_shape([2, None])
    assert x.shape == (2, 3)


def test_init_scope_computes_at_once() -> None:
    with tracing(Graph("f")):
        assert isinstance(convert_to_tensor(1), GraphTensor)
        with init_scope():
            assert isinstance(convert_to_tensor(1), EagerTensor)
        assert isinstance(convert_to_tensor(1), GraphTensor)


def test_leaked_tensor_names_its_origin() -> None:
    graph = Graph("outer")
    with tracing(graph):
        x = add_input(graph, t.TensorType(t.int32), "x")
        leaked = x + 1
    with pytest.raises(InaccessibleTensorError) as info:
        leaked + 1
    text = str(info.value)
    assert f"the tensor (int32[]) belongs to graph 'outer' (made at {__file__}:" in text
    assert "is used outside of it" in text
    with tracing(Graph("other")), pytest.raises(InaccessibleTensorError, match="is used in graph 'other'"):
        leaked + 1
    with pytest.raises(InaccessibleTensorError, match=r"the tensor 'x' .* \(an input of it\)"):
        convert_to_tensor(x) + 1
