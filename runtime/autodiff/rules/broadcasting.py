"""Cotangents of operands that broadcast, and tangents of broadcast results."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final
from weakref import ref

from autograph.backend import until_gone
from runtime.core.graph import Value
from runtime.core.tensor import GraphTensor
from runtime.core.types import int64
from runtime.ops.creation import zeros_like
from runtime.ops.logic import equal, where
from runtime.ops.math import cast, floordiv, maximum
from runtime.ops.op_makers import apply_one
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import RESHAPE, broadcast_to, dim, dims, reshape, squeeze

__all__ = ["broadcast_like", "filled", "reshape_like", "sum_to"]


def sum_to(ct: Any, x: Any, others: Sequence[Any] = (), fixed: Collection[int] = ()) -> Any:
    """The cotangent of `x`, where `ct` is that of `x` broadcast: summed to the shape of `x`.

    It was broadcast together with the tensors `others`; without these, to any shape. The axes `fixed` were not
    broadcast. If it is known only at run time whether an axis was, it is split into two, and the repeated one is
    summed.
    """
    lead = ct.ndim - x.ndim
    have, want = ct.type.shape[lead:], x.type.shape
    places = [a for a in range(len(want)) if a not in fixed]
    known = [a for a in places if want[a] == 1 and have[a] != 1]
    if known:
        ct = reduce_sum(ct, [*range(lead), *(lead + a for a in known)], keepdims=True)
        ct = squeeze(ct, list(range(lead))) if lead else ct
    elif lead:
        ct = reduce_sum(ct, list(range(lead)))
    unsure = [a for a in places if want[a] is None and have[a] != 1 and not _sets_size(x, a - len(want), others)]
    return _sum_repeated(ct, x, unsure) if unsure else ct


def _sum_repeated(ct: Any, x: Any, axes: Sequence[int]) -> Any:
    """Sums along each axis that was broadcast, determined at run time: the result has the size of `x`, or 1."""
    parts: list[Any] = []
    repeated = []
    for a in range(ct.ndim):
        have = dim(ct, a, int64)
        if a in axes:
            have = cast(have, int64)
            want = where(equal(have, 1), have, cast(dim(x, a, int64), int64))
            repeated.append(len(parts))
            parts += [floordiv(have, maximum(want, 1)), want]
        else:
            parts.append(have)
    return reduce_sum(reshape(ct, parts), repeated)


def _sets_size(x: Any, axis: int, others: Sequence[Any]) -> bool:
    """Whether the broadcast of `x` and `others` must have the size of `x` along an axis, counted from the end."""
    if not others:
        return False
    return all(other.ndim < -axis or other.type.shape[axis] == 1 or same_size(x, other, axis) for other in others)


def same_size(x: Any, y: Any, axis: int) -> bool:
    """Whether two tensors must have the same size along an axis, counted from the end."""
    if x is y:
        return True
    if not isinstance(x, GraphTensor) or not isinstance(y, GraphTensor):
        return bool(x.type.shape[axis] == y.type.shape[axis] is not None)
    return _origin(x.value, axis) == _origin(y.value, axis)


ELEMENTWISE: Final[set[str]] = {
    "abs", "bitwise_and", "bitwise_or", "bitwise_xor", "cast", "ceil", "complex", "conj", "equal", "floor", "floordiv",
    "greater", "greater_equal", "imag", "invert", "less", "less_equal", "not_equal", "real", "rint", "sign",
    "stop_gradient"}
"""Ops whose results have the broadcast shape of their operands: these, and those of `elementwise`."""
_origins: Final[dict[int, tuple[dict[int, int | ref[Value]], object]]] = {}
"""By the id of a value, for its lifetime: the results of `_origin`, by axis."""


def _origin(value: Value, axis: int) -> Value | int:
    """The size along an axis if known, else the first value that has it: for an element-wise op, of an operand."""
    pending = [value]
    while pending:
        top = pending[-1]
        operands = _operands(top, axis)
        missing = [x for x in operands if _found(x, axis) is None]
        pending += missing
        if not missing:
            sizes = {_found(x, axis) for x in operands} - {1}
            origin = sizes.pop() if len(sizes) == 1 else top
            if id(top) not in _origins:
                _origins[id(top)] = {}, until_gone(top, _origins, id(top))
            _origins[id(top)][0][axis] = ref(origin) if isinstance(origin, Value) else origin or 0
            pending.pop()
    result = _found(value, axis)
    assert result is not None
    return result


def _found(value: Value, axis: int) -> Value | int | None:
    """The cached or static result of `_origin`, if any."""
    size: int | None = value.type.shape[axis]  # type: ignore[union-attr]
    known = _origins.get(id(value))
    if size is not None or known is None or axis not in known[0]:
        return size
    origin = known[0][axis]
    return origin if isinstance(origin, int) else origin() or value


def _operands(value: Value, axis: int) -> list[Value]:
    """The operands that determine the value's size along an axis."""
    node = value.node
    if node is None or node.op.name not in ELEMENTWISE or value.type.shape[axis] is not None:  # type: ignore[union-attr]
        return []
    return [x for x in node.inputs if len(x.type.shape) >= -axis]  # type: ignore[union-attr]


def broadcast_like(x: Any, like: Any) -> Any:
    """`x` broadcast to the shape of `like`, unless it is known to have it."""
    if x.ndim == like.ndim and all(same_size(x, like, a) for a in range(-x.ndim, 0)):
        return x
    return broadcast_to(x, dims(like))


def reshape_like(ct: Any, x: Any) -> Any:
    """`ct` in the shape of `x`; it uses only sizes of `x` that are unknown and do not follow from the others."""
    shape = x.type.shape
    if shape.count(None) == 1 and 0 not in shape:
        return apply_one(RESHAPE, ct, dims=tuple([-1 if size is None else size for size in shape]))
    return reshape(ct, dims(x))


def filled(x: Any, like: Any) -> Any:
    """A tangent or cotangent of `like` for an op that requires one: zeros for None."""
    return zeros_like(like) if x is None else x
