"""Garbage is collected rarely while code is converted, traced and compiled."""
from __future__ import annotations

import gc
import time
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


def test_calls_cost_the_same_at_all_depths() -> None:
    """Where a frame begins a chunk of the interpreter's stack, each call would allocate the chunk: 50 times as slow."""
    def callee() -> None:
        pass

    def seconds(depth: int) -> float:
        if depth:
            return seconds(depth - 1)
        found = []
        for _ in range(5):
            start = time.process_time()
            for _ in range(1_000):
                callee()
            found.append(time.process_time() - start)
        return min(found)

    taken = rarely_collected(lambda: [seconds(depth) for depth in range(150)])
    assert max(taken) < 10 * min(taken)


def test_deep_recursion_has_room() -> None:
    def depth(n: int) -> int:
        return n and 1 + depth(n - 1)

    assert rarely_collected(lambda: depth(500)) == 500
    assert rarely_collected(lambda: rarely_collected(lambda: depth(400))) == 400
