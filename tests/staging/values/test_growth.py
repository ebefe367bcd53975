"""State of loops that grows with each trace."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from runtime.staging.values.describe import describe
from runtime.staging.values.growth import check_growth


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
