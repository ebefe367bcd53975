"""Rules for shapes: ops that only move elements, and sizes."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.core.graph import Node, Value
from runtime.core.types import Shape, TensorType, broadcast_shapes
from runtime.optimize.algebra import made_by
from runtime.optimize.builder import Builder
from runtime.optimize.rules import Result, rule

__all__ = ["BROADCASTING"]


def _known(value: Value) -> Shape | None:
    """The shape, if it is fully known; else None."""
    type = value.type
    return type.shape if isinstance(type, TensorType) and None not in type.shape else None


@rule("shape as it is", "reshape", "broadcast_to", "transpose", "expand_dims", "squeeze", "concat")
def as_it_is(b: Builder, node: Node) -> Result:
    """An op that gives a tensor the shape that it has, or a transpose that keeps the order of axes, is removed."""
    x = node.inputs[0]
    if node.op.name == "transpose":
        return x if node.params["perm"] == tuple(range(len(node.params["perm"]))) else None
    if node.op.name == "concat":
        return x if len(node.inputs) == 1 else None
    if node.op.name in ("expand_dims", "squeeze"):
        return None if node.params["axis"] else x
    return x if _known(x) is not None and _known(x) == _known(node.outputs[0]) else None


@rule("shape of a shape", "reshape", "broadcast_to", "transpose")
def shape_of_shape(b: Builder, node: Node) -> Result:
    """A reshape of a reshape (also of expand_dims or squeeze), a transpose of a transpose, a broadcast of a broadcast:
    a single one. For known shapes."""
    x, wanted = node.inputs[0], _known(node.outputs[0])
    if node.op.name == "transpose":
        inner = made_by(x, "transpose")
        if inner is None:
            return None
        first = inner.params["perm"]
        return b.apply("transpose", inner.inputs[0], perm=tuple(first[axis] for axis in node.params["perm"]))
    if wanted is None:
        return None
    if node.op.name == "broadcast_to":
        inner = made_by(x, "broadcast_to")
        return None if inner is None else b.apply("broadcast_to", inner.inputs[0], dims=wanted)
    inner = made_by(x, "reshape", "expand_dims", "squeeze")
    if inner is None or _known(inner.inputs[0]) is None:
        return None
    return b.apply("reshape", inner.inputs[0], dims=wanted)


@rule("squeeze of expand_dims", "squeeze", "expand_dims")
def squeeze_of_expand(b: Builder, node: Node) -> Result:
    """squeeze(expand_dims(x)) at the same axes, or the other way round: x."""
    other = "expand_dims" if node.op.name == "squeeze" else "squeeze"
    inner = made_by(node.inputs[0], other)
    return inner.inputs[0] if inner is not None and inner.params["axis"] == node.params["axis"] else None


@rule("dim", "dim")
def dim(b: Builder, node: Node) -> Result:
    """The size of a dimension that is known by now is a constant."""
    type = node.inputs[0].type
    assert isinstance(type, TensorType)
    size = type.shape[node.params["axis"]]
    out = node.outputs[0].type
    assert isinstance(out, TensorType)
    return None if size is None or size > out.dtype.limits[1] else b.constant(np.array(size, out.dtype.np))


@rule("element of a stack", "getitem")
def element_of_stack(b: Builder, node: Node) -> Result:
    """stack([x, y])[0]: x."""
    inner = made_by(node.inputs[0], "stack")
    index = node.params["index"]
    if inner is None or inner.params["axis"] or len(index) != 1 or type(index[0]) is not int:
        return None
    count = len(inner.inputs)
    return inner.inputs[index[0]] if -count <= index[0] < count else None


@rule("stack of all elements", "stack")
def stack_of_elements(b: Builder, node: Node) -> Result:
    """stack([x[0], x[1]]) of all elements in order: x, and so for all elements of a part of a tensor, such as those of
    a row, and of tensors with more axes. For known shapes."""
    first = made_by(node.inputs[0], "getitem")
    known = None if first is None else _known(first.inputs[0])
    if first is None or known is None or node.params["axis"] != 0:
        return None
    shape = tuple([size for size in known if size is not None])
    places = [_place(value, first.inputs[0], shape) for value in node.inputs]
    if None in places:
        return None
    counts = [math.prod(shape[axes:]) for axes in range(len(shape))]  # of the elements of x[i], x[i, j], ...
    if len(places) not in counts:
        return None
    axes = counts.index(len(places))
    part = (places[0] or ())[:axes]
    if any(place != (*part, *rest) for place, rest in zip(places, np.ndindex(shape[axes:]), strict=True)):
        return None
    x = b.apply("getitem", first.inputs[0], index=part) if part else first.inputs[0]
    return b.apply("reshape", x, dims=(len(places),)) if len(shape) - axes > 1 else x


def _place(value: Value, x: Value, shape: Sequence[int]) -> tuple[int, ...] | None:
    """The indices of an element of `x` that a value is; None if it is none."""
    node = made_by(value, "getitem")
    if node is None or node.inputs[0] is not x:
        return None
    index = node.params["index"]
    if len(index) != len(shape) or not all([type(i) is int for i in index]):
        return None
    return tuple([i % size for i, size in zip(index, shape, strict=True)])


@rule("element of a range", "getitem", sees=True)
def element_of_range(b: Builder, node: Node) -> Result:
    """range(start, limit, delta)[i] of integers, where i is the iteration counter of a loop with at most as many
    iterations as the range has elements: start + i * delta."""
    inner, out = made_by(node.inputs[0], "range"), node.outputs[0].type
    if inner is None or node.params["index"] != ("?",) or inner.params["length"] is None:
        return None
    count = b.count_of(node.inputs[1])
    if count is None or count > inner.params["length"] or not isinstance(out, TensorType) or out.dtype.is_floating:
        return None
    start, _, delta = inner.inputs
    index = b.apply("cast", node.inputs[1], dtype=out.dtype, weak=out.weak)
    if delta.constant is None or delta.constant != 1:
        index = b.apply("multiply", index, delta)
    return index if start.constant is not None and start.constant == 0 else b.apply("add", start, index)


BROADCASTING: Final = (
    "add", "subtract", "multiply", "divide", "floordiv", "mod", "maximum", "minimum", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
    "where",
)
"""Ops whose operands broadcast, and that treat each element the same for any strides."""


@rule("broadcast of an operand", *BROADCASTING)
def broadcast_operand(b: Builder, node: Node) -> Result:
    """x + broadcast_to(y, shape): x + y, if the result has the same shape. For known shapes."""
    for i, value in enumerate(node.inputs):
        inner = made_by(value, "broadcast_to")
        if inner is None:
            continue
        inputs = [*node.inputs[:i], inner.inputs[0], *node.inputs[i + 1:]]
        shapes = [_known(v) for v in inputs]
        wanted = _known(node.outputs[0])
        if wanted is None or None in shapes or broadcast_shapes(*shapes) != wanted:  # type: ignore[arg-type]
            continue
        return b.apply(node.op.name, *inputs, **node.params)
    return None
