"""The buffer of an array after a `cond` of which one branch passes it through, or updates it in place, and the other
computes a new value.

The other branch stores the new value in the same buffer, called its home. Otherwise the result would be in one of two
buffers, and an enclosing loop that carries the array would have to copy it in each iteration, even if unchanged. So
`if done: found = x` copies in the last iteration only.
"""
from __future__ import annotations

from collections.abc import Sequence

from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Leaf, reads, same_dims
from runtime.backends.native.control.carried_buffers import aligned
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import TensorType

__all__ = ["at_home", "homes_of"]


def homes_of(w: Lowering, node: Node) -> dict[int, Leaf]:
    """The home of each output that has one: a buffer that no other live value reads, and no other output occupies."""
    if not any(_has_buffer(value) for value in node.outputs):
        return {}
    graphs = list(node.subgraphs.values())
    roots = [[_root(graph, value) for value in graph.outputs] for graph in graphs]
    homes = {}
    for j, of_one in enumerate(zip(*roots, strict=True)):
        for value in of_one if len(set(of_one)) > 1 else ():
            x = w.env.get(value)
            if (value is not None and isinstance(x, Leaf) and x.scratch and x.flat and w.last.get(value) == w.node_index
                    and value not in node.operands and not any(value in mine[:j] + mine[j + 1:] for mine in roots)
                    and value.type == node.outputs[j].type and w.unread(x, value)):
                homes[j] = x
    return homes


def _root(graph: Graph, value: GraphValue) -> GraphValue | None:
    """The value captured from outside of a graph whose buffer a value of the graph probably occupies; or None."""
    if not _has_buffer(value):
        return None
    outer = {inner: outer for outer, inner in graph.captures}
    while value.node is not None:
        node, at = value.node, value.node.outputs.index(value)
        found: GraphValue | None = None
        if node.op.name in ("setitem", "scatter"):
            found = node.inputs[0]
        elif node.op.name == "cond":
            inner = {_root(branch, branch.outputs[at]) for branch in node.subgraphs.values()} - {None}
            found = inner.pop() if len(inner) == 1 else None
        elif node.op.name in ("while_loop", "reduce"):
            found = node.operands[len(node.operands) - len(node.outputs) + at]
        if found is None:
            return None
        value = found
    return outer.get(value)


def _has_buffer(value: GraphValue) -> bool:
    return not isinstance(value.type, TensorType) or value.type.shape != ()


def at_home(w: Lowering, results: Sequence[Value], homes: dict[int, Leaf]) -> list[Value]:
    """The results of a branch, in memory: in its home if it has one, unless another result reads that memory."""
    free = {j: home for j, home in homes.items() if isinstance(x := results[j], Array) and same_dims(x.dims, home.dims)
            and not any(reads(other, home) for k, other in enumerate(results) if k != j)}
    there = [j for j, home in free.items()
             if isinstance(x := results[j], Array) and not isinstance(x, Leaf) and aligned(x, home)]
    found = [w.leaf(x) if isinstance(x, Array) and j not in there else x for j, x in enumerate(results)]
    w.writes_late |= any(free[j].pointer.ref in w.overwritten for j in there)
    w.store_all([(x, free[j]) for j in there if isinstance(x := found[j], Array)])
    for j, home in free.items():
        x = found[j]
        if isinstance(x, Leaf) and x.pointer.ref != home.pointer.ref:
            w.writes_late |= home.pointer.ref in w.overwritten
            w.copy(x, home.pointer)
        found[j] = Leaf(home.dtype, home.dims, home.pointer, scratch=True, bases=home.bases)
    return found
