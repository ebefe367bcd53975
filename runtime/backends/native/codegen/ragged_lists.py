"""Lists in memory whose elements have several shapes of one rank.

Such a list has two adjacent pairs of address and capacity (`index_expressions.Listed`). The first memory is a table of
words: how much of the second is used, in elements of the dtype; then for each element of the list its offset in the
second memory, or -1 if it was not written, for how many scalars there is room, and its sizes. A new value is appended,
unless it fits in the room of the old one. A row that gets longer where it is (`grown`) gets room for twice as much.
When the second memory is full, the live values are compacted into new memory of twice the size needed; a value that
fills less than half of its room loses the rest.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from runtime.backends.native.abi.allocator import GROW, PAIR, RELEASE
from runtime.backends.native.codegen.index_expressions import Leaf, Listed
from runtime.backends.native.codegen.piecewise_arrays import Axis
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const

__all__ = ["begin", "blank", "content", "copy_element", "entry", "first_written", "grown", "of_rows", "picked",
           "place_for", "resized", "room_of", "sizes_of", "take_over", "used", "vector_at",
           "written"]

_NOT_WRITTEN: Final = -1
_NO_ROOM: Final = -2
_MOST: Final = 1 << 56  # elements: more than any memory holds
_ROOM: Final = 1  # the words of an entry after its offset: the room,
_SIZES: Final = 2  # and from here on the sizes


class Writer(Protocol):
    """The parts of a Lowering that are used here."""

    b: Builder
    module: Module

    def no_memory(self) -> None: ...

    def reserved(self, pair: Val, size: Index) -> Val: ...


def _width(x: Listed) -> int:
    """The words of an entry."""
    assert x.dims is not None
    return _SIZES + len(x.dims)


def _entry(b: Builder, table: Val, at: Index, width: int) -> Val:
    return b.offset(table, b.iadd(b.imul(at, width), 1), "i64")


def entry(b: Builder, x: Listed, at: Index) -> Val:
    """The address of an element's entry."""
    return _entry(b, b.load("ptr", x.pair), at, _width(x))


def begin(b: Builder, entry: Val) -> Val:
    """The offset of an element; negative if it was not written."""
    return b.load("i64", entry)


def sizes_of(b: Builder, x: Listed, entry: Val) -> list[Index]:
    """The shape of an element."""
    assert x.dims is not None
    return [b.load("i64", b.offset(entry, _SIZES + k, "i64")) if size is None else size
            for k, size in enumerate(x.dims)]


def vector_at(b: Builder, table: Val, at: Index) -> tuple[Val, Val]:
    """The offset and the length of an element of a list of vectors, whose first memory is `table`; both are negative
    if it was not written."""
    mine = _entry(b, table, at, _SIZES + 1)
    return b.load("i64", mine), b.load("i64", b.offset(mine, _SIZES, "i64"))


def used(b: Builder, x: Listed) -> Val:
    """How many scalars the second memory contains."""
    return b.load("i64", b.load("ptr", x.pair))


def content(b: Builder, x: Listed) -> Val:
    """The address of the second memory."""
    return b.load("ptr", b.offset(x.pair, PAIR, "i64"))


def blank(w: Writer, x: Listed, start: Index, stop: Index) -> None:
    """Mark elements as unwritten."""
    b = w.b
    b.call("void", "llvm.memset.p0.i64", entry(b, x, start), const("i8", -1),
           b.i64(b.imul(b.isub(stop, start), x.step)), Val("i1", "false"))


def of_rows(w: Writer, x: Listed, count: Index, shape: Sequence[Index]) -> Val:
    """Make the list one of `count` contiguous elements of one shape; returns the address at which to store them."""
    b = w.b
    size = b.product(shape)
    table = w.reserved(x.pair, x.bytes(b, count))
    b.store(b.i64(b.imul(count, size)), table)
    with b.loop(0, count) as k:
        mine = _entry(b, table, k, _width(x))
        for at, word in enumerate([b.imul(k, size), size, *shape]):
            b.store(b.i64(word), b.offset(mine, at, "i64"))
    return w.reserved(b.offset(x.pair, PAIR, "i64"), b.room([count, *shape], x.dtype.size))


def _count(b: Builder, entry: Val, rank: int) -> Val:
    return b.i64(b.product([b.load("i64", b.offset(entry, _SIZES + k, "i64")) for k in range(rank)]))


def room_of(b: Builder, entry: Val) -> Val:
    """For how many scalars there is room at the place of an element."""
    return b.load("i64", b.offset(entry, _ROOM, "i64"))


