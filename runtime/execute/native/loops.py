"""Loops over the elements of arrays: storing them, and reducing them.

Arrays that are stored together share one loop, which computes each element of what they have in common once; what
is needed again later is stored by the way. Float sums are accurate to about the error of pairwise summation: lanes
and blocks first, whose sums are added with compensation (A. Neumaier, 1974).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from runtime.execute.native.arrays import CHEAP, Array, Context, Leaf, Map, Scalar, same_dims
from runtime.execute.native.emit import Builder, Index, Val, const
from runtime.execute.native.scalars import combine, identity, llvm_type
from runtime.types import DType

__all__ = ["CHEAP", "Divide", "Memory", "materialize", "nest", "reduce", "same_dims", "shared", "store_all"]

Memory = Callable[[DType, Sequence[Index]], Leaf]  # new memory for an array
Part = Callable[[Builder, Val, Val], None]
Divide = Callable[[Index, int, int, Part], bool]
"""`divide(size, work, step, part)`: call `part(b, start, stop)` for parts of `range(size)`, perhaps on several threads,
if the work - elements by their weight - is worth it; else False."""

_WIDE: Final = 2048  # bits of an accumulator: several registers, so that additions overlap
_BLOCK: Final = 32  # additions in a lane between two compensated ones


def shared(roots: Sequence[Array]) -> list[Map]:
    """The expressions under `roots` that are also used elsewhere and not cheap to compute again."""
    edges: dict[int, int] = {}
    found: list[Map] = []

    def visit(x: Array | Scalar) -> None:
        if not isinstance(x, Map) or x.leaf is not None:
            return
        first = id(x) not in edges
        edges[id(x)] = edges.get(id(x), 0) + 1
        if first:
            for arg in x.args:
                visit(arg)
            found.append(x)

    for root in roots:
        visit(root)
    own = {id(x) for x in roots}
    return [x for x in found if x.weight > CHEAP and x.uses > edges[id(x)] and id(x) not in own]


def store_all(b: Builder, memory: Memory, roots: Sequence[tuple[Array, Leaf]], divide: Divide) -> list[Map]:
    """Store arrays of one shape into memory that none of them reads elsewhere; in one loop.

    Gives the expressions that were stored besides, for use later on, or that now load what was stored.
    """
    if not roots:
        return []
    arrays = [array for array, _ in roots]
    dims = arrays[0].dims
    extra = [x for x in shared(arrays) if same_dims(x.dims, dims)]
    stores = [*roots, *((x, memory(x.dtype, x.dims)) for x in extra)]
    if all(x.flat and target.flat for x, target in stores):
        dims = (b.product(dims),) if len(dims) != 1 else dims

    def part(b: Builder, start: Val, stop: Val) -> None:
        with b.loop(start, stop, parallel=len(dims) == 1) as index:
            nest(b, dims[1:], lambda place: _store(b, stores, [index, *place]))

    total = b.product(dims)
    work = total * sum(x.weight + 1 for x, _ in stores) if isinstance(total, int) else 0
    if not dims or not divide(dims[0], work, 64 if len(dims) == 1 else 1, part):
        nest(b, dims, lambda place: _store(b, stores, place))
    done: list[Map] = []
    for x, target in stores:
        if isinstance(x, Map) and x.leaf is None and target.scratch:
            x.leaf = target
            done.append(x)
    return done


def _store(b: Builder, stores: Sequence[tuple[Array, Leaf]], place: Sequence[Index]) -> None:
    c = Context(b)
    values = [(target, x.at(c, place)) for x, target in stores]
    for target, value in values:
        target.store(b, place, value)


def nest(
    b: Builder, dims: Sequence[Index], write: Callable[[Sequence[Index]], None], parallel: bool = True
) -> None:
    """Loops over the places of a shape; the last axis is innermost. For `parallel` see `Builder.loop`."""

    def level(place: list[Index]) -> None:
        if len(place) == len(dims):
            write(place)
            return
        size = dims[len(place)]
        if isinstance(size, int) and size == 1:
            level([*place, 0])
            return
        last = all(isinstance(d, int) and d == 1 for d in dims[len(place) + 1:])
        with b.loop(0, size, parallel=last and parallel) as index:
            level([*place, index])

    level([])


def materialize(b: Builder, memory: Memory, x: Array, divide: Divide) -> tuple[Leaf, list[Map]]:
    """`x` in memory, in C order without gaps; and the expressions that were stored for it."""
    if isinstance(x, Map) and x.leaf is not None:
        x = x.leaf
    if isinstance(x, Leaf) and x.flat:
        return x, []
    target = memory(x.dtype, x.dims)
    return target, store_all(b, memory, [(x, target)], divide)


# Reductions.

def reduce(b: Builder, memory: Memory, name: str, x: Array, axes: Sequence[int], keepdims: bool, divide: Divide
           ) -> Array | Scalar:
    """`reduce_sum` and the like along some axes of `x`."""
    kept = [a for a in range(len(x.dims)) if a not in axes]
    if not kept or all(isinstance(x.dims[a], int) and x.dims[a] == 1 for a in kept):
        whole = x
        if x.flat and len(x.dims) != 1:
            whole = x.reshaped([b.product(x.dims)])
        total = _fold_divided(b, memory, name, whole, divide)
        if not keepdims and not kept:
            return Scalar(x.dtype, total)
        dims = [1] * len(x.dims) if keepdims else [x.dims[a] for a in kept]
        target = memory(x.dtype, dims)
        target.store(b, [0] * len(dims), total)
        return target
    dims = [x.dims[a] for a in kept]
    target = memory(x.dtype, dims)
    if list(axes) == list(range(len(kept), len(x.dims))):
        nest(b, dims, lambda place: target.store(b, place, _fold(b, name, x, place)), parallel=False)
    else:
        first = const(llvm_type(x.dtype), identity(name, x.dtype))
        flat = b.product(dims)
        with b.loop(0, flat, parallel=True) as k:
            target.store(b, [k], first)

        def add(c: Context, place: dict[int, Index]) -> None:
            inner = [place[a] for a in kept]
            value = x.at(c, [place[a] for a in range(len(x.dims))])
            old = b.load(llvm_type(x.dtype), target.address(b, inner), x.dtype.size)
            target.store(b, inner, combine(b, name, x.dtype, old, value))

        def level(order: list[int], place: dict[int, Index]) -> None:
            if not order:
                add(Context(b), place)
                return
            with b.loop(0, x.dims[order[0]], parallel=len(order) == 1) as index:
                level(order[1:], {**place, order[0]: index})

        level([*axes, *kept], {})
    if keepdims:
        return target.reshaped([1 if a in axes else size for a, size in enumerate(x.dims)])
    return target


def _fold_divided(b: Builder, memory: Memory, name: str, x: Array, divide: Divide) -> Val:
    """All elements of `x`, combined; of many elements those of large blocks first."""
    size = x.dims[0] if len(x.dims) == 1 else 0
    lanes = _lanes(x, size) if isinstance(size, int) else 0
    block = lanes * _BLOCK * 8
    if not isinstance(size, int) or lanes < 4 or size < 4 * block:
        return _fold(b, name, x, [])
    count = size // block
    sums = memory(x.dtype, [count])

    def part(b: Builder, start: Val, stop: Val) -> None:
        with b.loop(start, stop) as k:
            first = b.imul(k, block)
            sums.store(b, [k], _fold_lanes(b, name, x, [], first, b.iadd(first, block), lanes))

    if not divide(count, size * x.weight, 1, part):
        part(b, const("i64", 0), const("i64", count))
    total = _fold(b, name, sums, [])
    if size % block == 0:
        return total
    return combine(b, name, x.dtype, total, _fold_lanes(b, name, x, [], count * block, size, lanes))


def _fold(b: Builder, name: str, x: Array, place: Sequence[Index]) -> Val:
    """All elements of `x` under `place`, combined."""
    rest = len(x.dims) - len(place)
    if rest == 0:
        return x.at(Context(b), place)
    if rest == 1:
        return _fold_line(b, name, x, place)
    first = const(llvm_type(x.dtype), identity(name, x.dtype))
    if name == "reduce_sum" and x.dtype.is_floating:
        total, lost = b.folded(0, x.dims[len(place)], [first, first], lambda i, v: _compensated(
            b, v[0], v[1], _fold(b, name, x, [*place, i])))
        return _sum_of(b, total, lost)
    (result,) = b.folded(0, x.dims[len(place)], [first], lambda i, v: [
        combine(b, name, x.dtype, v[0], _fold(b, name, x, [*place, i]))])
    return result


def _compensated(b: Builder, total: Val, lost: Val, value: Val) -> list[Val]:
    """The sum of `total` and `value`, and what was lost to rounding so far."""
    add, sub = _strict(b, "fadd"), _strict(b, "fsub")
    new = add(total, value)
    greater = b.fcmp("oge", b.intrinsic("fabs", total), b.intrinsic("fabs", value))
    big, small = b.select(greater, total, value), b.select(greater, value, total)
    return [new, add(lost, add(sub(big, new), small))]


def _strict(b: Builder, name: str) -> Callable[[Val, Val], Val]:
    return lambda x, y: b.op(x.ty, f"{name} {x}, {y.ref}")


def _sum_of(b: Builder, total: Val, lost: Val) -> Val:
    """With what was lost, unless the sum overflowed or is not a number."""
    finite = b.fcmp("olt", b.intrinsic("fabs", total), const(total.ty, float("inf")))
    return b.select(finite, _strict(b, "fadd")(total, lost), total)


def _lanes(x: Array, size: Index) -> int:
    if not x.lined:
        return 1
    bits = max(x.dtype.size * 8, 8)
    count = min(_WIDE // bits, 64)
    if x.weight > 16:
        count //= 4 if x.weight > 32 else 2  # long expressions need the registers themselves
    while isinstance(size, int) and count > size:
        count //= 2
    return max(count, 1)


def _fold_line(b: Builder, name: str, x: Array, place: Sequence[Index]) -> Val:
    size = x.dims[-1]
    lanes = _lanes(x, size)
    if lanes < 4:
        return _fold_plain(b, name, x, place, size)
    if not isinstance(size, int):
        enough = b.icmp("sge", size, const("i64", lanes))
        (result,) = b.either(enough, lambda: [_fold_lanes(b, name, x, place, 0, size, lanes)],
                             lambda: [_fold_plain(b, name, x, place, size)])
        return result
    return _fold_lanes(b, name, x, place, 0, size, lanes)


def _fold_plain(b: Builder, name: str, x: Array, place: Sequence[Index], size: Index) -> Val:
    first = const(llvm_type(x.dtype), identity(name, x.dtype))
    if name == "reduce_sum" and x.dtype.is_floating and not (isinstance(size, int) and size <= _BLOCK):
        total, lost = b.folded(0, size, [first, first], lambda i, v: _compensated(
            b, v[0], v[1], x.at(Context(b), [*place, i])))
        return _sum_of(b, total, lost)
    (result,) = b.folded(0, size, [first], lambda i, v: [
        combine(b, name, x.dtype, v[0], x.at(Context(b), [*place, i]))])
    return result


def _fold_lanes(b: Builder, name: str, x: Array, place: Sequence[Index], begin: Index, end: Index, lanes: int) -> Val:
    """Several lanes at a time, from `begin` to `end`, which is at least `lanes`; the last few in lanes that overlap
    those before."""
    ty = f"<{lanes} x {llvm_type(x.dtype)}>"
    first = const(ty, identity(name, x.dtype))

    def line(start: Index, stop: Index, values: Sequence[Val]) -> list[Val]:
        return b.folded(start, stop, values, lambda i, v: [
            combine(b, name, x.dtype, v[0], x.at(Context(b, lanes), [*place, i]))], lanes, unroll=x.weight <= 16)

    size = b.isub(end, begin) if not isinstance(begin, Val) else _BLOCK * 8 * lanes  # a block of `_fold_divided`
    rest = b.imod(size, lanes)
    whole = b.isub(end, rest)
    blocked = name == "reduce_sum" and x.dtype.is_floating and not (
        isinstance(size, int) and size <= lanes * _BLOCK)
    if blocked:
        block = lanes * _BLOCK
        zero = const(llvm_type(x.dtype), 0)

        def step(i: Val, v: Sequence[Val]) -> list[Val]:
            stop = b.intrinsic("smin", b.i64(b.iadd(i, block)), b.i64(whole))
            return _compensated(b, v[0], v[1], _across(b, name, x.dtype, line(i, stop, [first])[0]))

        total, lost = b.folded(begin, whole, [zero, zero], step, block)
        if isinstance(rest, int) and rest == 0:
            return _sum_of(b, total, lost)
        tail = _across(b, name, x.dtype, _tail(b, x, place, end, rest, lanes, first))
        return _sum_of(b, *_compensated(b, total, lost, tail))
    (values,) = line(begin, whole, [first])
    if not (isinstance(rest, int) and rest == 0):
        values = combine(b, name, x.dtype, values, _tail(b, x, place, end, rest, lanes, first))
    return _across(b, name, x.dtype, values)


def _tail(b: Builder, x: Array, place: Sequence[Index], end: Index, rest: Index, lanes: int, first: Val) -> Val:
    """The last `rest` elements in the last lanes, and in the others what changes nothing."""
    values = x.at(Context(b, lanes), [*place, b.isub(end, lanes)])
    count = b.splat(b.i64(b.isub(lanes, rest)), lanes)
    steps = ", ".join(f"i64 {k}" for k in range(lanes))
    new = b.op(f"<{lanes} x i1>", f"icmp uge <{lanes} x i64> <{steps}>, {count.ref}")
    return b.select(new, values, first)


def _across(b: Builder, name: str, dtype: DType, values: Val) -> Val:
    """The lanes combined."""
    while (count := int(values.ty[1:].split(" ")[0])) > 1:
        half = count // 2
        ty = f"<{half} x {llvm_type(dtype)}>"
        low, high = (b.op(ty, f"shufflevector {values}, {values.ty} poison, <{half} x i32> <"
                          + ", ".join(f"i32 {k}" for k in range(at, at + half)) + ">") for at in (0, half))
        values = combine(b, name, dtype, low, high)
    return b.op(llvm_type(dtype), f"extractelement {values}, i64 0")

