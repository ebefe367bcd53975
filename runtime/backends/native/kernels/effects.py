"""Lowerings of variables, and of checks, which call Python to raise."""
from __future__ import annotations

from contextlib import nullcontext

from runtime.backends.native.codegen import folds
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Map, Scalar
from runtime.backends.native.kernels.elementwise import pointwise
from runtime.backends.native.libm.complex_numbers import parts
from runtime.backends.native.llvm.builder import Builder, Val, const, is_float
from runtime.core.graph import Node
from runtime.core.types import TensorType, bool_

__all__: list[str] = []


@lowers("read_variable")
def read_variable(w: Lowering, node: Node) -> Value:
    return w.read(node.params["variable"])


@lowers("assign_variable")
def assign_variable(w: Lowering, node: Node, x: Value) -> None:
    storage = node.params["variable"]
    _check_shape(w, node, storage.type, x)
    w.assign(storage, x)


@lowers("accumulate_variable")
def accumulate_variable(w: Lowering, node: Node, x: Value) -> None:
    storage = node.params["variable"]
    old = w.read(storage)
    name = "subtract" if node.params.get("negate") else "add"
    _check_shape(w, node, storage.type, x)
    w.assign(storage, pointwise(w, name, storage.type.dtype, node, [old, x]))


def _check_shape(w: Lowering, node: Node, type: TensorType, x: Value) -> None:
    """Write a check that the value fits the variable; if not, the kernel raises."""
    if not isinstance(x, Array):
        return
    b = w.b
    if len(x.dims) != len(type.shape):
        w.fail_if(const("i1", 1), node, [x])
        return
    for size, known in zip(x.dims, type.shape, strict=True):
        if known is not None and isinstance(size, Val):
            w.fail_if(b.icmp("ne", size, const("i64", known)), node, [x])


@lowers("raise_unless", "check_bound")
def check(w: Lowering, node: Node, condition: Value, *values: Value) -> None:
    """A check of one path (`fits or not taken`) asks for the path only where the value does not fit, which is rare."""
    b, holds = w.b, w.element(condition)
    first, second = b.disjunctions.get(holds.ref, (None, holds))
    with nullcontext() if first is None else b.when(b.not_(first), b.module.unlikely()):
        w.fail_if(b.not_(second), node, [condition, *values])


@lowers("raise")
def raise_(w: Lowering, node: Node, *values: Value) -> None:
    w.raise_by(node, values)


@lowers("check")
def check_(w: Lowering, node: Node, condition: Value, *values: Value) -> None:
    type = node.inputs[0].type
    if not isinstance(type, TensorType) or type.shape or type.dtype is not bool_:
        raise NotNative("a condition that is no bool scalar")
    w.fail_if(w.b.not_(w.element(condition)), node, [condition, *values])


@lowers("check_numerics")
def check_numerics(w: Lowering, node: Node, x: Value) -> Value:
    b = w.b
    if isinstance(x, Scalar):
        if x.dtype.is_floating or x.dtype.is_complex:
            w.fail_if(_not_finite(b, x.val), node, [x])
        return x
    assert isinstance(x, Array)
    x = w.leaf(x)
    flags = Map("not finite", bool_, x.dims, _not_finite, [x], 2)
    found = folds.reduce(b, w.memory, "reduce_any", flags, range(len(x.dims)), False, w.divide)
    assert isinstance(found, Scalar)
    w.fail_if(found.val, node, [x])
    return x


def _not_finite(b: Builder, x: Val) -> Val:
    """For a float, whether it is inf or NaN; for a complex number, whether one of its parts is."""
    if not is_float(x.ty):
        return b.or_(*[_not_finite(b, part) for part in parts(b, x)])
    return b.fcmp("ueq", b.intrinsic("fabs", x), const(x.ty, float("inf")))  # unordered: true for NaN
