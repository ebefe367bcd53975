"""Gradients: programs, their gradients, and how many times as long these take."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, in_turns
from benchmarks.peers import peer

__all__ = ["run"]

Program = Callable[..., Any]


def newton(tf: Any) -> Program:
    """A scalar loop that stops by a test."""
    def program(x, n):
        i = 0
        while i < n:
            x = x - 0.001 * (x * x * x - 2.0) / (3.0 * x * x)
            i += 1
        return x

    return program


def chain(tf: Any) -> Program:
    """Ten element-wise ops and a sum."""
    def program(x):
        y = tf.tanh(x * 2.0 + 1.0)
        y = y * x - 0.5
        y = tf.exp(-y * y)
        y = y + x * 0.1
        return tf.reduce_sum(y * y)

    return program


def recurrent(tf: Any) -> Program:
    """A recurrent net over time."""
    def program(w, u, x):
        h = x[0] * 0.0
        for t in tf.range(tf.shape(x)[0]):
            h = tf.tanh(h @ w + x[t] @ u)
        return tf.reduce_sum(h * h)

    return program


def training(tf: Any) -> Program:
    """Steps of gradient descent of a net with one hidden layer, in one call."""
    def program(w, u, x, y, steps):
        loss = 0.0 * y[0, 0]
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch([w, u])
                error = tf.tanh(x @ w) @ u - y
                loss = tf.reduce_mean(error * error)
            by_w, by_u = tape.gradient(loss, [w, u])
            w = w - 0.1 * by_w
            u = u - 0.1 * by_u
        return loss

    return program


def prediction(tf: Any) -> Program:
    """The forward passes of `training` alone."""
    def program(w, u, x, y, steps):
        loss = 0.0 * y[0, 0]
        for _ in tf.range(steps):
            error = tf.tanh(x @ w) @ u - y
            loss = tf.reduce_mean(error * error)
            w = w + 0.0001 * loss
        return loss

    return program


@dataclass(frozen=True)
class Case:
    """A program, arguments (arrays, of which a share if time is short), by how many of the first ones to
    differentiate, and the ratio to reach."""

    name: str
    make: Callable[[Any], Program]
    arguments: Callable[[int], Sequence[Any]]
    sources: int
    ratio: float


def _arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) * 0.1).astype(np.float32) for shape in shapes]


CASES = (
    Case("scalar while loop, 1e6 steps", newton, lambda share: [np.float64(1.7), np.int32(1_000_000 // share)], 1, 3),
    Case("10 element-wise ops on 1e6", chain, lambda share: _arrays((1_000_000 // share,)), 1, 2.5),
    Case("RNN, 100 steps, batch 32, 64 units", recurrent,
         lambda share: _arrays((64, 64), (64, 64), (100, 32, 64)), 2, 3),
)


def run(budget: Budget) -> Iterator[Row]:
    frameworks = {OURS: rt}
    if budget.peers and peer("TF") is not None:
        frameworks["TF"] = peer("TF")
    for case in CASES:
        forward: dict[str, Callable[[], Any]] = {}
        backward: dict[str, Callable[[], Any]] = {}
        for name, tf in frameworks.items():
            arguments = [tf.constant(x) for x in case.arguments(budget.share)]
            forward[name] = _calling(tf.function(case.make(tf)), arguments)
            backward[name] = _calling(tf.function(_gradient(tf, case)), arguments)
        first, second = in_turns(forward, budget), in_turns(backward, budget)
        yield Row(case.name, "ms", {k: v * 1e3 for k, v in first.items()})
        ratio = second[OURS] / first[OURS]
        yield Row("... its gradient", "ms", {k: v * 1e3 for k, v in second.items()},
                  f"< {case.ratio:g} x that, is {ratio:.2f}", ratio < case.ratio)
    yield from _training(budget, frameworks)


def _training(budget: Budget, frameworks: dict[str, Any]) -> Iterator[Row]:
    steps = max(2, 200 // budget.share)
    values = [*_arrays((64, 128), (128, 10), (256, 64), (256, 10)), np.int32(steps)]
    for name, make in (("MLP 64-128-10, batch 256: 200 forward passes", prediction),
                       ("... 200 steps of SGD", training)):
        runs = {framework: _calling(tf.function(make(tf)), [tf.constant(x) for x in values])
                for framework, tf in frameworks.items()}
        yield Row(name, "ms", {k: v * 1e3 for k, v in in_turns(runs, budget).items()})


def _gradient(tf: Any, case: Case) -> Program:
    program = case.make(tf)

    def gradient(*args):
        sources = list(args[:case.sources])
        with tf.GradientTape() as tape:
            tape.watch(sources)
            value = program(*args)
        return tape.gradient(value, sources)

    return gradient


def _calling(fn: Any, args: Sequence[Any]) -> Callable[[], Any]:
    return lambda: fn(*args)
