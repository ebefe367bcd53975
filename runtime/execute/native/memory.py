"""Functions of native code that get memory from the C library."""
from __future__ import annotations

from runtime.execute.native.emit import Builder, Val, const

__all__ = ["extend", "grow"]


def grow(b: Builder, pair: Val, need: Val) -> Val:
    """New memory of at least `need` bytes for a pair of address and capacity; what was in the old is lost."""
    old = b.load("ptr", pair)
    b.call("void", "free", old)
    size = b.op("i64", f"and {b.op('i64', f'add {need}, 127')}, -64")
    memory = b.call("ptr", "aligned_alloc", const("i64", 64), size)
    null = b.icmp("eq", memory, Val("ptr", "null"))
    b.store(memory, pair)
    b.store(b.select(null, const("i64", 0), size), b.offset(pair, 1, "i64"))
    return memory


def extend(b: Builder, pair: Val, need: Val, used: Val) -> Val:
    """As `grow`, with room to spare; the first `used` bytes stay."""
    old = b.load("ptr", pair)
    doubled = b.op("i64", f"add {need}, {need.ref}")
    size = b.op("i64", f"and {b.op('i64', f'add {doubled}, 127')}, -64")
    memory = b.call("ptr", "aligned_alloc", const("i64", 64), size)
    null = b.icmp("eq", memory, Val("ptr", "null"))
    with b.when(b.not_(null)):
        b.call("void", "llvm.memcpy.p0.p0.i64", memory, old, used, Val("i1", "false"))
        b.call("void", "free", old)
        b.store(memory, pair)
        b.store(size, b.offset(pair, 1, "i64"))
    return memory
