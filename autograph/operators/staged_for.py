"""A `for` over items of a backend.

If the loop cannot be staged because its first iteration replaces a number of Python's, as in `total = 0` and
`total += row`, and there certainly is a first item, that iteration runs before the loop.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.core.backend import Backend, staging_backend
from autograph.core.unwinding import FirstIteration, Remake
from autograph.dispatch.converted_call import truth_value
from autograph.state.bodies import Test
from autograph.state.statement_state import Body, State, staged

__all__ = ["stage_reduce"]

Thunk = Callable[[], Any]


def stage_reduce(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """Stage `for item in iterable: body(item)`, which ends early when `test()` is false after an iteration."""
    loop = _Loop(backend, iterable, body, test, options)
    with backend.iterating(iterable) as containers:
        staged(state, backend, (body, test), loop, containers)


class _Loop:
    """Stages the loop; after it has raised Remake, a second call stages the iterations after the first."""

    def __init__(
        self, backend: Backend, items: Any, body: Callable[[Any], Any], test: Thunk | None, options: dict[str, Any]
    ) -> None:
        self.backend, self.items, self.body, self.test, self.options = backend, items, body, test, options
        self.may_peel = not options
        self.going: Any = True
        """Whether the loop goes on after its first iteration, if that has run."""

    def __call__(self, variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        """The state after the loop."""
        rest, values = _Rest(self, variables, names), variables.read()
        if staging_backend(self.going) is not None:
            return self.backend.cond(self.going, rest, Body(None, variables, self.body), values, names)
        if not self.going:
            return values
        try:
            return rest(*values)
        except FirstIteration as found:
            wanted = found
        raise Remake(lambda _: self._peel(wanted), ())

    def _peel(self, wanted: FirstIteration) -> None:
        """Run the first iteration, as in Python."""
        self.items, self.may_peel = wanted.rest, False
        self.body(wanted.first())
        self.going = self.test is None or truth_value(self.test())


class _Rest:
    """The iterations as a pure function of the state."""

    def __init__(self, loop: _Loop, variables: State, names: tuple[str, ...]) -> None:
        self.loop, self.names, self.body = loop, names, Body(loop.body, variables)
        self.test = None if loop.test is None else Test(loop.test, variables)
        self.fn, self.filename, self.lineno = self.body.fn, self.body.filename, self.body.lineno

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return self._stage_reduce(values)

    def _stage_reduce(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Stage them. Messages find a staged `for` by the name of this function."""
        loop = self.loop
        try:
            return loop.backend.reduce(loop.items, self.body, self.test, values, self.names, loop.options)
        except FirstIteration as found:
            if loop.may_peel:
                raise
            raise found.error from None
