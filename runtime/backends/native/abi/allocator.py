"""Functions of native code that allocate memory from the C library and account for it (`rt.config.experimental`)."""
from __future__ import annotations

from typing import Final

from runtime.backends.native.llvm.builder import Builder, Module, Val, const

__all__ = [
    "DISOWN", "EXTEND", "FREE", "GROW", "MEMORY", "MOST_FACTORS", "PAIR", "RELEASE", "RESERVE", "RETREAT",
    "define_memory",
]

PAIR: Final = 3
"""The words of a pair: the address of memory, its capacity in bytes, and how many bytes the block has before the
address: free space at the front of a list."""

GROW: Final = "runtime_grow"
RESERVE: Final = "runtime_reserve"
MOST_FACTORS: Final = 4
"""`RESERVE` with a number up to this takes so many more factors of the size."""
EXTEND: Final = "runtime_extend"
RETREAT: Final = "runtime_retreat"
RELEASE: Final = "runtime_release"
DISOWN: Final = "runtime_disown"
FREE: Final = "runtime_free"
_LEAST: Final = 1 << 16  # bytes: to copy less is cheaper than to allocate anew
MEMORY: Final = "runtime_memory"  # two words: the bytes held now, and their maximum so far


def define_memory(module: Module) -> None:
    """`ptr runtime_grow(pair, need)`, `ptr runtime_reserve(pair, need)`, `ptr runtime_extend(pair, need, used)`,
    `ptr runtime_retreat(pair, need, used)` and `void runtime_release(pairs, count)`. The last one frees the memory of
    `count` pairs; the others enlarge that of one pair, `runtime_reserve` only if it is too small.

    `ptr runtime_disown(pairs, count, address, size)` takes `size` bytes at an address away from the pair that has them,
    so that a result need not be copied; it returns the address, or null if no pair has just these, or they are few.
    `void runtime_free(capsule)` is the destructor of a PyCapsule that owns such memory."""
    module.globals[MEMORY] = "external global i64"
    module.declare("free", "void", "ptr")
    module.declare("aligned_alloc", "ptr", "i64", "i64")
    module.define(GROW, "ptr", ["ptr", "i64"], _grow, "nounwind", linkage="")
    for count in range(MOST_FACTORS + 1):
        module.define(f"{RESERVE}{count or ''}", "ptr", ["ptr", "i64", *["i64"] * count], _reserve, "nounwind",
                      linkage="")
    module.define(EXTEND, "ptr", ["ptr", "i64", "i64"], _extend, "nounwind", linkage="")
    module.define(RETREAT, "ptr", ["ptr", "i64", "i64"], _retreat, "nounwind", linkage="")
    module.define(RELEASE, "void", ["ptr", "i64"], _release, "nounwind", linkage="")
    module.declare("PyCapsule_GetPointer", "ptr", "ptr", "ptr")
    module.define(DISOWN, "ptr", ["ptr", "i64", "ptr", "i64"], _disown, "nounwind", linkage="")
    module.define(FREE, "void", ["ptr"], _free, "nounwind", linkage="")


_NONE: Final = const("i64", 0)


def _count(b: Builder, more: Val) -> None:
    """Add to the bytes held, atomically."""
    in_use = Val("ptr", f"@{MEMORY}")
    before = b.op("i64", f"atomicrmw add {in_use}, {more} seq_cst")
    b.op("i64", f"atomicrmw max {b.offset(in_use, 1, 'i64')}, {b.add(before, more)} seq_cst")


def _words(b: Builder, pair: Val) -> tuple[Val, Val, Val]:
    return b.load("ptr", pair), b.load("i64", b.offset(pair, 1, "i64")), b.load("i64", b.offset(pair, 2, "i64"))


def _set_words(b: Builder, pair: Val, address: Val, capacity: Val, before: Val) -> None:
    for k, word in enumerate((address, capacity, before)):
        b.store(word, b.offset(pair, k, "i64"))


def _before(b: Builder, address: Val, size: Val) -> Val:
    return b.offset(address, b.sub(_NONE, size), "i8")


def _allocated(b: Builder, size: Val) -> tuple[Val, Val]:
    """Newly allocated memory, and whether the allocation failed."""
    memory = b.call("ptr", "aligned_alloc", const("i64", 64), size)
    return memory, b.icmp("eq", memory, Val("ptr", "null"))


def _release(b: Builder, pairs: Val, count: Val) -> None:
    with b.loop(0, count) as k:
        address, capacity, before = _words(b, b.offset(pairs, b.imul(k, PAIR), "i64"))
        b.call("void", "free", _before(b, address, before))
        _count(b, b.sub(_NONE, b.add(capacity, before)))


