"""What the code of every graph calls: a module of its own, compiled once for a process.

    runtime_call                    what CPython calls (entry.py)
    runtime_front                   what it calls for a call in Python (front.py)
    runtime_parallel                a loop on several threads (pool.py)
    runtime_signals                 lets Python handle the signals that came (signals.py)
    runtime_ask, runtime_insist     call what is asked of Python (signals.py)
    runtime_raise                   makes what a handler raised the exception of the call (signals.py)
    runtime_grow, runtime_extend, runtime_release    memory (memory.py)
"""
from __future__ import annotations

from typing import Final

from runtime.execute.native.emit import Module
from runtime.execute.native.entry import ENTRY, define_entry
from runtime.execute.native.front import FRONT, define_front
from runtime.execute.native.memory import EXTEND, GROW, RELEASE, define_memory
from runtime.execute.native.pool import RUN, define_pool
from runtime.execute.native.signals import ASK, INSIST, RAISE, SIGNALS, define_signals

__all__ = ["SUPPORT", "support_text"]

SUPPORT: Final = (ENTRY, FRONT, RUN, SIGNALS, ASK, INSIST, RAISE, GROW, EXTEND, RELEASE)
"""The names of the functions."""


def support_text() -> str:
    module = Module()
    for define in (define_entry, define_front, define_pool, define_signals, define_memory):
        define(module)
    return module.text()
