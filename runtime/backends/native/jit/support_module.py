"""Functions that the code of every graph calls, in a module of their own that is compiled once per process.

    runtime_call                    what CPython calls
    runtime_front                   what a call from Python enters first
    runtime_parallel                a loop on several threads
    runtime_signals                 lets Python handle signals
    runtime_ask, runtime_insist     callbacks to Python
    runtime_raise                   makes a signal handler's exception the call's
    runtime_grow, runtime_reserve, runtime_extend, runtime_retreat, runtime_release    memory
    runtime_disown, runtime_free    memory that becomes a result's
    runtime_unstack                 lists of tensors
    runtime_now, runtime_log        timestamps of code that is profiled
    runtime_flush_subnormals        the mode of this thread's float arithmetic
    __truncdfhf2                    float64 to float16, under LLVM's name
"""
from __future__ import annotations

from typing import Final

from runtime.backends.native.abi.allocator import (
    DISOWN,
    EXTEND,
    FREE,
    GROW,
    MOST_FACTORS,
    RELEASE,
    RESERVE,
    RETREAT,
    define_memory,
)
from runtime.backends.native.abi.clock import LOG, NOW, define_clock
from runtime.backends.native.abi.interrupts import ASK, INSIST, RAISE, SIGNALS, define_signals
from runtime.backends.native.abi.subnormals import FLUSH, define_flush
from runtime.backends.native.abi.thread_pool import RUN, define_pool
from runtime.backends.native.jit.call_abi import ENTRY, define_entry
from runtime.backends.native.jit.fast_call import FRONT, define_front
from runtime.backends.native.jit.unstack import UNSTACK, define_unstack
from runtime.backends.native.libm.half import TO_HALF, define_half
from runtime.backends.native.llvm.builder import Module

__all__ = ["SUPPORT", "support_text"]

SUPPORT: Final = (ENTRY, FRONT, RUN, SIGNALS, ASK, INSIST, RAISE, GROW, EXTEND, RETREAT, RELEASE, UNSTACK, NOW, LOG,
                  FLUSH, TO_HALF, DISOWN, FREE, RESERVE, *[f"{RESERVE}{count}" for count in range(1, MOST_FACTORS + 1)])
"""The names of the functions."""


def support_text() -> str:
    module = Module()
    for define in (define_entry, define_front, define_pool, define_signals, define_memory, define_unstack,
                   define_clock, define_flush, define_half):
        define(module)
    return module.text()
