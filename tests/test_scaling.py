"""First calls of functions of many statements: no mechanism whose work grows with the square of their number.

What is counted are lines of Python that run: conversion, tracing, rewriting and lowering, and not LLVM, of which
`python -m benchmarks` shows the time (`benchmarks/scaling.py`).
"""
from __future__ import annotations

import heapq
import linecache
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


def nested_tries(levels: int) -> Callable[..., Any]:
    """`try: ... except ...`, of which each is the last statement of the body of the one around it."""
    lines = ["def f(x):", "    y = 0"]
    for k in range(levels):
        lines += ["    " * (k + 1) + "try:", "    " * (k + 2) + f"y += 10 // (x - {k})"]
    for k in reversed(range(levels)):
        lines += ["    " * (k + 1) + "except ZeroDivisionError:", "    " * (k + 2) + f"y += {k} * 100"]
    text, name, namespace = "\n".join([*lines, "    return y", ""]), f"<{levels} nested tries>", dict[str, Any]()
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


@pytest.mark.slow
def test_nested_tries_are_not_traced_once_for_each_way_through_them() -> None:
    for x in 2, 5, 9:
        assert int(rt.function(nested_tries(6))(rt.constant(x))) == nested_tries(6)(x)
    assert growth(lambda levels: rt.function(nested_tries(levels))(rt.constant(77)), 4, 2) < 5


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


def filled_table(a, m):  # type: ignore[no-untyped-def]
    table = [[0] * m for _ in range(200)]
    for i in range(1, 200):
        for j in range(1, m):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + a)
    return table[199][m - 1]


def weight_of_pairs(pairs, x):  # type: ignore[no-untyped-def]
    heap, total = [(0, 0)], 0
    while heap:
        before, k = heapq.heappop(heap)
        for u, v in pairs:
            if u == k and before < x:
                heapq.heappush(heap, (before + v, k))
        total += before
    return total


@pytest.mark.slow
def test_items_of_lists_are_not_looked_at_one_by_one() -> None:
    assert int(rt.function(filled_table)(rt.constant(3), 30)) == filled_table(3, 30)
    assert growth(lambda m: rt.function(filled_table)(rt.constant(3), m), 25, 16) < 2
    pairs = [(0, 1), (1, 2)]
    assert int(rt.function(weight_of_pairs)(pairs, rt.constant(3))) == weight_of_pairs(pairs, 3)
    assert growth(lambda m: rt.function(weight_of_pairs)([(0, 1), (1, 2)] * m, rt.constant(1)), 200, 8) < 2
