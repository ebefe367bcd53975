"""The time of a call of each program, for each subject and C; each result is compared with NumPy's."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import OURS, Budget, Row, fastest
from benchmarks.programs.first_calls import rows as first_calls
from benchmarks.programs.in_c import in_c
from benchmarks.programs.subjects import REFERENCE, SUBJECTS, present
from benchmarks.programs.written import PROGRAMS, Program, agree

__all__ = ["COLUMNS", "run"]

COLUMNS = (OURS, "fast_math", REFERENCE, "NumPy", "C", "TF", "TF jit", "jax", "numba")
PER_SECOND = {"ms": 1e3, "us": 1e6}


def run(budget: Budget) -> Iterator[Row]:
    for program in PROGRAMS:
        yield measured(program, budget)
    yield from first_calls(budget)


def measured(program: Program, budget: Budget) -> Row:
    data = program.arguments(budget.share > 1)
    builds = in_c(program.make.__name__, data)
    calls = {f"C, {build}": call for build, call in builds.items()}
    for name, make in SUBJECTS.items():
        if present(name, budget.peers) and not (program.loops and name == REFERENCE):
            calls[name] = make(program, data)
    want = [np.array(x) for x in _results(calls["NumPy"])]
    for name, call in calls.items():
        if not agree(program, want, _results(call)):
            raise AssertionError(f"{program.name}: the result of {name} is not NumPy's")
    times = {name: took * PER_SECOND[program.unit] for name, took in fastest(calls, budget).items()}
    notes = {}
    if builds:
        times["C"] = min(times[f"C, {build}"] for build in builds)
        notes["    C"] = "; ".join(f"{build} {times[f'C, {build}']:.3g} {program.unit}" for build in builds)
    return Row(program.name, program.unit, times, *_target(program, times), notes=notes)


def _results(call: Callable[[], Any]) -> list[Any]:
    result = call()
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _target(program: Program, times: dict[str, float]) -> tuple[str, bool | None]:
    if OURS not in times:
        return "", None
    if program.unit == "us":
        return ("", None) if program.target is None else (
            f"<= {program.target:g} {program.unit}", times[OURS] <= program.target)
    if "C" not in times:
        return "", None
    ratio = times[OURS] / times["C"]
    text = f"this / C = {ratio:.2f}"
    return (text, None) if program.target is None else (f"{text} <= {program.target:g}", ratio <= program.target)
