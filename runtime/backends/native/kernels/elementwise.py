"""Lowerings of element-wise ops: operands are broadcast, and the result is an expression."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen import folds
from runtime.backends.native.codegen.context import Lowering, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Map, Scalar, broadcast, same
from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, FAILS, llvm_type, lower
from runtime.backends.native.libm import complex_numbers
from runtime.backends.native.llvm.builder import Builder, Index, Val, const, like
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType, TensorType, bool_

__all__: list[str] = []


CHEAP_TO_REPEAT: Final = 3
COSTS: Final[dict[str, int]] = {
    "divide": 3, "floordiv": 6, "mod": 6, "pow": 30, "sqrt": 4, "atan2": 25,
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "sigmoid", "softplus", "erf", "erfc", "erfinv", "sin", "cos",
                     "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 20)}


def pointwise(w: Lowering, name: str, dtype: DType, node: Node, values: Sequence[Value]) -> Value:
    """Lower an element-wise op, with operands of one dtype, for `node`."""
    if all(isinstance(x, Scalar) for x in values):
        return Scalar(dtype, lower(w.b, name, dtype, *[w.element(x) for x in values]))
    dims, args = fitted(w, node, values)
    return Map(name, dtype, dims, lambda b, *xs: lower(b, name, dtype, *xs), args)


@lowers(*ELEMENTWISE)
def elementwise(w: Lowering, node: Node, *values: Value) -> Value:
    name = node.op.name
    operand = node.inputs[-1].type if name == "where" else node.inputs[0].type
    out = node.outputs[0].type
    assert isinstance(operand, TensorType) and isinstance(out, TensorType)
    dtype = operand.dtype
    check = FAILS.get(name)
    if all(isinstance(x, Scalar) for x in values):
        vals = [x.val for x in values if isinstance(x, Scalar)]
        if check is not None:
            w.fail_if(check(w.b, dtype, *vals), node, values)
        if name == "multiply" and w.flags and dtype.is_floating:
            vals = [_fenced(w, x, val) for x, val in zip(node.inputs, vals, strict=True)]
        return Scalar(out.dtype, lower(w.b, name, dtype, *vals))
    dims, args = fitted(w, node, values)
    if check is not None:
        check_elements(w, node, values, dims, check, dtype)
    made = Map(name, out.dtype, dims, lambda b, *xs: lower(b, name, dtype, *xs), args, COSTS.get(name, 1))
    made.lined = made.lined and not (dtype.is_complex and name in complex_numbers.FUNCTIONS)
    return made


def _fenced(w: Lowering, x: GraphValue, val: Val) -> Val:
    """A quotient behind an optimisation barrier: otherwise LLVM rewrites p / r * q as p * q / r, where the division
    has to wait for q."""
    quotient = x.node is not None and x.node.op.name == "divide"
    return w.b.intrinsic("arithmetic.fence", val) if quotient else val


def check_elements(w: Lowering, node: Node, values: Sequence[Value], dims: Sequence[Index],
                   check: Callable[..., Val | None], dtype: DType) -> None:
    b = w.b
    divisor = values[1]
    sample = divisor.val if isinstance(divisor, Scalar) else Val(llvm_type(dtype), "poison")
    if isinstance(divisor, Scalar):
        bad = check(b, dtype, sample, sample)
    elif check(Builder(w.module), dtype, sample, sample) is None:
        return
    else:
        assert isinstance(divisor, Array)
        settled = w.settle(divisor)
        assert isinstance(settled, Array)

        def test(b: Builder, x: Val) -> Val:
            found = check(b, dtype, x, x)
            return const(like(x.ty, "i1"), 0) if found is None else found  # statically does not fail

        flags = Map("fails", bool_, settled.dims, test, [settled])
        total = folds.reduce(b, w.memory, "reduce_any", flags, range(len(settled.dims)), False, w.divide)
        assert isinstance(total, Scalar)
        bad = total.val
    if bad is None:
        return
    size = b.product(dims)
    if isinstance(size, int):
        if size == 0:
            return
    else:
        bad = b.and_(bad, b.icmp("sgt", size, const("i64", 0)))
    w.fail_if(bad, node, values)


def fitted(w: Lowering, node: Node, values: Sequence[Value], widen: bool = True,
           operands: Sequence[Value] | None = None) -> tuple[list[Index], list[Array | Scalar]]:
    """The broadcast shape of values, and the values in that shape. `operands`: the node's, for errors."""
    b = w.b
    operands = values if operands is None else operands
    rank = max(len(x.dims) for x in values if isinstance(x, (Scalar, Array)))
    dims: list[Index] = []
    for axis in range(-rank, 0):
        sizes = [x.dims[axis] for x in values if isinstance(x, Array) and -axis <= len(x.dims)]
        known = next((size for size in sizes if isinstance(size, int) and size != 1), None)
        open_: list[Val] = []
        for size in sizes:
            if isinstance(size, Val) and not any(same(size, other) for other in open_):
                open_.append(size)
        if not open_:
            dims.append(1 if known is None else known)
            continue
        size = open_[0] if known is None else const("i64", known)
        if known is None:
            for other in open_[1:]:
                size = b.select(b.icmp("eq", size, const("i64", 1)), other, size)
        w.fail_if(misfit(b, open_, [size] * len(open_)), node, operands)
        dims.append(size if known is None else known)
    args: list[Array | Scalar] = []
    if not widen:
        return dims, args
    for x in values:
        if isinstance(x, Array):
            args.append(spread(w, x, dims))
        else:
            assert isinstance(x, Scalar)
            args.append(x)
    return dims, args


