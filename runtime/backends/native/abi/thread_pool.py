"""The thread pool for large loops.

Threads are started on first use, and stay. Between loops each spins for about a tenth of a millisecond, then sleeps;
spinning threads yield now and then, as they may occupy the core of the thread they wait for. Each thread gets an equal,
contiguous part of a loop's indices, so that loops over the same arrays find their data in the same core's cache. A
thread takes its own part in shares, then remaining shares of other threads, so that a thread that starts late, or whose
core is shared with other processes, does not delay the loop. A loop that finds the pool busy, with another Python
thread's loop, runs on its own thread alone. Shares take a few milliseconds, so that the calling thread can let Python
handle signals in between; a handler's exception ends the loop.

The code is in the module that lives as long as the process (jit/support_module.py), since threads sleep in it.
"""
from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from runtime.backends.native.abi.interrupts import INTERRUPTED, SIGNALS
from runtime.backends.native.abi.subnormals import flush, flushes
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const

__all__ = ["RESET", "RUN", "STATE", "define_pool", "divided", "state"]

RUN: Final = "runtime_parallel"
RESET: Final = "runtime_pool_reset"
STATE: Final = "runtime_pool_state"
_MOST_THREADS: Final = 64
_SHARES: Final = 8  # per thread
_SPINS: Final = 4096  # polls before a thread sleeps
_POLITE: Final = 64  # polls before it yields its core, perhaps to the thread that it waits for

