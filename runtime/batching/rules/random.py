"""Random numbers, drawn for all lanes at once, so that they differ between lanes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, batching
from runtime.ops.concat_split import concat
from runtime.ops.math import cast
from runtime.ops.shape import stack


@batching("random", "random_int")
def _random(call: Call) -> Sequence[Any]:
    """Also called if no operand is batched."""
    call.only()
    bounds = call.inputs[:2] if call.op.name == "random_int" else ()
    sizes = call.inputs[len(bounds):]
    known: tuple[Any, ...] = call.params["dims"]
    if type(call.size) is int:
        wanted: tuple[Any, ...] = (call.size, *known)
        operands = [concat([cast([call.size], x.dtype), x], 0) for x in sizes]
    elif sizes:
        wanted, operands = (None, *known), [concat([cast(stack([call.size]), x.dtype), x], 0) for x in sizes]
    else:
        wanted, operands = (None, *known), [stack([call.size, *known])]
    return call.apply(*bounds, *operands, dims=wanted)
