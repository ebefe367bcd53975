"""If-conversion: branch-free code that computes both branches and selects, so that it can be vectorised.

Register tiles (`register_tiling`) and SPMD loops (`spmd_analysis`) use it.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.scalar_ops import cast, literal, lower
from runtime.backends.native.llvm.builder import Builder, Val, const, element, lanes
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.op import REGISTRY
from runtime.core.types import TensorType

__all__ = ["LOOPS", "Guards", "Registers", "flat", "safe", "type_of"]

LOOPS: Final = ("while_loop", "reduce")

Guards = dict[Node, GraphValue]
"""The predicates of loops that were in branches: they run only if it holds."""


def type_of(value: GraphValue) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def safe(node: Node) -> bool:
    """Whether an op that may raise statically does not."""
    if type_of(node.inputs[0]).dtype.is_floating:
        return True
    constant = node.inputs[1].constant
    return constant is not None and bool(constant >= 0 if node.op.name == "pow" else constant != 0)


def flat(graph: Graph, guards: Guards | None = None) -> tuple[Graph, dict[GraphValue, GraphValue]]:
    """The graph without `cond`: both branches are computed, and the results selected. Also returns the captures of the
    old graph by those of the new one, in the same order. For graphs of cheap ops that cannot raise, except for checks.
    Loops, whose graphs are converted too, are allowed only if `guards` is given, which gets their predicates."""
    new = Graph(graph.name)
    made = {v: new.add_input(v.type, v.hint) for v in graph.inputs}
    captures = {inner: GraphValue(new, inner.type) for _, inner in graph.captures}
    made.update(captures)
    new.captures = [(outer, captures[inner]) for outer, inner in graph.captures]
    _flatten(graph, new, made, guards, None)
    new.outputs = [made[v] for v in graph.outputs]
    return new, {mine: inner for inner, mine in captures.items()}


def _flatten(graph: Graph, new: Graph, made: dict[GraphValue, GraphValue], guards: Guards | None,
             guard: GraphValue | None) -> None:
    """`guard`: the predicate of these nodes; None: always true."""
    for node in graph.nodes:
        inputs = [made[v] for v in node.inputs]
        if node.op.name != "cond":
            if node.op.name == "raise_unless" and guard is not None:
                inputs[0] = new.add_node(REGISTRY["bitwise_or"], [inputs[0], _applied(new, "invert", guard)], {},
                                         guard.type).outputs[0]
            types = node.outputs[0].type if node.single else tuple([v.type for v in node.outputs])
            params: Mapping[str, Any] = node.params
            if node.op.name in LOOPS:
                params = {k: flat(p, guards)[0] if isinstance(p, Graph) else p for k, p in node.params.items()}
            copy = new.add_node(node.op, inputs, params, types, node.position)
            if node.op.name in LOOPS and guard is not None and guards is not None:
                guards[copy] = guard
            made.update(zip(node.outputs, copy.outputs, strict=True))
            continue
        at = len(node.operands)
        true, false = node.params["true"], node.params["false"]
        for sub in node.subgraphs.values():
            for _, inner in sub.captures:
                made[inner] = inputs[at]
                at += 1
            inside = None
            if any(n.op.name in LOOPS or n.op.name == "raise_unless" for n in sub.walk()):
                inside = _both(new, guard, inputs[0] if sub is true else _applied(new, "invert", inputs[0]))
            _flatten(sub, new, made, guards, inside)
        for out, yes, no in zip(node.outputs, true.outputs, false.outputs, strict=True):
            a, c = made[yes], made[no]
            nothing = c.constant is not None and c.constant.dtype == bool and not c.constant.any()
            op, args = (REGISTRY["bitwise_and"], [inputs[0], a]) if nothing else (REGISTRY["where"], [inputs[0], a, c])
            made[out] = new.add_node(op, args, {}, out.type, node.position).outputs[0]


def _applied(graph: Graph, name: str, *inputs: GraphValue) -> GraphValue:
    return graph.add_node(REGISTRY[name], inputs, {}, inputs[0].type).outputs[0]


def _both(graph: Graph, x: GraphValue | None, y: GraphValue) -> GraphValue:
    return y if x is None else _applied(graph, "bitwise_and", x, y)


class Registers:
    """Writes ops on registers of `count` lanes. Values that are equal in all lanes may be scalars."""

    def __init__(self, w: Lowering, count: int) -> None:
        self.w = w
        self.count = count

    @property
    def b(self) -> Builder:
        return self.w.b

    def node(self, node: Node, env: Mapping[GraphValue, Val]) -> Val:
        """The value of a constant, a cast or an element-wise op."""
        name, type = node.op.name, type_of(node.outputs[0])
        if name == "const":
            return literal(type.dtype, node.params["value"].item())
        xs = [env[v] for v in node.inputs]
        if name == "cast":
            return cast(self.b, xs[0], type_of(node.inputs[0]).dtype, type.dtype)
        if any(lanes(x.ty) > 1 for x in xs):
            xs = [self.wide(x) for x in xs]
        operand = type_of(node.inputs[-1] if name == "where" else node.inputs[0])
        return lower(self.b, name, operand.dtype, *xs)

    def wide(self, x: Val) -> Val:
        """`x` in each lane."""
        if self.count == 1 or lanes(x.ty) > 1:
            return x
        if not x.ref.startswith("%"):
            return Val(f"<{self.count} x {x.ty}>", f"splat ({element(x.ty)} {x.ref})")
        return self.b.splat(x, self.count)

    def bits(self, mask: Val) -> Val:
        """A mask as one integer, of at least 8 bits."""
        ty = f"i{lanes(mask.ty)}"
        bits = self.b.op(ty, f"bitcast {mask} to {ty}")
        return bits if lanes(mask.ty) >= 8 else self.b.op("i8", f"zext {bits} to i8")

    def any(self, mask: Val) -> Val:
        """Whether any lane is true."""
        bits = self.bits(mask)
        return self.b.icmp("ne", bits, const(bits.ty, 0))