def first_written(w: Writer, x: Listed) -> Val:
    """The index of the first written element; -1 if there is none."""
    width = _width(x)

    def write(b: Builder, table: Val, length: Val) -> Val:
        def there(k: Val) -> Val:
            return b.icmp("ne", b.load("i64", _entry(b, table, k, width)), const("i64", _NOT_WRITTEN))

        with b.loop(0, length) as k, b.when(there(k)):
            b.line(f"ret {k}")
        return const("i64", -1)

    name = w.module.define(f"list_first{width}", "i64", ["ptr", "i64"], write, "nounwind")
    return w.b.call("i64", name, w.b.load("ptr", x.pair), x.length)


def _space(w: Writer, x: Listed, count: Index) -> Val:
    """Reserve space for `count` more scalars; returns its offset."""
    width, size = _width(x), x.dtype.size
    w.module.declare(GROW, "ptr", "ptr", "i64")
    w.module.declare(RELEASE, "void", "ptr", "i64")

    def write(b: Builder, pair: Val, length: Val, count: Val) -> Val:
        table, second = b.load("ptr", pair), b.offset(pair, PAIR, "i64")
        more = b.add(b.load("i64", table), count)
        have = b.load("i64", b.offset(second, 1, "i64"))
        with b.when(b.icmp("ugt", b.mul(more, const("i64", size)), have)):
            _packed(b, table, second, length, count, width, size)
        start = b.load("i64", table)
        b.store(b.add(start, count), table)
        return start

    name = w.module.define(f"list_space{width}.{size}", "i64", ["ptr", "i64", "i64"], write, "nounwind")
    start = w.b.call("i64", name, x.pair, x.length, w.b.i64(count))
    with w.b.when(w.b.icmp("eq", start, const("i64", _NO_ROOM))):
        w.no_memory()
    return start


def _packed(b: Builder, table: Val, second: Val, length: Val, count: Val, width: int, size: int) -> None:
    """Compact the live values into larger memory; the function returns _NO_ROOM if the allocation fails."""
    rank = width - _SIZES

    def kept(mine: Val) -> Val:
        """The room that an element keeps."""
        return b.intrinsic("umin", room_of(b, mine), b.mul(_count(b, mine, rank), const("i64", 2)))

    def is_there(mine: Val) -> Val:
        return b.icmp("ne", b.load("i64", mine), const("i64", _NOT_WRITTEN))

    def add(k: Val, state: Sequence[Val]) -> list[Val]:
        mine = _entry(b, table, k, width)
        return [b.add(state[0], b.select(is_there(mine), kept(mine), const("i64", 0)))]

    (live,) = b.folded(0, length, [const("i64", 0)], add)
    pair = b.alloca("i64", PAIR)
    for k in range(PAIR):
        b.store(const("i64", 0), b.offset(pair, k, "i64"))
    memory = b.call("ptr", GROW, pair, b.mul(b.add(live, count), const("i64", 2 * size)))
    with b.when(b.icmp("eq", memory, Val("ptr", "null"))):
        b.line(f"ret i64 {_NO_ROOM}")
    old = b.load("ptr", second)

    def take(k: Val, state: Sequence[Val]) -> list[Val]:
        mine = _entry(b, table, k, width)

        def copied() -> list[Val]:
            many, room = _count(b, mine, rank), kept(mine)
            target, source = (b.offset(place, b.mul(at, const("i64", size)), "i8")
                              for place, at in ((memory, state[0]), (old, b.load("i64", mine))))
            b.call("void", "llvm.memcpy.p0.p0.i64", target, source, b.mul(many, const("i64", size)),
                   Val("i1", "false"))
            b.store(state[0], mine)
            b.store(room, b.offset(mine, _ROOM, "i64"))
            return [b.add(state[0], room)]

        return b.either(is_there(mine), copied, lambda: [state[0]])

    (end,) = b.folded(0, length, [const("i64", 0)], take)
    b.store(end, table)
    b.call("void", RELEASE, second, const("i64", 1))
    for k in range(PAIR):
        b.store(b.load("i64", b.offset(pair, k, "i64")), b.offset(second, k, "i64"))


