"""Rolls a loop that Python decides, such as `for i in range(100)`, into one of the graph where that means the same.

While a backend traces, such a loop runs as in Python until an iteration traces something. If many iterations remain,
all of that is undone, and the loop is staged with the index as a value of the graph. Where that fails, for example
since the body needs the Python value, it is undone as well, and the loop is unrolled: each iteration is traced.

What is undone leaves nothing behind. A loop that reaches an iterator from outside, which cannot be set back, or more
objects than are compared, is not tried; the backend tells of calls that act on the outside world (`RolledLoop`).
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from types import FunctionType
from typing import Any, cast

from autograph.core.backend import UNBOUND, Backend, RolledLoop, staging_backend
from autograph.core.trace_cleanup import of_trace
from autograph.operators.loop_unrolling import unroll
from autograph.state.reachability import cell_is_filled
from autograph.state.statement_state import snapshot_of

__all__ = ["attempt_while", "run_for", "run_plainly"]

Thunk = Callable[[], Any]
_OFTEN = 2
"""After so many runs that traced nothing, a loop is not watched again in the same trace."""


class _Known(threading.local):
    """What is known of the loops of the running trace, by their code and the kinds of their variables."""

    def __init__(self) -> None:
        self.rolls: dict[Hashable, bool] = {}
        """Whether a loop was rolled."""
        self.quiet: dict[Hashable, int] = {}
        """How often a loop has traced nothing."""


_known = of_trace(_Known())


class _Attempt:
    """A loop that may be rolled, with what is needed to undo what it does until then."""

    def __init__(
        self, backend: Backend, loop: RolledLoop, functions: tuple[Any, ...], state: tuple[str, ...],
        stage: Callable[[RolledLoop], None],
    ) -> None:
        self.loop, self.stage = loop, stage
        self.key = _key(backend, functions)
        self.before = snapshot_of(state, backend, functions)
        self.functions = functions
        self.iterations = 0

    def can_undo(self) -> bool:
        reach = self.before.heap.reach
        return not reach.iterators and not reach.is_cut

    is_done = False
    """Whether the loop has run."""

    def after_iteration(self) -> _Attempt | None:
        """Called after each iteration of a `while`: rolls it if that is worth it; None if it is not to be rolled."""
        self.iterations += 1
        if not self.loop.has_traced():
            return self
        is_worth = self.loop.is_worth(self.iterations)
        if is_worth is None:
            return self
        if is_worth and self.roll():
            self.is_done = True
            return self
        return None

    def roll(self) -> bool:
        """Undo what the loop has done, and stage it; returns False if that fails, after undoing everything again."""
        self._undo()
        failure = self.loop.attempt(lambda: self.stage(self.loop), _code_of(self.functions[-1]))
        rolls = failure is None and not any(
            new is not UNBOUND and self.loop.leaks(reached.value, new)
            for reached, _, new in self.before.heap.changes())
        _known.rolls[self.key] = rolls
        if not rolls:
            self._undo()
        return rolls

    def note_quiet(self) -> None:
        """Called where the loop has ended and traced nothing."""
        code = _code_of(self.functions[-1])
        _known.quiet[code] = _known.quiet.get(code, 0) + 1

    def _undo(self) -> None:
        self.loop.undo()
        self.before.take_back()


def _key(backend: Backend, functions: tuple[Any, ...]) -> Hashable:
    """The code of a loop and the kinds of its variables: Python's types, or that a value is staged."""
    kinds: list[Any] = []
    for function in functions:
        kinds.append(_code_of(function))
        for cell in function.__closure__ or ():
            value = cell.cell_contents if cell_is_filled(cell) else None
            kinds.append(True if backend.stages(value) else type(value))
    return tuple(kinds)


def _code_of(function: Any) -> Any:
    return cast(FunctionType, getattr(function, "place", function)).__code__


def _attempt(
    backend: Backend, loop: RolledLoop | None, functions: tuple[Any, ...], state: tuple[str, ...],
    stage: Callable[[RolledLoop], None],
) -> _Attempt | None:
    """The attempt to roll a loop; None if that is not tried."""
    if loop is None or _known.quiet.get(_code_of(functions[-1]), 0) >= _OFTEN:
        return None
    if _known.rolls.get(_key(backend, functions)) is False:
        return None
    made = _Attempt(backend, loop, functions, state, stage)
    return made if made.can_undo() else None


def run_for(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    stage: Callable[[RolledLoop], None],
) -> None:
    """`for item in iterable: body(item)` while `backend` traces; `test` says after an iteration whether it goes on, and
    `stage` stages the loop."""
    functions = (body,) if test is None else (test, body)
    attempt = _attempt(backend, backend.rolled(iterable), functions, state, stage)
    if attempt is not None and _known.rolls.get(attempt.key) and attempt.roll():
        return
    items = iter(iterable)
    for done, item in enumerate(items, 1):
        body(item)
        going = True if test is None else test()
        stager = staging_backend(going)
        if attempt is not None and attempt.loop.has_traced():
            if attempt.loop.is_worth(done):
                if not attempt.roll():
                    _roll_rest(backend, iterable, body, test, state, stage)
                return
            attempt = None
        if stager is not None:
            assert test is not None
            unroll(stager, items, body, test, state)
            return
        if not going:
            break
        if attempt is None:
            run_plainly(items, body, test, state)
            return
    if attempt is not None:
        attempt.note_quiet()


def _roll_rest(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    stage: Callable[[RolledLoop], None],
) -> None:
    """The loop, all iterations of which but the first are rolled if that is possible: often only the first assigns
    values of other types than it finds, as in `total = 0`, to which an array is added."""
    functions = (body,) if test is None else (test, body)
    items = iter(iterable)
    body(next(items))
    going = True if test is None else test()
    if staging_backend(going) is not None:
        assert test is not None
        unroll(cast(Backend, staging_backend(going)), items, body, test, state)
    elif going:
        attempt = _attempt(backend, backend.rolled(iterable[1:]), functions, state, stage)
        if attempt is None or not attempt.roll():
            run_plainly(items, body, test, state)


def attempt_while(
    backend: Backend, test: Thunk, body: Thunk, state: tuple[str, ...], stage: Callable[[RolledLoop], None]
) -> _Attempt | None:
    """What rolls `while test(): body()` while `backend` traces, if it can."""
    return _attempt(backend, backend.rolled(None), (test, body), state, stage)


def run_plainly(
    items: Iterator[Any], body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...]
) -> None:
    """The rest of a `for`, as in Python, unless a staged value may leave it."""
    if test is None:
        for item in items:
            body(item)
        return
    for item in items:
        body(item)
        going = test()
        stager = staging_backend(going)
        if stager is not None:
            unroll(stager, items, body, test, state)
            return
        if not going:
            return
