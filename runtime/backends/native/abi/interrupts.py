"""How native code calls Python, and lets it handle pending signals.

Polling takes the GIL, which other Python threads may hold for milliseconds. So a call reads a clock first, and polls at
most 60 times a second.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from sys import intern
from typing import Final

from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const

__all__ = ["ASK", "CALL_WORD", "CREDIT", "ERROR_WORDS", "INSIST", "INTERRUPTED", "LOOKED_WORD", "PIECE", "RAISE",
           "SIGNALS", "SIGNAL_SYMBOLS", "charge", "define_signals", "poll", "watched"]

SIGNALS: Final = "runtime_signals"
ASK: Final = "runtime_ask"
INSIST: Final = "runtime_insist"
RAISE: Final = "runtime_raise"
CALL_WORD: Final = 0  # of the frame: the `Call` in progress, if native code calls Python
ERROR_WORDS: Final = 3  # of the frame: an exception raised by a signal handler
LOOKED_WORD: Final = 6  # of the frame: the time of the last poll
_POLL_INTERVAL: Final = 1 << 24  # ns between two polls
_MONOTONIC: Final = 6 if sys.platform == "darwin" else 1  # the clock
_TIMES: Final = 8  # attempts at a site
PIECE: Final = 1 << 16  # iterations between polls
CREDIT: Final = 1 << 20  # nanoseconds of estimated cost between polls
INTERRUPTED: Final = 4  # status of code that was interrupted
_METHOD: Final = intern("ask")
_ATTRIBUTE: Final = intern("error")
_ASK_NAME, _ERROR_NAME = "runtime_name_of_ask", "runtime_name_of_error"
SIGNAL_SYMBOLS: Final = {_ASK_NAME: id(_METHOD), _ERROR_NAME: id(_ATTRIBUTE)}
"""Addresses of Python objects that this code uses."""


def define_signals(module: Module) -> None:
    """`runtime_signals(frame)`, `runtime_ask(frame, site, words)`, `runtime_insist(frame, site, words)`, which return
    i32, and `runtime_raise(frame)`.

    The first returns non-zero if a handler raised an exception, which it stores in the frame; it does not poll if the
    frame is null. The second calls a site and returns 1 if it completed; else 0, and any exception raised from the
    site's first instruction on becomes the call's. The third retries a site that did not complete, since a signal
    handler may have raised in it; it returns the status of the first attempt. The last one makes the exception in the
    frame the call's.

    Handlers run on Python's main thread. Pool threads that work for a call are not Python threads: they only check
    whether the frame has an exception.
    """
    for name, result, *types in (
            ("PyGILState_Ensure", "i32"), ("PyGILState_Release", "void", "i32"), ("PyErr_CheckSignals", "i32"),
            ("PyGILState_GetThisThreadState", "ptr"), ("clock_gettime", "i32", "i32", "ptr"),
            ("PyErr_Fetch", "void", "ptr", "ptr", "ptr"), ("PyErr_NormalizeException", "void", "ptr", "ptr", "ptr"),
            ("PyException_SetTraceback", "i32", "ptr", "ptr"), ("PyObject_SetAttr", "i32", "ptr", "ptr", "ptr"),
            ("PyObject_VectorcallMethod", "ptr", "ptr", "ptr", "i64", "ptr"), ("PyLong_FromLongLong", "ptr", "i64"),
            ("Py_DecRef", "void", "ptr")):
        module.declare(name, result, *types)
    for name in SIGNAL_SYMBOLS:
        module.globals[name] = "external global i8"
    module.define(SIGNALS, "i32", ["ptr"], _signals, "nounwind", linkage="")
    module.define(ASK, "i32", ["ptr", "i32", "ptr"], _ask, "nounwind", linkage="")
    module.define(INSIST, "i32", ["ptr", "i32", "ptr"], _insist, "nounwind", linkage="")
    module.define(RAISE, "void", ["ptr"], _raise, "nounwind", linkage="")


def _signals(b: Builder, frame: Val) -> Val:
    null = Val("ptr", "null")
    none = b.icmp("eq", frame, null)
    return b.either(none, lambda: [const("i32", 0)], lambda: [_looked(b, frame)])[0]


def _looked(b: Builder, frame: Val) -> Val:
    null = Val("ptr", "null")
    place = b.offset(frame, ERROR_WORDS, "i64")
    waits = b.icmp("ne", b.op("ptr", f"load atomic ptr, {place} monotonic, align 8"), null)
    of_pool = b.icmp("eq", b.call("ptr", "PyGILState_GetThisThreadState"), null)
    other = b.or_(waits, of_pool)

    def look() -> list[Val]:
        time, looked = b.alloca("i64", 2), b.offset(frame, LOOKED_WORD, "i64")
        b.call("i32", "clock_gettime", const("i32", _MONOTONIC), time)
        now = b.add(b.mul(b.load("i64", time), const("i64", 10 ** 9)), b.load("i64", b.offset(time, 1, "i64")))
        soon = b.icmp("ult", b.sub(now, b.load("i64", looked)), const("i64", _POLL_INTERVAL))

        def handled() -> list[Val]:
            b.store(now, looked)
            return [_handled(b, frame)]

        return b.either(soon, lambda: [const("i32", 0)], handled)

    return b.either(other, lambda: [b.convert("zext", waits, "i32")], look)[0]


def _ask(b: Builder, frame: Val, site: Val, words: Val) -> Val:
    null = Val("ptr", "null")
    state = b.call("i32", "PyGILState_Ensure")
    call = b.load("ptr", b.offset(frame, CALL_WORD, "i64"))
    address = b.op("i64", f"ptrtoint {words} to i64")
    numbers = [b.call("ptr", "PyLong_FromLongLong", x) for x in (b.convert("sext", site, "i64"), address)]
    arguments = b.alloca("ptr", 3)
    for k, obj in enumerate([call, *numbers]):
        b.store(obj, b.offset(arguments, k, "ptr"))
    lacking = b.or_(*[b.icmp("eq", number, null) for number in numbers])
    (result,) = b.either(lacking, lambda: [null], lambda: [
        b.call("ptr", "PyObject_VectorcallMethod", Val("ptr", f"@{_ASK_NAME}"), arguments, const("i64", 3), null)])
    failed = b.icmp("eq", result, null)
    with b.when(failed):
        error = b.alloca("ptr", 3)
        b.call("void", "PyErr_Fetch", *_parts(b, error))
        _keep(b, call, error)
    for obj in (*numbers, result):
        b.call("void", "Py_DecRef", obj)  # may be null
    b.call("void", "PyGILState_Release", state)
    return b.select(failed, const("i32", 0), const("i32", 1))


def _parts(b: Builder, error: Val) -> list[Val]:
    return [b.offset(error, k, "ptr") for k in range(3)]


def _keep(b: Builder, call: Val, error: Val) -> None:
    """Make the exception that `PyErr_Fetch` stored, three words, the call's."""
    b.call("void", "PyErr_NormalizeException", *_parts(b, error))
    type, value, trace = (b.load("ptr", part) for part in _parts(b, error))
    with b.when(b.icmp("ne", trace, Val("ptr", "null"))):
        b.call("i32", "PyException_SetTraceback", value, trace)
    b.call("i32", "PyObject_SetAttr", call, Val("ptr", f"@{_ERROR_NAME}"), value)
    for obj in (type, value, trace):
        b.call("void", "Py_DecRef", obj)


