"""Programs do under the profiler what they do without, and native code counts the iterations of the reference
executor."""
from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from programs import Program, load
from ways import difference, reference, run

from runtime.profiler.recorder import begin, end

SUBJECTS = ("loops", "jumps", "algorithms", "tensors")
PROGRAMS = [p for p in load().values() if p.subject in SUBJECTS and p.applies("native") and p.applies("staged")]


def profiled(program: Program, way: str, arguments: tuple[Any, ...]) -> tuple[Any, dict[Any, Any]]:
    """What a program does, and by name and lines of its loops the runs and iterations (None if not counted)."""
    session = begin()
    try:
        outcome = run(program, way, arguments)
    finally:
        end(session)
    loops = defaultdict(list)
    for region, totals in session.totals.items():
        if region.kind == "loop":
            loops[region.name, region.places].append((totals.runs, totals.iterations))
    return outcome, {key: (sum(runs for runs, _ in found), None if any(n is None for _, n in found) else sum(
        n for _, n in found)) for key, found in loops.items()}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program(program: Program) -> None:
    for arguments in program.arguments:
        outcome, native = profiled(program, "native", arguments)
        assert difference(reference(program, arguments), outcome, exact=False) is None
        _, numpy = profiled(program, "staged", arguments)
        if outcome.error is not None:
            continue  # what an error leaves is not counted
        for key, (runs, iterations) in native.items():
            assert iterations is None or numpy[key] == (runs, iterations), key


def test_there_are_programs() -> None:
    assert len(PROGRAMS) > 60
