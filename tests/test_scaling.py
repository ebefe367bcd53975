"""First calls of functions of many statements: no mechanism whose time grows with the square of their number."""
from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

import runtime as rt
from benchmarks.first_programs import ternaries
from benchmarks.scaling import KINDS, first_call


def cpu_of(call: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()  # collections would count what other tests have left
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("kind", [
    "x = x * 0.5 + k", "if x > k: x = ...", "if x == k: return k", "for _ in rt.range(n)"])
def test_ten_times_the_statements_take_not_much_more_than_ten_times_as_long(kind: str) -> None:
    def cpu(size: int) -> float:
        return cpu_of(lambda: first_call(KINDS[kind], size))

    size = 300 if kind.startswith("x") else 60
    cpu(10)
    assert cpu(size * 10) < 20 * max(cpu(size), 0.02)


@pytest.mark.slow
@pytest.mark.optimised
def test_expressions_nested_four_times_as_deeply_take_not_much_more_than_four_times_as_long() -> None:
    def cpu(levels: int) -> float:
        return cpu_of(lambda: rt.function(ternaries(levels))(rt.constant(77)))

    cpu(10)
    assert cpu(800) < 6.5 * cpu(200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("if:")])
def test_no_analysis_follows_each_path_by_itself(kind: str) -> None:
    first_call(KINDS[kind], 70, in_loop=True)  # else it would not end
