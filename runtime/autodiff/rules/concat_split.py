"""Rules for concatenating, splitting, padding and repeating tensors."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from runtime.autodiff.rules.broadcasting import filled
from runtime.autodiff.rules.gather import add_at
from runtime.autodiff.rules.indexing import ALL, added
from runtime.autodiff.rules.registry import Applied, Update, jvp, vjp
from runtime.core.types import int64
from runtime.ops.concat_split import PAD, concat
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros
from runtime.ops.indexing import getitem
from runtime.ops.math import add, cast
from runtime.ops.op_makers import apply_one
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import dim, dims


@vjp("concat")
def _concat(node: Applied, ct: Any) -> Sequence[Any]:
    axis = node.params["axis"]
    ends = list(accumulate([dim(x, axis, int64) for x in node.inputs], _plus))
    starts = [0, *ends[:-1]]
    before = (slice(None),) * axis
    return [getitem(ct, (*before, slice(start, end))) if want else None
            for start, end, want in zip(starts, ends, node.wanted, strict=True)]


def _plus(a: Any, b: Any) -> Any:
    return a + b if type(a) is int and type(b) is int else add(a, b)


@jvp("concat")
def _concat_tangents(node: Applied, *tangents: Any) -> Sequence[Any]:
    return [concat([filled(t, x) for t, x in zip(tangents, node.inputs, strict=True)], node.params["axis"])]


@vjp("split")
def _split(node: Applied, *cts: Any) -> Sequence[Any]:
    axis, sections = node.params["axis"], node.params["sections"]
    if all(ct is not None for ct in cts):
        return [concat(cts, axis)]
    before = (ALL,) * axis

    def add_parts(total: Any) -> Any:
        if isinstance(sections, int):
            size = dim(node.outputs[0], axis, int64)
            ends = [(i + 1) * size if type(size) is int else size * (i + 1) for i in range(sections)]
        else:
            ends = list(accumulate(sections))
        for start, end, ct in zip([0, *ends[:-1]], ends, cts, strict=True):
            if ct is not None:
                operands = [bound for bound in (start, end) if type(bound) is not int]
                bounds = ["?" if type(bound) is not int else bound for bound in (start, end)]
                total = added(total, ct, (*before, (*bounds, None)), operands)
        return total

    return [Update(add_parts)]


@vjp("pad")
def _pad(node: Applied, ct: Any) -> Sequence[Any]:
    x, *_ = node.inputs
    nothing = [None] * len(node.inputs[2:])
    if node.params["mode"] != "CONSTANT":
        return [_reflected(node, ct), None, *nothing]
    if not ct.ndim:
        return [ct, None, *nothing]
    inner = getitem(ct, tuple([slice(start, _plus(start, dim(x, axis, int64)))
                               for axis, start in enumerate(_starts(node))]))
    around = reduce_sum(ct) - reduce_sum(inner) if node.wanted[1] else None
    return [inner, around, *nothing]


def _starts(node: Applied) -> Sequence[Any]:
    """The number of elements that pad adds before each axis."""
    pairs = node.params["pairs"]
    if pairs is not None:
        return [before for before, _ in pairs]
    widths = cast(node.inputs[2], int64)
    return [getitem(widths, (axis, 0)) for axis in range(node.inputs[0].ndim)]


def _reflected(node: Applied, ct: Any) -> Any:
    """Adds, axis by axis, the cotangents of padding elements to those of the elements they copy."""
    x, _, *paddings = node.inputs
    pairs, mode = node.params["pairs"], node.params["mode"]
    for axis in range(x.ndim):
        size = dim(x, axis, int64)
        places = range_(cast(size, int64))
        if pairs is not None:
            if pairs[axis] == (0, 0):
                continue
            source = apply_one(PAD, places, 0, pairs=(pairs[axis],), mode=mode)
        else:
            row = getitem(paddings[0], slice(axis, axis + 1))
            source = apply_one(PAD, places, 0, row, pairs=None, mode=mode)
        sizes = dims(ct)
        ct = add_at(zeros([*sizes[:axis], size, *sizes[axis + 1:]], ct.dtype), ct, source, axis)
    return ct


@jvp("pad")
def _pad_tangents(node: Applied, t: Any, value: Any, *rest: Any) -> Sequence[Any]:
    return [apply_one(PAD, filled(t, node.inputs[0]), 0 if value is None else value, *node.inputs[2:], **node.params)]
