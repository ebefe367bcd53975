"""Timestamps in native code that is profiled (`runtime.core.profiling.now` reads the same clock).

A table of int64 words has the number of events, the capacity for events, four words for each region (the number of its
runs, their nanoseconds, its iterations, the bytes that it allocates), and three for each event: the number of a region,
its beginning and its end.
"""
from __future__ import annotations

import sys
from typing import Final

from runtime.backends.native.llvm.builder import Builder, Module, Val, const

__all__ = ["BYTES", "EVENTS", "HEADER", "ITERATIONS", "LOG", "NOW", "REGIONS", "RUNS", "TIME", "WORDS", "define_clock"]

NOW: Final = "runtime_now"
LOG: Final = "runtime_log"
HEADER: Final = 2
REGIONS: Final = 2048
WORDS: Final = 4
RUNS, TIME, ITERATIONS, BYTES = range(WORDS)
EVENTS: Final = 16384  # recorded per call; later ones only add to the words of their regions
_MONOTONIC: Final = 6 if sys.platform == "darwin" else 1


def define_clock(module: Module) -> None:
    """`i64 runtime_now()` in nanoseconds, and `void runtime_log(table, region, start)` for a run that ends now."""
    module.declare("clock_gettime", "i32", "i32", "ptr")
    module.define(NOW, "i64", [], _now, "nounwind", linkage="")
    module.define(LOG, "void", ["ptr", "i64", "i64"], _log, "nounwind", linkage="")


def _now(b: Builder) -> Val:
    time = b.alloca("i64", 2)
    b.call("i32", "clock_gettime", const("i32", _MONOTONIC), time)
    seconds = b.mul(b.load("i64", time), const("i64", 10 ** 9))
    return b.add(seconds, b.load("i64", b.offset(time, 1, "i64")))


def _log(b: Builder, table: Val, region: Val, start: Val) -> None:
    end = b.call("i64", NOW)
    own = b.offset(table, b.iadd(b.imul(region, WORDS), HEADER), "i64")
    for word, more in ((RUNS, const("i64", 1)), (TIME, b.sub(end, start))):
        place = b.offset(own, word, "i64")
        b.store(b.add(b.load("i64", place), more), place)
    count = b.load("i64", table)
    with b.when(b.icmp("slt", count, b.load("i64", b.offset(table, 1, "i64")))):
        event = b.offset(table, b.iadd(b.imul(count, 3), HEADER + WORDS * REGIONS), "i64")
        for k, value in enumerate((region, start, end)):
            b.store(value, b.offset(event, k, "i64"))
        b.store(b.add(count, const("i64", 1)), table)
