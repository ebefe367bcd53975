"""Dead code elimination: of nodes, captures, results of branches, and loop state."""
from __future__ import annotations

from typing import Final

from runtime.core.graph import Graph, Node, Value
from runtime.optimize.builder import Context, is_removable
from runtime.optimize.rules import named

__all__ = ["sweep"]

DEAD: Final = named("dead code", "A node is dropped if nobody uses its results, and it has no effect and cannot raise.")
RESULTS: Final = named("dead results", "Results of a cond, and state of a loop, that nobody uses are dropped.")


def sweep(graph: Graph, context: Context, keep_captures: bool = False) -> bool:
    """Remove dead code, in place. Returns whether results of control flow were removed, which may enable further
    rules."""
    if DEAD not in context.enabled:
        return False
    changed = False
    used = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        subgraphs = node.subgraphs
        if subgraphs and RESULTS in context.enabled and _trim(node, used):
            context.fired(RESULTS, node.op.name, node.position)
            changed = True
        if not any(value in used for value in node.outputs) and is_removable(node):
            if node.op.name != "const":
                context.fired(DEAD, node.op.name, node.position)
            continue
        if subgraphs:
            operands = node.operands
            for sub in subgraphs.values():
                changed = sweep(sub, context) or changed
            node.inputs = operands + [outer for sub in subgraphs.values() for outer, _ in sub.captures]
        used.update(node.inputs)
        kept.append(node)
    graph.nodes = kept[::-1]
    if not keep_captures:
        graph.captures = [pair for pair in graph.captures if pair[1] in used]
    return changed


def _trim(node: Node, used: set[Value]) -> bool:
    """Remove unused results of a cond or loop. Returns whether there were any."""
    unused = [k for k, value in enumerate(node.outputs) if value not in used]
    if not unused or node.op.name not in ("cond", "while_loop", "reduce"):
        return False
    graphs = node.subgraphs
    if node.op.name == "cond":
        live = [k for k in range(len(node.outputs)) if k not in set(unused)]
        outputs: tuple[Graph, ...] = graphs["true"], graphs["false"]
    else:
        live = _live_state(node, unused)
        if len(live) == len(node.outputs):
            return False
        outputs = (graphs["body"],)
        operands, count = node.operands, len(node.outputs)
        lead = len(operands) - count
        node.inputs = [*operands[:lead], *(operands[lead + k] for k in live), *node.inputs[len(operands):]]
        for graph in graphs.values():
            own = len(graph.inputs) - count
            graph.inputs = [*graph.inputs[:own], *(graph.inputs[own + k] for k in live)]
    for graph in outputs:
        graph.outputs = [graph.outputs[k] for k in live]
    node.outputs = tuple([node.outputs[k] for k in live])
    return True


def _live_state(node: Node, unused: list[int]) -> list[int]:
    """The state of a loop on which its used results, its test, its effects or its possible errors depend."""
    body, test, count = node.params["body"], node.params.get("test"), len(node.outputs)
    live = set(range(count)) - set(unused)
    state = {value: k for k, value in enumerate(body.inputs[len(body.inputs) - count:])}
    pending: list[Value] = [body.outputs[k] for k in live]
    pending += [value for inner in body.nodes if not is_removable(inner) for value in inner.inputs]
    if test is not None:
        of_test = {value: k for k, value in enumerate(test.inputs)}
        state.update(of_test)
        pending += [*test.outputs, *(v for inner in test.nodes if not is_removable(inner) for v in inner.inputs)]
    visited: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in visited:
            continue
        visited.add(value)
        k = state.get(value)
        if k is not None and k not in live:
            live.add(k)
            pending.append(body.outputs[k])
        if value.node is not None:
            pending += value.node.inputs
    return sorted(live)
