"""`while test(): body()`, staged where the test changes what is state: `while queue.pop() > 0`.

A test of a graph's loop is a pure function, so the loop is turned: the test runs once before it, and then at the end of
each iteration, and what it gave is one more variable of the loop.
"""
from __future__ import annotations

from typing import Any

from .backend import Backend
from .state import Body, Operand, State, Test, Turn, checkpoint, rollback

__all__ = ["while_loop"]

_GOING = "ag__going"


def while_loop(
    backend: Backend, test: Any, body: Any, variables: State, names: tuple[str, ...], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The state after the loop."""
    mark = checkpoint(test, body)
    try:
        return backend.while_loop(Test(test, variables), Body(body, variables), variables.read(), names, options)
    except Turn:
        rollback(mark)
    operand = Operand(test, variables)
    init = operand(*variables.read())
    turned = _Turned(operand, Body(body, variables))
    return backend.while_loop(_Going(operand), turned, init, (_GOING, *names), options)[1:]


class _Going:
    """The test of a turned loop: what the test has given."""

    def __init__(self, test: Operand) -> None:
        self.filename, self.lineno = test.filename, test.lineno

    def __call__(self, *values: Any) -> Any:
        return values[0]


class _Turned:
    """The body of a turned loop, with the test after it."""

    def __init__(self, test: Operand, body: Body) -> None:
        self.test, self.body = test, body
        self.fn, self.filename, self.lineno = body.fn, body.filename, body.lineno

    def __call__(self, *values: Any) -> Any:
        return self.test(*self.body(*values[1:]))
