"""How soon Ctrl-C ends native code: `python -m tests.delays` prints delays in ms, several of each kind."""
from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as rt

__all__ = ["KINDS", "delays"]

assigned = rt.Variable(0)


def scalars(n):
    while n > 0:
        n = n * 3 % 7 + 1
    return n


def in_lanes(n):
    total = 0
    for i in range(n * LONG):
        k = i % 50
        while k > 0:
            k -= 1
            total += k
    return total


def last_lane(n):
    total = 0
    for i in range(100 + n):
        k = i % 50
        if i == 77:
            k = n * LONG
        while k > 0:
            k = k - 1 + rt.where(k > 100, n, 0)  # that of 77 has no end
            total += 1
    return total


def array_by_array(x, n):
    assigned.assign(n)
    for _ in range(n):
        x = rt.sin(x) + x[::-1]
    return x


def block_by_block(x, n):
    assigned.assign(n)  # it has the value when the loop is left
    for _ in range(n):
        x = rt.sin(x) * 1.5 + 0.1
    return x


def stencil(x, n):
    for _ in range(n):
        x = rt.roll(x, 1, 0) + rt.roll(x, -1, 1)
    return x


def products(x, n):
    for _ in range(n):
        x = x @ x * 0.001
    return x


def sorts(x, n):
    for _ in range(n):
        x = rt.sort(rt.sin(x * 1e6))
    return x


def draws(x, n):
    for _ in range(n):
        x = rt.random.normal([20_000_000])
    return x


def scatters(x, n):
    places = rt.random.uniform([20_000_000, 1], 0, 20_000_000, rt.int32)
    for _ in range(n):
        x = rt.tensor_scatter_nd_add(x, places, x)
    return x


def sum_of_rows(n):
    total = rt.zeros([7])
    for _ in range(n):
        total += rt.reduce_sum(rt.sin(rt.fill([n * LONG, 7], total[0])), 0)
    return total


def maximum_between(n):
    total = rt.zeros([7])
    for _ in range(n):
        total += rt.reduce_max(rt.sin(rt.fill([n * LONG, 7, 3], total[0])), [0, 2])
    return total


LONG = 2_000_000_000
KINDS: dict[str, tuple[Callable[..., Any], tuple[int, ...] | None, bool]] = {
    "scalars": (scalars, None, False),
    "iterations in lanes": (in_lanes, None, False),
    "the last of those in lanes": (last_lane, None, False),
    "array by array, 2000x1000": (array_by_array, (2000, 1000), False),
    "array by array, of unknown size": (array_by_array, (2000, 1000), True),
    "block by block, 2000x1000": (block_by_block, (2000, 1000), False),
    "block by block, of unknown size": (block_by_block, (2000, 1000), True),
    "stencil, 2000x1000": (stencil, (2000, 1000), False),
    "several steps in a pass, 4000x2000": (stencil, (4000, 2000), False),
    "sort of 20,000,000": (sorts, (20_000_000,), False),
    "draw of 20,000,000": (draws, (20_000_000,), False),
    "scatter of 20,000,000": (scatters, (20_000_000,), False),
    "a sum of 2,000,000,000 rows": (sum_of_rows, None, False),
    "a maximum over the first and last axis": (maximum_between, None, False),
    "matmul 1024x1024": (products, (1024, 1024), False),
    "matmul of unknown sizes": (products, (1024, 1024), True),
    "matmul 4096x4096": (products, (4096, 4096), False),
    "matmul 4096x4096, of unknown sizes": (products, (4096, 4096), True),
}
"""The function, the shape of its array, and whether its sizes are unknown when it is traced."""


def delays(fn: Callable[..., Any], shape: tuple[int, ...] | None, unknown: bool, times: int) -> list[float]:
    """For each of a number of endless calls the seconds from the signal to the KeyboardInterrupt."""
    arrays = [] if shape is None else [rt.ones(shape)]
    specs = [rt.TensorSpec([None] * len(shape or ()) if unknown else x.shape, x.dtype) for x in arrays]
    traced = rt.function(fn, executor="native").get_concrete_function(*specs, rt.TensorSpec([], rt.int32))
    traced(*arrays, rt.constant(0))
    found: list[float] = []
    for k in range(times):
        sent: list[float] = []

        def send(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            signal.raise_signal(signal.SIGINT)

        threading.Timer(0.1 + 0.037 * k, send).start()
        try:
            traced(*arrays, rt.constant(1 if shape is None else LONG))
        except KeyboardInterrupt:
            found.append(time.perf_counter() - sent[0])
        else:
            raise AssertionError(f"{fn.__name__} ended by itself")
        if fn in (array_by_array, block_by_block):
            assert assigned.numpy() == LONG, "a variable was assigned before the loop"
        got = traced(*arrays, rt.constant(0)).numpy()
        assert shape is None or (got == arrays[0].numpy()).all(), "a call after an interrupt is as good as the first"
    return found


def main(times: int) -> None:
    np.seterr(all="ignore")
    for name, (fn, shape, unknown) in KINDS.items():
        print(f"{name}: {' '.join(f'{1e3 * d:.1f}' for d in delays(fn, shape, unknown, times))}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5)
