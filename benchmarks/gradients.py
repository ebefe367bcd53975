"""Gradients: the times of programs and of their gradients, the ratios, and peers for comparison."""
from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.differentiated import (
    IN_JAX,
    IN_TORCH,
    UNBOUNDED,
    chain,
    escape,
    kalman,
    maml,
    newton,
    ode,
    ode_in_diffrax,
    recurrent,
    training,
)
from benchmarks.measure import OURS, Budget, Row, fastest
from benchmarks.peers import installed, peer
from benchmarks.programs.in_c import in_c
from benchmarks.programs.subjects import load
from benchmarks.programs.written import training_data

__all__ = ["COLUMNS", "run"]

COLUMNS = (OURS, "C", "TF", "TF jit", "jax", "diffrax", "torch")
ROOT = Path(__file__).resolve().parent.parent
Program = Callable[..., Any]
Call = Callable[[], Any]
Make = Callable[["Case", Sequence[Any], "int | None"], "Call | None"]


@dataclass(frozen=True)
class Case:
    """A program, its arguments (arrays, smaller if time is short), the number of leading arguments by which to
    differentiate, and the target for the ratio to the forward pass."""

    name: str
    make: Callable[[Any], Program]
    arguments: Callable[[int], Sequence[Any]]
    sources: int
    ratio: float | None = None


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
    Case("scalar while loop, 1e6 steps", newton, lambda share: [np.float64(1.7), np.int32(1_000_000 // share)], 1, 3),
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
        forward = _calls(case, values, budget, None)
        backward = _calls(case, values, budget, case.sources)
        for call in (*forward.values(), *backward.values()):
            call()  # the first call traces and compiles
        first, second = fastest(forward, budget), fastest(backward, budget)
        yield Row(case.name, "ms", {k: v * 1e3 for k, v in first.items()})
        ratio = second[OURS] / first[OURS]
        yield Row("... its gradient", "ms", {k: v * 1e3 for k, v in second.items()},
                  f"is {ratio:.2f} x that" if case.ratio is None else f"< {case.ratio:g} x that, is {ratio:.2f}",
                  None if case.ratio is None else ratio < case.ratio)
        if budget.share == 1:
            yield from _first_calls(case, backward, budget)
    values = training_data()
    values[-1] = np.int32(max(2, 200 // budget.share))
    runs = _calls(TRAINING, values, budget, None)
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


def _first_calls(case: Case, names: Iterable[str], budget: Budget) -> Iterator[Row]:
    """The first call of the gradient, and its memory, in processes that have already imported what they need."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(min(budget.repeat, 3)):
        for name, figures in found.items():
            if not figures or figures[0]["seconds"] < 5:
                command = [sys.executable, "-m", __name__, str(CASES.index(case)), name]
                child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
                if child.returncode:
                    raise RuntimeError(f"{' '.join(command)}\n{child.stderr[-2000:]}")
                figures.append(json.loads(child.stdout.splitlines()[-1]))
    for what, unit, scale in (("seconds", "ms", 1e3), ("memory", "MB", 1.0)):
        title = "... its first call" if what == "seconds" else "... memory of that call"
        yield Row(title, unit, {name: min(each[what] for each in figures) * scale for name, figures in found.items()})


def main(case: str, name: str) -> None:
    """Print the seconds of a first call, and by how many MB it raises the peak memory of the process."""
    chosen = CASES[int(case)]
    load(OURS)
    call = SUBJECTS[name](chosen, chosen.arguments(1), chosen.sources)
    assert call is not None
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, start = _memory("VmRSS"), time.perf_counter()
    call()
    print(json.dumps({"seconds": time.perf_counter() - start, "memory": _memory("VmHWM") - before}))


def _memory(name: str) -> float:
    """A figure of the process (proc_pid_status(5)), in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def _calls(case: Case, values: Sequence[Any], budget: Budget, sources: int | None) -> dict[str, Call]:
    """Calls of the program, or of its gradient by the first arguments."""
    found = {}
    for name, make in SUBJECTS.items():
        if name == OURS or (budget.peers and installed(_NEEDS[name])):
            call = make(case, values, sources)
            if call is not None:
                found[name] = call
    return found


def _this(case: Case, values: Sequence[Any], sources: int | None) -> Call:
    program = case.make(rt)
    assert program is not None
    return _calling(rt.function(program if sources is None else _gradient(rt, program, sources)),
                    [rt.constant(x) for x in values])


def _tf(jit: bool) -> Make:
    def make(case: Case, values: Sequence[Any], sources: int | None) -> Call | None:
        if jit and sources is not None and case.make in UNBOUNDED:
            return None
        tf = peer("TF")
        program = case.make(tf)
        assert program is not None
        return _calling(tf.function(program if sources is None else _gradient(tf, program, sources), jit_compile=jit),
                        [tf.constant(x) for x in values])

    return make


def _jax(case: Case, values: Sequence[Any], sources: int | None) -> Call | None:
    if case.make not in IN_JAX:
        return None
    jax = peer("jax")
    jax.config.update("jax_enable_x64", True)
    program = IN_JAX[case.make](jax)
    if sources is not None:
        program = jax.grad(program, argnums=tuple(range(sources)))
    known = [i for i in range(len(values)) if case.make is newton and i == 1]
    fn = jax.jit(program, static_argnums=known)
    arguments = [int(x) if i in known else jax.numpy.asarray(x) for i, x in enumerate(values)]
    return lambda: jax.block_until_ready(fn(*arguments))


def _diffrax(case: Case, values: Sequence[Any], sources: int | None) -> Call | None:
    if case.make is not ode:
        return None
    jax = peer("jax")
    jax.config.update("jax_enable_x64", True)
    program = ode_in_diffrax(jax, peer("diffrax"))
    if sources is not None:
        program = jax.grad(program, argnums=tuple(range(sources)))
    fn = jax.jit(program)
    arguments = [jax.numpy.asarray(x) for x in values]
    return lambda: jax.block_until_ready(fn(*arguments))


def _torch(case: Case, values: Sequence[Any], sources: int | None) -> Call | None:
    if case.make not in IN_TORCH:
        return None
    torch = peer("torch")
    program = IN_TORCH[case.make](torch)
    arguments = [torch.tensor(x) for x in values]
    if sources is None:
        return _calling(program, arguments)
    for each in arguments[:sources]:
        each.requires_grad_()
    return lambda: torch.autograd.grad(program(*arguments), arguments[:sources])


SUBJECTS: dict[str, Make] = {
    OURS: _this, "TF": _tf(False), "TF jit": _tf(True), "jax": _jax, "diffrax": _diffrax, "torch": _torch}
_NEEDS = {"TF": "TF", "TF jit": "TF", "jax": "jax", "diffrax": "diffrax", "torch": "torch"}
TRAINING = Case("training", training, lambda share: (), 0)


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


if __name__ == "__main__":
    main(*sys.argv[1:])
