"""Garbage is collected rarely while code is converted, traced and compiled."""
from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import runtime as rt
from autograph.core.collection import rarely_collected


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_higher_until_the_work_ends() -> None:
    found = rarely_collected(lambda: (gc.get_threshold(), rarely_collected(gc.get_threshold), gc.get_threshold()))
    assert found[0][0] > 10_000 and found[0][1:] == (10, 10) and found[0] == found[1] == found[2]
    assert gc.get_threshold() == (700, 10, 10)


def test_it_is_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        rarely_collected(lambda: 1 // 0)
    assert gc.get_threshold() == (700, 10, 10)


def test_what_is_set_meanwhile_stays() -> None:
    rarely_collected(lambda: gc.set_threshold(900, 5, 5))
    assert gc.get_threshold() == (900, 5, 5)


@pytest.mark.parametrize("threshold", [0, 10_000_000])
def test_rarer_collections_stay(threshold: int) -> None:
    gc.set_threshold(threshold)
    assert rarely_collected(gc.get_threshold)[0] == threshold == gc.get_threshold()[0]


def test_it_holds_while_a_function_is_traced() -> None:
    seen = []

    @rt.function
    def f(x):  # type: ignore[no-untyped-def]
        seen.append(gc.get_threshold()[0])
        return x + 1

    assert f(rt.constant(1)) == 2
    assert seen[0] > 10_000 and gc.get_threshold() == (700, 10, 10)
