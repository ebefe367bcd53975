"""Traced functions: the costs of a trace, of a call, and of an iteration of a loop."""
from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, in_turns, once_each
from benchmarks.nested import nested
from benchmarks.peers import peer

__all__ = ["run"]

ITERATIONS = 1000


def increment(x):
    return x + 1


def count_down(n):
    while n > 0:
        n -= 1
    return n


def set_item(a, k, x):
    a[k] = x


class Log:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def append(self, x):
        self.items.append(x)


def run(budget: Budget) -> Iterator[Row]:
    frameworks = {OURS: rt}
    if budget.peers and peer("TF") is not None:
        frameworks["TF"] = peer("TF")
    jax = peer("jax") if budget.peers else None

    for name, fn, parameters in (
        ("trace f(x) = x + 1", increment, 1), ("trace the 69-line function, converted before", nested, 2),
    ):
        rounds = (
            {framework: _tracing(tf, fn, parameters) for framework, tf in frameworks.items()}
            for _ in range(budget.repeat)
        )
        yield Row(name, "ms", {k: v * 1e3 for k, v in once_each(rounds).items()})

    for name, value in (("call f(x) = x + 1, scalar", np.float32(1)), ("... 10-vector", np.ones(10, np.float32))):
        runs: dict[str, Callable[[], Any]] = {"Python": _calling(increment, value)}
        for framework, tf in frameworks.items():
            runs[framework] = _calling(tf.function(increment), tf.constant(value))
        if jax is not None:
            runs["jax"] = _calling(jax.jit(increment), jax.numpy.asarray(value))
        times = in_turns(runs, budget)
        target = ("< 20 us", times[OURS] < 20e-6) if not value.ndim else ("", None)
        yield Row(name, "us", {k: v * 1e6 for k, v in times.items()}, *target)

    yield from _arrays_and_lists(budget)

    loops: dict[str, Callable[[], Any]] = {"Python": lambda: count_down(ITERATIONS)}
    for framework, tf in frameworks.items():
        loops[framework] = _calling(tf.function(count_down), tf.constant(ITERATIONS))
    if jax is not None:
        compiled = jax.jit(lambda n: jax.lax.while_loop(lambda n: n > 0, lambda n: n - 1, n))
        loops["jax"] = _calling(lambda n: compiled(n).block_until_ready(), jax.numpy.asarray(ITERATIONS))
    times = in_turns(loops, budget)
    yield Row("an iteration of a scalar while loop", "us", {k: v * 1e6 / ITERATIONS for k, v in times.items()})


def _arrays_and_lists(budget: Budget) -> Iterator[Row]:
    """Calls that update an object of the caller in place: their time must not depend on its size."""
    of_small = None
    for size in (1_000, 1_000_000):
        array, k, x = np.zeros(size), rt.constant(3), rt.constant(1.0, rt.float64)
        traced = rt.function(set_item)
        runs = {"Python": functools.partial(set_item, array, 3, 1.0), OURS: functools.partial(traced, array, k, x)}
        if budget.peers and importlib.util.find_spec("numba") is not None:
            import numba

            runs["numba"] = functools.partial(numba.njit(set_item), array, 3, 1.0)
        times = in_turns(runs, budget)
        target = ("< 2 x that of 1,000", times[OURS] < 2 * of_small) if of_small is not None else ("", None)
        of_small = times[OURS]
        yield Row(f"set an item of an array of {size:,}", "us", {k: v * 1e6 for k, v in times.items()}, *target)

    log, item = Log(), rt.constant(1.0)
    append = rt.function(log.append)

    def append_to_1000() -> None:
        del log.items[1000:]
        append(item)

    for _ in range(5):
        append(item)
    log.items *= 250
    times = in_turns({OURS: append_to_1000}, budget)
    yield Row("append a tensor to a list of 1,000", "us", {k: v * 1e6 for k, v in times.items()})


def _tracing(tf: Any, fn: Any, parameters: int) -> Callable[[], Any]:
    specs = [tf.TensorSpec([], tf.int32)] * parameters

    def trace() -> Any:
        traced = tf.function(fn).get_concrete_function(*specs)
        return traced.compile() if hasattr(traced, "compile") else traced  # TensorFlow compiles at the first call

    return trace


def _calling(fn: Any, x: Any) -> Callable[[], Any]:
    return lambda: fn(x)
