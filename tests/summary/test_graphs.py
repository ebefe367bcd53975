"""Graphs for TensorBoard: the nodes of their messages, by a reader that is written here."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import runtime as rt
from tests.summary.test_summary import fields, records

summary = rt.summary
Nodes = dict[str, tuple[str, list[str], dict[str, bytes]]]


def nodes(folder: Path) -> list[Nodes]:
    """By name, the op, inputs and attributes of the nodes of each graph in the only file of the folder."""
    (path,) = folder.iterdir()
    return [dict(node(data) for number, data in fields(event[4]) if number == 1) for event in records(path)
            if 4 in event]


def node(data: bytes) -> tuple[str, tuple[str, list[str], dict[str, bytes]]]:
    parts = fields(data)
    first = dict(parts)
    attributes = [dict(fields(x)) for number, x in parts if number == 5]
    return first[1].decode(), (first[2].decode(), [x.decode() for number, x in parts if number == 3],
                               {x[1].decode(): x[2] for x in attributes})


def line(attributes: dict[str, bytes]) -> str:
    return dict(fields(attributes["source"]))[2].decode().rpartition("/")[2]


def test_a_graph_with_scopes_loops_and_captures(tmp_path: Path) -> None:
    w = rt.constant([[1.0, 2.0], [3.0, 4.0]])

    @rt.function
    def f(x: Any, n: Any) -> Any:
        with rt.name_scope("layer"):
            while n > 0:
                x = rt.tanh(x @ (w + x[0, 0]))
                n -= 1
        return x, rt.unstack(x)

    f(rt.ones([2, 2]), rt.constant(3))
    with summary.create_file_writer(tmp_path).as_default():
        assert summary.graph(f) and summary.graph(f.get_concrete_function(rt.ones([2, 2]), rt.constant(3)).graph)
    first, second = nodes(tmp_path)
    assert first == second
    assert first["x"][0] == "Placeholder" and first["x"][1] == []
    op, inputs, attributes = first["layer/while_loop"]
    assert op == "while_loop" and line(attributes).startswith("test_graphs.py:")
    assert {"x", "n", "layer/while_loop/body/tanh"} <= set(inputs)
    op, inputs, attributes = first["layer/while_loop/body/matmul"]
    assert op == "matmul" and inputs == ["layer/while_loop/body/x", "layer/while_loop/body/add"]
    assert attributes["dtype"] == b"\x30\x01"  # float32
    (shape,) = [dict(fields(x))[7] for x in [attributes["_output_shapes"][2:]]]
    assert [dict(fields(size))[1] for _, size in fields(shape)] == [2, 2]
    taken = [name for _, inputs, _ in first.values() for name in inputs]
    assert {name.partition(":")[0] for name in taken} <= set(first)  # no edge without a node
    assert any(name.endswith(":1") for name in taken) or "layer/while_loop" in taken


def test_the_functions_that_are_called(tmp_path: Path) -> None:
    inner = rt.function(lambda x: x * 2.0, name="twice")
    outer = rt.function(lambda x: rt.sin(x), name="wave")
    never = rt.function(lambda x: x, name="never")
    never(rt.constant(1.0))
    summary.trace_on()
    for _ in range(2):
        assert float(outer(inner(rt.constant(1.0)))) == pytest.approx(0.9092974)
    with summary.create_file_writer(tmp_path).as_default(step=0):
        summary.trace_export("calls")
    (found,) = nodes(tmp_path)
    assert {name.partition("/")[0] for name in found} == {"twice", "wave"}
    assert found["wave/sin"][1] == ["wave/x"] and found["twice/multiply"][0] == "multiply"
    with pytest.raises(rt.errors.StagingError, match="no trace to export"):
        summary.trace_export("calls")


def test_without_a_writer_and_bad_graphs() -> None:
    f = rt.function(lambda x: x + 1)
    with pytest.raises(rt.errors.StagingError, match="has no trace"):
        summary.graph(f)
    f(rt.constant(1))
    assert summary.graph(f) is False
    with pytest.raises(TypeError, match="a graph or a traced function is wanted here, not 1"):
        summary.graph(1)
    with pytest.raises(ValueError, match="rt.profiler"):
        summary.trace_on(profiler=True)


def test_tensorboard_reads_a_graph(tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator",
                                  reason="TensorBoard is not installed")
    f = rt.function(lambda x: rt.sin(x) + 1.0)
    f(rt.ones([3]))
    with summary.create_file_writer(tmp_path).as_default():
        summary.graph(f)
    found = loading.EventAccumulator(str(tmp_path))
    found.Reload()
    assert [n.op for n in found.Graph().node] == ["Placeholder", "sin", "const", "add"]
