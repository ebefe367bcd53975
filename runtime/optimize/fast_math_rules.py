"""Rules that change rounding, for `fast_math` only. They are in a separate table, `FAST`."""
from __future__ import annotations

from typing import Final

from runtime.core.graph import Node, Value
from runtime.core.types import TensorType
from runtime.optimize.builder import Builder
from runtime.optimize.rules import Result, rule

__all__: list[str] = []

_CYCLES: Final = {"add": 4, "subtract": 4, "multiply": 4, "divide": 13, "sqrt": 18}  # latency
_MOST: Final = 32  # maximum number of nodes to inspect


@rule("divide early", "divide", fast=True)
def divide_early(b: Builder, node: Node) -> Result:
    """(p * q) / r: p / r * q. Of float scalars in a loop, where q is known so late that the division need not wait."""
    product, divisor = node.inputs
    type, inner = node.outputs[0].type, product.node
    if not b.loop or not isinstance(type, TensorType) or type.shape or not type.dtype.is_floating:
        return None
    if inner is None or inner.op.name != "multiply" or product.graph is not b.graph:
        return None
    known: dict[Value, int] = {}
    late = _ready(b, divisor, known)
    ready = [_ready(b, value, known) for value in inner.inputs]
    if len(known) > _MOST:
        return None
    now = max(max(ready) + _CYCLES["multiply"], late) + _CYCLES["divide"]
    early = 0 if ready[0] <= ready[1] else 1
    then = max(max(ready[early], late) + _CYCLES["divide"], ready[1 - early]) + _CYCLES["multiply"]
    if then >= now:
        return None
    return b.apply("multiply", b.apply("divide", inner.inputs[early], divisor), inner.inputs[1 - early])


def _ready(b: Builder, value: Value, known: dict[Value, int]) -> int:
    """The approximate number of cycles of an iteration after which a value is available: 0 for values from outside or
    from the previous iteration."""
    if value in known:
        return known[value]
    node = value.node
    if node is None or value.graph is not b.graph or node.op.name == "const" or len(known) > _MOST:
        return 0
    known[value] = 0
    known[value] = max([_ready(b, x, known) for x in node.inputs], default=0) + _CYCLES.get(node.op.name, 1)
    return known[value]
