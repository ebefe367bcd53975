"""Shapes: the axes of one lane follow that of the lanes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, Shared, Unbatched, aligned, batching
from runtime.core.types import int64
from runtime.ops.concat_split import concat
from runtime.ops.indexing import getitem
from runtime.ops.math import cast, floordiv
from runtime.ops.shape import broadcast_to, dims, product, reshape, size

__all__ = ["merged", "parted"]


@batching("dim")
def _dim(call: Call) -> Sequence[Any]:
    return [Shared(x) for x in call.apply(*call.inputs, axis=call.params["axis"] + 1)]


@batching("size")
def _size(call: Call) -> Sequence[Any]:
    whole = cast(size(call.inputs[0], int64), int64)
    return [Shared(cast(floordiv(whole, cast(call.size, int64)), call.params["dtype"]))]


@batching("reshape")
def _reshape(call: Call) -> Sequence[Any]:
    call.only(0)
    return [reshape(call.inputs[0], [call.size, *_sizes(call)])]


def _sizes(call: Call) -> list[Any]:
    """The shape of the result in one lane; sizes are ints if known."""
    known = call.outputs[0].shape  # type: ignore[union-attr]
    if len(call.inputs) == 1:
        return [dim if size is None else size for size, dim in zip(known, call.params["dims"], strict=True)]
    return [getitem(call.inputs[1], axis) if size is None else size for axis, size in enumerate(known)]


@batching("broadcast_to")
def _broadcast_to(call: Call) -> Sequence[Any]:
    call.only(0)
    x = aligned(call.inputs[0], call.types[0].ndim, len(call.params["dims"]))
    return [broadcast_to(x, [call.size, *_sizes(call)])]


@batching("expand_dims", "squeeze")
def _one_sized(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs, axis=tuple([axis + 1 for axis in call.params["axis"]]))


@batching("transpose")
def _transpose(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs, perm=(0, *[axis + 1 for axis in call.params["perm"]]))


@batching("stack", "concat")
def _joined(call: Call) -> Sequence[Any]:
    return call.apply(*call.all_batched(), axis=call.params["axis"] + 1)


@batching("split")
def _split(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs, axis=call.params["axis"] + 1)


@batching("pad")
def _pad(call: Call) -> Sequence[Any]:
    x, value, *paddings = call.inputs
    if call.batched[1] and call.params["mode"] == "CONSTANT":
        raise Unbatched("what it pads with differs from lane to lane")
    if any(call.batched[2:]):
        raise Unbatched("the paddings differ from lane to lane")
    if call.batched[1]:
        value, x = getitem(value, 0), call.lifted(0)
    if paddings:
        none = cast([[0, 0]], paddings[0].dtype)
        return call.apply(x, value, concat([none, paddings[0]], 0))
    return call.apply(x, value, pairs=((0, 0), *call.params["pairs"]))


def merged(x: Any) -> Any:
    """A batched tensor with the lanes merged into the first axis of one lane."""
    first, second, *rest = dims(x)
    return reshape(x, [product([first, second]), *rest])


def parted(x: Any, lanes: Any, count: Any) -> Any:
    """The inverse of `merged`; the axis has `count` elements in one lane."""
    return reshape(x, [lanes, count, *dims(x)[1:]])
