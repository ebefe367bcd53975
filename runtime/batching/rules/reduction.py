"""Reductions, cumulative sums, sorting and searching, along the axes of one lane."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, batching
from runtime.ops.shape import dims, product, reshape


@batching("reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum")
def _reduced(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs, axis=tuple([axis + 1 for axis in call.params["axis"]]))


@batching("argmax", "argmin", "cumprod", "cumsum", "linear_recurrence")
def _along(call: Call) -> Sequence[Any]:
    return call.apply(*call.all_batched(), axis=call.params["axis"] + 1)


@batching("argsort", "compared_order")
def _along_last(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs)


@batching("searchsorted")
def _searchsorted(call: Call) -> Sequence[Any]:
    row, values = call.inputs
    if call.types[0].ndim == 1 and not call.batched[0]:
        return call.apply(row, values)
    row, values = call.all_batched()
    if call.types[0].ndim > 1:
        return call.apply(row, values)
    shape = dims(values)
    return [reshape(x, shape) for x in call.apply(row, reshape(values, [shape[0], product(shape[1:])]))]
