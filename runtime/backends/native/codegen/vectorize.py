"""Vectorised loops that store elements.

Vector code is generated directly if each array is contiguous or repeated along the last axis; LLVM's own vectoriser
would take several times longer than all other passes. Other loops are marked as parallel and left to LLVM
(`runtime.backends.native.jit.compile`).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from runtime.backends.native.codegen.index_expressions import Array, Context, Leaf, Map, Scalar, rows_of
from runtime.backends.native.codegen.piecewise_arrays import inner_range, lines_of
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.types import DType

__all__ = ["Stores", "Total", "lanes_of", "pieces", "store", "store_lines"]

Stores = Sequence[tuple[Array, Leaf]]
"""Arrays of one shape, and their destinations."""
_SHORT: Final = 8  # up to this weight, expressions are computed four registers at a time
_LONG: Final = 32


class Total(Leaf):
    """A vector accumulator: each lane combines many elements.

    A read does not return the element stored at that position, so the reduction must be idempotent.
    """

    __slots__ = ()

    def __init__(self, dtype: DType, dims: Sequence[Index], pointer: Val) -> None:
        super().__init__(dtype, dims, pointer, [*[0] * (len(dims) - 1), 1], bases=frozenset())

    def address(self, b: Builder, place: Sequence[Index]) -> Val:
        return self.pointer


def store(b: Builder, stores: Stores, place: Sequence[Index], lanes: int = 1,
          lines: dict[int, Val] | None = None) -> None:
    """Store the element at a position, or as many along the last axis as there are lanes."""
    c = Context(b, lanes, lines)
    values = [(target, x.at(c, place)) for x, target in stores]
    for target, value in values:
        target.store(b, place, value)


def store_lines(b: Builder, stores: Stores, dims: Sequence[Index], begin: Index = 0, end: Index | None = None,
                row: Val | None = None) -> None:
    """Store all elements of the shape `dims`; or only those whose first index is in [begin, end), or is `row`."""
    lanes = lanes_of(b, stores, dims)
    ranges = [r for r in (inner_range(x) for x, _ in stores) if r is not None]
    inner = (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None

    def level(place: list[Index]) -> None:
        axis = len(place)
        if axis == len(dims):
            store(b, stores, place)
            return
        start, stop = (begin, rows_of(b, dims) if end is None else end) if axis == 0 else (0, dims[axis])
        if isinstance(start, int) and isinstance(stop, int) and stop - start == 1 and axis < len(dims) - 1:
            level([*place, start])
        elif axis == len(dims) - 1 and inner is not None:
            _line_of_parts(b, stores, place, start, stop, *inner, max(lanes, 1))
        elif axis == len(dims) - 1 and lanes > 1:
            _line(b, stores, place, start, stop, lanes)
        else:
            last = all(isinstance(d, int) and d == 1 for d in dims[axis + 1:])
            with b.loop(start, stop, parallel=last and lanes == 1) as index:
                level([*place, index])

    level([] if row is None else [row])


def _line_of_parts(b: Builder, stores: Stores, place: list[Index], start: Index, stop: Index, low: int, high: int,
                   lanes: int) -> None:
    """Store a line whose elements from `low` to `high` belong to the largest pieces; elsewhere the piece is selected
    for each element."""
    lines: dict[int, Val] = {}
    if not (isinstance(start, int) and isinstance(stop, int)):
        first = b.intrinsic("smin", b.intrinsic("smax", b.i64(start), b.i64(low)), b.i64(stop))
        last = b.intrinsic("smax", b.intrinsic("smin", b.i64(stop), b.i64(high)), first)
        for x, _ in stores:
            lines_of(b, x, place, lines, first)
        whole = b.isub(last, b.imod(b.isub(last, first), lanes))
        for begin, end, count, inner in ((start, first, 1, None), (first, whole, lanes, lines), (whole, last, 1, lines),
                                         (last, stop, 1, None)):
            with b.loop(begin, end, count) as index:
                store(b, stores, [*place, index], count, inner)
        return
    for x, _ in stores:
        lines_of(b, x, place, lines)
    low, high = max(start, low), min(stop, high)
    if high - low < lanes:
        low = high = start
    for k in range(start, low):
        store(b, stores, [*place, k])
    over = (high - low) % lanes
    with b.loop(low, high - over, lanes) as index:
        store(b, stores, [*place, index], lanes, lines)
    if over and any(x.reads(target) for x, _ in stores for _, target in stores):
        with b.loop(high - over, high) as index:
            store(b, stores, [*place, index], 1, lines)
    elif over:  # some are stored twice, to use complete registers
        store(b, stores, [*place, high - lanes], lanes, lines)
    with b.loop(high, stop) as index:
        store(b, stores, [*place, index])


def _line(b: Builder, stores: Stores, place: list[Index], start: Index, stop: Index, lanes: int) -> None:
    size = b.isub(stop, start)
    if isinstance(size, int) and isinstance(start, int):
        whole = start + size // lanes * lanes
        rest = list(pieces(whole, start + size, sum(x.weight for x, _ in stores)))
        if whole - start <= lanes:  # no loop: stores in address order, which LLVM 22 requires (jit/compile.py)
            _store_pieces(b, stores, place, [*([(start, lanes)] if whole > start else []), *rest])
            return
        with b.loop(start, whole, lanes) as index:
            store(b, stores, [*place, index], lanes)
        for first, count in rest:
            store(b, stores, [*place, first], count)
        return
    _open_line(b, stores, place, start, stop, lanes)


def _open_line(b: Builder, stores: Stores, place: list[Index], start: Index, stop: Index, lanes: int) -> None:
    """Store a line of unknown size, which may be shorter than several registers. If it has a register of elements, the
    last elements are stored together with some that are stored twice."""
    size, weight = b.isub(stop, start), sum(x.weight for x, _ in stores)
    few = max(lanes // _registers(weight), 1)
    lanes = few if weight > _SHORT else lanes  # code of long expressions is long
    twice = not any(x.reads(target) for x, _ in stores for _, target in stores)
    for count in dict.fromkeys((lanes, few)):
        if count > few or not twice:
            last = b.isub(stop, b.of_sizes("i64", f"and {b.i64(size)}, {count - 1}", size))
            with b.loop(start, last, count) as index:
                store(b, stores, [*place, index], count)
            start = last

    def by_registers() -> list[Val]:
        last = b.i64(b.isub(stop, few))
        with b.loop(start, stop, few) as index:
            store(b, stores, [*place, b.intrinsic("smin", index, last)], few)
        return []

    def one_by_one() -> list[Val]:
        with b.loop(start, stop) as index:
            store(b, stores, [*place, index])
        return []

    if twice and few > 1:
        b.either(b.icmp("sge", b.i64(size), const("i64", few)), by_registers, one_by_one)
    else:
        one_by_one()


def _store_pieces(b: Builder, stores: Stores, place: list[Index], parts: Sequence[tuple[int, int]]) -> None:
    """Store parts (first, count) of a line, array by array in address order; a `Total` is updated part by part."""
    values: list[list[Val]] = []
    for first, count in parts:
        c = Context(b, count)
        values.append([x.at(c, [*place, first]) for x, _ in stores])
        for (_, target), value in zip(stores, values[-1], strict=True):
            if isinstance(target, Total):
                target.store(b, [*place, first], value)
    for k, (_, target) in enumerate(stores):
        for (first, _), found in zip(parts, values, strict=True):
            if not isinstance(target, Total):
                target.store(b, [*place, first], found[k])


def pieces(start: int, stop: int, weight: int) -> Iterator[tuple[int, int]]:
    """The remainder of a line, as parts (first, count) whose sizes are powers of two; for expressions of large weight,
    whose code is long, as one part."""
    while start < stop:
        count = stop - start if weight > _SHORT else 1 << (stop - start).bit_length() - 1
        yield start, count
        start += count


def _registers(weight: int) -> int:
    """How many registers of elements are computed at a time."""
    return 4 if weight <= _SHORT else 2 if weight <= _LONG else 1


def lanes_of(b: Builder, stores: Sequence[tuple[Array, Array]], dims: Sequence[Index]) -> int:
    """How many elements to store at a time. 1 leaves vectorisation to LLVM; 0 omits it: an array whose repetition only
    run time tells is seldom repeated."""
    if not dims:
        return 1
    widest = 1
    visited: set[int] = set()
    waiting: list[Array | Scalar] = [x for pair in stores for x in pair]
    while waiting:
        x = waiting.pop()
        if id(x) in visited:
            continue
        visited.add(id(x))
        widest = max(widest, x.dtype.size)
        if isinstance(x, Map) and x.leaf is None:
            waiting += x.args
        elif isinstance(x, Array) and not (x.lined or x.pieces):
            return 1
        leaf = x.leaf if isinstance(x, Map) else x
        if isinstance(leaf, Leaf) and leaf.strides is not None:
            step = leaf.strides[-1] if leaf.strides else 0
            if not isinstance(step, int):
                return 0
            if step not in (0, 1):
                return 1
    lanes = b.module.vector_bits // (8 * widest) * _registers(sum(x.weight for x, _ in stores))
    size = dims[-1]
    return min(lanes, 1 << size.bit_length() - 1) if isinstance(size, int) and size else lanes
