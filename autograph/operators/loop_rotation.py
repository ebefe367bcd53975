"""Loop rotation: `while test(): body()` where the test changes state, as in `while queue.pop() > 0`.

The test of a graph's loop is a pure function. In the rotated loop the test runs once before the loop, and then at the
end of each iteration; its result is an additional loop variable.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.core.backend import Backend
from autograph.core.unwinding import RotateLoop
from autograph.state.bodies import RotatedTest, Test
from autograph.state.statement_state import Body, State

__all__ = ["Loop"]

_GOING = "ag__going"


class Loop:
    """Stages the loop; after its test has raised RotateLoop, a second call, from the same state, stages the rotated
    loop."""

    def __init__(self, backend: Backend, test: Any, body: Any, options: dict[str, Any], *going: Any) -> None:
        """`going`: the result of the first test, if that has been evaluated already."""
        self.backend, self.test, self.body, self.options = backend, test, body, options
        self.is_turned, self.going = bool(going), going

    def __call__(self, variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        """The state after the loop."""
        stage, body = self.backend.while_loop, Body(self.body, variables)
        if not self.is_turned:
            try:
                return stage(Test(self.test, variables), body, variables.read(), names, self.options)
            except RotateLoop:
                self.is_turned = True
                raise
        test = _Truth(RotatedTest(self.test, variables), self.backend)
        init = (*map(test.truth, self.going), *variables.read()) if self.going else test(*variables.read())
        return stage(_Going(test), _Turned(test, body), init, (_GOING, *names), self.options)[1:]


class _Truth:
    """The test of a rotated loop, with its truth as the result: it may be a list now, and a number later."""

    def __init__(self, test: RotatedTest, backend: Backend) -> None:
        self.test = test
        self.truth: Callable[[Any], Any] = backend.builtins.get(bool, lambda value: value)
        self.fn, self.filename, self.lineno = test.fn, test.filename, test.lineno

    def __call__(self, *values: Any) -> Any:
        going, *state = self.test(*values)
        return (self.truth(going), *state)


class _Going:
    """The test of a rotated loop: reads the result of the last test from the loop variable."""

    def __init__(self, test: _Truth) -> None:
        self.filename, self.lineno = test.filename, test.lineno

    def __call__(self, *values: Any) -> Any:
        return values[0]


class _Turned:
    """The body of a rotated loop, followed by the test."""

    def __init__(self, test: _Truth, body: Body) -> None:
        self.test, self.body = test, body
        self.fn, self.filename, self.lineno = body.fn, body.filename, body.lineno

    def __call__(self, *values: Any) -> Any:
        return self.test(*self.body(*values[1:]))
