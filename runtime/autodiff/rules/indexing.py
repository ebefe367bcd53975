"""Rules for indexing and item assignment."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.autodiff.rules.broadcasting import filled, sum_to
from runtime.autodiff.rules.registry import Applied, Update, jvp, vjp
from runtime.core.trace import apply
from runtime.ops.concat_split import PAD
from runtime.ops.indexing import GETITEM, SETITEM, SLICE, getitem, setitem
from runtime.ops.math import add
from runtime.ops.shape import dim

ALL: Final = (None, None, None)
REVERSED: Final = (None, None, -1)


@jvp("getitem", "slice")
def _part_of_tangent(node: Applied, t: Any, *rest: Any) -> Sequence[Any]:
    op = GETITEM if node.name == "getitem" else SLICE
    return [apply(op, t, *node.inputs[1:], **node.params)]


@vjp("getitem")
def _getitem(node: Applied, ct: Any) -> Sequence[Any]:
    x, operands, index = node.inputs[0], node.inputs[1:], node.params["index"]
    nothing = [None] * len(operands)
    if all(entry in (ALL, REVERSED) for entry in index):
        return [apply(GETITEM, ct, index=index)]
    pairs = _margins(x.type.shape, index)
    if pairs is not None:
        return [apply(PAD, ct, 0, pairs=pairs, mode="CONSTANT")]
    return [Update(lambda total: added(total, ct, index, operands)), *nothing]


def added(total: Any, ct: Any, index: Any, operands: Sequence[Any]) -> Any:
    """`total` with `ct` added to its part `total[index]`."""
    part = apply(GETITEM, total, *operands, index=index)
    return apply(SETITEM, total, add(part, ct), *operands, index=index)


def _margins(shape: Sequence[int | None], index: Any) -> tuple[tuple[int, int], ...] | None:
    """The numbers of elements that an index omits before and after each axis, if it selects at least a quarter of the
    tensor; else None: for smaller parts it is cheaper to add the cotangent in place."""
    pairs = []
    share = 1.0
    for size, entry in zip(shape, (*index, *(ALL,) * (len(shape) - len(index))), strict=False):
        if type(entry) is not tuple or "?" in entry or entry[2] not in (None, 1):
            return None
        if entry[:2] == (None, None):
            pairs.append((0, 0))
            continue
        if size is None:
            return None
        start, stop, _ = slice(*entry[:2]).indices(size)
        stop = max(start, stop)
        pairs.append((start, size - stop))
        share *= (stop - start) / size if size else 1
    return tuple(pairs) if len(index) <= len(shape) and share >= 0.25 else None


@vjp("setitem")
def _setitem(node: Applied, ct: Any) -> Sequence[Any]:
    value, operands, index = node.inputs[1], node.inputs[2:], node.params["index"]
    rest = apply(SETITEM, ct, 0, *operands, index=index) if node.wanted[0] else None
    part = sum_to(apply(GETITEM, ct, *operands, index=index), value) if node.wanted[1] else None
    return [rest, part, *[None] * len(operands)]


@jvp("setitem")
def _setitem_tangents(node: Applied, x: Any, value: Any, *rest: Any) -> Sequence[Any]:
    return [apply(SETITEM, filled(x, node.inputs[0]), 0 if value is None else value, *node.inputs[2:],
                  index=node.params["index"])]


@vjp("slice")
def _slice(node: Applied, ct: Any) -> Sequence[Any]:
    begin = node.inputs[1]

    def add_part(total: Any) -> Any:
        starts = [getitem(begin, axis) for axis in range(ct.ndim)]
        place = tuple([slice(start, add(start, dim(ct, axis, begin.dtype))) for axis, start in enumerate(starts)])
        return setitem(total, place, add(getitem(total, place), ct)) if place else add(total, ct)

    return [Update(add_part), None, None]
