"""Folds: reductions of arrays along axes.

Floating-point sums are compensated; products of floats are computed in order, as in NumPy. Other reductions use several
lanes, and for many elements blocks, which may be divided among threads.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from runtime.backends.native.abi.interrupts import PIECE
from runtime.backends.native.codegen.fusion import Divide, Memory, materialize, nest, shared
from runtime.backends.native.codegen.index_expressions import (
    CHEAP,
    Array,
    Context,
    Leaf,
    Map,
    Scalar,
    rows_of,
    same_dims,
)
from runtime.backends.native.codegen.scalar_ops import combine, identity, llvm_type
from runtime.backends.native.codegen.vectorize import Total, lanes_of, pieces, store_lines
from runtime.backends.native.libm.complex_numbers import joined, parts
from runtime.backends.native.llvm.builder import Builder, Index, Val, const, lanes
from runtime.core.types import DType, bool_

__all__ = ["reduce", "reduce_and_store"]

_WIDE: Final = 2048  # bits of an accumulator: several registers, so that additions overlap
_EXACT: Final = ("reduce_max", "reduce_min", "reduce_any", "reduce_all")  # independent of the order
_LINES: Final = 64  # lines that one block combines
_BLOCK: Final = 32  # vector additions between two compensated additions
_LONG: Final = 16  # the weight of a long expression
_SCATTERED: Final = 8  # lanes of bools, if elements are loaded one by one


def reduce(b: Builder, memory: Memory, name: str, x: Array, axes: Sequence[int], keepdims: bool, divide: Divide
           ) -> Array | Scalar:
    """`reduce_sum` and other reductions of `x` along some axes."""
    if name == "reduce_sum" and x.dtype.is_complex:
        return _complex_sum(b, memory, x, axes, keepdims, divide)
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
        def part(b: Builder, start: Index, stop: Index) -> None:
            with b.loop(start, stop) as index:
                nest(b, dims[1:], lambda place: target.store(b, [index, *place], _fold(b, name, x, [index, *place])),
                     parallel=False)
                _look(b, x, b.product(x.dims[1:]))

        elements = b.product(x.dims)
        if not divide(dims[0], elements * x.weight if isinstance(elements, int) else 0, 1, part):
            part(b, 0, dims[0])
    else:
        nothing = Scalar(x.dtype, const(llvm_type(x.dtype), identity(name, x.dtype)))
        store_lines(b, [(Map("splat", x.dtype, dims, lambda b, one: one, [nothing], 0), target)], dims)
        steps = iter(target.steps(b))
        totals = Leaf(x.dtype, x.dims, target.pointer, [next(steps) if a in kept else 0 for a in range(len(x.dims))])
        if kept[-1] == len(x.dims) - 1:
            added = Map(name, x.dtype, x.dims, lambda b, old, new: combine(b, name, x.dtype, old, new, True),
                        [totals, x])
            _in_pieces(b, x, lambda start, stop: store_lines(b, [(added, totals)], x.dims, start, stop))
        else:
            _add_up(b, name, x, totals, [*axes, *kept])
    if keepdims:
        return target.reshaped([1 if a in axes else size for a, size in enumerate(x.dims)])
    return target


def _complex_sum(b: Builder, memory: Memory, x: Array, axes: Sequence[int], keepdims: bool, divide: Divide
                 ) -> Array | Scalar:
    """The sums of the real and imaginary parts."""
    kind = x.dtype.real_dtype
    source = x if x.weight <= CHEAP else materialize(b, memory, x, divide)[0]
    real, imag = (reduce(b, memory, "reduce_sum", Map("part", kind, x.dims, _part(k), [source]), axes, keepdims, divide)
                  for k in range(2))
    if isinstance(real, Scalar) and isinstance(imag, Scalar):
        return Scalar(x.dtype, joined(b, (real.val, imag.val)))
    return Map("complex", x.dtype, real.dims, lambda b, *pair: joined(b, pair), [real, imag])


def _part(k: int) -> Callable[[Builder, Val], Val]:
    return lambda b, v: parts(b, v)[k]


def reduce_and_store(b: Builder, memory: Memory, name: str, x: Array, divide: Divide
                     ) -> tuple[Scalar, list[Map]] | None:
    """Reduce all elements of `x`, and store in the same loop the parts of `x` that are used later; None if there are
    none.

    Only for reductions that do not depend on the order, because each lane of the accumulator combines several lines.
    """
    parts = [y for y in shared([x]) if same_dims(y.dims, x.dims)]
    if not parts or len(x.dims) < 2 or name not in _EXACT or not all(isinstance(d, int) and d for d in x.dims):
        return None
    size = x.dims[0]
    assert isinstance(size, int)
    blocks = -(-size // _LINES)
    lanes = lanes_of(b, [(y, y) for y in (x, *parts)], x.dims)  # at least as many as are stored together
    if lanes < 2:
        return None
    stores = [(y, y.place or memory(y.dtype, y.dims)) for y in parts]
    found = memory(x.dtype, [blocks * lanes])
    ty = llvm_type(x.dtype)
    vector = f"<{lanes} x {ty}>"

    def part(b: Builder, start: Index, stop: Index) -> None:
        total = Total(x.dtype, x.dims, b.alloca("i8" if ty == "i1" else ty, lanes, 64))
        added = Map(name, x.dtype, x.dims, lambda b, old, new: combine(b, name, x.dtype, old, new), [total, x])
        with b.loop(start, stop) as k:
            b.store(const(vector, identity(name, x.dtype)), total.pointer, x.dtype.size)
            first = b.imul(k, _LINES)
            last = b.intrinsic("smin", b.i64(b.iadd(first, _LINES)), const("i64", size))
            store_lines(b, [(added, total), *stores], x.dims, first, last)
            block = b.offset(found.pointer, b.imul(k, lanes), ty)
            b.store(b.load(vector, total.pointer, x.dtype.size), block, x.dtype.size)

    work = b.product(x.dims)
    assert isinstance(work, int)
    if not divide(blocks, work * (x.weight + len(stores)), 1, part):
        part(b, 0, blocks)
    for y, target in stores:
        y.leaf = target
    return Scalar(x.dtype, _fold(b, name, found, [])), parts


def _add_up(b: Builder, name: str, x: Array, totals: Leaf, order: Sequence[int]) -> None:
    """Combine each element of `x` into the element of `totals` at the same position, in loops over the axes of `order`,
    outermost first."""

    def level(place: dict[int, Index]) -> None:
        if len(place) == len(order):
            at = [place[a] for a in range(len(order))]
            totals.store(b, at, combine(b, name, x.dtype, totals.at(Context(b), at), x.at(Context(b), at)))
            return
        axis = order[len(place)]
        with b.loop(0, x.dims[axis], parallel=len(place) == len(order) - 1) as index:
            level({**place, axis: index})
            if not place:
                _look(b, x, b.product([x.dims[a] for a in order[1:]]))

    level({})


def _in_pieces(b: Builder, x: Array, write: Callable[[Index, Index], None]) -> None:
    """Call `write` for all rows of `x`; if there are many elements, in pieces with polls for signals in between."""
    rows, row, elements = rows_of(b, x.dims), b.product(x.dims[1:]), b.product(x.dims)
    if b.look is None or (isinstance(elements, int) and elements <= PIECE):
        write(0, rows)
        return
    many = max(PIECE // max(row, 1), 1) if isinstance(row, int) else 64
    with b.loop(0, rows, many) as start:
        write(start, b.intrinsic("smin", b.add(start, const("i64", many)), b.i64(rows)))
        _look(b, x, b.imul(row, many))


def _fold_divided(b: Builder, memory: Memory, name: str, x: Array, divide: Divide) -> Val:
    """Reduce all elements of `x`; many elements are first reduced in blocks, which may be divided among threads."""
    size = x.dims[0] if len(x.dims) == 1 else 0
    lanes = _lanes(x, size) if isinstance(size, int) else 0
    sums = name == "reduce_sum" and x.dtype.is_floating
    block = lanes * _BLOCK * (1 if sums else 8)
    if not isinstance(size, int) or lanes < 4 or size < 16 * block or _in_order(name, x.dtype):
        return _fold(b, name, x, [])
    first = const(f"<{lanes} x {llvm_type(x.dtype)}>", identity(name, x.dtype))
    rest = size % lanes
    long = x.weight > _LONG  # code for the last few elements would duplicate a long expression
    stop = size if long else size - rest
    count = -(-stop // block)
    found = memory(x.dtype, [count])

    def step(b: Builder, i: Val, total: Val) -> Val:
        value = _tail(b, x, [], i, size, lanes, first) if long and rest else x.at(Context(b, lanes), [i])
        return combine(b, name, x.dtype, total, value)

    def part(b: Builder, begin: Val, end: Val) -> None:
        with b.loop(begin, end) as k:
            start = b.imul(k, block)
            last = b.intrinsic("smin", b.i64(b.iadd(start, block)), const("i64", stop))
            (total,) = b.folded(start, last, [first], lambda i, v: [step(b, i, v[0])], lanes, unroll=not long)
            found.store(b, [k], _across(b, name, x.dtype, total))

    if not divide(count, size * x.weight, 1, part):
        part(b, const("i64", 0), const("i64", count))
    total = _fold_plain(b, name, found, [], count)
    if stop == size:
        return total
    return combine(b, name, x.dtype, total, _across(b, name, x.dtype, _rest(b, name, x, [], stop, size, lanes, first)))


def _fold(b: Builder, name: str, x: Array, place: Sequence[Index]) -> Val:
    """Reduce the elements of `x` whose first indices are `place`."""
    rest = len(x.dims) - len(place)
    if rest == 0:
        return x.at(Context(b), place)
    first = const(llvm_type(x.dtype), identity(name, x.dtype))
    if _in_order(name, x.dtype):
        return _fold_in_order(b, name, x, place, first)
    if rest == 1:
        return _fold_line(b, name, x, place)

    def inner(i: Val) -> Val:
        value = _fold(b, name, x, [*place, i])
        if not place:
            _look(b, x, b.product(x.dims[1:]))
        return value

    if name == "reduce_sum" and x.dtype.is_floating:
        total, lost = b.folded(0, rows_of(b, x.dims[len(place):]), [first, first], lambda i, v: _compensated(
            b, v[0], v[1], inner(i)))
        return _sum_of(b, total, lost)
    rows = rows_of(b, x.dims[len(place):])
    (result,) = b.folded(0, rows, [first], lambda i, v: [combine(b, name, x.dtype, v[0], inner(i))])
    return result


def _in_order(name: str, dtype: DType) -> bool:
    """Whether elements are combined in order, as in NumPy: products of floats may overflow, or underflow and lose
    digits, in one order and not in another. Sums overflow only near the largest numbers."""
    return name == "reduce_prod" and not dtype.is_integer


def _fold_in_order(b: Builder, name: str, x: Array, place: Sequence[Index], total: Val) -> Val:
    """Reduce the elements of `x` whose first indices are `place`, in order, starting from `total`."""
    size, last = rows_of(b, x.dims[len(place):]), len(place) == len(x.dims) - 1
    count = min(_lanes(x, size), 8) if last else 1

    def step(i: Val, v: Sequence[Val]) -> list[Val]:
        if not last:
            found = [_fold_in_order(b, name, x, [*place, i], v[0])]
            if not place:
                _look(b, x, b.product(x.dims[1:]))
            return found
        return [combine(b, name, x.dtype, v[0], x.at(Context(b), [*place, i]))]

    def several(i: Val, v: Sequence[Val]) -> list[Val]:
        values, found = x.at(Context(b, count), [*place, i]), v[0]
        for k in range(count):
            found = combine(b, name, x.dtype, found, b.op(
                llvm_type(x.dtype), f"extractelement {values}, i64 {k}"))
        return [found]

    whole = b.isub(size, b.imod(size, count)) if count > 1 else 0
    if count > 1:
        (total,) = _folded(b, x, 0, whole, [total], several, count, unroll=False)
        (total,) = b.folded(whole, size, [total], step, unroll=False)
    elif last:
        (total,) = _folded(b, x, 0, size, [total], step, unroll=False)
    else:
        (total,) = b.folded(0, size, [total], step, unroll=False)
    return total


def _look(b: Builder, x: Array, many: Index) -> None:
    """Poll for signals after `many` elements of `x`, if the loop may be long."""
    sizes = [d for d in x.dims if isinstance(d, int)]
    if b.look is not None and (len(sizes) < len(x.dims) or math.prod(sizes) > PIECE):
        b.look(b.imul(many, max(x.weight, 1)))


def _folded(b: Builder, x: Array, start: Index, stop: Index, first: Sequence[Val],
            step: Callable[[Val, Sequence[Val]], Sequence[Val]], by: int = 1, unroll: bool = True) -> list[Val]:
    """`Builder.folded` over a line of `x`; if that may be long, in pieces with polls for signals in between."""
    if b.look is None or (isinstance(start, int) and isinstance(stop, int) and stop - start <= PIECE):
        return b.folded(start, stop, first, step, by, unroll)

    def piece(i: Val, values: Sequence[Val]) -> list[Val]:
        end = b.intrinsic("smin", b.add(i, const("i64", PIECE)), b.i64(stop))
        found = b.folded(i, end, values, step, by, unroll)
        _look(b, x, PIECE)
        return found

    return b.folded(start, stop, first, piece, PIECE, unroll=False)


def _compensated(b: Builder, total: Val, lost: Val, value: Val) -> list[Val]:
    """One step of Neumaier's sum: the new total, and the new accumulated rounding error."""
    add, sub = _strict(b, "fadd"), _strict(b, "fsub")
    new = add(total, value)
    greater = b.fcmp("oge", b.intrinsic("fabs", total), b.intrinsic("fabs", value))
    big, small = b.select(greater, total, value), b.select(greater, value, total)
    return [new, add(lost, add(sub(big, new), small))]


