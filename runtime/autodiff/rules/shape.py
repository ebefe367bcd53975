"""Rules for ops that change a tensor's shape. All are linear: the tangent of the result is the op on the tangent."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import filled, reshape_like, sum_to
from runtime.autodiff.rules.registry import Applied, constant, jvp, vjp
from runtime.core.op import REGISTRY
from runtime.core.trace import apply
from runtime.ops.indexing import GETITEM
from runtime.ops.shape import EXPAND_DIMS, SQUEEZE, TRANSPOSE, stack

constant("its result is an int", "dim", "size")
constant("it counts", "range")


@jvp("reshape", "broadcast_to", "expand_dims", "squeeze", "transpose", "split")
def _linear(node: Applied, t: Any, *shape: Any) -> Sequence[Any]:
    found = apply(REGISTRY[node.name], t, *node.inputs[1:], **node.params)
    return found if isinstance(found, tuple) else [found]


@vjp("reshape")
def _reshape(node: Applied, ct: Any) -> Sequence[Any]:
    return [reshape_like(ct, node.inputs[0]), *[None] * len(node.inputs[1:])]


@vjp("broadcast_to")
def _broadcast_to(node: Applied, ct: Any) -> Sequence[Any]:
    return [sum_to(ct, node.inputs[0]), *[None] * len(node.inputs[1:])]


@vjp("expand_dims")
def _expand_dims(node: Applied, ct: Any) -> Sequence[Any]:
    return [apply(SQUEEZE, ct, axis=node.params["axis"])]


@vjp("squeeze")
def _squeeze(node: Applied, ct: Any) -> Sequence[Any]:
    return [apply(EXPAND_DIMS, ct, axis=node.params["axis"])]


@vjp("transpose")
def _transpose(node: Applied, ct: Any) -> Sequence[Any]:
    perm = node.params["perm"]
    return [apply(TRANSPOSE, ct, perm=tuple([perm.index(axis) for axis in range(len(perm))]))]


@vjp("stack")
def _stack(node: Applied, ct: Any) -> Sequence[Any]:
    before = ((None, None, None),) * node.params["axis"]
    return [apply(GETITEM, ct, index=(*before, i)) if want else None for i, want in enumerate(node.wanted)]


@jvp("stack")
def _stack_tangents(node: Applied, *tangents: Any) -> Sequence[Any]:
    return [stack([filled(t, x) for t, x in zip(tangents, node.inputs, strict=True)], node.params["axis"])]