# Words of the state. Words written by several threads are on separate cache lines.
_BUSY, _WORKERS, _GENERATION = 0, 1, 2
_FUNCTION, _CONTEXT, _SIZE, _SHARE, _COUNT, _FRAME = 8, 9, 10, 11, 12, 13  # of the loop; _COUNT threads may take part
_EACH: Final = 14  # number of indices per thread
_FLUSHES: Final = 15  # whether subnormal numbers are zero in the loop, as in the thread that began it
_OPEN: Final = 16  # the number of the loop that threads may join, or 0
_ACTIVE: Final = 32  # threads inside `turn`, which read the words of the loop
_STATUS: Final = 64  # the worst status of the parts so far
_SLEEPING: Final = 80
_MUTEX: Final = 96
_CONDITION: Final = 112
_NEXT: Final = 128  # of each thread: the first of its own indices that is not taken
_STRIDE: Final = 16
_TYPES: Final = ["ptr", "ptr", "i64", "i64", "i64", "i64", "ptr"]  # argument types of `RUN`
_WORDS: Final = _NEXT + _STRIDE * _MOST_THREADS
_memory: Final = np.zeros(_WORDS + 16, np.int64)
state: Final = _memory[-_memory.ctypes.data % 128 // 8:][:_WORDS]
"""The words, at an address that native code knows by name."""


def define_pool(module: Module) -> None:
    """`i32 runtime_parallel(function, held, size, step, most, threads, frame)` and `void runtime_pool_reset()`.

    The first calls `i32 function(held, start, stop)` for parts of `range(size)` that begin at multiples of `step` and
    have at most `most` indices (a multiple of `step`), on at most `threads` threads, and returns the worst status.
    After each part, and while it waits for the last ones, Python handles signals; an exception is stored in the frame,
    where the other threads see it. The second discards the threads, which a fork does not copy.
    """
    module.globals[STATE] = "external global i64"
    for name, result, *types in (
            ("pthread_create", "i32", "ptr", "ptr", "ptr", "ptr"), ("sched_yield", "i32"),
            ("pthread_mutex_init", "i32", "ptr", "ptr"), ("pthread_mutex_lock", "i32", "ptr"),
            ("pthread_mutex_unlock", "i32", "ptr"), ("pthread_cond_init", "i32", "ptr", "ptr"),
            ("pthread_cond_wait", "i32", "ptr", "ptr"), ("pthread_cond_broadcast", "i32", "ptr")):
        module.declare(name, result, *types)
    module.define("work", "void", ["i64"], _work, "nounwind")
    module.define("worker", "ptr", ["ptr"], _worker, "nounwind")
    module.define(RESET, "void", [], _reset, "nounwind", linkage="")
    module.define(RUN, "i32", _TYPES, _run, "nounwind", linkage="")


def divided(b: Builder, function: str, context: Val, size: Val, step: int, most: Val, threads: Val, frame: Val) -> Val:
    """The status of a loop: see `define_pool`."""
    b.module.declare(RUN, "i32", *_TYPES)
    return b.call("i32", RUN, Val("ptr", f"@{function}"), context, size, const("i64", step), most, threads, frame)


def _at(word: int) -> Val:
    return Val("ptr", f"getelementptr (i64, ptr @{STATE}, i64 {word})")


def _next(b: Builder, thread: Val) -> Val:
    """The first of a thread's own indices that is not taken."""
    return b.offset(_at(_NEXT), b.mul(thread, const("i64", _STRIDE)), "i64")


def _get(b: Builder, word: int, ty: str = "i64") -> Val:
    return b.op(ty, f"load atomic {ty}, {_at(word)} seq_cst, align 8")


def _set(b: Builder, word: int, value: Val) -> None:
    b.line(f"store atomic {value}, {_at(word)} seq_cst, align 8")


def _update(b: Builder, how: str, word: int, value: Index) -> Val:
    """Atomically combine a word (add, max) with a value, and return its old value."""
    return b.op("i64", f"atomicrmw {how} {_at(word)}, {b.i64(value)} seq_cst")


@contextmanager
def _locked(b: Builder) -> Iterator[None]:
    b.call("i32", "pthread_mutex_lock", _at(_MUTEX))
    yield
    b.call("i32", "pthread_mutex_unlock", _at(_MUTEX))


def _pause(b: Builder) -> None:
    """The processor's spin-loop hint."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        b.call("void", "llvm.x86.sse2.pause")
    elif machine in ("arm64", "aarch64"):
        b.call("void", "llvm.aarch64.hint", const("i32", 1))


def _until(b: Builder, done: Callable[[], Val], else_: Callable[[], None]) -> None:
    """`while not done(): else_()`"""
    head, again, after = b.label("head"), b.label("again"), b.label("after")
    b.start(head)
    b.branch(done(), after, again)
    b.start(again)
    else_()
    b.jump(head)
    b.start(after)


def _work(b: Builder, own: Val) -> None:
    """Take shares of the loop until none remain or a part failed: first those of thread `own`, then the remaining
    shares of other threads."""
    function, context, frame = _get(b, _FUNCTION, "ptr"), _get(b, _CONTEXT, "ptr"), _get(b, _FRAME, "ptr")
    size, share, each, count = (_get(b, word) for word in (_SIZE, _SHARE, _EACH, _COUNT))
    start = b.alloca("i64")
    with b.loop(0, count) as k:
        other = b.add(own, k)
        owner = b.select(b.icmp("sge", other, count), b.sub(other, count), other)
        place = _next(b, owner)
        end = b.intrinsic("smin", b.mul(b.add(owner, const("i64", 1)), each), size)

        def done(place: Val = place, end: Val = end) -> Val:
            b.store(b.op("i64", f"atomicrmw add {place}, {share} seq_cst"), start)
            return b.or_(b.icmp("sge", b.load("i64", start), end), b.icmp("ne", _get(b, _STATUS), const("i64", 0)))

        def part(end: Val = end) -> None:
            first = b.load("i64", start)
            stop = b.intrinsic("smin", b.add(first, share), end)
            status = _part(b, function, context, first, stop, frame)
            _update(b, "max", _STATUS, b.convert("sext", status, "i64"))

        _until(b, done, part)


def _part(b: Builder, function: Val, context: Val, start: Val, stop: Val, frame: Val) -> Val:
    """The status of a part, or INTERRUPTED if a signal handler raised after it."""
    status = b.call_pointer("i32", function, context, start, stop)
    raised = b.icmp("ne", b.call("i32", SIGNALS, frame), const("i32", 0))
    return b.select(raised, const("i32", INTERRUPTED), status)


def _worker(b: Builder, number: Val) -> Val:
    """The main function of pool thread `number`, counted from 1."""
    mine = b.op("i64", f"ptrtoint {number} to i64")
    seen, turns = b.alloca("i64"), b.alloca("i64")
    b.store(const("i64", 0), seen)

    def called() -> Val:
        job = _get(b, _OPEN)
        return b.and_(b.icmp("ne", job, const("i64", 0)), b.icmp("ne", job, b.load("i64", seen)))

    def sleep() -> None:
        b.call("i32", "pthread_cond_wait", _at(_CONDITION), _at(_MUTEX))

    def look() -> None:
        left = b.sub(b.load("i64", turns), const("i64", 1))
        b.store(left, turns)
        _pause(b)
        with b.when(b.icmp("eq", b.and_(left, const("i64", _POLITE - 1)), const("i64", 0))):
            b.call("i32", "sched_yield")
        with b.when(b.icmp("slt", left, const("i64", 0))):
            with _locked(b):
                _update(b, "add", _SLEEPING, 1)
                _until(b, called, sleep)
                _update(b, "add", _SLEEPING, -1)
            b.store(const("i64", _SPINS), turns)

    def turn() -> None:
        b.store(const("i64", _SPINS), turns)
        _until(b, called, look)
        _update(b, "add", _ACTIVE, 1)
        job = _get(b, _OPEN)  # if it is open now, it does not change until this thread is no longer active
        with b.when(b.icmp("ne", job, const("i64", 0))):
            b.store(job, seen)
            with b.when(b.icmp("slt", mine, _get(b, _COUNT))):
                flush(b, b.icmp("ne", _get(b, _FLUSHES), const("i64", 0)))
                b.call("void", "work", mine)
        _update(b, "add", _ACTIVE, -1)

    _until(b, lambda: Val("i1", "false"), turn)
    return Val("ptr", "null")


def _run(b: Builder, function: Val, context: Val, size: Val, step: Val, most: Val, threads: Val, frame: Val) -> Val:
    zero, one = const("i64", 0), const("i64", 1)
    units = b.udiv(b.add(size, b.sub(step, one)), step)
    count = b.intrinsic("smin", b.intrinsic("smin", threads, const("i64", _MOST_THREADS)), units)

    def alone() -> list[Val]:
        return b.either(b.icmp("sge", most, size), whole, parts)

    def whole() -> list[Val]:
        return [b.call_pointer("i32", function, context, zero, size)]

    def parts() -> list[Val]:
        start, status = b.alloca("i64"), b.alloca("i32")
        b.store(zero, start)
        b.store(const("i32", 0), status)

        def done() -> Val:
            over = b.icmp("sge", b.load("i64", start), size)
            return b.or_(over, b.icmp("ne", b.load("i32", status), const("i32", 0)))

        def part() -> None:
            first = b.load("i64", start)
            stop = b.intrinsic("smin", b.add(first, most), size)
            b.store(_part(b, function, context, first, stop, frame), status)
            b.store(stop, start)

        _until(b, done, part)
        return [b.load("i32", status)]

    def up(x: Val, by: Val) -> Val:
        return b.udiv(b.add(x, b.sub(by, one)), by)

    def together() -> list[Val]:
        missing = b.label("missing")
        _until(b, lambda: b.icmp("sge", b.add(_get(b, _WORKERS), one), count), lambda: start(missing))
        b.start(missing)
        _set(b, _FUNCTION, function)
        _set(b, _CONTEXT, context)
        _set(b, _SIZE, size)
        each = b.mul(up(units, count), step)
        _set(b, _EACH, each)
        shares = b.mul(count, const("i64", _SHARES))
        share = b.mul(up(units, shares), step)
        _set(b, _SHARE, b.intrinsic("smin", share, most))
        _set(b, _FRAME, frame)
        _set(b, _FLUSHES, b.convert("zext", flushes(b), "i64"))
        _set(b, _COUNT, count)
        with b.loop(0, count) as k:
            b.line(f"store atomic {b.mul(k, each)}, {_next(b, k)} seq_cst, align 8")
        _set(b, _STATUS, zero)
        _set(b, _OPEN, b.add(_update(b, "add", _GENERATION, 1), one))
        with b.when(b.icmp("sgt", _get(b, _SLEEPING), zero)), _locked(b):
            b.call("i32", "pthread_cond_broadcast", _at(_CONDITION))
        b.call("void", "work", zero)
        _set(b, _OPEN, zero)
        turns = b.alloca("i64")
        b.store(const("i64", _POLITE), turns)
        _until(b, lambda: b.icmp("eq", _get(b, _ACTIVE), zero), lambda: wait(turns))
        status = _get(b, _STATUS)
        _set(b, _BUSY, zero)
        return [b.convert("trunc", status, "i32")]

    def start(failed: str) -> None:
        handle = b.alloca("i64")
        number = b.op("ptr", f"inttoptr {b.add(_get(b, _WORKERS), one)} to ptr")
        error = b.call("i32", "pthread_create", handle, Val("ptr", "null"), Val("ptr", "@worker"), number)
        more = b.label("more")
        b.branch(b.icmp("ne", error, const("i32", 0)), failed, more)  # with the threads that exist
        b.start(more)
        _update(b, "add", _WORKERS, 1)

    def wait(turns: Val) -> None:
        left = b.sub(b.load("i64", turns), one)
        b.store(left, turns)
        _pause(b)
        with b.when(b.icmp("slt", left, zero)):
            b.call("i32", "sched_yield")  # it takes long where others want the core
            with b.when(b.icmp("ne", b.call("i32", SIGNALS, frame), const("i32", 0))):
                _update(b, "max", _STATUS, INTERRUPTED)

    def free() -> Val:
        pair = b.op("{ i64, i1 }", f"cmpxchg {_at(_BUSY)}, i64 0, i64 1 seq_cst seq_cst")
        return b.op("i1", f"extractvalue {pair}, 1")

    (result,) = b.either(b.icmp("sgt", count, one), lambda: b.either(free(), together, alone), alone)
    return result


def _reset(b: Builder) -> None:
    for word in (_BUSY, _WORKERS, _GENERATION, _OPEN, _ACTIVE, _SLEEPING):
        _set(b, word, const("i64", 0))
    b.call("i32", "pthread_mutex_init", _at(_MUTEX), Val("ptr", "null"))
    b.call("i32", "pthread_cond_init", _at(_CONDITION), Val("ptr", "null"))
