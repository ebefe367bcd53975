"""Unrolls a loop over Python values that a staged value may end early: each iteration is staged under the test."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, cast

from autograph.core.backend import Backend, staging_backend
from autograph.core.iterator_positions import taken_by
from autograph.core.lost_iterators import lose
from autograph.state.statement_state import Body, State, staged
from autograph.state.visible_changes import VisibleChanges

__all__ = ["code_of", "lose_after_exit", "unroll"]

Test = Callable[[], Any]
_FEW = 16
"""After this number of iterations `Backend.refusal` is called, and its error discarded, so that the backend may raise
to trace the loop in another way."""


def unroll(
    backend: Backend, iterator: Iterator[Any], body: Callable[[Any], Any], test: Test, state: tuple[str, ...]
) -> None:
    """The rest of the loop, up to the iteration that certainly ends it. Afterwards nobody may advance the iterator, or
    those it takes its items from: their position is known only when the graph runs."""
    code = code_of(body)
    taken = taken_by(iterator)
    budget = backend.unrolling(code).budget
    for count, item in enumerate(_taken_early(backend, iterator, taken, code)):
        if count >= budget or count == _FEW:
            refusal = backend.refusal("unrolled", taken, "", code.co_filename, code.co_firstlineno)
            if count >= budget:
                raise refusal
        going = test()
        if staging_backend(going) is None:
            if not going:
                break
            body(item)
        elif _stage_iteration(backend, going, body, test, state, item):
            break
    _lose(backend, taken, code)


def _taken_early(backend: Backend, iterator: Iterator[Any], taken: list[Any], code: CodeType) -> Iterator[Any]:
    """The items, each taken whether or not the loop has been left by then: an error if that can be noticed."""
    while True:
        changes = VisibleChanges(backend, taken)
        ended = object()
        item = next(iterator, ended)
        if (name := changes.found()) is not None:
            raise backend.refusal("early", taken, name, code.co_filename, code.co_firstlineno)
        if item is ended:
            return
        yield item


def lose_after_exit(backend: Backend, iterator: Iterator[Any], body: Callable[[Any], Any]) -> None:
    """Forbid taking items of an iterator after a loop over it that a staged value may have ended early."""
    _lose(backend, taken_by(iterator), code_of(body))


def _lose(backend: Backend, taken: list[Any], code: CodeType) -> None:
    lose(taken, lambda each: backend.refusal("left", each, "", code.co_filename, code.co_firstlineno))


def code_of(body: Callable[..., Any]) -> CodeType:
    """The code of a body, or of the function that it stands for."""
    return cast(FunctionType, getattr(body, "place", body)).__code__


def _stage_iteration(
    backend: Backend, going: Any, body: Callable[[Any], Any], test: Test, state: tuple[str, ...], item: Any
) -> bool:
    """Stage `if going: body(item)`; returns whether no iteration can follow."""
    leaves = False

    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        nonlocal leaves
        iteration = _Iteration(body, variables, item, test)
        values = backend.cond(going, iteration, Body(None, variables, body), variables.read(), names)
        leaves = iteration.leaves
        return values

    staged(state, backend, (body, test), run, (item,))  # which the body may change
    return leaves


class _Iteration(Body):
    """An iteration as a pure function of the state. `leaves`: it raises, or Python decides that it is the last one."""

    def __init__(self, body: Callable[[Any], Any], state: State, item: Any, test: Test) -> None:
        super().__init__(body, state, item=item)
        self.test, self.leaves = test, False

    def __call__(self, *values: Any) -> Any:
        self.leaves = True
        return super().__call__(*values)

    def result(self, returned: Any) -> Any:
        going = self.test()
        self.leaves = staging_backend(going) is None and not going
        return super().result(returned)
