"""Rules for sorting and unique elements. Sorted elements are gathered, so their derivative is that of gather."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.types import int64
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros_like
from runtime.ops.gather import gather, scatter
from runtime.ops.logic import equal, where
from runtime.ops.math import cast
from runtime.ops.shape import broadcast_to, dim, dims, expand_dims

constant("its result is an index", "argsort", "compared_order", "searchsorted")


@vjp("unique")
def _unique(node: Applied, ct: Any, *_: Any) -> Sequence[Any]:
    """The cotangent goes to the first of equal elements, which is the one returned."""
    return [None if ct is None else where(_is_first(node), gather(ct, node.outputs[1]), 0)]


@jvp("unique")
def _unique_tangent(node: Applied, t: Any) -> Sequence[Any]:
    chosen = where(_is_first(node), t, 0)
    return [scatter(zeros_like(node.outputs[0]), expand_dims(node.outputs[1], -1), chosen, "add"), None, None]


def _is_first(node: Applied) -> Any:
    """Whether an element is the first among equal ones."""
    x, (values, groups, _) = node.inputs[0], node.outputs
    count = cast(dim(x, 0, int64), int64)
    order = range_(count)
    first = scatter(broadcast_to(count, dims(values)), expand_dims(groups, -1), order, "min")
    return equal(gather(first, groups), order)
