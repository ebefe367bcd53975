"""Functions of native code that allocate memory from the C library and account for it (`rt.config.experimental`)."""
from __future__ import annotations

from typing import Final

from runtime.backends.native.llvm.builder import Builder, Module, Val, const

__all__ = ["EXTEND", "GROW", "MEMORY", "RELEASE", "define_memory"]

GROW: Final = "runtime_grow"
EXTEND: Final = "runtime_extend"
RELEASE: Final = "runtime_release"
MEMORY: Final = "runtime_memory"  # two words: the bytes held now, and their maximum so far


def define_memory(module: Module) -> None:
    """`ptr runtime_grow(pair, need)`, `ptr runtime_extend(pair, need, used)` and `void runtime_release(pairs, count)`.

    A pair is two words: the address of memory, and its capacity in bytes. The first two allocate new memory for it, the
    last one frees that of a number of pairs.
    """
    module.globals[MEMORY] = "external global i64"
    module.declare("free", "void", "ptr")
    module.declare("aligned_alloc", "ptr", "i64", "i64")
    module.define(GROW, "ptr", ["ptr", "i64"], _grow, "nounwind", linkage="")
    module.define(EXTEND, "ptr", ["ptr", "i64", "i64"], _extend, "nounwind", linkage="")
    module.define(RELEASE, "void", ["ptr", "i64"], _release, "nounwind", linkage="")


def _count(b: Builder, more: Val) -> None:
    """Add to the bytes held, atomically."""
    held = Val("ptr", f"@{MEMORY}")
    before = b.op("i64", f"atomicrmw add {held}, {more} seq_cst")
    b.op("i64", f"atomicrmw max {b.offset(held, 1, 'i64')}, {b.add(before, more)} seq_cst")


def _release(b: Builder, pairs: Val, count: Val) -> None:
    with b.loop(0, count) as k:
        pair = b.offset(pairs, b.imul(k, 2), "i64")
        b.call("void", "free", b.load("ptr", pair))
        _count(b, b.sub(const("i64", 0), b.load("i64", b.offset(pair, 1, "i64"))))


def _grow(b: Builder, pair: Val, need: Val) -> Val:
    """New memory of at least `need` bytes for a pair of address and capacity; the old content is lost."""
    old = b.load("ptr", pair)
    b.call("void", "free", old)
    size = b.op("i64", f"and {b.intrinsic('uadd.sat', need, const('i64', 127))}, -64")
    memory = b.call("ptr", "aligned_alloc", const("i64", 64), size)
    null = b.icmp("eq", memory, Val("ptr", "null"))
    b.store(memory, pair)
    capacity = b.select(null, const("i64", 0), size)
    _count(b, b.sub(capacity, b.load("i64", b.offset(pair, 1, "i64"))))
    b.store(capacity, b.offset(pair, 1, "i64"))
    return memory


def _extend(b: Builder, pair: Val, need: Val, used: Val) -> Val:
    """As `_grow`, with spare capacity; the first `used` bytes are kept."""
    old = b.load("ptr", pair)
    doubled = b.intrinsic("uadd.sat", need, need)
    size = b.op("i64", f"and {b.intrinsic('uadd.sat', doubled, const('i64', 127))}, -64")
    memory = b.call("ptr", "aligned_alloc", const("i64", 64), size)
    null = b.icmp("eq", memory, Val("ptr", "null"))
    with b.when(b.not_(null)):
        b.call("void", "llvm.memcpy.p0.p0.i64", memory, old, used, Val("i1", "false"))
        b.call("void", "free", old)
        b.store(memory, pair)
        _count(b, b.sub(size, b.load("i64", b.offset(pair, 1, "i64"))))
        b.store(size, b.offset(pair, 1, "i64"))
    return memory
