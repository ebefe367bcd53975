"""Random numbers, drawn for all lanes at once, so that they differ between lanes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, batching
from runtime.core.types import int64, uint64
from runtime.ops.concat_split import concat
from runtime.ops.creation import range as indices
from runtime.ops.logic import less
from runtime.ops.math import add, cast, multiply
from runtime.ops.philox import RESERVED
from runtime.ops.shape import broadcast_to, stack


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


@batching("philox_skip")
def _skip(call: Call) -> Sequence[Any]:
    """One draw for all lanes: each has its own part of the numbers."""
    call.only()
    (count,) = call.inputs
    size = cast(call.size, int64)
    (state,) = call.apply(multiply(count, size))
    ahead = multiply(multiply(indices(size), count), RESERVED)
    low = add(state[0], ahead)
    carried = cast(less(cast(low, uint64), cast(ahead, uint64)), int64)
    return [stack([low, add(state[1], carried), broadcast_to(state[2], [size])], axis=1)]
