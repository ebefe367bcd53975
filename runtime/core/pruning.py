"""Dead code elimination on graphs."""
from __future__ import annotations

from autograph.backend import with_room
from runtime.core.graph import Graph, Node, Value, shape_of

__all__ = ["prune"]

Rows = frozenset[tuple[Value, Value]]


def prune(graph: Graph) -> None:
    """Remove dead nodes (no used result, no effect, cannot raise) and unused captures."""
    with_room(lambda: _prune(graph, frozenset()))


def _prune(graph: Graph, rows: Rows) -> None:
    """`rows`: pairs of a tensor of this graph and an index known to be less than its number of rows."""
    used = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not any(value in used for value in node.outputs) and not node.effect and not _may_raise(node, rows):
            continue
        if node.subgraphs:
            operands = node.operands
            try:
                for name, sub in node.subgraphs.items():
                    _prune(sub, _rows_in(node, name, rows))
            finally:  # on RecursionError it runs again, with a larger stack
                node.inputs = operands + [outer for sub in node.subgraphs.values() for outer, _ in sub.captures]
        used.update(node.inputs)
        kept.append(node)
    graph.nodes = kept[::-1]
    graph.captures = [(outer, inner) for outer, inner in graph.captures if inner in used]
    live = {id(inner) for _, inner in graph.captures} | {id(v) for node in kept for v in node.outputs}
    graph._captured = {key: pair for key, pair in graph._captured.items() if id(pair[1]) in live}
    graph.executable = None


def _may_raise(node: Node, rows: Rows) -> bool:
    if not node.errors:
        return False
    if node.op.name == "getitem" and node.params["index"] == ("?",):
        return (node.inputs[0], node.inputs[1]) not in rows
    if not node.subgraphs or node.own_errors or callable(node.op.errors):
        return True
    return any(_may_raise(inner, _rows_in(node, name, rows))
               for name, sub in node.subgraphs.items() for inner in sub.nodes)


def _rows_in(node: Node, name: str, rows: Rows) -> Rows:
    """The `rows` for a sub-graph: those of the enclosing graph and, for the body of a loop over the rows of a tensor,
    the pair of that tensor and the loop index."""
    captures = node.params[name].captures
    found = {(x, i) for outer_x, x in captures for outer_i, i in captures if (outer_x, outer_i) in rows}
    if node.op.name == "reduce" and name == "body" and node.params.get("stream") is None:
        found |= {(x, node.params[name].inputs[0]) for outer, x in captures if _counts(node.inputs[0], outer)}
    return frozenset(found)


def _counts(length: Value, x: Value) -> bool:
    """Whether a length is certainly at most the number of rows of a tensor."""
    node = length.node
    if node is not None and node.op.name == "cast":
        return _counts(node.inputs[0], x)
    if node is not None and node.op.name == "minimum":
        return any(_counts(value, x) for value in node.inputs)
    if node is not None and node.op.name == "dim":
        return node.inputs[0] is x and node.params["axis"] == 0
    rows = shape_of(x.type)[:1]
    return length.constant is not None and rows != () and rows[0] is not None and int(length.constant) <= rows[0]
