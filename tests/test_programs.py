"""Each program runs every way it applies; results, printed text and exceptions agree with Python's."""
from __future__ import annotations

from typing import Any

import pytest
from programs import WAYS, Program, load, takes_list
from ways import EXACT, HAS_LLVM, difference, reference, run

PROGRAMS = load()
NEEDS_LLVM = [pytest.mark.skipif(not HAS_LLVM, reason="the native executor needs llvmlite")]
CASES = [
    pytest.param(program, way, id=f"{program.subject}-{program.name}-{way.replace(' ', '-')}", marks=NEEDS_LLVM * (
        way.startswith("native")))
    for program in PROGRAMS.values() for way in WAYS[1:] if program.applies(way)
]


@pytest.mark.parametrize(("program", "way"), CASES)
def test_program(program: Program, way: str) -> None:
    for arguments in program.arguments:
        if way.endswith("relaxed") and not takes_list(arguments):
            continue
        expected = reference(program, arguments)
        got = run(program, way, arguments)
        found = difference(expected, got, exact=way in EXACT)
        if found is not None:
            pytest.fail(f"{program.name}{_shown(arguments)}, {way}: {found}", pytrace=False)


@pytest.mark.parametrize("name", [p.name for p in PROGRAMS.values() if "staged" in p.without])
def test_reason_still_holds(name: str) -> None:
    """A program that is said not to stage does not: else the reason goes."""
    program = PROGRAMS[name]
    found = [difference(reference(program, a), run(program, "staged", a), exact=False) for a in program.arguments]
    assert any(found), f"{name} stages now: take {program.without['staged']!r} away"


def _shown(arguments: tuple[Any, ...]) -> str:
    return f"({', '.join(map(repr, arguments))})"


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 150


def test_most_programs_run_every_way() -> None:
    whole = [p for p in PROGRAMS.values() if not p.needs_runtime and not p.without]
    assert len(whole) >= 120
