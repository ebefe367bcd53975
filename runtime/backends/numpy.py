"""The reference executor: kernels called in program order. It defines the semantics of the IR.

A graph is compiled once into a flat list of steps over numbered slots. Slots of dead values are reused.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, Protocol

import numpy as np

from autograph.backend import with_limit, with_room
from runtime.core.errors import locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import belongs_to_user, better_error, kernel_for
from runtime.core.persistent_list import Items

__all__ = ["Program", "Watch", "compile_graph", "executable", "kernel_of", "run"]

_DEEP: Final = 40  # from this nesting depth of graphs on, a run raises Python's recursion limit
_FRAMES: Final = 5  # per nested graph
Slots = Any  # an int, or a slice: one or several slots for `itemgetter` and item assignment


class Watch(Protocol):
    """Observes a run of a program, to measure it."""

    def kernel(self, node: Node, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A wrapper of a node's kernel that observes it."""

    def part(self, node: Node, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A wrapper of the function of a node's subgraph that observes it."""


class Program:
    """A compiled graph. Slots: inputs and captures first, then constants, then results of nodes.

    depth   the nesting depth of graphs, itself included
    """

    __slots__ = ("depth", "name", "results", "steps", "template")

    def __init__(self, graph: Graph, watch: Watch | None = None) -> None:
        self.name = graph.name
        slot: dict[Value, int] = {value: i for i, value in enumerate(graph.parameters)}
        self.template: list[Any] = []  # the slots after the parameters, with constants filled in
        for node in graph.nodes:
            if node.op.name == "const":
                slot[node.outputs[0]] = len(slot)
                self.template.append(node.params["value"])
        size = len(slot)
        last_use = {value: i for i, node in enumerate(graph.nodes) for value in node.inputs}
        last_use.update((value, len(graph.nodes)) for value in graph.outputs)
        free: list[int] = []
        self.steps: list[tuple[Callable[..., Any], Callable[[list[Any]], Any], Slots, Node]] = []
        for i, node in enumerate(graph.nodes):
            if node.op.name == "const":
                continue
            inputs = [slot[value] for value in node.inputs]
            for value in {*node.inputs}:
                if value.node is not None and value.node.op.name != "const" and last_use[value] == i:
                    free.append(slot[value])
            if node.single:
                out: Slots = free.pop() if free else size
                size = max(size, out + 1)
                slot[node.outputs[0]] = out
                if node.outputs[0] not in last_use:
                    free.append(out)
            else:  # the slots of a tuple must be adjacent
                out = slice(size, size + len(node.outputs))
                slot.update((value, size + k) for k, value in enumerate(node.outputs))
                size += len(node.outputs)
            kernel = kernel_of(node, watch)
            self.steps.append((kernel if watch is None else watch.kernel(node, kernel), _getter(inputs), out, node))
        self.template += [None] * (size - len(graph.parameters) - len(self.template))
        self.results = _getter([slot[value] for value in graph.outputs])
        inner = [compile_graph(sub).depth for node in graph.nodes for sub in node.subgraphs.values()]
        self.depth: int = 1 + max(inner, default=0)

    def run(self, slots: list[Any]) -> Sequence[Any]:
        """Run the steps; returns the outputs. `slots`: the values of inputs and captures, followed by `template`."""
        node: Node | None = None
        try:
            for kernel, get, out, node in self.steps:  # noqa: B007
                slots[out] = kernel(*get(slots))
        except Exception as exc:
            if node is None or belongs_to_user(node.op, exc) or node.subgraphs:
                raise
            better = better_error(node.op, get(slots), node.params, exc)
            locate(better or exc, node.position)
            if better is not None:
                raise better from None
            raise
        return self.results(slots)  # type: ignore[no-any-return]

    def bind(self, captures: Iterable[Any]) -> Callable[..., Sequence[Any]]:
        """The function from inputs to outputs, for fixed values of the captures."""
        rest = [*captures, *self.template]
        run = self.run
        return lambda *inputs: run([*inputs, *rest])


def _getter(slots: list[int]) -> Callable[[list[Any]], Any]:
    """A function from the list of all slots to the values of `slots`, as a sequence."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return itemgetter(slice(slots[0], slots[0] + 1) if slots else slice(0))


def kernel_of(node: Node, watch: Watch | None = None) -> Callable[..., Any]:
    subgraphs = node.subgraphs
    if subgraphs:
        return _control_flow(node, subgraphs, watch)
    kernel = kernel_for(node.op, [value.type for value in node.inputs], [value.type for value in node.outputs])
    if not node.outputs:
        return partial(_without_result, kernel, node.params)
    return partial(kernel, **node.params) if node.params else kernel


def _without_result(kernel: Callable[..., Any], params: dict[str, Any], *inputs: Any) -> tuple[()]:
    kernel(*inputs, **params)
    return ()


def _control_flow(node: Node, subgraphs: dict[str, Graph], watch: Watch | None) -> Callable[..., Any]:
    """The kernel as a function of operands and captures: it passes each subgraph as a function with bound captures."""
    end = count = len(node.operands)
    parts: list[tuple[str, Program, slice]] = []
    for name, graph in subgraphs.items():
        start, end = end, end + len(graph.captures)
        parts.append((name, compile_graph(graph) if watch is None else Program(graph, watch), slice(start, end)))
    params = {name: param for name, param in node.params.items() if name not in subgraphs}
    kernel = node.op.kernel

    def call(*inputs: Any) -> Any:
        functions = {name: program.bind(inputs[where]) for name, program, where in parts}
        if watch is not None:
            functions = {name: watch.part(node, name, function) for name, function in functions.items()}
        return kernel(*inputs[:count], **functions, **params)

    return call


def compile_graph(graph: Graph) -> Program:
    """The program of `graph`, compiled once."""
    program = graph.executable
    if not isinstance(program, Program):
        program = graph.executable = Program(graph)
    return program


def executable(graph: Graph, watch: Watch | None = None) -> Callable[..., tuple[Any, ...]]:
    """A function from arrays for `graph.inputs` to a tuple of read-only arrays of exactly the output types.

    `graph` has no parent; its captures are eager tensors, bound here. A list value is a tuple of arrays.
    """
    assert graph.parent is None, f"graph {graph.name} is nested in {graph.parent}"
    program = with_room(lambda: compile_graph(graph) if watch is None else Program(graph, watch))
    run = program.run
    frames = _FRAMES * program.depth
    rest = [*(tuple(outer.items) if hasattr(outer, "items") else outer._array for outer, _ in graph.captures),
            *program.template]
    silent = np.errstate

    def call(*inputs: Any) -> tuple[Any, ...]:
        with silent(all="ignore"):
            return tuple([_result(x) for x in run([*inputs, *rest])])

    def call_deep(*inputs: Any) -> tuple[Any, ...]:
        return with_limit(frames, lambda: call(*inputs))

    return call if program.depth < _DEEP else call_deep


def _result(x: Any) -> Any:
    if type(x) is tuple:
        return x
    if type(x) is Items:
        return tuple(x)
    array = np.asarray(x)
    array.setflags(write=False)
    return array


def run(graph: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of `graph` for arrays `args`, one for each input."""
    return executable(graph)(*args)