def misfit(b: Builder, sizes: Sequence[Index], dims: Sequence[Index]) -> Val | None:
    """Whether a size is neither 1 nor that of `dims` at its position; None if statically not."""
    bad: Val | None = None
    for size, d in zip(sizes, dims, strict=True):
        if same(size, d) or (isinstance(size, int) and size == 1):
            continue
        wrong = b.and_(b.icmp("ne", b.i64(size), b.i64(d)), b.icmp("ne", b.i64(size), const("i64", 1)))
        bad = wrong if bad is None else b.or_(bad, wrong)
    return bad


def spread(w: Lowering, x: Array, dims: Sequence[Index]) -> Array:
    """`x` broadcast to `dims`. If only run time tells whether it is repeated, it is copied in that case."""
    b = w.b
    mine = dims[len(dims) - len(x.dims):]
    uncertain = [not same(a, d) and not (isinstance(a, int) and a == 1) for a, d in zip(x.dims, mine, strict=True)]
    if any(uncertain):
        x = w.leaf(x)
        repeats = [b.icmp("ne", b.i64(a), b.i64(d)) if flag else None
                   for a, d, flag in zip(x.dims, mine, uncertain, strict=True)]
        different: Val | None = None
        for flag in repeats:
            if flag is not None:
                different = flag if different is None else b.or_(different, flag)
        full = [d if flag else a for a, d, flag in zip(x.dims, mine, uncertain, strict=True)]
        source = x

        def copied() -> list[Val]:
            wide = broadcast(b, source, full, repeats)
            assert isinstance(wide, Array)
            with w.scope():
                target = w.memory(source.dtype, full)
                w.store_all([(wide, target)])
            return [target.pointer]

        assert different is not None
        (pointer,) = b.either(different, copied, lambda: [source.pointer])
        x = Leaf(x.dtype, full, pointer, bases=source.bases | {pointer.ref})
    elif x.weight > CHEAP_TO_REPEAT and (len(dims) > len(x.dims) or not all(map(same, x.dims, mine))):
        x = w.leaf(x)
    result = broadcast(b, x, dims)
    assert isinstance(result, Array)
    return result

