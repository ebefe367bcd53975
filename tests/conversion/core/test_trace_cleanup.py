"""What a trace leaves in the state of its thread: nothing, so that its graphs are freed with their functions."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from autograph.core import trace_cleanup
from autograph.core.trace_cleanup import of_trace, restored
from tests.freed_graphs import frees_graphs


class State(threading.local):
    kind = "none"

    def __init__(self) -> None:
        self.table: dict[int, str] = {1: "before"}
        self.items: list[int] = []
        self.ids: set[int] = set()


def test_contents_of_tables_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [*trace_cleanup._states]
    monkeypatch.setattr(trace_cleanup, "_states", [*known])
    state = of_trace(State())

    def trace() -> None:
        late = of_trace(State())  # of a module that is loaded meanwhile
        for each in (state, late):
            each.table[2] = "new"
            each.items.append(1)
            each.ids.add(1)
            each.kind = "some"
        restored(lambda: None)
        assert state.items == [1]  # only the outermost trace puts back

    restored(trace)
    own = [each for each in trace_cleanup._states if each not in known]
    assert len(own) == 2
    for each in own:
        assert vars(each) == {"table": {1: "before"}, "items": [], "ids": set(), "kind": "none"}


def rolled_loop() -> None:
    v = rt.Variable(0.0)

    @rt.function
    def f(x: Any) -> Any:
        for i in range(200):
            v.assign_add(rt.reduce_sum(x) * i)
            if i % 2 == 0:
                x = x + 1
        return x

    f(rt.ones([2]))


def unrolled_loop() -> None:
    @rt.function
    def f(x: Any) -> Any:
        for i in range(200):
            x = x + rt.ones([i + 1])[0]
        return x

    f(rt.constant(1.0))


def list_and_handler() -> None:
    @rt.function
    def f(n: Any) -> Any:
        xs = [i * 2 for i in range(n)]
        try:
            return xs[0] // n
        except ZeroDivisionError:
            return 0

    f(rt.constant(5))


def recursion() -> None:
    def fib(n: int, x: Any) -> Any:
        return x * 1.5 if n < 2 else fib(n - 1, x + 1.0) + fib(n - 2, x * 2.0)

    rt.function(lambda x: fib(12, x))(rt.constant(1.0))


def trace_that_fails() -> None:
    @rt.function
    def f(x: Any) -> Any:
        for i in range(100):
            x = x + i
        if x > 0.0:
            return "text"
        return x

    with pytest.raises(rt.errors.StagingError):
        f(rt.constant(1.0))


PROGRAMS = [rolled_loop, unrolled_loop, list_and_handler, recursion, trace_that_fails]


@pytest.mark.parametrize("program", PROGRAMS)
def test_graphs_are_freed_with_their_functions(program: Callable[[], None]) -> None:
    assert frees_graphs(program)
