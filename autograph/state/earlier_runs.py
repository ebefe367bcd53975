"""What staged statements turned out to change when the bodies around them ran before.

A statement whose body changes more than its text shows is staged again. If a body that runs again discovered that for
each of its statements anew, n nested statements would be staged 2^n times.
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
    """The statements of a body, in the order in which it runs them."""

    __slots__ = ("counts", "statements")

    def __init__(self) -> None:
        self.statements: dict[Any, list[Statement]] = {}
        """By codes and names of the state."""
        self.counts: dict[Any, int] = {}
        """How many of them have run since the body began."""


class Statement:
    """A statement of one body.

    codes  those of its own bodies
    found  the names that it had to be staged again for
    roots  the variables that no code has, which these names begin with
    runs   the statements of its own bodies, by the ids of their codes
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
        """What the statement has to have as state, if the objects that it changed are there again."""
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
    """Run a body, of this code, of a statement."""

    __slots__ = ("_outer", "_run")

    def __init__(self, statement: Statement | None, code: CodeType) -> None:
        self._run = Run() if statement is None else statement.run(code)

    def __enter__(self) -> None:
        self._run.counts.clear()
        self._outer, _running.run = _running.run, self._run

    def __exit__(self, *_: object) -> None:
        _running.run = self._outer


def statement_of(functions: Iterable[Callable[..., Any] | None], state: tuple[str, ...]) -> Statement:
    """The statement with these bodies that the innermost body runs now: one that is known from an earlier run of it,
    or a new one."""
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
