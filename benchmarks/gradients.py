"""Gradients: programs, their gradients, how many times as long these take, and peers beside them."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.differentiated import IN_JAX, chain, escape, kalman, maml, newton, ode, recurrent, training
from benchmarks.measure import OURS, Budget, Row, fastest
from benchmarks.peers import peer
from benchmarks.programs.in_c import in_c
from benchmarks.programs.written import training_data

__all__ = ["COLUMNS", "run"]

COLUMNS = (OURS, "C", "TF", "TF jit", "jax")
Program = Callable[..., Any]
Call = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A program, arguments (arrays, of which a share if time is short), by how many of the first ones to
    differentiate, the ratio to its forward pass to reach, and whether TensorFlow takes too long for it."""

    name: str
    make: Callable[[Any], Program]
    arguments: Callable[[int], Sequence[Any]]
    sources: int
    ratio: float | None = None
    without_tf: bool = False


def _arrays(*shapes: tuple[int, ...], dtype: Any = np.float32, scale: float = 0.1) -> list[Any]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) * scale).astype(dtype) for shape in shapes]


def _plane(share: int) -> Sequence[Any]:
    side = max(2, 256 // share)
    a, b = np.meshgrid(np.linspace(-2, 0.5, side), np.linspace(-1.2, 1.2, side))
    return [a.astype(np.float32), b.astype(np.float32)]


def _ode(share: int) -> Sequence[Any]:
    return [*_arrays((32, 8), (8, 32), (8,), dtype=np.float64, scale=0.5), np.float64(4.0 / share)]


def _system(share: int) -> Sequence[Any]:
    return [np.eye(4) * 0.9 + 0.05, np.eye(4) * 0.2 + 0.01, *_arrays((1000 // share,), dtype=np.float64, scale=1.0)]


CASES = (
    Case("scalar while loop, 1e6 steps", newton, lambda share: [np.float64(1.7), np.int32(1_000_000 // share)], 1, 3,
         without_tf=True),
    Case("10 element-wise ops on 1e6", chain, lambda share: _arrays((1_000_000 // share,)), 1, 2.5),
    Case("RNN, 100 steps, batch 32, 64 units", recurrent,
         lambda share: _arrays((64, 64), (64, 64), (100, 32, 64)), 2),
    Case("neural ODE, 8 of 32 units, adaptive", ode, _ode, 2),
    Case("MAML, 10 steps, 32-64-8, batch 32", maml,
         lambda share: _arrays((32, 64), (64, 8), (32, 32), (32, 8), scale=0.5), 2),
    Case("Mandelbrot-like, 256x256, at most 100 times", escape, _plane, 2),
    Case("Kalman log-likelihood, 1000 steps of 4", kalman, _system, 2),
)


def run(budget: Budget) -> Iterator[Row]:
    for case in CASES:
        values = case.arguments(budget.share)
        forward = dict(_subjects(case.make, values, budget, None, case.without_tf))
        backward = dict(_subjects(case.make, values, budget, case.sources, case.without_tf))
        for call in (*forward.values(), *backward.values()):
            call()  # the first one, which traces and compiles
        first, second = fastest(forward, budget), fastest(backward, budget)
        yield Row(case.name, "ms", {k: v * 1e3 for k, v in first.items()})
        ratio = second[OURS] / first[OURS]
        yield Row("... its gradient", "ms", {k: v * 1e3 for k, v in second.items()},
                  f"is {ratio:.2f} x that" if case.ratio is None else f"< {case.ratio:g} x that, is {ratio:.2f}",
                  None if case.ratio is None else ratio < case.ratio)
    values = training_data()
    values[-1] = np.int32(max(2, 200 // budget.share))
    runs = dict(_subjects(training, values, budget, None))
    built = in_c("training", values) if budget.peers else {}
    for call in runs.values():
        call()
    times = fastest({**runs, **built}, budget)
    figures = {name: times[name] * 1e3 for name in runs}
    if built:
        figures["C"] = min(times[name] for name in built) * 1e3
    ratio = figures[OURS] / figures["C"] if built else None
    yield Row("MLP 784-256-10, batch 64: 200 steps of SGD", "ms", figures,
              "" if ratio is None else f"< 1.05 x C, is {ratio:.2f}", None if ratio is None else ratio < 1.05)


def _subjects(make: Callable[[Any], Program], values: Sequence[Any], budget: Budget, sources: int | None,
              without_tf: bool = False) -> Iterator[tuple[str, Call]]:
    """Calls of the program, or of its gradient by the first arguments."""
    program = make(rt) if sources is None else _gradient(rt, make(rt), sources)
    yield OURS, _calling(rt.function(program), [rt.constant(x) for x in values])
    tf = peer("TF") if budget.peers and not without_tf else None
    for name, jit in (("TF", False), ("TF jit", True)) if tf is not None else ():
        program = make(tf) if sources is None else _gradient(tf, make(tf), sources)
        call = _calling(tf.function(program, jit_compile=jit), [tf.constant(x) for x in values])
        try:
            call()
        except (tf.errors.OpError, ValueError):  # XLA has no gradient of a loop whose length it does not know
            continue
        yield name, call
    jax = peer("jax") if budget.peers and make in IN_JAX else None
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
        program = IN_JAX[make](jax)
        if sources is not None:
            program = jax.grad(program, argnums=tuple(range(sources)))
        known = [i for i, x in enumerate(values) if make is newton and i == 1]
        fn = jax.jit(program, static_argnums=known)
        arguments = [int(x) if i in known else jax.numpy.asarray(x) for i, x in enumerate(values)]
        yield "jax", lambda: jax.block_until_ready(fn(*arguments))


def _gradient(tf: Any, program: Program, count: int) -> Program:
    def gradient(*args):
        sources = list(args[:count])
        with tf.GradientTape() as tape:
            tape.watch(sources)
            value = program(*args)
        return tape.gradient(value, sources)

    return gradient


def _calling(fn: Any, args: Sequence[Any]) -> Call:
    return lambda: fn(*args)
