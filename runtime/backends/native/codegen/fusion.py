"""Loops over the elements of arrays: storing them, and reducing them.

Arrays that are stored together share one loop, which computes common subexpressions once; subexpressions that are used
again later are stored, too. `where(mask, new, old)` stored over `old` skips groups of elements for which the mask is
false, if the arrays fit into the cache. Float sums are about as accurate as pairwise summation: lanes and blocks are
summed first, and their sums are added with compensation (A. Neumaier, 1974).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from runtime.backends.native.abi.interrupts import PIECE
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
from runtime.backends.native.codegen.piecewise_arrays import Joined, split
from runtime.backends.native.codegen.vectorize import Stores, store, store_lines
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.types import DType, bool_

__all__ = ["CHEAP", "Divide", "Memory", "Part", "materialize", "names", "nest", "same_dims", "shared", "store_all"]

Memory = Callable[[DType, Sequence[Index]], Leaf]  # new memory for an array
Part = Callable[[Builder, Val, Val], None]


class Divide(Protocol):
    """Call `part(b, start, stop)` for parts of `range(size)`, possibly on several threads, if the work (elements times
    their weight) is worth it. If the work is unknown and the cost of `each` index is not 0, poll for signals between
    parts. Returns False if nothing was done."""

    def __call__(self, size: Index, work: int, step: int, part: Part, each: Index = 0) -> bool: ...


_GROUP: Final = 64  # elements that are skipped together
_CACHED: Final = 1 << 20  # bytes; for larger arrays contiguous stores are faster


def shared(roots: Sequence[Array]) -> list[Map]:
    """The subexpressions of `roots` that are also used elsewhere and not cheap to recompute."""
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


def names(roots: Sequence[Array]) -> list[str]:
    """The ops of expressions, in order."""
    found: list[str] = []
    visited: set[int] = set()

    def visit(x: Array | Scalar) -> None:
        if isinstance(x, Map) and x.leaf is None and id(x) not in visited:
            visited.add(id(x))
            for arg in x.args:
                visit(arg)
            if x.name not in ("splat", "bits"):
                found.append(x.name)

    for root in roots:
        visit(root)
    return found


def store_all(b: Builder, memory: Memory, roots: Sequence[tuple[Array, Leaf]], divide: Divide) -> list[Map]:
    """Store arrays of one shape into memory that none of them reads elsewhere, in one loop.

    Returns the expressions that can now be loaded instead of computed: the extra stores, and roots stored in scratch.
    """
    if not roots:
        return []
    arrays = [array for array, _ in roots]
    dims = arrays[0].dims
    extra = [x for x in shared(arrays) if same_dims(x.dims, dims)]
    stores = [*roots, *((x, x.place or memory(x.dtype, x.dims)) for x in extra)]
    if all(x.flat and target.flat for x, target in stores):
        dims = (b.product(dims),) if len(dims) != 1 else dims

    total = b.product(dims)
    size = sum(target.dtype.size for _, target in stores)
    mask = _mask(stores) if isinstance(total, int) and len(dims) == 1 and total * size <= _CACHED else None

    def part(b: Builder, start: Val, stop: Val) -> None:
        if mask is not None:
            start = _store_masked(b, stores, mask, start, stop)
        store_lines(b, stores, dims, start, stop)

    weight = sum(x.weight + 1 for x, _ in stores)
    work, each = (total * weight, 0) if isinstance(total, int) else (0, b.imul(b.product(dims[1:]), weight))
    rows = rows_of(b, dims)
    if not dims or not divide(rows, work, 64 if len(dims) == 1 else 1, part, each):
        if mask is None:
            store_lines(b, stores, dims, 0, rows)
        else:
            part(b, const("i64", 0), b.i64(rows))
    done: list[Map] = []
    for x, target in stores:
        if isinstance(x, Map) and x.leaf is None and target.scratch:
            x.leaf = target
            done.append(x)
    return done


def _mask(stores: Stores) -> Array | None:
    """The condition under which storing changes an element: all stores are `where(mask, new, old)`, `where(mask, old,
    new)`, `old & new` or `old | new` over `old`."""
    common: list[_Flag] | None = None
    for x, target in stores:
        if not isinstance(x, Map) or x.leaf is not None:
            return None
        if x.name == "where" and _there(x.args[2], target):
            needed = _needed(x.args[0], True)
        elif x.name == "where" and _there(x.args[1], target):
            needed = _needed(x.args[0], False)
        elif x.name in ("bitwise_and", "bitwise_or") and x.dtype is bool_:
            needed = [(arg, x.name == "bitwise_and") for arg in x.args if isinstance(arg, Leaf) and _there(arg, target)]
        else:
            return None
        common = needed if common is None else [(y, holds) for y, holds in common if any(
            holds is also and (y is z or (isinstance(y, Leaf) and _there(z, y))) for z, also in needed)]
    for y, holds in common or ():
        if y.weight <= CHEAP and y.lined:
            return y if holds else Map("invert", bool_, y.dims, lambda b, v: b.not_(v), [y])
    return None


_Flag = tuple[Array, bool]  # bools, and their required value


def _needed(x: Array | Scalar, holds: bool) -> list[_Flag]:
    """Arrays of bools whose required value (true or false) holds wherever `x` is `holds`."""
    if isinstance(x, Scalar):
        return []
    if isinstance(x, Map) and x.leaf is None:
        if x.name == ("bitwise_and" if holds else "bitwise_or"):
            return [(x, holds), *[y for arg in x.args for y in _needed(arg, holds)]]
        if x.name == "invert":
            return [(x, holds), *_needed(x.args[0], not holds)]
    return [(x, holds)]


def _there(x: object, target: Leaf) -> bool:
    return (isinstance(x, Leaf) and x.flat and target.flat and x.pointer.ref == target.pointer.ref
            and same_dims(x.dims, target.dims))


def _store_masked(b: Builder, stores: Stores, mask: Array, start: Val, stop: Val) -> Val:
    """Store groups of elements, except groups whose mask is false throughout; returns the start of the remainder."""
    whole = b.i64(b.isub(stop, b.imod(b.isub(stop, start), _GROUP)))
    with b.loop(start, whole, _GROUP) as first:
        holds = mask.at(Context(b, _GROUP), [first])
        bits = b.op(f"i{_GROUP}", f"bitcast {holds} to i{_GROUP}")
        with b.when(b.icmp("ne", bits, Val(bits.ty, "0"))), b.loop(
                first, b.iadd(first, _GROUP), parallel=True) as index:
            store(b, stores, [index])
    return whole


def nest(
    b: Builder, dims: Sequence[Index], write: Callable[[Sequence[Index]], None], parallel: bool = True,
    cost: Index = 0,
) -> None:
    """Loops over the positions of a shape; the last axis is innermost. For `parallel` see `Builder.loop`. `cost`: the
    estimated time of a position, for polls for signals between pieces; 0 for none."""

    def level(place: list[Index], start: Index = 0, stop: Index | None = None) -> None:
        if len(place) == len(dims):
            write(place)
            return
        size = dims[len(place)] if place else rows_of(b, dims)
        if isinstance(size, int) and size == 1:
            level([*place, 0])
            return
        last = all(isinstance(d, int) and d == 1 for d in dims[len(place) + 1:])
        with b.loop(start, size if stop is None else stop, parallel=last and parallel) as index:
            level([*place, index])

    count = b.product(dims)
    if b.look is None or cost == 0 or (isinstance(count, int) and count <= PIECE):
        level([])
        return
    many = PIECE if len(dims) == 1 else 64
    rows = rows_of(b, dims)
    with b.loop(0, rows, many) as start:
        level([], start, b.intrinsic("smin", b.add(start, const("i64", many)), b.i64(rows)))
        b.look(b.imul(b.imul(b.product(dims[1:]), many), cost))


def materialize(b: Builder, memory: Memory, x: Array, divide: Divide) -> tuple[Leaf, list[Map | Joined]]:
    """`x` in memory, contiguous in C order, and the expressions that were stored on the way."""
    if isinstance(x, (Map, Joined)) and x.leaf is not None:
        x = x.leaf
    if isinstance(x, Leaf) and x.flat:
        return x, []
    place = x.place if isinstance(x, Map) else None
    if place is not None and place.flat:
        return place, [*store_all(b, memory, [(x, place)], divide)]
    target = memory(x.dtype, x.dims)
    done: list[Map | Joined] = []
    for part, place in split(b, x, target):
        done += store_all(b, memory, [(part, place)], divide)
    if isinstance(x, Joined):
        x.leaf = target
        done.append(x)
    return target, done
