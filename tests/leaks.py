"""Whether native code leaks: `python -m tests.leaks 1000000` makes so many calls, and prints what memory grew by.

Among them are scalars, arrays and lists that are returned, a variable that is assigned, errors, and loops on threads.
"""
from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

import numpy as np

import runtime as rt

__all__ = ["ALLOWED", "growth", "possible"]

ALLOWED = 2 << 20
"""Bytes that a process may grow by: a leak of one array in ten calls, over 100,000 of them, would be ten times that."""


def possible() -> bool:
    """Whether memory can be counted: by /proc."""
    return Path("/proc/self/statm").exists()


def resident() -> int:
    """The bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def growth(calls: int) -> tuple[int, int]:
    """The bytes that the process, and that native code holds more after so many calls than after the first 2000."""
    count = rt.Variable(0)

    @rt.function(executor="native")
    def scalar(x):
        return x + 1

    @rt.function(executor="native")
    def arrays(xs, n):
        count.assign_add(1)
        out = []
        for i in range(n):
            xs = xs * 0.5
            out.append(xs[i])
        return rt.stack(out), xs, out

    @rt.function(executor="native", input_signature=[rt.TensorSpec([None], rt.float32), rt.TensorSpec([], rt.int32)])
    def of_any_size(xs, n):
        for _ in range(n):
            xs = rt.roll(xs, 1, 0) + xs
        return xs

    @rt.function(executor="native")
    def on_threads(xs):
        return rt.reduce_sum(rt.sin(xs) * xs)

    @rt.function(executor="native")
    def fails(xs, i):
        return xs[i]

    x, xs, n, far, many = rt.constant(1), rt.ones([500]), rt.constant(3), rt.constant(700), rt.ones([100_000])
    sizes = [rt.ones([size]) for size in (3, 1000, 40)]

    def some(calls: int) -> None:
        for k in range(calls):
            scalar(x)
            if k % 10 == 0:
                arrays(xs, n)
                of_any_size(sizes[k // 10 % 3], n)
            if k % 50 == 0:
                try:
                    fails(xs, far)
                except IndexError:
                    pass
                else:
                    raise AssertionError("an index out of range raises")
            if k % 1000 == 0:
                on_threads(many)

    some(2000)
    gc.collect()
    before, held = resident(), rt.config.experimental.get_memory_info("CPU:0")["current"]
    some(calls)
    gc.collect()
    assert int(count.numpy()) == 200 + -(-calls // 10)
    return resident() - before, rt.config.experimental.get_memory_info("CPU:0")["current"] - held


def main(calls: int) -> int:
    np.seterr(all="ignore")
    more, held = growth(calls)
    print(f"{calls} calls: the process grew by {more} bytes, what native code holds by {held}")
    return int(more >= ALLOWED or held != 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000))
