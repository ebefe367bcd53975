"""How native code lets Python handle the signals that came."""
from __future__ import annotations

from collections.abc import Callable
from typing import Final

from runtime.execute.native.emit import Builder, Index, Module, Val, const

__all__ = ["ERROR_WORDS", "INTERRUPTED", "SIGNALS", "define_signals", "poll"]

SIGNALS: Final = "runtime_signals"
ERROR_WORDS: Final = 3  # of the frame: an exception that a handler of a signal raised
_CREDIT: Final = 1 << 20
INTERRUPTED: Final = 4  # the status of code that stopped for it


def define_signals(module: Module) -> None:
    """`i32 runtime_signals(frame)`: not 0 if a handler raised an exception, which waits in the frame then.

    Handlers run on the main thread of Python. Others that work for the same call learn of the exception here.
    """
    for name, result, *types in (
            ("PyGILState_Ensure", "i32"), ("PyGILState_Release", "void", "i32"), ("PyErr_CheckSignals", "i32"),
            ("PyErr_Fetch", "void", "ptr", "ptr", "ptr")):
        module.declare(name, result, *types)
    module.define(SIGNALS, "i32", ["ptr"], _signals, "nounwind", linkage="")


def _signals(b: Builder, frame: Val) -> Val:
    waits = b.icmp("ne", b.load("ptr", b.offset(frame, ERROR_WORDS, "i64")), Val("ptr", "null"))
    (raised,) = b.either(waits, lambda: [const("i32", 1)], lambda: [_handled(b, frame)])
    return raised


def _handled(b: Builder, frame: Val) -> Val:
    state = b.call("i32", "PyGILState_Ensure")
    raised = b.call("i32", "PyErr_CheckSignals")
    with b.when(b.icmp("ne", raised, const("i32", 0))):
        b.call("void", "PyErr_Fetch", *[b.offset(frame, ERROR_WORDS + k, "i64") for k in range(3)])
    b.call("void", "PyGILState_Release", state)
    return raised


def poll(b: Builder, frame: Val, cost: Index, leave: Callable[[], None]) -> None:
    """Let a signal stop a loop: after a number of iterations, more if they are short, Python handles what came, and if
    a handler raised something, `leave` is what comes next."""
    cost = max(cost, 1) if isinstance(cost, int) else cost
    if b.credit is None:
        b.credit = b.alloca("i64")
        b.entry.append(f"  store i64 {_CREDIT}, {b.credit}")
    left = b.op("i64", f"sub {b.load('i64', b.credit)}, {b.i64(cost).ref}")
    b.store(left, b.credit)
    with b.when(b.icmp("slt", left, const("i64", 0))):
        b.store(const("i64", _CREDIT), b.credit)
        b.module.declare(SIGNALS, "i32", "ptr")
        with b.when(b.icmp("ne", b.call("i32", SIGNALS, frame), const("i32", 0))):
            leave()
