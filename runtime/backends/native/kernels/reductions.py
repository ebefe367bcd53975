"""Lowerings of reductions, argmax and argmin, and cumulative sums."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.backends.native.codegen import folds, fusion
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Context, Formula, Map, Place, Scalar
from runtime.backends.native.codegen.scalar_ops import combine, identity, llvm_type, lower
from runtime.backends.native.kernels.shapes import narrowed, widened
from runtime.backends.native.llvm.builder import Builder, Index, Val, const, like
from runtime.core.graph import Node
from runtime.core.types import DType, float16, int32, int64

__all__: list[str] = []


@lowers("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_all", "reduce_any")
def reduce(w: Lowering, node: Node, x: Value) -> Value:
    axes = node.params["axis"]
    if isinstance(x, Scalar):
        return x
    assert isinstance(x, Array)
    if not axes:
        return x
    w.note([x], node.op.name)
    if x.dtype is float16:
        return narrowed(w, _reduced(w, node, widened(x)), float16)
    number = _ordered(x) if node.op.name == "reduce_max" else None
    if number is not None:
        result = _reduced(w, node, Map("bits", number, x.dims, _bits(number), [x], 0))
        if isinstance(result, Scalar):
            return Scalar(x.dtype, w.b.bitcast(result.val, llvm_type(x.dtype)))
        return Map("bits", x.dtype, result.dims, _bits(x.dtype), [result], 0)
    return _reduced(w, node, x)


def _reduced(w: Lowering, node: Node, x: Array) -> Array | Scalar:
    axes = node.params["axis"]
    found = None
    if len(axes) == len(x.dims) and not node.params["keepdims"]:
        found = folds.reduce_and_store(w.b, w.memory, node.op.name, x, w.divide)
    if found is not None:
        w.forced[-1] += found[1]
        return found[0]
    x = w.needed(x)
    return folds.reduce(w.b, w.memory, node.op.name, x, axes, node.params["keepdims"], w.divide)


def _ordered(x: Array) -> DType | None:
    """For absolute values of floats: the integer dtype in which their bits have the same order, with NaN above all,
    since its maximum takes one instruction, that of floats six. None for other arrays, and if there may be no
    elements."""
    known = isinstance(x, Map) and x.name == "abs" and x.dtype.is_floating and x.args[0].dtype is x.dtype
    some = all(isinstance(d, int) and d > 0 for d in x.dims)
    return {4: int32, 8: int64}.get(x.dtype.size) if known and some else None


def _bits(dtype: DType) -> Callable[[Builder, Val], Val]:
    return lambda b, x: b.bitcast(x, like(x.ty, llvm_type(dtype)))


@lowers("argmax", "argmin")
def arg(w: Lowering, node: Node, x: Value) -> Value:
    assert isinstance(x, Array)
    b = w.b
    axis, out = node.params["axis"], node.params["dtype"]
    size = x.dims[axis]
    if isinstance(size, Val):
        w.fail_if(b.icmp("eq", size, const("i64", 0)), node, [x])
    elif size == 0:
        raise NotNative("nothing to choose from")
    if x.weight > 1:
        x = w.leaf(x)
    source, dtype = x, x.dtype

    def search(b: Builder, place: Place) -> Val:
        def at(k: Index) -> Val:
            return source.at(Context(b), [*place[:axis], k, *place[axis:]])

        _, index = _searched(b, dtype, node.op.name == "argmax", size, at)
        return index if llvm_type(out) == "i64" else b.convert("trunc", index, llvm_type(out))

    dims = [d for a, d in enumerate(x.dims) if a != axis]
    if not dims:
        return Scalar(out, search(b, []))
    return w.leaf(Formula(out, dims, lambda c, place: search(c.b, place), cost=20))


_CHAINS: Final = 8
"""Independent searches that run in parallel, to hide the latency of the comparisons."""


def _searched(b: Builder, dtype: DType, greatest: bool, size: Index, at: Callable[[Index], Val]) -> list[Val]:
    """The extreme of the elements at 0, 1, ... (the greatest or the least), and its first position; a NaN wins over all
    numbers."""
    def search(by: int, start: int) -> Callable[[Val, Sequence[Val]], list[Val]]:
        """A step to the element at `by * k + start`."""
        def one(k: Val, state: Sequence[Val]) -> list[Val]:
            place = b.i64(b.iadd(b.imul(k, by), start))
            value = at(place)
            better = _is_before(b, dtype, greatest, value, state[0])
            return [b.select(better, value, state[0]), b.select(better, place, state[1])]

        return one

    if not isinstance(size, int) or size < 2 * _CHAINS:
        return b.folded(1, size, [at(0), const("i64", 0)], search(1, 0))
    each = [search(_CHAINS, chain) for chain in range(_CHAINS)]

    def strip(k: Val, state: Sequence[Val]) -> list[Val]:
        return [x for chain, one in enumerate(each) for x in one(k, state[2 * chain:2 * chain + 2])]

    first = [x for chain in range(_CHAINS) for x in (at(chain), const("i64", chain))]
    found = b.folded(1, size // _CHAINS, first, strip, unroll=False)
    best = b.folded(size // _CHAINS * _CHAINS, size, found[:2], search(1, 0))
    for chain in range(1, _CHAINS):
        value, place = found[2 * chain:2 * chain + 2]
        better = b.or_(_is_before(b, dtype, greatest, value, best[0]), b.and_(
            _is_equal(b, dtype, value, best[0]), b.icmp("slt", place, best[1])))
        best = [b.select(better, value, best[0]), b.select(better, place, best[1])]
    return best


def _is_before(b: Builder, dtype: DType, greatest: bool, value: Val, best: Val) -> Val:
    if dtype.is_floating:  # NaN wins over numbers
        return b.and_(b.fcmp("ugt" if greatest else "ult", value, best), b.fcmp("ord", best, best))
    sign = "u" if dtype.is_unsigned or dtype.is_bool else "s"
    return b.icmp(sign + ("gt" if greatest else "lt"), value, best)


def _is_equal(b: Builder, dtype: DType, value: Val, best: Val) -> Val:
    if not dtype.is_floating:
        return b.icmp("eq", value, best)
    return b.or_(b.fcmp("oeq", value, best), b.and_(b.fcmp("uno", value, value), b.fcmp("uno", best, best)))


@lowers("cumsum", "cumprod")
def cumulative(w: Lowering, node: Node, x: Value) -> Value:
    assert isinstance(x, Array)
    b = w.b
    axis, exclusive, reverse = node.params["axis"], node.params["exclusive"], node.params["reverse"]
    name = "reduce_sum" if node.op.name == "cumsum" else "reduce_prod"
    target = w.memory(x.dtype, x.dims)
    if x.weight > 3:
        x = w.leaf(x)
    first = const(llvm_type(x.dtype), identity(name, x.dtype))
    size = x.dims[axis]
    source = x

    def line(outer: Sequence[Index]) -> None:
        def place(k: Index) -> list[Index]:
            index = b.isub(b.isub(size, 1), k) if reverse else k
            return [*outer[:axis], index, *outer[axis:]]

        def step(k: Val, state: Sequence[Val]) -> list[Val]:
            where = place(k)
            value = source.at(Context(b), where)
            total = combine(b, name, source.dtype, state[0], value)
            target.store(b, where, state[0] if exclusive else total)
            return [total]

        def begin() -> None:
            if exclusive:
                b.folded(0, size, [first], step)
                return
            value = source.at(Context(b), place(0))  # combining with `first` may change it: 0.0 + -0.0, (1+0j) * inf
            target.store(b, place(0), value)
            b.folded(1, size, [value], step)

        if isinstance(size, Val):
            with b.when(b.icmp("sgt", size, const("i64", 0))):
                begin()
        elif size:
            begin()

    fusion.nest(b, [d for a, d in enumerate(x.dims) if a != axis], line, parallel=False)
    return target


@lowers("linear_recurrence")
def linear_recurrence(w: Lowering, node: Node, factors: Value, terms: Value) -> Value:
    assert isinstance(factors, Array) and isinstance(terms, Array)
    b, dtype = w.b, terms.dtype
    axis, reverse = node.params["axis"], node.params["reverse"]
    for one, other in zip(factors.dims, terms.dims, strict=True):
        if not (isinstance(one, int) and one == other):
            w.fail_if(b.icmp("ne", b.i64(one), b.i64(other)), node, [factors, terms])
    target = w.memory(dtype, terms.dims)
    size = terms.dims[axis]
    sources = [x if x.weight <= 3 else w.leaf(x) for x in (factors, terms)]

    def line(outer: Sequence[Index]) -> None:
        def step(k: Val, state: Sequence[Val]) -> list[Val]:
            where = [*outer[:axis], b.isub(b.isub(size, 1), k) if reverse else k, *outer[axis:]]
            factor, term = (x.at(Context(b), where) for x in sources)
            total = lower(b, "add", dtype, lower(b, "multiply", dtype, factor, state[0]), term)
            target.store(b, where, total)
            return [total]

        b.folded(0, size, [const(llvm_type(dtype), identity("reduce_sum", dtype))], step)

    fusion.nest(b, [d for a, d in enumerate(terms.dims) if a != axis], line, parallel=False)
    return target
