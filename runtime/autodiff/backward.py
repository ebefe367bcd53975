"""Reverse mode: from the cotangents of nodes' results to those of their operands.

`sweep` visits nodes in reverse order and applies their rules in the current graph, which is nested in the nodes' graph.
So a rule that uses a value of the forward pass captures it, and the captures are the residuals to save.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, Final

from runtime.autodiff import rules  # noqa: F401  they fill the tables
from runtime.autodiff.activity import Activity, variables_read
from runtime.autodiff.cotangents import Cotangents, fit
from runtime.autodiff.rules.registry import CONSTANT, VJP, Applied, Update
from runtime.core.errors import Place, UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.tensor import GraphTensor
from runtime.core.trace import current_graph, wrap

__all__ = ["CONTROL", "NoGradientError", "apply_vjp", "handles", "passes_rows", "refuse_reads", "sweep"]


class NoGradientError(UnimplementedError, LookupError):
    """An op on the path from a target to a source has no derivative. A LookupError, as in TF2."""


Handler = Callable[[Node, Sequence[Any], Cotangents, Activity], None]
CONTROL: Final[dict[str, Handler]] = {}
"""Handlers for nodes with sub-graphs, by the name of the op."""


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register a reverse-mode handler for control flow."""
    def register(handler: Handler) -> Handler:
        CONTROL.update(dict.fromkeys(names, handler))
        return handler
    return register


def sweep(nodes: Sequence[Node], cts: Cotangents, activity: Activity, keep: Container[Value] = ()) -> None:
    """Add the cotangents of the operands of `nodes` to `cts`, which holds those of their results; the latter are
    removed, except those of values in `keep`."""
    for node in reversed(nodes):
        if _moved(node, cts, activity, keep):
            continue
        out_cts = [cts.get(value) if value in keep else cts.pop(value) for value in node.outputs]
        if all(ct is None for ct in out_cts):
            continue
        if node.op.name == "read_variable":
            variable = node.params["variable"]
            if id(variable) in activity.variables:
                cts.add(id(variable), out_cts[0], wrap(node.outputs[0]))
            continue
        graph = current_graph()
        assert graph is not None
        start = len(graph.nodes)
        if node.subgraphs:
            handler = CONTROL.get(node.op.name)
            if handler is None:
                raise missing(node.op.name, node.position, "vjp")
            handler(node, out_cts, cts, activity)
        else:
            refuse_reads(node, activity.variables)
            wanted = [value in activity for value in node.inputs]
            if any(wanted):
                inputs, outputs = [*map(wrap, node.inputs)], [*map(wrap, node.outputs)]
                found = apply_vjp(Applied(node.op.name, inputs, outputs, node.params, wanted), out_cts, node.position)
                for value, x, want, ct in zip(node.inputs, inputs, wanted, found, strict=True):
                    if want:
                        cts.add(value, ct, x)
                        _refine(cts, value)
        _place(graph, start, node)


def _moved(node: Node, cts: Cotangents, activity: Activity, keep: Container[Value]) -> bool:
    """Whether the cotangent of the node's result was a list of slices, and is now one of its operand."""
    if node.op.name not in ("cast", "read_variable") or node.outputs[0] in keep:
        return False
    (output,) = node.outputs
    if node.op.name == "cast":
        return node.inputs[0] in activity and cts.move(
            output, node.inputs[0], wrap(node.inputs[0]), node.inputs[0].type.dtype)  # type: ignore[union-attr]
    key = id(node.params["variable"])
    return key in activity.variables and cts.move(output, key, wrap(output))


def passes_rows(key: Any, sources: Container[Any]) -> bool:
    """Whether slices of a cotangent stay such: of the sources, by value or id, and of what they are read or cast
    into."""
    while isinstance(key, Value) and key not in sources:
        if key.node is None or key.node.op.name not in ("cast", "read_variable"):
            return False
        key = key.node.inputs[0] if key.node.op.name == "cast" else id(key.node.params["variable"])
    return key in sources


def apply_vjp(node: Applied, out_cts: Sequence[Any], position: Place | None) -> Sequence[Any]:
    """The op's rule applied to the cotangents of its results. NoGradientError if there is no rule."""
    rule = VJP.get(node.name)
    if rule is None:
        if node.name in CONSTANT:
            return [None] * len(node.inputs)
        raise missing(node.name, position, "vjp")
    results = rule(node, *out_cts)
    if len(results) != len(node.inputs):
        raise AssertionError(f"the rule of {node.name} gives {len(results)} cotangents for {len(node.inputs)} operands")
    for x, want, ct in zip(node.inputs, node.wanted, results, strict=True):
        if want and ct is not None and not isinstance(ct, Update):
            found, type = getattr(ct, "type", None), x.type
            assert found is not None and _alike(found, type), f"the rule of {node.name} gives {found} for {type}"
    return results


def _alike(found: Any, type: Any) -> bool:
    if hasattr(type, "element"):
        return hasattr(found, "element") and found.element.dtype is type.element.dtype
    return found.dtype is type.dtype and len(found.shape) == len(type.shape)


def missing(name: str, position: Place | None, kind: str) -> NoGradientError:
    """The error for an op without a rule."""
    error = NoGradientError(
        f"the op {name} has no {'gradient' if kind == 'vjp' else 'forward-mode derivative'}",
        remedy="Use rt.stop_gradient where its result is to count as a constant, or rt.custom_gradient to say what the "
               "derivative is.")
    locate(error, position)
    return error


def refuse_reads(node: Node, variables: Container[int]) -> None:
    """NoGradientError for a call of a routine that reads one of these variables, given by id."""
    if node.op.name != "call":
        return
    for variable in variables_read(node.params["function"].graph).values():
        if id(variable) in variables:
            name = node.params["function"].name
            error = NoGradientError(
                f"the derivative by variable '{variable.name}' goes through {name!r}, which reads it, and calls itself "
                "where a tensor decides", remedy="Pass it the value, as an argument: v.read_value().")
            locate(error, node.position)
            raise error


def _refine(cts: Cotangents, value: Value) -> None:
    ct = None if cts.is_rows(value) else cts.get(value)
    if isinstance(ct, GraphTensor):
        fit(ct, value.type)


def _place(graph: Graph, start: int, node: Node) -> None:
    """Give nodes added by a rule the position of the node that it was applied to."""
    if node.position is not None:
        position = node.position.derivative(node.op.name)
        for made in graph.nodes[start:]:
            made.position = position
