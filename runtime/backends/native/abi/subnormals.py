"""Whether a thread's float arithmetic treats subnormal numbers as zero, as operands and as results.

Most processors need a hundred cycles more for an operation on a subnormal number. The mode is two bits of a thread's
control register (MXCSR of x86, FPCR of ARM), which holds for all code of the thread: native, NumPy's and Python's.
"""
from __future__ import annotations

import platform
from typing import Final

from runtime.backends.native.llvm.builder import Builder, Module, Val, const

__all__ = ["FLUSH", "define_flush", "flush", "flushes"]

FLUSH: Final = "runtime_flush_subnormals"
_X86: Final = ("x86_64", "amd64")
_ARM: Final = ("arm64", "aarch64")
_X86_BITS: Final = 0x8040  # FTZ, DAZ
_ARM_BITS: Final = 1 << 24  # FZ


def define_flush(module: Module) -> None:
    """`i32 runtime_flush_subnormals(i32 whether)`: set this thread's mode and return the previous one."""
    module.define(FLUSH, "i32", ["i32"], _flush, "nounwind", linkage="")


def _flush(b: Builder, whether: Val) -> Val:
    before = flushes(b)
    flush(b, b.icmp("ne", whether, const("i32", 0)))
    return b.convert("zext", before, "i32")


def flushes(b: Builder) -> Val:
    """Whether this thread flushes subnormal numbers to zero."""
    machine = platform.machine().lower()
    if machine in _X86:
        return b.icmp("ne", b.and_(_x86_word(b), const("i32", _X86_BITS)), const("i32", 0))
    if machine in _ARM:
        return b.icmp("ne", b.and_(_arm_word(b), const("i64", _ARM_BITS)), const("i64", 0))
    return Val("i1", "false")


def flush(b: Builder, whether: Val) -> None:
    """Set the mode of this thread. No effect on other processors than x86-64 and ARM64."""
    machine = platform.machine().lower()
    if machine in _X86:
        cleared = b.and_(_x86_word(b), const("i32", ~_X86_BITS))
        word = b.alloca("i32")
        b.store(b.or_(cleared, b.select(whether, const("i32", _X86_BITS), const("i32", 0))), word)
        b.call("void", "llvm.x86.sse.ldmxcsr", word)
    elif machine in _ARM:
        cleared = b.and_(_arm_word(b), const("i64", ~_ARM_BITS))
        new = b.or_(cleared, b.select(whether, const("i64", _ARM_BITS), const("i64", 0)))
        b.line(f'call void asm sideeffect "msr fpcr, $0", "r"({new})')


def _x86_word(b: Builder) -> Val:
    word = b.alloca("i32")
    b.call("void", "llvm.x86.sse.stmxcsr", word)
    return b.load("i32", word)


def _arm_word(b: Builder) -> Val:
    return b.op("i64", 'call i64 asm sideeffect "mrs $0, fpcr", "=r"()')
