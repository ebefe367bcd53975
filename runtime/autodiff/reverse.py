"""Reverse mode as a transformation of graphs: into a forward graph, which also returns the residuals, and a backward
graph. Both are ordinary graphs: they can be printed, rewritten, run by any executor and differentiated again."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.autodiff import branches, custom, loops  # noqa: F401  they fill the table of control flow
from runtime.autodiff.activity import Activity
from runtime.autodiff.backward import passes_rows, sweep
from runtime.autodiff.cotangents import Cotangents, fit
from runtime.autodiff.saving import define, drop_dead, inserted, plan_saved
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied
from runtime.core.op import REGISTRY
from runtime.core.tensor import GraphTensor
from runtime.core.trace import add_input, set_outputs, tracing, wrap
from runtime.core.types import ListType, TensorType
from runtime.ops.lists import list_from_tensor, list_stack

__all__ = ["Derivative", "derivative"]


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivative of a graph.

    forward   the graph, with the residuals as additional outputs
    backward  its inputs are some inputs of the graph (`inputs_used`), the residuals, and a cotangent for each requested
              output; its outputs are the cotangents of those requested inputs that the outputs depend on
    found     for each requested input, capture and variable, the number of its output of `backward`; None: zero. For
              slices along the first axis, the numbers of their values and indices
    """

    forward: Graph
    backward: Graph
    inputs_used: tuple[int, ...]
    found: tuple[int | tuple[int, int] | None, ...]


def derivative(graph: Graph, wanted: Sequence[int], variables: Sequence[Any], outputs: Sequence[int]) -> Derivative:
    """The derivative of the outputs numbered `outputs` with respect to the parameters (inputs, then captures) numbered
    `wanted`, and to variables at their reads."""
    forward = copied(graph)
    forward.name = f"{graph.name}_forward"
    parameters = forward.parameters
    sources: list[Any] = [*(parameters[i] for i in wanted), *map(id, variables)]
    activity = Activity((parameters[i] for i in wanted), map(id, variables))
    activity.visit(forward.nodes)
    back = Graph(f"{graph.name}_backward", forward)
    kept = {*sources}
    cts = Cotangents(lambda key: passes_rows(key, kept))
    results = list(forward.outputs)
    with tracing(back):
        seeds = [add_input(back, results[k].type, f"ct_{results[k].hint or k}") for k in outputs]
        for k, seed in zip(outputs, seeds, strict=True):
            cts.add(results[k], seed, None)
        sweep(list(forward.nodes), cts, activity, {parameters[i] for i in wanted})
        found = [cts.rows(key) or (cts.get(key),) for key in sources]
        set_outputs(back, [fit(ct, key.type) if isinstance(key, Value) and len(parts) == 1 else ct
                           for key, parts in zip(sources, found, strict=True) for ct in parts if ct is not None])
    drop_dead(back)
    plan_saved(back, forward, set(parameters))
    inputs_used = _close(back, forward)
    numbers = iter(range(len(back.outputs)))
    return Derivative(forward, back, inputs_used, tuple([
        None if parts[0] is None else next(numbers) if len(parts) == 1 else (next(numbers), next(numbers))
        for parts in found]))


def _close(back: Graph, forward: Graph) -> tuple[int, ...]:
    """Turn the captures of a backward graph into inputs. Returns which inputs of the forward graph come first."""
    captured = {inner: outer for outer, inner in forward.captures}
    inputs_used: list[tuple[int, Value]] = []
    saved: list[Value] = []
    captures = []
    for value, inner in back.captures:
        if value in captured:
            captures.append((captured[value], inner))
        elif value in forward.inputs:
            inputs_used.append((forward.inputs.index(value), inner))
        else:
            saved.append(inner)
            _save(back, forward, value, saved)
    inputs_used.sort(key=lambda pair: pair[0])
    back.parent, back.captures = None, captures
    back._captured = {id(outer): (outer, inner) for outer, inner in captures}
    back.inputs = [*(inner for _, inner in inputs_used), *saved, *back.inputs]
    return tuple([i for i, _ in inputs_used])


def _save(back: Graph, forward: Graph, value: Value, saved: list[Value]) -> None:
    """Make the forward graph return a value; a list whose elements have one shape is returned as one tensor."""
    type = value.type
    if not isinstance(type, ListType) or not type.known or None in type.element.shape:
        forward.outputs.append(value)
        return
    with tracing(forward):
        stacked: GraphTensor = list_stack(wrap(value))
    forward.outputs.append(stacked.value)
    inner = saved.pop()
    if _reads(back, inner) is not None:
        saved.append(inner)
        _read_rows(back, inner, stacked.type)
        return
    saved.append(Value(back, stacked.type, hint=inner.hint))
    with tracing(back), inserted(back):
        define(inner, list_from_tensor(wrap(saved[-1])).value)


def _reads(graph: Graph, items: Value) -> list[tuple[Graph, Value, list[Node]]] | None:
    """The nodes that read a list's elements, here and in graphs that capture it; None if there are other uses."""
    nodes = [node for node in graph.nodes if items in node.inputs]
    reading = [node for node in nodes if node.op.name == "list_get" and node.inputs[1] is not items]
    found = [(graph, items, reading)]
    for node in nodes:
        if node in reading:
            continue
        if not node.subgraphs or items in node.operands:
            return None
        for sub in node.subgraphs.values():
            for inner in [inner for outer, inner in sub.captures if outer is items]:
                more = _reads(sub, inner)
                if more is None:
                    return None
                found += more
    return None if items in graph.outputs else found


def _read_rows(back: Graph, items: Value, type: TensorType) -> None:
    """Replace a list whose elements are only read by a tensor of them."""
    for _, value, nodes in _reads(back, items) or ():
        value.type = type
        for node in nodes:
            node.op, node.params = REGISTRY["getitem"], {"index": ("?",)}
