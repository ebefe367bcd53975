"""Large loops on several threads.

The part of a loop from one index to another is outlined into a function, which gets its live-ins through memory.
`thread_pool` divides the indices among threads. What a part computes does not depend on where it begins or ends, so
results are the same for any number of threads.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from runtime.backends.native.abi.interrupts import INTERRUPTED
from runtime.backends.native.abi.thread_pool import divided
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const
from runtime.backends.native.llvm.outlining import normal_form

__all__ = ["THREADS_WORD", "WORTH", "region"]

THREADS_WORD: Final = 2  # of the frame: the address of the number of threads
WORTH: Final = 1 << 19  # least work, in elements of weight 1 (about 0.2 ms), for which several threads pay
_PART: Final = 1 << 23  # in elements of weight 1: some milliseconds
_NAME: Final = re.compile(r"%[A-Za-z_][\w.]*")


class Writer(Protocol):
    """The parts of a Lowering that are used here."""

    b: Builder
    module: Module
    flags: str
    frame: Val
    inside: int

    def word(self, index: int, ty: str = "ptr") -> Val: ...

    def leave(self, status: int) -> None: ...


def region(w: Writer, size: Index, write: Callable[[Val, Val], None], step: int = 64, worth: Val | None = None,
           work: Index | None = None) -> bool:
    """Run `write(start, stop)` for parts of `range(size)` that begin at multiples of `step`, possibly in parallel.

    `worth`: whether more than one thread is worthwhile; None: it is. `work`: elements times their weight in total,
    which limits the size of parts so that signals are polled often enough; None: parts poll themselves. `write` uses
    `w.b`. Returns False, with no code written, if a live-in cannot be passed through memory.
    """
    outer, module = w.b, w.module
    number = len(module.parts)
    inner = Builder(module, w.flags, prefix=f"p{number}.")
    inner.fixed |= outer.fixed
    inner.types.update({"%start": "i64", "%stop": "i64"})
    w.b = inner
    w.inside += 1
    write(Val("i64", "%start"), Val("i64", "%stop"))
    inner.line("ret i32 0")
    w.inside -= 1
    w.b = outer
    lines = [*inner.entry, *inner.lines]
    defined = {line[:-1] for line in lines if line.endswith(":")} | {"start", "stop", "captured", "entry"}
    defined |= {line.split(" = ", 1)[0].strip()[1:] for line in lines if line.startswith("  %")}
    used = dict.fromkeys(name for line in lines for name in _NAME.findall(line) if name[1:] not in defined)
    if any(outer.types.get(name, "<")[0] == "<" for name in used):
        return False
    captured = outer.alloca("i64", max(2 * len(used), 1))
    loads = []
    for k, name in enumerate(used):
        ty = outer.types[name]
        outer.store(Val(ty, name), outer.offset(captured, 2 * k, "i64"))
        loads += [f"  %captured{k} = getelementptr i64, ptr %captured, i64 {2 * k}", _load(name, ty, k)]
    inner.entry[:0] = loads
    form = normal_form([line for text in inner.entry for line in text.split("\n")] + inner.lines, module.metadata)
    function = module.outlined.setdefault(form, f"part{number}")
    if function == f"part{number}":
        module.parts.append(inner.function(
            f"internal i32 @{function}(ptr noalias %captured, i64 %start, i64 %stop) noinline nounwind"))
    threads = outer.load("i64", w.word(THREADS_WORD))
    if worth is not None:
        threads = outer.select(worth, threads, const("i64", 1))
    most = _most(outer, size, step, work)
    status = divided(outer, function, captured, outer.i64(size), step, most, threads, w.frame)
    with outer.when(outer.icmp("ne", status, const("i32", 0))):
        w.leave(INTERRUPTED)  # only an exception of a signal handler stops threads
    return True


def _most(b: Builder, size: Index, step: int, work: Index | None) -> Val:
    """How many indices, a multiple of `step`, make `_PART` of work; no limit if the work is unknown."""
    if work is None:
        return const("i64", 1 << 62)
    if isinstance(size, int) and isinstance(work, int):
        return const("i64", max(_PART * size // max(work, 1) // step, 1) * step)
    each = b.intrinsic("smax", b.udiv(b.i64(work), b.intrinsic("smax", b.i64(size), const("i64", 1))), const("i64", 1))
    units = b.udiv(const("i64", _PART), b.mul(each, const("i64", step)))
    return b.mul(b.intrinsic("smax", units, const("i64", 1)), const("i64", step))


def _load(name: str, ty: str, k: int) -> str:
    if ty == "i1":
        return f"  %byte{k} = load i8, ptr %captured{k}\n  {name} = trunc i8 %byte{k} to i1"
    return f"  {name} = load {ty}, ptr %captured{k}, align 8"
