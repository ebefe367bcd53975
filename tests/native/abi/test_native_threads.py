"""Threads in native code: their number changes no bit of a result, and many threads of Python's call one function."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import runtime as rt
from benchmarks.programs.written import PROGRAMS

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

LARGE = {program.name: program for program in PROGRAMS if program.name in (
    "mandelbrot", "element-wise", "life", "heat", "heat to rest")}


@pytest.fixture
def use() -> Iterator[Callable[[int], None]]:
    before = rt.config.threading.get_intra_op_parallelism_threads()
    yield rt.config.threading.set_intra_op_parallelism_threads
    rt.config.threading.set_intra_op_parallelism_threads(before)


def bits(result: Any) -> list[bytes]:
    return [x.numpy().tobytes() for x in rt.nest.flatten(result)]


def check(fn: Callable[..., Any], arguments: list[Any], use: Callable[[int], None], unknown: bool = False) -> None:
    tensors = [rt.constant(x) for x in arguments]
    specs = [rt.TensorSpec([None] * x.ndim if unknown else x.shape, x.dtype) for x in tensors]
    concrete = rt.function(fn, executor="native").get_concrete_function(*specs)
    assert "@runtime_parallel" in concrete.inspect_llvm(optimized=False)
    found = []
    for count in (1, 2, 3, 2):
        use(count)
        found.append(bits(concrete(*tensors)))
    assert all(result == found[0] for result in found)


@pytest.mark.parametrize("name", LARGE)
def test_programs(name: str, use: Callable[[int], None]) -> None:
    program = LARGE[name]
    check(program.make(rt), program.arguments(quick=True), use)


def test_unknown_sizes(use: Callable[[int], None]) -> None:
    program = LARGE["mandelbrot"]
    check(program.make(rt), program.arguments(), use, unknown=True)


def sums(x, y):
    return (rt.reduce_sum(x * y), rt.reduce_sum(x, 0), rt.reduce_sum(x, 1), rt.reduce_max(x - y, 1),
            rt.reduce_mean(rt.exp(x)), rt.reduce_prod(1.0 + y * 1e-6), rt.reduce_any(x > 4.9))


def counted_by_blocks(x, n):
    """It also carries a scalar, which the block with the most iterations decides."""
    alive = x > 0.0
    i, weight = 0, 1.0
    while i < n and rt.reduce_any(alive):
        x = rt.where(alive, x - 0.25, x)
        alive = alive & (x > 0.0)
        i += 1
        weight = weight * 0.999
    return x, i, weight


def checked_blocks(x, n):
    """A block that has stopped would go on: the whole loop runs again, array by array."""
    i = 0
    while i < n and rt.reduce_any(x > 0.0):
        x = rt.where(x > 0.0, x - 0.5, x - 0.25)
        i += 1
    return x, i


def masked(x, alive, table):
    for i in range(5):
        x = rt.where(alive, rt.sin(x) * table[i], x)
    return x


def test_other_loops(use: Callable[[int], None]) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(-5, 5, (700, 1100)).astype(np.float32) for _ in range(2))
    check(sums, [x, y], use)
    check(counted_by_blocks, [x, np.int32(50)], use)
    check(checked_blocks, [x, np.int32(9)], use)
    small = x[:200, :1000].copy()
    check(masked, [small, small > 2.0, rng.random(5).astype(np.float32)], use)


def test_many_callers(use: Callable[[int], None]) -> None:
    """Threads of Python's call one function whose loops take several threads each; some find those taken."""
    use(3)
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 5, (400, 1000)).astype(np.float32)
    life = LARGE["life"].arguments(quick=True)
    functions = [(rt.function(counted_by_blocks, executor="native"), [x, np.int32(30)]),
                 (rt.function(sums, executor="native"), [x, x[::-1].copy()]),
                 (rt.function(LARGE["life"].make(rt), executor="native"), life)]
    calls = [(fn, [rt.constant(a) for a in arguments]) for fn, arguments in functions]
    want = [bits(fn(*arguments)) for fn, arguments in calls]
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for k in range(first, first + 12):
                fn, arguments = calls[k % len(calls)]
                assert bits(fn(*arguments)) == want[k % len(calls)]
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert not errors, errors[0]
    assert not any(worker.is_alive() for worker in workers)
