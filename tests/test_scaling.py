"""First calls of functions of many statements: no mechanism whose work grows with the square of their number.

What is counted are lines of Python that run: conversion, tracing, rewriting and lowering, and not LLVM, of which
`python -m benchmarks` shows the time (`benchmarks/scaling.py`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from executed_lines import lines_of

import runtime as rt
from benchmarks.first_programs import ternaries
from benchmarks.scaling import KINDS, first_call
from runtime.core.graph import Node
from runtime.optimize.builder import Builder


def growth(call: Callable[[int], object], size: int, factor: int) -> float:
    """How many times as much work a call is for so many times the statements."""
    call(5)  # what is made once for all
    few, many = (lines_of(lambda: call(count)) for count in (size, factor * size))
    return many / few


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), [
    ("x = x * 0.5 + k", 50), ("if x > k: x = ...", 20), ("if x == k: return k", 20), ("for _ in rt.range(n)", 10)])
def test_ten_times_the_statements_are_not_much_more_than_ten_times_the_work(kind: str, size: int) -> None:
    assert growth(lambda count: first_call(KINDS[kind], count), size, 10) < 11.5


@pytest.mark.slow
def test_expressions_nested_four_times_as_deeply_are_not_much_more_than_four_times_the_work() -> None:
    assert growth(lambda levels: rt.function(ternaries(levels))(rt.constant(77)), 25, 4) < 4.5


@pytest.mark.slow
def test_a_look_at_all_earlier_nodes_for_each_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Builder.place

    def after_a_look(self: Builder, node: Node) -> Any:
        for _ in self.graph.nodes:
            pass
        return place(self, node)

    monkeypatch.setattr(Builder, "place", after_a_look)
    assert growth(lambda count: first_call(KINDS["x = x * 0.5 + k"], count), 50, 10) > 11.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("if:")])
def test_no_analysis_follows_each_path_by_itself(kind: str) -> None:
    first_call(KINDS[kind], 70, in_loop=True)  # else it would not end
