"""Items that are set in a slice of an array.

`w = x[1:]; w[i] = y` is three nodes: the slice, the slice with the item, and the array with that slice put back. The
item is written to the array's memory at once, and nothing is put back, if the array is dead after that and nothing else
reads its memory. So it is in a slice of a slice.
"""
from __future__ import annotations

from typing import NamedTuple

from runtime.backends.native.codegen.context import Lowering
from runtime.backends.native.codegen.index_expressions import Leaf
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue

__all__ = ["Changed", "Whole", "is_part", "whole_of"]


class Changed(Leaf):
    """A slice with items that have been set in the array's memory. `back`: the node that puts it back; `whole`: the
    array after that."""

    __slots__ = ("back", "whole")

    def __init__(self, x: Leaf, back: Node, whole: Leaf) -> None:
        super().__init__(x.dtype, x.dims, x.pointer, x.strides, bases=x.bases)
        self.back = back
        self.whole = whole


class Whole(NamedTuple):
    """`array`: that which the current node writes to; `slice`: the result of the node."""

    array: Leaf
    slice: Changed


def whole_of(w: Lowering) -> Whole | None:
    """How the current node, an item assignment, writes to an array of which its operand is a slice; None if it may
    not."""
    backs = _backs(w)
    if not backs:
        return None
    parts = [w.operands[0], *[node.inputs[0] for node in backs]]  # each is a slice of the next
    array = w.env[parts[-1]]
    if not isinstance(array, Leaf) or not array.scratch or not w.unread(array, parts[-1], parts[:-1]):
        return None
    found = Leaf(array.dtype, array.dims, array.pointer, array.strides, True, array.bases)
    for part, back in zip(reversed(parts[:-1]), reversed(backs), strict=True):
        x = w.env[part]
        if not isinstance(x, Leaf) or x.bases != array.bases:
            return None
        found = Changed(x, back, found)
    assert isinstance(found, Changed)
    return Whole(array, found)


def _backs(w: Lowering) -> list[Node]:
    """The nodes right after the current one that put the slice back, then what that is a slice of, and so on, if no
    slice is used after it is changed, nor the array."""
    backs: list[Node] = []
    if not 0 <= w.node_index < len(w.nodes) or w.nodes[w.node_index] is not w.current:
        return backs  # it is lowered ahead of its graph
    for at, (node, after) in enumerate(zip(w.nodes[w.node_index:], w.nodes[w.node_index + 1:], strict=False),
                                       w.node_index):
        if not _puts_back(node, after):
            break
        if not (_ends(w, node, at) and _ends(w, after, at + 1)):
            return []
        backs.append(after)
    return backs


def _ends(w: Lowering, node: Node, at: int) -> bool:
    """Whether node number `at` is the last use of its first operand."""
    return w.last[node.inputs[0]] == at and node.inputs.count(node.inputs[0]) == 1


def _puts_back(node: Node, after: Node) -> bool:
    """Whether `node` changes a slice and `after` puts it back."""
    made = node.inputs[0].node
    return (made is not None and made.op.name == "getitem" and after.op.name == "setitem"
            and after.inputs[1] is node.outputs[0] and after.inputs[0] is made.inputs[0]
            and after.params["index"] == made.params["index"] and _are_same(after.inputs[2:], made.inputs[1:]))


def _are_same(xs: list[GraphValue], ys: list[GraphValue]) -> bool:
    return all(x is y for x, y in zip(xs, ys, strict=True))


def is_part(node: Node) -> bool:
    """Whether a node makes a slice of an array, or puts it back after an item of it was set."""
    if node.op.name == "setitem":
        changed = node.inputs[1].node
        return changed is not None and changed.op.name == "setitem" and _puts_back(changed, node)
    index = node.params["index"] if node.op.name == "getitem" else ()
    return "?" not in index and any([type(entry) is tuple and entry[2] != "?" for entry in index])
