"""Random numeric programs on the native executor and on the reference executor."""
from __future__ import annotations

import collections
import itertools
import linecache
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import runtime as rt
from fuzz.compare import Timeout, limited
from fuzz.numeric_programs import NAMESPACE, NumericProgram, generate
from fuzz.perturbed import Moved, run_graph
from fuzz.shrink import shrink
from runtime.core.graph import Graph
from runtime.core.tensor import EagerTensor
from runtime.function.execution.executors import make

__all__ = ["NumericFailure", "NumericResult", "campaign", "judge", "main", "traced", "unexplained"]

RUNS = (8, 32, 128)
"""How many runs with moved results there are; more where the fewer ones do not explain a difference."""
_numbers = itertools.count()


@dataclass(frozen=True)
class NumericFailure:
    seed: int
    program: NumericProgram
    text: str

    def __str__(self) -> str:
        return f"--- numeric program of seed {self.seed}\n{self.program}\n    {self.text}\n"


@dataclass(frozen=True)
class NumericResult:
    """What came of a program: nothing to tell, a failure, that it was refused, or that conditioning explains it."""

    failure: NumericFailure | None = None
    refused: str = ""
    explained: bool = False


def judge(program: NumericProgram, moved: Sequence[int] = RUNS) -> tuple[str, str, bool]:
    """What is wrong with the native results, why the program was refused, and whether results differ but may."""
    arrays = [argument.array() for argument in program.arguments.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            concrete = traced(program, arrays)
        except Exception as error:
            return "", f"{type(error).__name__}: {error}", False
    graph = concrete.optimized
    got = _outcome(lambda: make(graph, "native").function()(*arrays))
    want = _outcome(lambda: make(graph, "numpy").function()(*arrays))
    found = _unlike(got, want)
    if found is None:
        return "", "", False
    runs: list[Any] = [want]
    for count in moved:
        runs += [_moved_run(graph, arrays, seed) for seed in range(len(runs) - 1, count)]
        if (found := unexplained(got, want, runs)) is None:
            return "", "", True
    return found, "", False


def traced(program: NumericProgram, arrays: Sequence[Any]) -> Any:
    """The trace of a program for these arrays."""
    name = f"<numeric {next(_numbers)}>"
    linecache.cache[name] = len(program.text), None, program.text.splitlines(keepends=True), name
    try:
        namespace = dict(NAMESPACE)
        exec(compile(program.text, name, "exec"), namespace)
        function = rt.function(namespace["program"], executor="numpy")
        specs = [rt.TensorSpec([None] * a.ndim, a.dtype) if program.relaxed else EagerTensor(a) for a in arrays]
        return function.get_concrete_function(*specs)
    finally:
        linecache.cache.pop(name, None)


def _outcome(run: Any) -> Any:
    """The results, or the class of the error that came."""
    try:
        with np.errstate(all="ignore"):
            return list(rt.nest.flatten(run()))
    except Exception as error:
        return type(error)


def _moved_run(graph: Graph, arrays: Sequence[Any], seed: int) -> Any:
    return _outcome(lambda: run_graph(graph, arrays, Moved(seed)))


def _unlike(got: Any, want: Any) -> str | None:
    """The first difference: bits count, but those of NaN."""
    if not isinstance(got, list) or not isinstance(want, list):
        return None if got is want else f"{_named(got)}, not {_named(want)}"
    for k, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"result {k}: {a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
        if not np.all(_same(a, b)):
            return f"result {k} differs"
    return None


def _named(outcome: Any) -> str:
    return "results" if isinstance(outcome, list) else str(outcome.__name__)


def _same(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return _same(a.real, b.real) & _same(a.imag, b.imag)
    if a.dtype.kind == "f":
        return np.isnan(a) & np.isnan(b) | (a == b) & (np.signbit(a) == np.signbit(b))
    return a == b


def unexplained(got: Any, want: Any, runs: Sequence[Any]) -> str | None:
    """A difference that no moved run explains."""
    if not isinstance(got, list):
        return None if got in runs else f"{_named(got)}, not {_named(want)}"
    listed = [run for run in runs if isinstance(run, list)]
    if not listed:
        return f"{_named(got)}, not {_named(want)}"
    for k, a in enumerate(got):
        a = np.asarray(a)
        others = [np.asarray(run[k]) for run in listed]
        shapes = {x.shape for x in others}
        if len(shapes) > 1 or a.dtype != others[0].dtype:
            if a.shape in shapes and a.dtype == others[0].dtype:
                continue  # what sizes there are depends on values that moved
            return f"result {k}: {a.dtype}{list(a.shape)}, not {others[0].dtype}{list(others[0].shape)}"
        if a.shape not in shapes:
            return f"result {k}: {list(a.shape)}, not {list(others[0].shape)}"
        for part in ("real", "imag") if a.dtype.kind == "c" else ("real",):
            within = _within(getattr(a, part), np.stack([getattr(x, part) for x in others]))
            if not np.all(within):
                at = tuple(int(i) for i in np.argwhere(~within)[0])
                values = np.stack(others)[(slice(None), *at)]
                shown = f"{a[at]!r}, not {values[0]!r}, nor from {values.min()!r} to {values.max()!r}"
                return f"result {k}: {shown}, at {list(at)} of {list(a.shape)}{a.dtype} ({np.sum(~within)} differ)"
    return None


def _within(got: Any, runs: Any) -> Any:
    """Where a value is one of those of the runs, or between these, or beyond by no more than they are apart."""
    seen = np.any(_same(got, runs), axis=0)
    if runs.dtype.kind == "b":
        return seen
    if runs.dtype.kind in "iu":
        values = runs.astype(object)
        low, high = values.min(axis=0), values.max(axis=0)
        return seen | (got.astype(object) >= low - (high - low)) & (got.astype(object) <= high + (high - low))
    with np.errstate(all="ignore"):
        wide = runs.astype(np.longdouble)
        low, high = np.fmin.reduce(wide), np.fmax.reduce(wide)
        apart = high - low
        between = (got >= low - apart) & (got <= high + apart) & (apart > 0)
        return seen | between | (np.isfinite(got) & np.isinf(apart))


def campaign(count: int, seed: int, shrunk: bool = True) -> Iterator[NumericResult]:
    """What comes of `count` programs from `seed` on."""
    for current in range(seed, seed + count):
        program = generate(current)
        try:
            with limited(20):
                text, refused, explained = judge(program)
        except Timeout:
            yield NumericResult(refused="it takes too long")
            continue
        if not text:
            yield NumericResult(None, refused, explained)
            continue
        if shrunk:
            program = _shrunk(program)
            text = judge(program)[0] or text
        yield NumericResult(NumericFailure(current, program, text))


def _shrunk(program: NumericProgram) -> NumericProgram:
    def made(text: str) -> NumericProgram:
        return NumericProgram(text, program.arguments, program.relaxed)

    def fails(text: str) -> bool:
        try:
            with limited(5):
                return bool(judge(made(text), RUNS[:2])[0])
        except (Timeout, SyntaxError, TypeError):
            return False

    return made(shrink(program.text, fails, 250))


def main(count: int, seed: int, stop: int, shrunk: bool) -> int:
    """Run programs and print failures; 1 if there are any."""
    started = time.perf_counter()
    tally: collections.Counter[str] = collections.Counter()
    refusals: collections.Counter[str] = collections.Counter()
    for result in campaign(count, seed, shrunk):
        tally["programs"] += 1
        if result.refused:
            tally["refused"] += 1
            refusals[re.sub(r"[\d.]+|'[^']*'", "#", result.refused.split(": ", 2)[-1].splitlines()[0])[:100]] += 1
        tally["explained"] += result.explained
        if result.failure is not None:
            tally["failures"] += 1
            print(result.failure, flush=True)
            if tally["failures"] >= stop:
                break
    seconds = time.perf_counter() - started
    print(f"{tally['programs']} numeric programs from seed {seed} in {seconds:.0f} s: {tally['failures']} failures; "
          f"{tally['explained']} differ as far as rounding explains; {tally['refused']} were refused")
    for text, times in refusals.most_common(8):
        print(f"    {times} x {text}")
    return 1 if tally["failures"] else 0
