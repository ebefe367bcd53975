"""First calls of functions of many statements: no mechanism whose time grows with the square of their number."""
from __future__ import annotations

import gc
import time

import pytest

from benchmarks.scaling import KINDS, first_call


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("kind", [
    "x = x * 0.5 + k", "if x > k: x = ...", "if x == k: return k", "for _ in rt.range(n)"])
def test_ten_times_the_statements_take_not_much_more_than_ten_times_as_long(kind: str) -> None:
    def cpu(size: int) -> float:
        gc.collect()
        gc.disable()  # collections would count what other tests have left
        try:
            start = time.process_time()
            first_call(KINDS[kind], size)
            return time.process_time() - start
        finally:
            gc.enable()

    size = 300 if kind.startswith("x") else 60
    cpu(10)
    assert cpu(size * 10) < 20 * max(cpu(size), 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("if:")])
def test_no_analysis_follows_each_path_by_itself(kind: str) -> None:
    first_call(KINDS[kind], 70, in_loop=True)  # else it would not end