def _disown(b: Builder, pairs: Val, count: Val, address: Val, size: Val) -> Val:
    null = Val("ptr", "null")
    with b.loop(0, count) as k:
        pair = b.offset(pairs, b.imul(k, PAIR), "i64")
        found, capacity, before = _words(b, pair)
        room = b.sub(capacity, size)  # after a call with larger arrays it would waste memory
        fits = b.and_(b.icmp("ule", room, size), b.icmp("uge", size, const("i64", _LEAST)))
        fits = b.and_(fits, b.icmp("eq", before, _NONE))
        with b.when(b.and_(b.icmp("eq", found, address), fits)):
            _set_words(b, pair, null, _NONE, _NONE)
            _count(b, b.sub(_NONE, capacity))
            b.line(f"ret {address}")
    return null


def _free(b: Builder, capsule: Val) -> None:
    b.call("void", "free", b.call("ptr", "PyCapsule_GetPointer", capsule, Val("ptr", "null")))


def _grow(b: Builder, pair: Val, need: Val) -> Val:
    """New memory of at least `need` bytes for a pair; the old content is lost."""
    address, capacity, before = _words(b, pair)
    b.call("void", "free", _before(b, address, before))
    size = b.op("i64", f"and {b.intrinsic('uadd.sat', need, const('i64', 127))}, -64")
    memory, null = _allocated(b, size)
    now = b.select(null, _NONE, size)
    _count(b, b.sub(now, b.add(capacity, before)))
    _set_words(b, pair, memory, now, _NONE)
    return memory


def _reserve(b: Builder, pair: Val, size: Val, *more: Val) -> Val:
    """The memory of a pair, of at least `size` bytes, times `more`; if it grows, the old content is lost."""
    need = b.intrinsic("umax", b.i64(b.room([size, *more], 1)) if more else size, const("i64", 1))
    address, capacity, _ = _words(b, pair)
    (memory,) = b.either(b.icmp("uge", capacity, need), lambda: [address], lambda: [b.call("ptr", GROW, pair, need)])
    return memory


def _extend(b: Builder, pair: Val, need: Val, used: Val) -> Val:
    """Memory of at least `need` bytes, with spare capacity; the first `used` bytes are kept. They move to the beginning
    of the same block if they fit into the space before the address, so that a queue takes amortised constant time."""
    address, capacity, before = _words(b, pair)
    whole, first = b.add(capacity, before), _before(b, address, before)
    with b.when(b.and_(b.icmp("uge", before, b.add(used, const("i64", 1))), b.icmp("uge", whole, need))):
        b.call("void", "llvm.memcpy.p0.p0.i64", first, address, used, Val("i1", "false"))
        _set_words(b, pair, first, whole, _NONE)
        b.line(f"ret {first}")
    doubled = b.intrinsic("uadd.sat", need, need)
    size = b.op("i64", f"and {b.intrinsic('uadd.sat', doubled, const('i64', 127))}, -64")
    memory, null = _allocated(b, size)
    with b.when(b.not_(null)):
        b.call("void", "llvm.memcpy.p0.p0.i64", memory, address, used, Val("i1", "false"))
        b.call("void", "free", first)
        _count(b, b.sub(size, whole))
        _set_words(b, pair, memory, size, _NONE)
    return memory


def _retreat(b: Builder, pair: Val, need: Val, used: Val) -> Val:
    """Free space of at least `need` bytes before the address; the `used` bytes from the address on are kept. They are
    shifted up within the block if its spare capacity suffices, else copied to a new block."""
    address, capacity, before = _words(b, pair)
    spare = b.sub(capacity, used)
    with b.when(b.icmp("uge", spare, b.add(b.add(used, const("i64", 192)), b.add(need, need)))):
        shift = b.op("i64", f"and {b.op('i64', f'lshr {spare}, 1')}, -64")
        moved = b.offset(address, shift, "i8")
        b.call("void", "llvm.memmove.p0.p0.i64", moved, address, used, Val("i1", "false"))
        _set_words(b, pair, moved, b.sub(capacity, shift), b.add(before, shift))
        b.line(f"ret {moved}")
    gap = b.op("i64", f"and {b.add(b.add(used, need), const('i64', 127))}, -64")
    size = b.op("i64", f"and {b.add(b.add(gap, capacity), const('i64', 63))}, -64")
    memory, null = _allocated(b, size)
    with b.when(b.not_(null)):
        moved = b.offset(memory, gap, "i8")
        b.call("void", "llvm.memcpy.p0.p0.i64", moved, address, used, Val("i1", "false"))
        b.call("void", "free", _before(b, address, before))
        _count(b, b.sub(size, b.add(capacity, before)))
        _set_words(b, pair, moved, b.sub(size, gap), gap)
    return memory