def _raise(b: Builder, frame: Val) -> None:
    state = b.call("i32", "PyGILState_Ensure")
    waiting, error = b.offset(frame, ERROR_WORDS, "i64"), b.alloca("ptr", 3)
    for source, part in zip(_parts(b, waiting), _parts(b, error), strict=True):
        b.store(b.load("ptr", source), part)
    b.store(Val("ptr", "null"), waiting)
    _keep(b, b.load("ptr", b.offset(frame, CALL_WORD, "i64")), error)
    b.call("void", "PyGILState_Release", state)


def _insist(b: Builder, frame: Val, site: Val, words: Val) -> Val:
    def ask(_: Val, statuses: Sequence[Val]) -> list[Val]:
        first, last = statuses

        def again() -> list[Val]:
            status = b.call("i32", ASK, frame, site, words)
            return [b.select(b.icmp("eq", first, const("i32", -1)), status, first), status]

        return b.either(b.icmp("eq", last, const("i32", 1)), lambda: [first, last], again)

    return b.folded(0, _TIMES, [const("i32", -1), const("i32", 0)], ask)[0]


def _handled(b: Builder, frame: Val) -> Val:
    state = b.call("i32", "PyGILState_Ensure")
    raised = b.call("i32", "PyErr_CheckSignals")
    with b.when(b.icmp("ne", raised, const("i32", 0))):
        b.call("void", "PyErr_Fetch", *[b.offset(frame, ERROR_WORDS + k, "i64") for k in range(3)])
    b.call("void", "PyGILState_Release", state)
    return raised


def poll(b: Builder, frame: Val, cost: Index, leave: Callable[[], None], look: Callable[[], None] | None = None
         ) -> None:
    """Let signals interrupt a loop: after iterations of a certain total cost Python handles signals, and if a handler
    raised, the code that `leave` writes runs. `look` writes other code to run at each poll."""
    left = charge(b, max(cost, 1) if isinstance(cost, int) else b.iadd(cost, 1))  # an empty iteration takes time, too
    assert b.credit is not None
    with b.when(b.icmp("slt", left, const("i64", 0))):
        b.store(const("i64", CREDIT), b.credit)
        if look is not None:
            look()
        b.module.declare(SIGNALS, "i32", "ptr", attributes="inaccessiblemem_or_argmemonly")  # no array is touched
        with b.when(b.icmp("ne", b.call("i32", SIGNALS, frame), const("i32", 0))):
            leave()


def charge(b: Builder, cost: Index) -> Val:
    """Count code that has taken about `cost` nanoseconds for the next poll. Returns the credit that is left."""
    if b.credit is None:
        b.credit = b.alloca("i64")
        b.entry.append(f"  store i64 {CREDIT}, {b.credit}")
    left = b.op("i64", f"sub {b.load('i64', b.credit)}, {b.i64(cost).ref}")
    b.store(left, b.credit)
    return left


def watched(b: Builder, size: Index, first: Sequence[Val], step: Callable[[Val, Sequence[Val]], Sequence[Val]],
            look: Callable[[int], None]) -> list[Val]:
    """`Builder.folded` over `range(size)`, with `look(many)` after each `many` iterations, if the loop may be long."""
    if isinstance(size, int) and size <= PIECE:
        return b.folded(0, size, first, step)

    def piece(start: Val, values: Sequence[Val]) -> list[Val]:
        found = b.folded(start, b.intrinsic("smin", b.add(start, const("i64", PIECE)), b.i64(size)), values, step)
        look(PIECE)
        return found

    return b.folded(0, size, first, piece, PIECE)
