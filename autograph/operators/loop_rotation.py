"""`while test(): body()`, staged where the test changes what is state: `while queue.pop() > 0`.

A test of a graph's loop is a pure function, so the loop is turned: the test runs once before it, and then at the end of
each iteration, and what it gave is one more variable of the loop.
"""
from __future__ import annotations

from typing import Any

from autograph.core.backend import Backend
from autograph.state.bodies import Operand, Test
from autograph.state.statement_state import Body, State, Turn

__all__ = ["Loop"]

_GOING = "ag__going"


class Loop:
    """Stages the loop; turned, once its test has raised Turn. After that it is to be called again, as things were."""

    def __init__(self, backend: Backend, test: Any, body: Any, options: dict[str, Any]) -> None:
        self.backend, self.test, self.body, self.options = backend, test, body, options
        self.is_turned = False

    def __call__(self, variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        """The state after the loop."""
        stage, body = self.backend.while_loop, Body(self.body, variables)
        if not self.is_turned:
            try:
                return stage(Test(self.test, variables), body, variables.read(), names, self.options)
            except Turn:
                self.is_turned = True
                raise
        test = Operand(self.test, variables)
        init = test(*variables.read())
        return stage(_Going(test), _Turned(test, body), init, (_GOING, *names), self.options)[1:]


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
