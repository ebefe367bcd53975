"""First calls: conversion, tracing, optimisation, compilation and run, each in a fresh process after all imports.

    python -m benchmarks.programs.first_calls SUBJECT PROGRAM

is such a process; it prints the seconds of its imports and of the call.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Budget, Row

__all__ = ["rows"]

ROOT = Path(__file__).resolve().parents[2]
_MOST, _SLOW = 5, 0.5
"""Maximal number of processes for each; more than two only if the call takes less than `_SLOW` seconds."""


def rows(budget: Budget) -> Iterator[Row]:
    """A row for each program, and one for the imports, which first calls do not include; all minima."""
    from benchmarks.programs.subjects import FIRST, REFERENCE, present
    from benchmarks.programs.written import PROGRAMS

    subjects = [subject for subject in FIRST if present(subject, budget.peers)]
    imports: dict[str, list[float]] = {}
    for program in PROGRAMS[:-1][::budget.share]:
        found: dict[str, list[float]] = {}
        for number in range(min(budget.repeat, _MOST)):
            for subject in subjects:
                is_slow = number >= 2 and min(found.get(subject, [0.0])) > _SLOW
                if not is_slow and not (subject == REFERENCE and program.loops):
                    took = _fresh(subject, program.name)
                    imports.setdefault(subject, []).append(took["imports"])
                    found.setdefault(subject, []).append(took["call"])
        yield Row(f"first call: {program.name}", "ms", _least(found))
    yield Row("imports before the first call", "ms", _least(imports))


def _least(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: 1e3 * min(values) for name, values in times.items()}


def _fresh(subject: str, program: str) -> dict[str, float]:
    """The figures of a fresh process, without caches on disk, with which the first call would not be one."""
    env = {k: v for k, v in os.environ.items() if k not in ("RUNTIME_CACHE", "AUTOGRAPH_CACHE")}
    command = [sys.executable, "-m", __name__, subject, program]
    child = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if child.returncode:
        raise RuntimeError(f"the first call of {program} by {subject} fails:\n{child.stderr}")
    found: dict[str, float] = json.loads(child.stdout)
    return found


def main(subject: str, name: str) -> None:
    start = time.perf_counter()
    from benchmarks.programs.subjects import SUBJECTS, load
    from benchmarks.programs.written import PROGRAMS

    load(subject)
    imported = time.perf_counter() - start
    (program,) = [program for program in PROGRAMS if program.name == name]
    data = program.arguments()
    call = SUBJECTS[subject](program, data)
    start = time.perf_counter()
    call()
    print(json.dumps({"imports": imported, "call": time.perf_counter() - start}))


if __name__ == "__main__":
    main(*sys.argv[1:])
