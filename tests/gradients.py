"""Derivatives of the programs in tests/programs, and of random ones, against finite differences.

    python -m tests.gradients              every program, on both executors
    python -m tests.gradients NAME ...     some of them
    python -m tests.gradients --random N [--seed S]     N random programs

A program is called with float64 tensors in place of its numbers, if it takes them, slightly off the given values, so
that comparisons are no ties. Its result counts as the weighted sum of all floats in it. The gradient by a tape,
eagerly, is compared with central differences; those of the staged program, of both modes and on both executors, with
the former; and so is the second derivative along a direction. Where differences with two steps differ, the program is
not smooth.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from gradient_programs import generate
from programs import Dataset, Fixed, Program, load
from ways import as_tensors

import autograph as ag
import runtime as rt
from runtime.core import pytree
from runtime.core.tensor import EagerList, GraphList

__all__ = ["EXECUTORS", "Unchecked", "check_call", "check_program", "check_random", "main"]

STEP = 1e-5
EXECUTORS = ("numpy", "native")
Objective = Callable[..., Any]


class Unchecked(Exception):
    """The reason why there is nothing to compare."""


class _Floats:
    """The floats among the arguments of a program, as float64 tensors, and the arguments for other values of these.
    `ints`: ints are floats, too."""

    def __init__(self, arguments: tuple[Any, ...], ints: bool) -> None:
        self.ints = ints
        self.values: list[Any] = []
        self.build = self._of(arguments)

    def _of(self, value: Any) -> Callable[[Sequence[Any]], Any]:
        if isinstance(value, (Fixed, Dataset)):
            return lambda floats: as_tensors(value)
        if isinstance(value, tuple):
            parts = [self._of(v) for v in value]
            return lambda floats: tuple([part(floats) for part in parts])
        if isinstance(value, dict):
            named = {key: self._of(v) for key, v in value.items()}
            return lambda floats: {key: part(floats) for key, part in named.items()}
        if not self._is_float(value):
            return lambda floats: as_tensors(value)
        k = len(self.values)
        array = np.array(value, np.float64)
        offsets = 0.0137 * (1 + np.arange(array.size).reshape(array.shape)) + 0.0071 * k
        self.values.append(np.asarray(array + offsets))
        return lambda floats: floats[k]

    def _is_float(self, value: Any) -> bool:
        if not isinstance(value, (int, float, list)):
            return False
        try:
            array = np.array(value)
        except ValueError:
            return False
        return array.dtype.kind == "f" or (self.ints and array.dtype.kind == "i")


@ag.do_not_convert
def _total(result: Any) -> Any:
    """A weighted sum of the floats in a result; None if there are none."""
    total = None
    for k, x in enumerate(pytree.flatten(result)):  # growing lists are leaves
        if isinstance(x, (EagerList, GraphList)):
            if None in x.type.element.shape or not x.type.known:
                continue
            x = rt.stack(x)
        if not isinstance(x, rt.Tensor) or x.dtype is not rt.float64:
            continue
        weights = rt.cast(rt.range(rt.size(x)), rt.float64) * 0.17 + (0.9 + 0.23 * k)
        part = rt.reduce_sum(rt.reshape(x, [-1]) * weights)
        total = part if total is None else total + part
    return total


def _objective(program: Program, floats: _Floats, staged: bool) -> Objective:
    fn = ag.convert(program.fn) if staged else program.fn

    @ag.do_not_convert
    def objective(*values: Any) -> Any:
        return _total(fn(*floats.build(values)))

    return objective


def _tensors(values: Sequence[Any]) -> list[Any]:
    return [rt.constant(x, rt.float64) for x in values]


def _differences(objective: Objective, values: Sequence[Any], step: float) -> list[Any]:
    found = []
    for k, x in enumerate(values):
        slope = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            ends = []
            for moved in (step, -step):
                new = x.copy()
                new[place] += moved
                ends.append(float(objective(*_tensors([*values[:k], new, *values[k + 1:]]))))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return found


def _floats_of(program: Program, arguments: tuple[Any, ...]) -> tuple[_Floats, Objective]:
    """The floats, of as many numbers as the program takes as floats. Unchecked if there are none, or it raises."""
    reason = "it has no floats"
    for ints in (True, False):
        floats = _Floats(arguments, ints)
        if not floats.values:
            continue
        objective = _objective(program, floats, staged=False)
        try:
            result = program.fn(*floats.build(_tensors(floats.values)))
        except Exception as error:  # as the program means to, or since it needs ints
            reason = f"it raises {type(error).__name__}"
            continue
        value = _total(result)
        if value is None:
            reason = "it has no float among its results"
        elif not np.isfinite(value.numpy()):
            reason = "its result is not finite"
        else:
            return floats, objective
    raise Unchecked(reason)


def _close(found: Sequence[Any], expected: Sequence[Any], what: str, rtol: float, atol: float) -> None:
    for have, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=rtol, atol=atol, err_msg=what)


def check_call(program: Program, arguments: tuple[Any, ...], executors: Sequence[str], second: bool = True) -> None:
    """Compare all derivatives of one call. AssertionError if two differ; Unchecked if there are none."""
    floats, objective = _floats_of(program, arguments)
    values = floats.values
    places = tuple(range(len(values)))
    coarse, fine = (_differences(objective, values, step) for step in (STEP, STEP / 4))
    size = max(1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in fine))
    if any(not np.allclose(a, b, rtol=1e-4, atol=1e-6 * size) for a, b in zip(coarse, fine)):
        raise Unchecked("it is not smooth here")
    tensors = _tensors(values)
    eager = rt.grad(objective, places)(*tensors)
    if any(np.any(np.abs(x) > 1e9) for x in eager):
        raise Unchecked("it is ill-conditioned here")
    _close(eager, fine, "differences", 1e-4, 1e-5 * size)
    if not any(np.any(x) for x in fine):
        raise Unchecked("its result is piecewise constant")
    if "staged" in program.without:
        return
    directions = [rt.constant(np.cos(np.arange(x.size)).reshape(x.shape), rt.float64) for x in values]
    slope = sum(np.sum(x.numpy() * d.numpy()) for x, d in zip(eager, directions, strict=True))
    staged = _objective(program, floats, staged=True)
    _check_value(staged, tensors, objective(*tensors))
    along = _along(objective, places, directions)
    curvature = rt.grad(along, places)(*tensors) if second else []
    for executor in executors:
        gradient = rt.function(rt.grad(staged, places), executor=executor)
        _close(gradient(*tensors), eager, f"gradient on {executor}", 1e-7, 1e-9 * size)
    pushed = rt.function(lambda *xs: rt.jvp(staged, list(xs), directions)[1], executor=executors[0])(*tensors)
    _close([pushed], [slope], "jvp", 1e-7, 1e-9 * size)
    if second:
        gradient = rt.function(rt.grad(_along(staged, places, directions), places), executor=executors[0])
        most = max(size, *(float(np.max(np.abs(x), initial=0.0)) for x in curvature))
        _close(gradient(*tensors), curvature, f"second derivative on {executors[0]}", 1e-6, 1e-8 * most)


def _check_value(staged: Objective, tensors: Sequence[Any], expected: Any) -> None:
    """Unchecked if the staged program has other floats among its results than the eager one; that their values are the
    same is the subject of test_programs.py."""
    try:
        value = rt.function(staged, executor="numpy")(*tensors)
    except rt.errors.StagingError as error:
        if "is None is known only when the graph runs" in str(error):
            raise Unchecked("only the graph knows whether a result is None") from None
        raise
    except TypeError:
        raise Unchecked("the graph needs ints") from None
    if value is None or not np.allclose(value, expected, rtol=1e-12):
        raise Unchecked("a result is a tensor in the graph, and a number of Python's eagerly")


def _along(objective: Objective, places: tuple[int, ...], directions: Sequence[Any]) -> Objective:
    """The slope in a direction."""
    @ag.do_not_convert
    def slope(*values: Any) -> Any:
        parts = zip(rt.grad(objective, places)(*values), directions, strict=True)
        return rt.add_n([rt.reduce_sum(x * d) for x, d in parts])

    return slope


def check_program(program: Program, executors: Sequence[str], second: bool = True) -> list[str]:
    """Compare the derivatives of a program for all its arguments. Gives the reasons why calls are not compared."""
    reasons = []
    for arguments in program.arguments:
        try:
            check_call(program, arguments, executors, second)
        except Unchecked as reason:
            reasons.append(str(reason))
    return reasons


def check_random(seed: int, executors: Sequence[str], second: bool = True) -> str | None:
    """Compare the derivatives of the random program of a seed. Gives the reason if they are not compared."""
    fn, text = generate(seed)
    program = Program(fn, ((0.31, -0.52, [0.4, -0.3, 0.7, 0.1]),))
    try:
        check_call(program, program.arguments[0], executors, second)
    except Unchecked as reason:
        return str(reason)
    except Exception as error:
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{text}") from error
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gradients", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="programs; all without any")
    parser.add_argument("--random", type=int, metavar="N", help="check N random programs instead")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args(arguments)
    programs = load()
    cases: dict[str, Callable[[], list[str]]] = {
        name: functools.partial(check_program, programs[name], EXECUTORS) for name in options.names or programs}
    if options.random is not None:
        cases = {f"random {seed}": functools.partial(_random, seed)
                 for seed in range(options.seed, options.seed + options.random)}
    failed, reasons = 0, Counter[str]()
    for name, case in cases.items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                reasons.update(case())
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(cases)} programs, {failed} failed")
    for reason, count in reasons.most_common():
        print(f"  {count} calls not compared: {reason}")
    return 1 if failed else 0


def _random(seed: int) -> list[str]:
    reason = check_random(seed, EXECUTORS)
    return [] if reason is None else [reason]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
