"""Large loops on several threads.

The part of a loop from one index to another becomes a function of its own, which gets what it uses from outside by way
of memory. `parallel` divides the indices among threads, which start for this loop and end with it: that takes about
20 µs, so only loops that take much longer are divided. What a part computes does not depend on where it begins or ends,
so that results are the same for any number of threads.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from runtime.execute.native.emit import Builder, Index, Module, Val, const

__all__ = ["THREADS_WORD", "WORTH", "region"]

THREADS_WORD: Final = 2  # of the frame: the address of the number of threads
WORTH: Final = 1 << 19  # the elements of weight 1 from which on threads pay, about 0.2 ms
_MOST: Final = 64  # threads
_NAME: Final = re.compile(r"%[A-Za-z_][\w.]*")


class Writer(Protocol):
    """What is needed of a Lowering."""

    b: Builder
    module: Module
    flags: str
    inside: int

    def word(self, index: int, ty: str = "ptr") -> Val: ...


def region(w: Writer, size: Index, write: Callable[[Val, Val], None], step: int = 64) -> bool:
    """`write(start, stop)` for parts of `range(size)` that begin at multiples of `step`, perhaps at the same time.

    `write` uses `w.b`. False, and nothing done, where the part would use what memory cannot hold.
    """
    outer, module = w.b, w.module
    number = len(module.parts)
    inner = Builder(module, w.flags, prefix=f"p{number}.")
    inner.types.update({"%start": "i64", "%stop": "i64"})
    w.b = inner
    w.inside += 1
    write(Val("i64", "%start"), Val("i64", "%stop"))
    inner.line("ret i32 0")
    w.inside -= 1
    w.b = outer
    lines = [*inner.entry, *inner.lines]
    defined = {line[:-1] for line in lines if line.endswith(":")} | {"start", "stop", "held", "entry"}
    defined |= {line.split(" = ", 1)[0].strip()[1:] for line in lines if line.startswith("  %")}
    used = dict.fromkeys(name for line in lines for name in _NAME.findall(line) if name[1:] not in defined)
    if any(outer.types.get(name, "<")[0] == "<" for name in used):
        return False
    held = outer.alloca("i64", max(len(used), 1))
    loads = []
    for k, name in enumerate(used):
        ty = outer.types[name]
        outer.store(Val(ty, name), outer.offset(held, k, "i64"))
        loads += [f"  %held{k} = getelementptr i64, ptr %held, i64 {k}", _load(name, ty, k)]
    inner.entry[:0] = loads
    function = f"part{number}"
    module.parts.append(inner.function(
        f"internal i32 @{function}(ptr noalias %held, i64 %start, i64 %stop) noinline nounwind"))
    _define(w)
    threads = outer.load("i64", w.word(THREADS_WORD))
    status = outer.call("i32", "parallel", Val("ptr", f"@{function}"), held, outer.i64(size),
                        const("i64", step), threads)
    with outer.when(outer.icmp("ne", status, const("i32", 0))):
        outer.line(f"ret {status}")
    return True


def _load(name: str, ty: str, k: int) -> str:
    if ty == "i1":
        return f"  %byte{k} = load i8, ptr %held{k}\n  {name} = trunc i8 %byte{k} to i1"
    return f"  {name} = load {ty}, ptr %held{k}"


def _define(w: Writer) -> None:
    module = w.module
    module.declare("pthread_create", "i32", "ptr", "ptr", "ptr", "ptr")
    module.declare("pthread_join", "i32", "i64", "ptr")
    module.define("job", "ptr", ["ptr"], _job, attributes="noinline optnone nounwind")
    types = ["ptr", "ptr", "i64", "i64", "i64"]
    module.define("parallel", "i32", types, _parallel, attributes="noinline optnone nounwind")


# A job in memory: the function, what it holds, start, stop, and its status at last.

def _job(b: Builder, job: Val) -> Val:
    fields = [b.load(ty, b.offset(job, k, "i64")) for k, ty in enumerate(("ptr", "ptr", "i64", "i64"))]
    status = b.call_pointer("i32", fields[0], *fields[1:])
    b.store(b.convert("sext", status, "i64"), b.offset(job, 4, "i64"))
    return Val("ptr", "null")


def _parallel(b: Builder, function: Val, held: Val, size: Val, step: Val, threads: Val) -> Val:
    most = b.intrinsic("smin", threads, const("i64", _MOST))
    one = const("i64", 1)
    units = b.udiv(b.add(size, b.sub(step, one)), step)
    count = b.intrinsic("smax", b.intrinsic("smin", most, units), one)
    share = b.mul(b.udiv(b.add(units, b.sub(count, one)), count), step)
    jobs, handles = b.alloca("i64", 5 * _MOST), b.alloca("i64", _MOST)
    with b.loop(0, count) as k:
        job = b.offset(jobs, b.mul(k, const("i64", 5)), "i64")
        start = b.intrinsic("smin", b.mul(k, share), size)
        stop = b.intrinsic("smin", b.add(start, share), size)
        for place, value in enumerate((function, held, start, stop, const("i64", 0))):
            b.store(value, b.offset(job, place, "i64"))
    with b.loop(1, count) as k:
        job = b.offset(jobs, b.mul(k, const("i64", 5)), "i64")
        null, entry = Val("ptr", "null"), Val("ptr", "@job")
        failed = b.call("i32", "pthread_create", b.offset(handles, k, "i64"), null, entry, job)
        with b.when(b.icmp("ne", failed, const("i32", 0))):  # then it runs here
            b.call("ptr", "job", job)
            b.store(const("i64", 0), b.offset(handles, k, "i64"))
    b.call("ptr", "job", jobs)
    with b.loop(1, count) as k:
        handle = b.load("i64", b.offset(handles, k, "i64"))
        with b.when(b.icmp("ne", handle, const("i64", 0))):
            b.call("i32", "pthread_join", handle, Val("ptr", "null"))
    worst = b.folded(0, count, [const("i64", 0)], lambda k, v: [b.intrinsic(
        "smax", v[0], b.load("i64", b.offset(b.offset(jobs, b.mul(k, const("i64", 5)), "i64"), 4, "i64")))])
    return b.convert("trunc", worst[0], "i32")
