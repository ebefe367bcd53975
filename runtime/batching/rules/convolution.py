"""Convolution and pooling: the images of all lanes form one batch, if the filters are the same."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, Unbatched, batching
from runtime.batching.rules.shape import merged, parted
from runtime.ops.shape import dim


@batching("conv")
def _conv(call: Call) -> Sequence[Any]:
    call.only(0)
    x, filters = call.inputs
    return [parted(y, call.size, dim(x, 1)) for y in call.apply(merged(x), filters)]


@batching("max_pool", "max_pool_argmax")
def _pool(call: Call) -> Sequence[Any]:
    (x,) = call.inputs
    return [parted(y, call.size, dim(x, 1)) for y in call.apply(merged(x))]


@batching("conv_input")
def _conv_input(call: Call) -> Sequence[Any]:
    call.only(1)
    filters, y, *sizes = call.inputs
    first, *rest = call.params["dims"]
    if sizes or type(call.size) is not int or first is None:
        raise Unbatched("the shape of the images is not known")
    found = call.apply(filters, merged(y), dims=(call.size * first, *rest))
    return [parted(x, call.size, first) for x in found]
