"""Masks: regions that only some lanes execute."""
from __future__ import annotations

from typing import Any, Final

from runtime.batching.rules.registry import Unbatched, aligned
from runtime.core.graph import Graph, Node
from runtime.core.types import ListType
from runtime.ops.indexing import getitem
from runtime.ops.logic import where
from runtime.ops.math import stop_gradient
from runtime.ops.reduction import argmax

__all__ = ["Present", "harmless", "select"]

_LINEAR: Final = {
    "abs", "add", "broadcast_to", "cast", "ceil", "concat", "const", "expand_dims", "floor", "gather", "getitem",
    "maximum", "minimum", "negative", "pad", "reduce_max", "reduce_min", "reduce_sum", "relu", "reshape", "rint",
    "setitem", "sign", "slice", "split", "squeeze", "stack", "stop_gradient", "subtract", "transpose", "undefined",
    "where"}
"""Ops whose derivative multiplies by no computed value, so that zero stays zero."""


def harmless(graph: Graph) -> bool:
    """Whether absent lanes may execute it, too: it cannot raise, has no effect, terminates, and keeps zero cotangents
    of these lanes zero."""
    return all(_harmless(node) for node in graph.nodes)


def _harmless(node: Node) -> bool:
    name = node.op.name
    if node.effect or node.errors or name in ("while_loop", "try_", "custom_gradient"):
        return False
    if node.subgraphs:
        return all(map(harmless, node.subgraphs.values()))
    if name in _LINEAR or not any(_inexact(value.type) for value in node.outputs):
        return True
    constants = [value for value in node.inputs if value.constant is not None]
    return (name == "multiply" and bool(constants)) or (name == "divide" and node.inputs[1] in constants)


def _inexact(type: Any) -> bool:
    dtype = type.element.dtype if isinstance(type, ListType) else type.dtype
    return bool(dtype.is_floating or dtype.is_complex)


class Present:
    """The lanes in a mask, of which there is at least one."""

    def __init__(self, mask: Any) -> None:
        self.mask = mask
        self._first: Any = None

    def only(self, x: Any) -> Any:
        """A batched value with absent lanes replaced by the value of the first present one, which is treated as a
        constant by derivatives."""
        if isinstance(x.type, ListType):
            raise Unbatched("a list that differs from lane to lane is used where only some lanes come to")
        if self._first is None:
            self._first = argmax(self.mask)
        return select(self.mask, x, stop_gradient(getitem(x, self._first)), x.ndim - 1)


def select(mask: Any, x: Any, y: Any, rank: int) -> Any:
    """x in the lanes of the mask, else y; both have `rank` in one lane."""
    return where(aligned(mask, 0, rank), x, y)
