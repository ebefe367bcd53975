"""Graphs of traced functions for TensorBoard (`tf.summary.graph`, `trace_on`, `trace_export`).

Format: `tensorflow/core/framework/{graph,node_def,attr_value,tensor_shape}.proto` (their fields have the numbers
below). A graph of control flow is a scope inside of the node that has it.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from runtime.core.errors import StagingError
from runtime.core.graph import Graph, Node, Value, param_text
from runtime.core.positions import located
from runtime.core.protocol_buffers import bytes_field, int_field
from runtime.core.recording import Recorder, forget_everywhere, record_everywhere
from runtime.core.types import ListType, Type
from runtime.function.concrete import graph_of
from runtime.summary.events import DTYPES
from runtime.summary.writer import current

__all__ = ["graph", "graph_def", "trace_export", "trace_off", "trace_on"]

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.\-/]+")
"""Characters that names of TensorFlow's nodes must not have."""


def graph(graph_data: Any) -> bool:
    """Write a graph, a concrete function's, or that of an `rt.function`'s newest trace, for TensorBoard's page "Graphs"
    (`tf.summary.graph`). False without a default writer. TypeError for other arguments, StagingError for a function
    without traces."""
    found = graph_of(graph_data)
    if current.writer is None:
        return False
    current.writer.write_graph(graph_def([found]))
    return True


# Graphs of the functions that are called.

class _Calls(Recorder):
    """Records the graphs of the traced functions that are called."""

    def __init__(self) -> None:
        self.graphs: dict[int, Graph] = {}

    def called(self, function: Any, leaves: Sequence[Any], variables: Any) -> None:
        self.graphs[id(function.graph)] = function.graph


_calls: list[_Calls] = []


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None) -> None:
    """Start recording the graphs of traced functions that are called, for `trace_export` (`tf.summary.trace_on`).
    ValueError for `profiler`: use `rt.profiler`."""
    if profiler:
        raise ValueError("trace_on takes no profile: use rt.profiler.experimental.start(logdir)")
    trace_off()
    if graph:
        _calls.append(_Calls())
        record_everywhere(_calls[-1])


def trace_off() -> None:
    """Stop recording (`tf.summary.trace_off`)."""
    forget_everywhere(_Calls)
    _calls.clear()


def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """Stop recording, and write the graphs since `trace_on`, each in a scope named like its function
    (`tf.summary.trace_export`). StagingError without `trace_on`."""
    if not _calls:
        raise located(StagingError("there is no trace to export", remedy="Call rt.summary.trace_on() before."))
    graphs = list(_calls[-1].graphs.values())
    trace_off()
    if current.writer is not None and graphs:
        current.writer.write_graph(graph_def(graphs, in_scopes=True))


# TensorBoard's format.

def graph_def(graphs: Sequence[Graph], in_scopes: bool = False) -> bytes:
    """A GraphDef with the nodes of these graphs; with `in_scopes`, each graph is in a scope of its name."""
    writer = _Writer()
    for one in graphs:
        writer.graph(one, writer.unique(one.name) + "/" if in_scopes else "", {})
    return b"".join([bytes_field(1, node) for node in writer.nodes]) + bytes_field(4, int_field(1, 1))


class _Writer:
    """Writes NodeDefs with unique names."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self._taken: Counter[str] = Counter()

    def unique(self, name: str) -> str:
        name = _UNSAFE.sub("_", name).strip("/") or "graph"
        count = self._taken[name]
        self._taken[name] += 1
        return self.unique(f"{name}_{count}") if count else name

    def graph(
        self, graph: Graph, scope: str, outer: dict[Value, str], inputs: Sequence[str] = (), around: str = ""
    ) -> list[str]:
        """Write the nodes; returns the names of the results. `outer`: the names of the values of the enclosing graph,
        for captures. `inputs`: the names of the sources of the first inputs. `around`: the user's scope of the node
        that has the graph as a subgraph."""
        names: dict[Value, str] = {}
        sources = [*map(_listed, inputs), *[()] * (len(graph.inputs) - len(inputs)),
                   *[_listed(outer[source] if isinstance(source, Value) else None) for source, _ in graph.captures]]
        for value, source in zip(graph.parameters, sources, strict=True):
            name = self.unique(f"{scope}{value.hint or 'input'}")
            self._write(name, "Argument" if source else "Placeholder", source, [value.type])
            names[value] = name
        for node in graph.nodes:
            self._node(node, scope, names, around)
        return [names[value] for value in graph.outputs]

    def _node(self, node: Node, scope: str, names: dict[Value, str], around: str) -> None:
        position = node.position
        path = "" if position is None else position.scope
        inside = f"{path}/".removeprefix(f"{around}/").lstrip("/")
        name = self.unique(f"{scope}{inside}{node.op.name}")
        inputs = [names[value] for value in node.inputs]
        for label, inner in node.subgraphs.items():
            operands = inputs[:len(node.operands)]
            sources = operands if len(operands) == len(inner.inputs) else ()
            inputs += self.graph(inner, f"{name}/{label}/", names, sources, path)
        texts = {key: param_text(param) for key, param in node.params.items() if not isinstance(param, Graph)}
        if position is not None:
            texts["source"] = f"{position.filename}:{position.lineno}"
        self._write(name, node.op.name, dict.fromkeys(inputs), [value.type for value in node.outputs], texts)
        for i, value in enumerate(node.outputs):
            names[value] = f"{name}:{i}" if i else name

    def _write(
        self, name: str, op: str, inputs: Any, types: Sequence[Type], texts: dict[str, str] | None = None
    ) -> None:
        attributes = {key: bytes_field(2, text.encode()) for key, text in (texts or {}).items()}
        tensors = [type.element if isinstance(type, ListType) else type for type in types]
        attributes["_output_shapes"] = bytes_field(1, b"".join([bytes_field(7, _shape(x.shape)) for x in tensors]))
        if tensors and tensors[0].dtype.name in DTYPES:
            attributes["dtype"] = int_field(6, DTYPES[tensors[0].dtype.name])
        self.nodes.append(b"".join(_fields(name, op, inputs, attributes)))


def _listed(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _fields(name: str, op: str, inputs: Any, attributes: dict[str, bytes]) -> Iterator[bytes]:
    yield bytes_field(1, name.encode())
    yield bytes_field(2, op.encode())
    for one in inputs:
        yield bytes_field(3, one.encode())
    for key, value in attributes.items():
        yield bytes_field(5, bytes_field(1, key.encode()) + bytes_field(2, value))


def _shape(sizes: Sequence[int | None]) -> bytes:
    return b"".join([bytes_field(2, int_field(1, -1 if size is None else size)) for size in sizes])
