"""References to containers where long lists of numbers are searched once for each statement."""
from __future__ import annotations

import sys
from types import CellType
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.state import references as module
from autograph.state.reachability import Reach
from autograph.state.references import outermost, references, unreached, variables, with_more_references

KEPT: list[Any] = []
THIS: Any = sys.modules[__name__]


@ag.do_not_convert
def keep(value: Any) -> None:
    KEPT.append(value)


@outermost
def held(item: Any) -> int:
    """How often the declared variables refer to a container; the variables of frames are not searched."""
    return references([item])[id(item)]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many items have been searched."""
    found: list[int] = []

    def only_atoms(values: Any, original: Any = module.only_atoms) -> bool:
        found.append(len(values))
        return bool(original(values))

    monkeypatch.setattr(module, "only_atoms", only_atoms)
    return found


LONG = pytest.mark.parametrize("filler", [0.0, (0.0, 1, "text")], ids=["numbers", "tuples"])


@LONG
def test_a_list_that_a_statement_cannot_change_is_searched_once(searched: list[int], filler: Any) -> None:
    long, item = [filler] * 2000, [1.0]
    with variables(CellType(long)), unreached(Reach([("item", item)])), unreached(Reach([("item", item)])):
        for _ in range(5):
            assert held(item) == 0
    assert searched.count(len(long)) == 1


@LONG
def test_changes_are_seen_in_a_statement_that_reaches_the_list_and_after_others(filler: Any) -> None:
    long, item = [filler] * 2000, [1.0]
    around, reaching = Reach([("item", item)]), Reach([("long", long)])
    with variables(CellType(long)):
        with unreached(around):
            assert held(item) == 0
            with unreached(reaching):
                assert held(item) == 0
                long.append(item)
                assert held(item) == 1
            assert held(item) == 1
            long.pop()
            assert held(item) == 0
        long.append(item)
        assert held(item) == 1
    assert not module.within.plain and module.within.statement is None


def test_tuples_of_numbers_are_counted_where_they_are_looked_for() -> None:
    long, item, record = [(0.0, 1)] * 2000, [1.0], (2.0, 3)
    long.append(record)
    with variables(CellType(long)), unreached(Reach([("item", item)])):
        assert (held(item), held(record), held(item)) == (0, 1, 0)


@pytest.mark.parametrize("reached", [keep, iter([])])
def test_statements_that_run_code_which_is_not_followed_may_change_any_list(reached: Any) -> None:
    long, item = [0.0] * 2000, [1.0]
    with variables(CellType(long)), unreached(Reach([("reached", reached)])):
        assert held(item) == 0
        long.append(item)  # type: ignore[arg-type]
        assert held(item) == 1


@outermost
def shared(*items: Any, most: int) -> list[bool]:
    """Which containers the declared variables refer to more often."""
    found = with_more_references({id(item): (item, most) for item in items})
    return [id(item) in found for item in items]


def test_containers_with_more_references_than_known() -> None:
    one, two = [1.0], [2.0]
    with variables(CellType(one), CellType((one, two)), CellType({"one": one})):
        assert shared(one, two, most=0) == [True, True]
        assert shared(one, two, most=1) == shared(one, two, most=2) == [True, False]
        assert shared(one, two, most=3) == [False, False]
    assert shared(one, two, most=0) == [False, False]
    assert shared(most=0) == []


def test_the_search_ends_with_the_last_reference_that_tells(searched: list[int]) -> None:
    item = [1.0]
    with variables(CellType([[0.0] * 30]), CellType([[0.0] * 20]), CellType([item])):
        assert shared(item, most=0) == [True]
        assert 20 not in searched and 30 not in searched
        assert shared(item, most=1) == [False]
        assert 20 in searched and 30 in searched


def kept_between_statements(x):  # type: ignore[no-untyped-def]
    p = [x, 1.0]
    if x > 2:
        p[0] = p[0] * 2
    KEPT[7] = p
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], KEPT[7][0]


@pytest.mark.parametrize("value", [1.0, 5.0])
def test_a_list_that_gets_into_a_long_list_between_statements(value: float) -> None:
    THIS.KEPT = [0.0] * 2000
    want = [float(x) for x in kept_between_statements(rt.constant(value))]
    THIS.KEPT = [0.0] * 2000
    got = [float(x) for x in rt.function(kept_between_statements, executor="numpy")(rt.constant(value))]
    assert got == want
    THIS.KEPT = []
