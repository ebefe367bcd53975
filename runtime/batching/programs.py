"""Compiled graphs that are executed immediately, cached by structure.

Two graphs are equal if they have the same ops, at the same source lines, with the same params; captured tensors are
inputs.
"""
from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.graph import Graph, Node, Value
from runtime.core.recording import record_call, recorders
from runtime.function.execution.executors import arrays_of, chosen, make, tensors_of
from runtime.numbers.widen_python_numbers import with_python_numbers
from runtime.ops.effects import Raised
from runtime.optimize import rewrite

__all__ = ["Program", "program_of"]

_MOST: Final = 256


class Program:
    """A graph, ready to run. Tapes treat it as a traced function (`runtime.core.recording`)."""

    fast_math = False

    def __init__(self, graph: Graph, executor: str) -> None:
        self.graph, self.executor = graph, executor
        self._lock = threading.Lock()
        self._made: Any = None

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        recorded = record_call(self, leaves) if recorders else None
        if recorded is not None:
            return recorded
        with self._lock:
            if self._made is None:
                self._made = make(rewrite(with_python_numbers(self.graph)), self.executor).function()
        return tensors_of(self._made(*arrays_of(leaves)), [value.type for value in self.graph.outputs])


class _Bound:
    """A program with its captured values."""

    def __init__(self, program: Program, captured: Sequence[Any]) -> None:
        self.program, self.captured = program, captured

    def __call__(self, xs: Sequence[Any]) -> list[Any]:
        return self.program([*xs, *self.captured])


_programs: Final[OrderedDict[Hashable, Program]] = OrderedDict()
_lock: Final = threading.Lock()


def program_of(graph: Graph, executor: str | None = None) -> _Bound:
    """The program of a graph without a parent. The graph is modified: its captures become inputs."""
    captured = [outer for outer, _ in graph.captures]
    graph.inputs += [inner for _, inner in graph.captures]
    graph.captures, graph._captured = [], {}
    name = chosen(executor)
    key = name, _Key().graph(graph)
    with _lock:
        program = _programs.pop(key, None) or Program(graph, name)
        _programs[key] = program
        if len(_programs) > _MOST:
            _programs.popitem(last=False)
    return _Bound(program, captured)


class _Key:
    """Computes a graph's structure as a key. Objects compared by identity are kept alive while the graph is."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def graph(self, graph: Graph) -> Hashable:
        outside = tuple([self.number(outer) for outer, _ in graph.captures])
        parameters = tuple([(self.number(value), value.type) for value in graph.parameters])
        nodes = tuple(map(self.node, graph.nodes))
        return graph.name, outside, parameters, nodes, tuple(map(self.number, graph.outputs))

    def number(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def node(self, node: Node) -> Hashable:
        place = node.position
        return (node.op.name, tuple(map(self.number, node.inputs)), self.params(node.params),
                tuple([(self.number(value), value.type) for value in node.outputs]),
                None if place is None else (place.filename, place.lineno))

    def params(self, params: Mapping[str, Any]) -> Hashable:
        return tuple([(name, self.param(param)) for name, param in params.items()])

    def param(self, param: Any) -> Hashable:
        if isinstance(param, Graph):
            return self.graph(param)
        if isinstance(param, (np.ndarray, np.generic)):
            return param.dtype.str, param.shape, param.tobytes()
        if isinstance(param, Raised):
            return type(param.exception), repr(param)
        if isinstance(param, (tuple, list)):
            return type(param), tuple(map(self.param, param))
        try:
            hash(param)
        except TypeError:
            return id(param)
        return type(param), param