def place_for(w: Writer, x: Listed, at: Index, shape: Sequence[Index]) -> Leaf:
    """Memory for element `at` with a new shape: its old memory, if there is room."""
    b = w.b
    count = b.intrinsic("umin", b.i64(b.room(shape, 1)), const("i64", _MOST))
    mine = entry(b, x, at)
    old = begin(b, mine)

    def moved() -> list[Val]:
        b.store(const("i64", _NOT_WRITTEN), mine)  # its old value need not be kept
        start = _space(w, x, count)
        b.store(start, mine)
        b.store(count, b.offset(mine, _ROOM, "i64"))
        return [start]

    fits = b.and_(b.icmp("ne", old, const("i64", _NOT_WRITTEN)), b.icmp("ule", count, room_of(b, mine)))
    (start,) = b.either(fits, lambda: [old], moved)
    for k, size in enumerate(shape):
        b.store(b.i64(size), b.offset(mine, _SIZES + k, "i64"))
    return Leaf(x.dtype, shape, b.offset(content(b, x), start, llvm_type(x.dtype)))


def written(w: Writer, x: Listed, at: Val, value: Leaf) -> Val:
    """The address of an element, which is written with a value if it was not written before."""
    b = w.b

    def placed() -> list[Val]:
        place, size = place_for(w, x, at, value.dims), b.i64(b.imul(b.product(value.dims), x.dtype.size))
        b.call("void", "llvm.memcpy.p0.p0.i64", place.pointer, value.pointer, size, Val("i1", "false"))
        return [place.pointer]

    missing = b.icmp("eq", begin(b, entry(b, x, at)), const("i64", _NOT_WRITTEN))
    return b.either(missing, placed, lambda: [value.pointer], w.module.unlikely(True))[0]


def resized(b: Builder, x: Listed, at: Val, length: Index) -> None:
    """Record the length of a row that has changed in its place."""
    b.store(b.i64(length), b.offset(entry(b, x, at), _SIZES, "i64"))


def grown(w: Writer, x: Listed, at: Val, length: Val, least: Val) -> tuple[Val, Val]:
    """Move row `at`, of which `length` scalars are written, to where there is room for more than `least`; returns its
    address, and for how many scalars there is room."""
    b = w.b
    resized(b, x, at, length)
    mine = entry(b, x, at)
    room = b.mul(least, const("i64", 2))
    start = _space(w, x, room)  # which may move the row
    first, size = content(b, x), b.mul(length, const("i64", x.dtype.size))
    target, source = (b.offset(first, k, llvm_type(x.dtype)) for k in (start, begin(b, mine)))
    b.call("void", "llvm.memcpy.p0.p0.i64", target, source, size, Val("i1", "false"))
    b.store(start, mine)
    b.store(room, b.offset(mine, _ROOM, "i64"))
    return target, room


def copy_element(w: Writer, x: Listed, start: Val, shape: Leaf, target: Val) -> None:
    """Copy the element at offset `start`, in the shape of an array, to `target`; zeros if it was not written."""
    b = w.b
    size = b.i64(b.imul(b.product(shape.dims), x.dtype.size))
    missing, no = b.icmp("slt", start, const("i64", 0)), Val("i1", "false")

    def zeros() -> list[Val]:
        b.call("void", "llvm.memset.p0.i64", target, const("i8", 0), size, no)
        return []

    def copied() -> list[Val]:
        b.call("void", "llvm.memcpy.p0.p0.i64", target, b.offset(content(b, x), start, llvm_type(x.dtype)), size, no)
        return []

    b.either(missing, zeros, copied)


def take_over(w: Writer, x: Listed, other: Listed) -> None:
    """Copy the content of `other`, and rebase its entries, which were copied to the end of those of `x`."""
    b = w.b
    count = used(b, other)
    more = _space(w, x, count)
    b.call("void", "llvm.memcpy.p0.p0.i64", b.offset(content(b, x), more, llvm_type(x.dtype)), content(b, other),
           b.mul(count, const("i64", x.dtype.size)), Val("i1", "false"))
    with b.loop(0, other.length) as k:
        mine = entry(b, x, b.iadd(x.length, k))
        start = begin(b, mine)
        b.store(b.select(b.icmp("slt", start, const("i64", 0)), start, b.add(start, more)), mine)


def picked(w: Writer, x: Listed, copy: Listed, axis: Axis) -> Listed:
    """A slice of `x`, made in `copy`, a copy of `x`."""
    b = w.b
    assert axis.count is not None
    size = const("i64", x.step)
    with b.loop(0, axis.count) as k:
        source = entry(b, x, b.iadd(axis.start, b.imul(k, axis.step)))
        b.call("void", "llvm.memcpy.p0.p0.i64", entry(b, copy, k), source, size, Val("i1", "false"))
    return Listed(x.dtype, x.dims, copy.pair, b.i64(axis.count))
