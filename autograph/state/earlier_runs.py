"""Remembers the extra state that staged statements needed in earlier runs of the bodies around them.

A statement whose body changes more than its text shows is staged again. If each run of the enclosing body discovered
that anew for each of its statements, n nested statements would be staged 2^n times.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from types import CellType, CodeType
from typing import Any, Final

from autograph.core.access_paths import path_of
from autograph.core.trace_cleanup import of_trace
from autograph.state.references import was_before

__all__ = ["Statement", "running", "statement_of"]


class Run:
    """The statements of a body, in the order in which they run."""

    __slots__ = ("counts", "statements")

    def __init__(self) -> None:
        self.statements: dict[Any, list[Statement]] = {}
        """By codes of the statement's bodies and names of its state."""
        self.counts: dict[Any, int] = {}
        """By the same keys: how many have run since the body began."""


class Statement:
    """A statement of one body.

    codes  the codes of its own bodies
    found  the names that were added to its state when it was staged again
    roots  the synthetic variables (`State.roots`) that these names begin with
    runs   for each of its own bodies, by the id of its code: the statements in it
    """

    __slots__ = ("codes", "found", "roots", "runs")

    def __init__(self, codes: Sequence[CodeType]) -> None:
        self.codes = codes
        self.found: tuple[str, ...] = ()
        self.roots: dict[str, CellType] = {}
        self.runs: dict[int, Run] = {}

    def learn(self, found: Iterable[str], roots: dict[str, CellType]) -> None:
        self.found = tuple(found)
        self.roots = {name: roots[name] for name in {path_of(path)[0] for path in self.found} if name in roots}

    def known(self) -> tuple[str, ...]:
        """The names to add to the state, provided that the objects that the statement changed are reachable again."""
        return self.found if all(map(_is_there, self.roots.values())) else ()

    def run(self, code: CodeType) -> Run:
        return self.runs.setdefault(id(code), Run())


def _is_there(cell: CellType) -> bool:
    try:
        return was_before(cell.cell_contents)
    except ValueError:
        return False


class _Running(threading.local):
    """The run of the innermost body."""

    run: Run | None = None


_running: Final = of_trace(_Running())


class running:
    """While a body with this code, of this statement, runs."""

    __slots__ = ("_outer", "_run")

    def __init__(self, statement: Statement | None, code: CodeType) -> None:
        self._run = Run() if statement is None else statement.run(code)

    def __enter__(self) -> None:
        self._run.counts.clear()
        self._outer, _running.run = _running.run, self._run

    def __exit__(self, *_: object) -> None:
        _running.run = self._outer


def statement_of(functions: Iterable[Callable[..., Any] | None], state: tuple[str, ...]) -> Statement:
    """The statement with these bodies that the innermost body is about to run: the record from an earlier run of that
    body, or a new one."""
    codes = [getattr(fn, "place", fn).__code__ for fn in functions if fn is not None]
    run = _running.run
    if run is None:
        return Statement(codes)
    key = (*map(id, codes), state)
    count = run.counts.get(key, 0)
    run.counts[key] = count + 1
    known = run.statements.setdefault(key, [])
    if count == len(known):
        known.append(Statement(codes))
    return known[count]
