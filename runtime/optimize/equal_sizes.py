"""What equal sizes make needless: sums over axes that were not repeated, and changes of a shape into itself.

A derivative sums over each axis that its operand may have been repeated along, which only sizes tell where they are
unknown. `simplified` drops that where they are equal, with the scalars that the sizes were computed by.
"""
from __future__ import annotations

import numpy as np

from runtime.core.graph import Graph, Node, Value
from runtime.core.op import CONST, REGISTRY
from runtime.core.types import ListType, TensorType, type_of_array
from runtime.optimize.builder import Context, is_removable
from runtime.optimize.control_flow import visit
from runtime.optimize.dead_code import sweep
from runtime.optimize.rules import RULES
from runtime.optimize.symbolic_sizes import Sizes
from runtime.optimize.symbols import Symbol, is_size

__all__ = ["simplified"]


def simplified(graph: Graph, sizes: Sizes) -> None:
    """Simplify a graph, in place, given its sizes, which include those of added values afterwards."""
    work = _Simplify(sizes)
    work.graph(graph)
    if work.new:
        work.prune(graph)
        sweep(graph, Context(RULES.values(), None, visit), keep_captures=True)


class _Simplify:
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.new: dict[Value, Value] = {}  # what replaces a value
        self.sure: set[Node] = set()  # nodes that do not raise

    def graph(self, graph: Graph) -> None:
        nodes, graph.nodes = graph.nodes, []
        for node in nodes:
            node.inputs = [self.new.get(x, x) for x in node.inputs]
            for inner in node.subgraphs.values():
                inner.captures = [(self.new.get(outer, outer), value) for outer, value in inner.captures]
                self.graph(inner)
            found = self.simpler(graph, node)
            if found is None:
                graph.nodes.append(node)
            else:
                self.new[node.outputs[0]] = found
        graph.outputs = [self.new.get(x, x) for x in graph.outputs]

    def simpler(self, graph: Graph, node: Node) -> Value | None:
        """The value that replaces the result of a node."""
        name = node.op.name
        if name == "where":
            number = self.sizes.number(node.outputs[0])
            return node.inputs[1] if number is not None and number is self.sizes.number(node.inputs[1]) else None
        if name in ("broadcast_to", "reshape"):
            keeps = self.is_explicit(node) and self.sizes.equal(node.inputs[0], node.outputs[0])
            return node.inputs[0] if keeps else None
        return self.summed(graph, node) if name == "reduce_sum" else None

    def is_explicit(self, node: Node) -> bool:
        """Whether a node asks for sizes that are all known not to be -1."""
        return all(is_size(size) for size in self.sizes.asked(node))

    def summed(self, graph: Graph, node: Node) -> Value | None:
        """A sum over axes that a reshape of x has added, and that have size 1 unless there are no elements: x + 0, as
        the sum of -0.0 is 0.0."""
        of, parts = node.inputs[0].graph, node.inputs[0].node
        if parts is None or parts.op.name != "reshape" or node.params["keepdims"] or of is not graph:
            return None
        x, rest = parts.inputs[0], self.sizes.of(node.outputs[0])
        repeats = [self.sizes.of(parts.outputs[0])[axis] for axis in node.params["axis"]]
        if self.sizes.of(x) != rest or not self.is_explicit(parts) or not all(
                size == 1 or (isinstance(size, Symbol) and size.key[0] == "sign" and size.key[1] in rest)
                for size in repeats):
            return None
        self.sure.add(parts)
        type = x.type
        assert isinstance(type, TensorType)
        if type.dtype.is_integer:
            return x
        zero = np.zeros((), type.dtype.np)
        constant = Node(graph, CONST, (), {"value": zero}, type_of_array(zero), node.position)
        added = Node(graph, REGISTRY["add"], (x, constant.outputs[0]), {}, type, node.position)
        graph.nodes += [constant, added]
        self.sizes.shapes[added.outputs[0]] = rest
        return added.outputs[0]

    def prune(self, graph: Graph) -> None:
        """Drop unused nodes that do not raise."""
        used, kept = set(graph.outputs), list[Node]()
        for node in reversed(graph.nodes):
            if not used.isdisjoint(node.outputs) or not (node in self.sure or is_removable(node) or _divides(node)):
                for inner in node.subgraphs.values():
                    self.prune(inner)
                used.update(node.inputs)
                kept.append(node)
        graph.nodes = kept[::-1]


def _divides(node: Node) -> bool:
    """Whether a node divides ints by a number that is not 0."""
    by = node.inputs[1].node if node.op.name == "floordiv" else None
    if by is None or by.op.name != "maximum":
        return False
    type, least = by.outputs[0].type, [x.constant for x in by.inputs if x.constant is not None]
    return not isinstance(type, ListType) and type.ndim == 0 and any(x.ndim == 0 and x > 0 for x in least)