def _strict(b: Builder, name: str) -> Callable[[Val, Val], Val]:
    return lambda x, y: b.op(x.ty, f"{name} {x}, {y.ref}")


def _sum_of(b: Builder, total: Val, lost: Val) -> Val:
    """The sum corrected by the rounding error, unless it overflowed or is NaN."""
    finite = b.fcmp("olt", b.intrinsic("fabs", total), const(total.ty, float("inf")))
    return b.select(finite, _strict(b, "fadd")(total, lost), total)


def _lanes(x: Array, size: Index) -> int:
    if not x.lined:
        return 1
    bits = max(x.dtype.size * 8, 8)
    count = min(_WIDE // bits, _SCATTERED if x.dtype is bool_ and _is_scattered(x) else 64)
    if x.weight > _LONG:
        count //= 4 if x.weight > 32 else 2  # long expressions need the registers themselves
    while isinstance(size, int) and count > size:
        count //= 2
    return max(count, 1)


def _is_scattered(x: Array) -> bool:
    """Whether elements are loaded one by one, as they are neither contiguous nor repeated along the last axis."""
    pending: list[Array | Scalar] = [x]
    while pending:
        x = pending.pop()  # type: ignore[assignment]
        if isinstance(x, Map) and x.leaf is None:
            pending += x.args
        found = x.leaf if isinstance(x, Map) else x
        step = found.strides[-1] if isinstance(found, Leaf) and found.strides else 1
        if not isinstance(step, int) or step not in (0, 1):
            return True
    return False


def _fold_line(b: Builder, name: str, x: Array, place: Sequence[Index]) -> Val:
    size = x.dims[-1]
    lanes = _lanes(x, size)
    if lanes < 4:
        return _fold_plain(b, name, x, place, size)
    if not isinstance(size, int):
        lanes = max(lanes // 2, 4) if place else lanes  # rows may be short, and several overlap
        enough = b.icmp("sge", size, const("i64", lanes))
        (result,) = b.either(enough, lambda: [_fold_lanes(b, name, x, place, size, lanes)],
                             lambda: [_fold_short(b, name, x, place, size, lanes // 4)])
        return result
    return _fold_lanes(b, name, x, place, size, lanes)


def _fold_short(b: Builder, name: str, x: Array, place: Sequence[Index], size: Val, lanes: int) -> Val:
    """Reduce fewer than 4 * `lanes` elements, at most `lanes` at a time if they are cheap."""
    def one_by_one() -> list[Val]:
        return [_fold_plain(b, name, x, place, size, short=True)]

    def several() -> list[Val]:
        first = const(f"<{lanes} x {llvm_type(x.dtype)}>", identity(name, x.dtype))
        whole = b.isub(size, b.imod(size, lanes))
        (total,) = b.folded(0, whole, [first], lambda i, v: [
            combine(b, name, x.dtype, v[0], x.at(Context(b, lanes), [*place, i]))], lanes, unroll=False)
        total = combine(b, name, x.dtype, total, _rest(b, name, x, place, whole, size, lanes, first))
        return [_across(b, name, x.dtype, total)]

    if lanes < 4 or x.weight > CHEAP:
        return one_by_one()[0]
    return b.either(b.icmp("sge", size, const("i64", lanes)), several, one_by_one)[0]


def _fold_plain(b: Builder, name: str, x: Array, place: Sequence[Index], size: Index, short: bool = False) -> Val:
    folded = b.folded if short else partial(_folded, b, x)
    first = const(llvm_type(x.dtype), identity(name, x.dtype))
    if name == "reduce_sum" and x.dtype.is_floating and not (isinstance(size, int) and size <= _BLOCK):
        total, lost = folded(0, size, [first, first], lambda i, v: _compensated(
            b, v[0], v[1], x.at(Context(b), [*place, i])), unroll=False)
        return _sum_of(b, total, lost)
    (result,) = folded(0, size, [first], lambda i, v: [
        combine(b, name, x.dtype, v[0], x.at(Context(b), [*place, i]))], unroll=False)
    return result


def _fold_lanes(b: Builder, name: str, x: Array, place: Sequence[Index], end: Index, lanes: int) -> Val:
    """Reduce `lanes` elements at a time up to `end`, which is at least `lanes`; `_rest` handles the remainder."""
    ty = f"<{lanes} x {llvm_type(x.dtype)}>"
    first = const(ty, identity(name, x.dtype))

    def step(i: Val, v: Sequence[Val]) -> list[Val]:
        return [combine(b, name, x.dtype, v[0], x.at(Context(b, lanes), [*place, i]))]

    rest = b.imod(end, lanes)
    whole = b.isub(end, rest)
    short, unroll = isinstance(end, int) and end <= lanes * _BLOCK, x.weight <= _LONG
    if name == "reduce_sum" and x.dtype.is_floating and not short:
        block = lanes * _BLOCK
        zero = const(llvm_type(x.dtype), 0)

        def add(i: Val, v: Sequence[Val]) -> list[Val]:
            stop = b.intrinsic("smin", b.i64(b.iadd(i, block)), b.i64(whole))
            (values,) = b.folded(i, stop, [first], step, lanes, unroll)
            return _compensated(b, v[0], v[1], _across(b, name, x.dtype, values))

        total, lost = _folded(b, x, 0, whole, [zero, zero], add, block)
        if isinstance(rest, int) and rest == 0:
            return _sum_of(b, total, lost)
        tail = _across(b, name, x.dtype, _rest(b, name, x, place, whole, end, lanes, first))
        return _sum_of(b, *_compensated(b, total, lost, tail))

    (values,) = _folded(b, x, 0, whole, [first], step, lanes, unroll)
    if not (isinstance(rest, int) and rest == 0):
        values = combine(b, name, x.dtype, values, _rest(b, name, x, place, whole, end, lanes, first))
    return _across(b, name, x.dtype, values)


def _rest(b: Builder, name: str, x: Array, place: Sequence[Index], begin: Index, end: Index, lanes: int, first: Val
          ) -> Val:
    """The elements from `begin` on, fewer than `lanes`, padded with identity elements."""
    if not (isinstance(begin, int) and isinstance(end, int)):
        return _tail(b, x, place, b.i64(begin), end, lanes, first)
    total = first
    for at, count in pieces(begin, end, x.weight):
        part = x.at(Context(b, count), [*place, at])
        if count == 1:
            part = b.op(first.ty, f"insertelement {first}, {part}, i64 0")
        else:
            chosen = ", ".join(f"i32 {min(k, count)}" for k in range(lanes))
            same = const(part.ty, identity(name, x.dtype)).ref
            part = b.op(first.ty, f"shufflevector {part}, {part.ty} {same}, <{lanes} x i32> <{chosen}>")
        total = part if at == begin else combine(b, name, x.dtype, total, part)
    return total


def _tail(b: Builder, x: Array, place: Sequence[Index], begin: Val, end: Index, lanes: int, first: Val) -> Val:
    """The last elements, from `begin` on: in the last lanes if there are fewer than `lanes`, with identity elements in
    the first lanes. They are loaded together with the elements before them, so that nothing is read beyond the end."""
    start = b.intrinsic("smin", begin, b.i64(b.isub(end, lanes)))
    values = x.at(Context(b, lanes), [*place, start])
    kind = llvm_type(x.dtype)
    # integers of the element's width, so that the comparison's mask fits the vector registers as they are
    number = f"i{min(max(8 * x.dtype.size, 8), 64)}"
    over = b.op("i64", f"sub {begin}, {start.ref}")
    count = b.splat(over if number == "i64" else b.convert("trunc", over, number), lanes)
    steps = ", ".join(f"{number} {k}" for k in range(lanes))
    new = b.op(f"<{lanes} x i1>", f"icmp uge <{lanes} x {number}> <{steps}>, {count.ref}")
    assert values.ty == f"<{lanes} x {kind}>"
    return b.select(new, values, first)


_LOGICAL: Final = {"reduce_any": "or", "reduce_all": "and"}


def _across(b: Builder, name: str, dtype: DType, values: Val) -> Val:
    """Combine the lanes of a vector."""
    if llvm_type(dtype) == "i1" and name in _LOGICAL and values.ty[0] == "<":
        return b.call("i1", f"llvm.vector.reduce.{_LOGICAL[name]}.v{lanes(values.ty)}i1", values)
    while (count := lanes(values.ty)) > 1:
        half = count // 2
        ty = f"<{half} x {llvm_type(dtype)}>"
        low, high = (b.op(ty, f"shufflevector {values}, {values.ty} poison, <{half} x i32> <"
                          + ", ".join(f"i32 {k}" for k in range(at, at + half)) + ">") for at in (0, half))
        values = combine(b, name, dtype, low, high)
    return b.op(llvm_type(dtype), f"extractelement {values}, i64 0")

