"""Calls with numbers that differ, which become inputs of the graph, do what Python does."""
from __future__ import annotations

from typing import Any

import number_inputs
import pytest
from programs import load

PROGRAMS = [program for program in load().values() if not program.needs_runtime]


@pytest.mark.parametrize("program", PROGRAMS[::5], ids=lambda program: program.name)
@pytest.mark.filterwarnings("ignore::runtime.RetracingWarning", "ignore::runtime.UnrollingWarning")
def test_as_in_python(program: Any) -> None:
    """One program in five; all: `python -m tests.number_inputs`."""
    found = [*number_inputs.differences(program)]
    assert bool(found) == (program.name in number_inputs.WITHOUT), found


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.name in number_inputs.WITHOUT])
def test_reasons_hold(program: Any) -> None:
    assert [*number_inputs.differences(program)], "it is as in Python now"
