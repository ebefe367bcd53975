"""Traced functions: making a trace, calling it, and an iteration of a loop in it."""
from __future__ import annotations

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

    loops: dict[str, Callable[[], Any]] = {"Python": lambda: count_down(ITERATIONS)}
    for framework, tf in frameworks.items():
        loops[framework] = _calling(tf.function(count_down), tf.constant(ITERATIONS))
    if jax is not None:
        compiled = jax.jit(lambda n: jax.lax.while_loop(lambda n: n > 0, lambda n: n - 1, n))
        loops["jax"] = _calling(lambda n: compiled(n).block_until_ready(), jax.numpy.asarray(ITERATIONS))
    times = in_turns(loops, budget)
    yield Row("an iteration of a scalar while loop", "us", {k: v * 1e6 / ITERATIONS for k, v in times.items()})


def _tracing(tf: Any, fn: Any, parameters: int) -> Callable[[], Any]:
    specs = [tf.TensorSpec([], tf.int32)] * parameters

    def trace() -> Any:
        traced = tf.function(fn).get_concrete_function(*specs)
        return traced.compile() if hasattr(traced, "compile") else traced  # here it waits for the first call

    return trace


def _calling(fn: Any, x: Any) -> Callable[[], Any]:
    return lambda: fn(x)
