"""Graphs as TF 2 shows them: operations by name, and where values are."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import runtime as rt

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def graph():
    v = rt.Variable(1.0, name="bias")

    @rt.function
    def f(x, n):
        with rt.name_scope("body"):
            y = rt.multiply(x, 2.0, name="twice")
        for _ in rt.range(n):
            y += x * y
        a, b = rt.split(y, 2)
        return a + b + v

    return f.get_concrete_function(rt.TensorSpec([4]), rt.TensorSpec([], rt.int32)).graph


def test_operations_have_unique_names(graph) -> None:
    operations = graph.get_operations()
    names = [operation.name for operation in operations]
    assert len({*names}) == len(names) and {"x", "n", "body/twice", "add", "add_1", "bias"} <= {*names}
    assert [operation.type for operation in operations[:2]] == ["Placeholder", "Placeholder"]
    for operation in operations:
        assert graph.get_operation_by_name(operation.name) == operation and operation.graph is graph
        assert operation.device == "" and operation.control_inputs == [] and operation.name in repr(operation)
        for i, tensor in enumerate(operation.values()):
            assert tensor.op == operation and hash(tensor.op) == hash(operation)
            assert graph.get_tensor_by_name(f"{operation.name}:{i}").value is tensor.value
    twice = graph.get_operation_by_name("body/twice")
    assert [tensor.op.name for tensor in twice.inputs] == ["x", "body/const"] and twice.node.op.name == "multiply"
    assert twice.inputs[1].op.get_attr("value") == 2.0
    assert graph.get_operation_by_name("x").inputs == () and graph.get_operation_by_name("x").node is None
    with pytest.raises(ValueError, match="'body/twice' has no attr named 'T'"):
        twice.get_attr("T")


def test_names_that_are_not_there(graph) -> None:
    with pytest.raises(KeyError, match=r"test_graph_views.py:\d+: The name 'nope' refers to an Operation not in the"):
        graph.get_operation_by_name("nope")
    with pytest.raises(KeyError, match="'x:1' refers to a Tensor which does not exist: the operation has 1 outputs"):
        graph.get_tensor_by_name("x:1")
    with pytest.raises(ValueError, match="of the form <op_name>:<output_index>"):
        graph.get_tensor_by_name("x")


def test_the_description_of_a_graph(graph) -> None:
    found = graph.as_graph_def()
    nodes = {node.name: node for node in found.node}
    assert [*nodes] == [operation.name for operation in graph.get_operations()]
    assert nodes["body/twice"].op == "multiply" and nodes["body/twice"].input == ["x", "body/const"]
    assert nodes["body/const"].attr == {"value": "2.0"}
    (split,) = [node for node in found.node if node.op == "split"]
    assert nodes["add"].input == [split.name, f"{split.name}:1"]
    assert [*found.library] == ["reduce/body"] and "multiply" in [node.op for node in found.library["reduce/body"].node]
    assert 'name: "body/twice"' in str(found) and 'function "reduce/body"' in str(found)
    assert isinstance(graph.get_operations()[0], rt.Operation)


def test_operations_while_the_graph_is_traced() -> None:
    seen = []

    @rt.function
    def f(x):
        seen.append((x.op.type, x.op.name))
        y = x + 1
        seen.append((y.op.type, y.op.name))
        z = y + 1
        seen.append((y.op.name, z.op.name, [t.op.name for t in z.op.inputs]))
        return z

    f(rt.constant(1))
    assert seen == [("Placeholder", "x"), ("add", "add"), ("add", "add_1", ["add", "const_1"])]


def test_names_do_not_keep_graphs() -> None:
    f = rt.function(lambda x: x + 1)
    graph = f.get_concrete_function(rt.TensorSpec([])).graph
    assert graph.get_operations()[0].name == "x"
    gone = weakref.ref(graph)
    del f, graph
    gc.collect()
    assert gone() is None


def test_devices() -> None:
    assert rt.constant(1).device == rt.Variable([1.0]).device == CPU
    seen = []
    rt.function(lambda x: seen.append((x.device, (x + 1).device)))(rt.constant(1))
    assert seen == [("", "")]
    rt.function(lambda: seen.append(np.zeros(3).device))()
    assert seen[1] == "cpu"
