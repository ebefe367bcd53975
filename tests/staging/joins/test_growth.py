"""State of loops that grows with each trace."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from runtime.core.object_mode import NeedsAdoption, by_reference, name_of, note_outside
from runtime.staging.elements.describe import describe
from runtime.staging.joins.growth import check_attempts, check_growth


@dataclass
class Tree:
    key: Any
    left: Any = None
    right: Any = None


def full(depth: int) -> Any:
    return None if depth == 0 else Tree(depth, full(depth - 1), full(depth - 1))


def chain(length: int) -> Any:
    return None if length == 0 else Tree(length, chain(length - 1))


def test_objects_whose_number_doubles_with_each_trace() -> None:
    with pytest.raises(rt.errors.StagingError, match="each iteration of this loop links one more Tree"):
        check_growth([describe(full(6))], [describe(full(7))], [describe(full(1))], 7)


def test_objects_that_were_there_before_the_loop() -> None:
    check_growth([describe(full(7))], [describe(full(7))], [describe(full(7))], 3)
    check_growth([describe(chain(23))], [describe(chain(24))], [describe(None)], 24)


def test_statements_that_are_staged_again_and_again() -> None:
    """Objects from before the call become ones by reference if more of these are state each time."""
    with by_reference({}, may_adopt=True):
        note_outside(lambda: {name_of(Tree): (Tree, ("key", "left", "right"))})
        check_attempts(3, [Tree(1)])
        check_attempts(4, [])
        check_attempts(4, [[1], {}])
        with pytest.raises(NeedsAdoption):
            check_attempts(4, [[1], Tree(1)])
