"""Loop-invariant code motion and common subexpression elimination."""
from __future__ import annotations

from typing import Final

from runtime.core.graph import Node, Value
from runtime.core.types import ListType, TensorType
from runtime.optimize.builder import Builder
from runtime.optimize.rules import Result, rule

VIEWS: Final = frozenset(("dim", "expand_dims", "getitem", "reshape", "split", "squeeze", "transpose"))
"""Ops whose cost does not depend on the size of their operand."""


@rule("hoist", sees=True)
def hoist(b: Builder, node: Node) -> Result:
    """A loop-invariant node moves out of the loop. It must not raise, and its result must not have more elements than
    its operands. If the loop may not run at all, it must cost next to nothing: scalars and views."""
    if not b.loop or b.parent is None or not node.inputs:
        return None
    variable = False
    for value in node.inputs:
        if value.graph is b.graph:
            return None
        variable = variable or value.constant is None
    if not variable or not (b.certain or _is_cheap(node)) or _inflates(node) or node.errors:
        return None
    types = tuple([v.type for v in node.outputs])
    moved = Node(b.parent.graph, node.op, node.inputs, node.params, types[0] if node.single else types, node.position)
    for old, new in zip(node.outputs, moved.outputs):
        new.hint = old.hint
    return b.parent.place(moved)


def _is_cheap(node: Node) -> bool:
    return node.op.name in VIEWS or all(map(_is_scalar, (*node.inputs, *node.outputs)))


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.shape


def _inflates(node: Node) -> bool:
    """Whether a result is a list, or may have more elements than the largest operand."""
    sizes = [v.type.size for v in node.inputs if isinstance(v.type, TensorType)]
    ranks = [v.type.ndim for v in node.inputs if isinstance(v.type, TensorType)]
    for value in node.outputs:
        if isinstance(value.type, ListType):
            return True
        size = value.type.size
        if size is None or None in sizes:
            if value.type.ndim > max(ranks, default=0) or node.op.name == "broadcast_to":
                return True
        elif size > max([s for s in sizes if s is not None], default=1):
            return True
    return False


@rule("share", sees=True)
def share(b: Builder, node: Node) -> Result:
    """A node equal to one that ran before, in the same or an enclosing graph, is replaced by its results."""
    if any(isinstance(v.type, ListType) for v in node.outputs):
        return None  # lists are updated in place if there is no other reference
    inputs: tuple[Value, ...] = tuple(node.inputs)
    if node.op.name in _SYMMETRIC and id(inputs[0]) > id(inputs[1]):
        type = inputs[0].type
        if node.op.name in ("equal", "not_equal") or (isinstance(type, TensorType) and type.dtype.level < 2):
            inputs = inputs[::-1]
    key = node.op, inputs, tuple(node.params.items())
    try:
        found = b.context.shared.get(key, b.scope)
    except TypeError:  # an unhashable param
        return None
    if found is not None and node.op.name == "list_get" and found[0].graph is not b.graph and not _is_scalar(found[0]):
        found = None  # captured, a row is another reference; read where it is used, it may be changed in place
    if found is None:
        b.context.shared.add(key, b.scope, node.outputs)
    return found


_SYMMETRIC: Final = frozenset(("add", "multiply", "equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor"))
"""Commutative ops; for floats only comparisons, since a sum of two nans keeps the first."""
