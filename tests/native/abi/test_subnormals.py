"""`rt.config.flush_subnormals`: the mode of a thread, for each way that its floats are computed."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import runtime as rt

TINY = np.float32(1.5e-38)  # half of it is subnormal
MANY = 1 << 21  # elements whose loop takes all threads


def halves(x: Any) -> Any:
    return x * np.float32(0.5)


def loop(x: Any) -> Any:
    for _ in rt.range(1):
        x = x * np.float32(0.5)
    return x


WAYS: dict[str, Any] = {
    "native": rt.function(halves, executor="native"), "numpy": rt.function(halves, executor="numpy"),
    "eager": halves, "a loop": rt.function(loop, executor="native")}


def values(way: str, size: int) -> set[float]:
    return set(np.unique(WAYS[way](rt.constant(np.full(size, TINY))).numpy()).tolist())


SUBNORMAL = {float(np.float32(7.5e-39))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 5, MANY])
def test_subnormal_results_are_zero_while_the_context_lasts(way: str, size: int) -> None:
    assert values(way, size) == SUBNORMAL
    with rt.config.flush_subnormals():
        assert values(way, size) == {0.0}
        with rt.config.flush_subnormals():
            assert values(way, size) == {0.0}
        assert values(way, size) == {0.0}
    assert values(way, size) == SUBNORMAL


def test_operands_are_flushed_too() -> None:
    x = rt.constant(np.full(4, 7.5e-39, np.float32))
    grown = rt.function(lambda x: x * np.float32(1e30))
    assert set(grown(x).numpy().tolist()) != {0.0}
    with rt.config.flush_subnormals():
        assert set(grown(x).numpy().tolist()) == {0.0}


def test_the_mode_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), rt.config.flush_subnormals():
        1 // 0
    assert values("native", 1) == SUBNORMAL


def test_other_threads_keep_subnormal_numbers() -> None:
    found: list[set[float]] = []
    begin = threading.Event()

    def work() -> None:
        begin.wait(60)
        found.append(values("native", MANY))

    thread = threading.Thread(target=work)  # one that is started within the context begins with its mode
    thread.start()
    with rt.config.flush_subnormals():
        assert values("native", MANY) == {0.0}
        begin.set()
        thread.join(60)
        assert values("native", MANY) == {0.0}
    assert found == [SUBNORMAL]
