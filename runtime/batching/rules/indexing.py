"""Indexing, with indices that may differ from lane to lane."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.batching.rules.registry import Call, Unbatched, aligned, batching
from runtime.core.types import int64
from runtime.ops.concat_split import concat
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.gather import gather, scatter
from runtime.ops.gather_nd import gather_nd
from runtime.ops.indexing import from_end, getitem
from runtime.ops.math import cast
from runtime.ops.shape import broadcast_to, dim, dims, expand_dims, moveaxis, product, reshape, shape

_FULL: Final = (None, None, None)


# Items.

@batching("getitem")
def _getitem(call: Call) -> Sequence[Any]:
    x, *operands = call.inputs
    index: tuple[Any, ...] = call.params["index"]
    if not any(call.batched[1:]):
        return call.apply(x, *operands, index=(_FULL, *index))
    return [_picked(x, call.batched[0], index, operands, call.batched[1:])]


def _picked(x: Any, batched: bool, index: Sequence[Any], operands: Sequence[Any], which: Sequence[bool]) -> Any:
    """`x[index]` in each lane: first the part that all lanes share, then a gather for each other entry."""
    rest: list[Any] = []
    shared: list[Any] = []
    picks: list[tuple[int, Any]] = []  # (an axis of the remaining part in one lane, indices to gather there)
    axis = 0
    remaining = iter(zip(operands, which, strict=True))
    for entry in index:
        if entry == "?":
            operand, differs = next(remaining)
            rest.append(_FULL if differs else "?")
            if differs:
                picks.append((axis, operand))
            else:
                shared.append(operand)
            continue
        if type(entry) is tuple:
            for part in entry:
                if part == "?":
                    operand, differs = next(remaining)
                    if differs:
                        raise Unbatched("a bound of its slice differs from lane to lane")
                    shared.append(operand)
        rest.append(entry)
        axis += entry is None or type(entry) is tuple
    if any(entry != _FULL for entry in rest):
        x = getitem(x, _with([_FULL, *rest] if batched else rest, shared))
    for axis, places in picks:
        if batched:
            x = gather(x, from_end(places, dim(x, axis + 1)), axis=axis + 1, batch_dims=1)
        else:
            x, batched = moveaxis(gather(x, from_end(places, dim(x, axis)), axis=axis), axis, 0), True
    return x


def _with(index: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
    """An index for `getitem`, with the operands inserted."""
    remaining = iter(operands)

    def part(p: Any) -> Any:
        return next(remaining) if p == "?" else p

    return tuple([slice(*map(part, entry)) if type(entry) is tuple else part(entry) for entry in index])


@batching("setitem")
def _setitem(call: Call) -> Sequence[Any]:
    x, value, *operands = call.inputs
    index: tuple[Any, ...] = call.params["index"]
    x = call.lifted(0)
    if not any(call.batched[2:]):
        if call.batched[1]:
            value = aligned(value, call.types[1].ndim, _rank(call.types[0].ndim, index))
        return call.apply(x, value, *operands, index=(_FULL, *index))
    sizes = dims(x)[1:]
    flat = reshape(range_(cast(product(sizes), int64)), sizes)
    places = _picked(flat, False, index, operands, call.batched[2:])
    lane = expand_dims(_lanes(call, int64), list(range(1, places.ndim)))
    places = places + lane * cast(product(sizes), int64)
    if call.batched[1]:
        value = aligned(value, call.types[1].ndim, places.ndim - 1)
    value = broadcast_to(value, shape(places))
    whole = scatter(reshape(x, [-1]), reshape(places, [-1, 1]), reshape(value, [-1]))
    return [reshape(whole, [call.size, *sizes])]


def _rank(rank: int, index: Sequence[Any]) -> int:
    """The rank of the result of an index."""
    return rank + sum(1 if entry is None else 0 if type(entry) is tuple else -1 for entry in index)


def _lanes(call: Call, dtype: Any) -> Any:
    return range_(cast(call.size, dtype))


@batching("slice")
def _slice(call: Call) -> Sequence[Any]:
    x, begin, size = call.inputs
    known = call.params["dims"]
    if not any(call.batched[1:]):
        sizes = concat([cast([call.size], size.dtype), size], 0)
        lanes = call.size if type(call.size) is int else None
        return call.apply(x, concat([zeros([1], begin.dtype), begin], 0), sizes, dims=(lanes, *known))
    if None in known or call.batched[2]:
        raise Unbatched("the size of its part is not known")
    batched = call.batched[0]
    for axis, count in enumerate(known):
        places = getitem(begin, (slice(None), slice(axis, axis + 1))) + cast(range_(count), begin.dtype)
        if batched:
            x = gather(x, places, axis=axis + 1, batch_dims=1)
        else:
            x, batched = moveaxis(gather(x, places, axis=axis), axis, 0), True
    return [x]


# Gather and scatter.

@batching("gather")
def _gather(call: Call) -> Sequence[Any]:
    x, indices = call.inputs
    axis, batch = call.params["axis"], call.params["batch_dims"]
    if all(call.batched) or batch:
        return call.apply(*call.all_batched(), axis=axis + 1, batch_dims=batch + 1)
    if call.batched[0]:
        return call.apply(x, indices, axis=axis + 1)
    return [moveaxis(y, axis, 0) for y in call.apply(x, indices)]


@batching("gather_nd")
def _gather_nd(call: Call) -> Sequence[Any]:
    x, indices = call.inputs
    if not call.batched[0]:
        return call.apply(x, indices)
    return [gather_nd(x, _rows(call, call.lifted(1)))]


@batching("scatter")
def _scatter(call: Call) -> Sequence[Any]:
    x, indices, updates = call.all_batched()
    return call.apply(x, _rows(call, indices), updates)


def _rows(call: Call, indices: Any) -> Any:
    """Rows of indices, each preceded by its lane."""
    lead = dims(indices)[1:-1]
    lane = reshape(_lanes(call, indices.dtype), [call.size, *[1] * (indices.ndim - 1)])
    return concat([broadcast_to(lane, [call.size, *lead, 1]), indices], -1)


