"""Fusion of matrix products with a dead accumulator that they are added to or subtracted from (GEMM with beta = 1).

`w - rate * (x @ y)` is three nodes. If the others are the only users of the product and of the old `w`, lowering the
product adds it to the memory of `w` (alpha = -rate, beta = 1). Each element then is a sum with one more term, as
accurate as any matrix product. The same holds for `w.assign_sub(rate * (x @ y))` if the variable's memory belongs to
the call, as in a loop, and nothing in between can read it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.index_expressions import Leaf, Map, Scalar, same_dims
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.variables import Variable
from runtime.backends.native.kernels.shapes import result_type
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import float32, float64

__all__ = ["Update", "assigned_next", "update_of"]


class Update(NamedTuple):
    """`target` += alpha * product, which replaces these nodes. `variable`: the one whose value `target` is, if any."""

    target: Leaf
    alpha: Val
    nodes: Sequence[Node]
    variable: Any = None

    def write(self, w: Lowering, product: Callable[[Leaf, Val | None], None]) -> Leaf:
        """Write the update; `product(out, alpha)` writes the product into memory, or adds a multiple of it."""
        b, target, alpha = w.b, self.target, self.alpha
        if len(self.nodes) == 1:  # alpha is 1 or -1
            product(target, alpha)
        else:
            def together() -> list[Val]:
                product(target, alpha)
                return []

            # BLAS treats 0 times a product as 0, also for infinities
            zero = b.fcmp("oeq", alpha, const(alpha.ty, 0))
            b.either(zero, lambda: self._write_separately(w, product), together)
        for node in self.nodes:
            w.lowered_early[node] = [target]
        if self.variable is not None:
            w.lowered_early[self.nodes[-1]] = []
            w.assign(self.variable, target)
        return target

    def _write_separately(self, w: Lowering, product: Callable[[Leaf, Val | None], None]) -> list[Val]:
        old = Leaf(self.target.dtype, self.target.dims, self.target.pointer)
        with w.scope():
            found = w.memory(old.dtype, old.dims)
            product(found, None)
            scale = Scalar(old.dtype, self.alpha)
            new = Map("update", old.dtype, old.dims, lambda b, x, y, z: b.fadd(x, b.fmul(y, z)), [old, scale, found])
            w.store_all([(new, old)])
        return []


def update_of(w: Lowering, node: Node, dims: Sequence[Index]) -> Update | None:
    """The accumulator that this GEMM can fuse with (beta=1), or None."""
    product = node.outputs[0]
    if result_type(node).dtype not in (float32, float64):
        return None
    scale: Val | None = None
    user = _only_user(w, product)
    nodes: list[Node] = []
    if user is not None and user.op.name == "multiply":
        other = w.env.get(_other(user, product))
        if not isinstance(other, Scalar):
            return None
        scale = other.val
        nodes.append(user)
        product = user.outputs[0]
        user = _only_user(w, product)
    if user is None or user.op.name not in ("add", "subtract", "accumulate_variable"):
        return None
    variable = user.params["variable"] if user.op.name == "accumulate_variable" else None
    value: GraphValue | Variable = _other(user, product) if variable is None else Variable(variable)
    if user.op.name == "subtract" and user.inputs[1] is not product:
        return None
    old = w.env.get(value) if isinstance(value, GraphValue) else w.variables[value]
    if not (isinstance(old, Leaf) and old.scratch and old.flat and same_dims(old.dims, dims)):
        return None
    alone = _only_user(w, value) is user if isinstance(value, GraphValue) else _undisturbed(w, user)
    if not alone or not w.unread(old, value):
        return None
    b, ty = w.b, llvm_type(old.dtype)
    if user.op.name == "subtract" or user.params.get("negate"):
        alpha = const(ty, -1) if scale is None else b.fneg(scale)
    else:
        alpha = const(ty, 1) if scale is None else scale
    target = Leaf(old.dtype, old.dims, old.pointer, scratch=True, bases=old.bases)
    return Update(target, alpha, [*nodes, user], variable)


def assigned_next(w: Lowering) -> Variable | None:
    """The variable to which the result of the current node is assigned, if that is its only use and nothing reads
    variables in between."""
    user = _only_user(w, w.nodes[w.node_index].outputs[0])
    if user is None or user.op.name != "assign_variable" or not _undisturbed(w, user):
        return None
    return Variable(user.params["variable"])


def _undisturbed(w: Lowering, user: Node) -> bool:
    """Whether no node between the current one and `user` can read variables, or lets Python do so."""
    between = w.nodes[w.node_index + 1:w.nodes.index(user)]
    return not any(node.effect or node.errors or node.op.name == "read_variable" for node in between)


def _other(node: Node, value: GraphValue) -> GraphValue:
    first, second = node.inputs
    return second if first is value else first


def _only_user(w: Lowering, value: GraphValue) -> Node | None:
    """The only node from the current one on that uses a value, once; None if there are others, or it is an output."""
    last = w.last.get(value, -1)
    if not w.node_index <= last < len(w.nodes):
        return None
    users = [node for node in w.nodes[w.node_index:last + 1] for x in node.inputs if x is value]
    return users[0] if len(users) == 1 else None
