"""Rolls a Python-level loop, such as `for i in range(100)`, into one loop of the graph where that has the same meaning.

While a backend traces, such a loop runs as in Python until an iteration traces something. If many iterations remain,
all of that is undone, and the loop is staged with the index as a value of the graph. If that fails, for example because
the body needs the Python value, it is undone as well, and the loop is unrolled: each iteration is traced.

Undoing leaves no effects. Rolling is not tried for a loop that reaches an iterator from outside, which cannot be
rewound, or too many objects to compare; the backend reports calls with external side effects (`RolledLoop`).
"""
from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from autograph.core.backend import UNBOUND, Backend, RolledLoop, ambient, staging_backend
from autograph.core.iterator_sources import Source, dict_of, source_of
from autograph.core.lists import LISTS, is_list
from autograph.core.slots import fields_in
from autograph.core.trace_cleanup import of_trace
from autograph.operators.loop_unrolling import code_of, lose_after_exit, unroll
from autograph.state.reachability import cell_is_filled
from autograph.state.statement_state import snapshot_of

__all__ = ["attempt_for", "run_plainly", "traced_while", "watched"]

Thunk = Callable[[], Any]
_OFTEN = 2
"""The number of runs without traced operations after which a loop is not watched again in the same trace."""


class _Known(threading.local):
    """Facts about the loops of the running trace, by their code and the kinds of their variables."""

    def __init__(self) -> None:
        self.rolls: dict[Hashable, bool] = {}
        """Whether a loop was rolled."""
        self.quiet: dict[Hashable, int] = {}
        """How often a loop has run without tracing anything."""


_known = of_trace(_Known())


class _NotTheSame(Exception):
    """The rolled loop would not do the same as Python's; says why."""


class _Attempt:
    """A loop that may be rolled, with the snapshot needed to undo its effects."""

    def __init__(
        self, backend: Backend, loop: RolledLoop, functions: tuple[Any, ...], state: tuple[str, ...],
        stage: Callable[[RolledLoop], None], key: Hashable, over: Sequence[Any],
    ) -> None:
        self.loop, self.stage, self.key, self.over = loop, stage, key, over
        self.code = code_of(functions[-1])
        self.has_test = len(functions) > 1
        self.before = snapshot_of(state, backend, functions) if _known.quiet.get(self.key, 0) < _OFTEN else None
        self.iterations = 0
        self.first = 0
        """The number of iterations that ran before the attempt began."""

    def can_undo(self) -> bool:
        if self.before is None:
            return True
        reach = self.before.heap.reach
        return not reach.iterators and not reach.is_cut

    is_done = False
    """Whether the loop has run (was rolled)."""

    def after_iteration(self) -> _Attempt | None:
        """Called after each iteration of a `while`: rolls it if that pays. Returns None if it is not to be rolled."""
        self.iterations += 1
        if not self.loop.has_traced():
            return self
        _known.quiet.pop(self.key, None)
        is_worth = self.loop.is_worth(self.iterations, self.code)
        if is_worth is None and self.before is not None:
            return self
        if is_worth and self.roll():
            self.is_done = True
            return self
        return None

    def is_worth(self, done: int) -> bool:
        """Whether to roll a `for` of which `done` iterations have run."""
        lengthened: dict[str, Any] = {}
        if self.before is not None and not self.has_test:
            state = self.before.state
            lengthened = {name: old for name, old, now in zip(state.in_order, self.before.contents, state.read())
                          if old is not None and is_list(now) and len(now) > len(old)}
        return bool(self.loop.is_worth(done - self.first, self.code, lengthened))

    def roll(self) -> bool:
        """Undo the effects of the loop, and stage it; returns False if that fails, after undoing everything again."""
        if self.before is None:
            return False
        state = self.before.state
        self.loop.changed = {name: now for name, old, now in zip(
            state.in_order, self.before.values, state.read()) if now is not old}
        self._undo()
        rolls = self.loop.attempt(self._stage_same, self.code) is None
        _known.rolls[self.key] = rolls
        if not rolls:
            self._undo()
        return rolls

    def _stage_same(self) -> None:
        """Stage the loop. Raises _NotTheSame if that changes an object in a way that only iterations in Python can."""
        assert self.before is not None
        self.stage(self.loop)
        changes = [*self.before.heap.changes()]
        for reached, _, _ in changes:
            if any(reached.value is items for items in self.over):
                raise _NotTheSame(f"it changes the {type(reached.value).__name__} that it runs over")
        if self.loop.leaks([change for change in changes if change[2] is not UNBOUND]):
            raise _NotTheSame("it puts a value into an object that was there before the call")

    def note_end(self) -> None:
        """Called where the loop has ended in Python."""
        if self.loop.has_traced():
            return
        _known.quiet[self.key] = _known.quiet.get(self.key, 0) + 1

    def _undo(self) -> None:
        assert self.before is not None
        self.loop.undo()
        self.before.take_back()


def _key(backend: Backend, functions: tuple[Any, ...]) -> Hashable:
    """The code of a loop and the kinds of its variables."""
    return tuple([_kind(backend, function, 3) for function in functions])


def _kind(backend: Backend, value: Any, depth: int) -> Hashable:
    """The type of a value, or True if it is staged; for containers, objects and functions also the kinds of their
    parts."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return kind  # type: ignore[no-any-return]
    if backend.stages(value):
        return True
    label: Hashable = kind
    if not depth:
        return label
    parts: Iterable[Any] = ()
    if kind in LISTS or kind is tuple:
        parts = (value[0], value[-1]) if value else ()
    elif kind is FunctionType:
        label, parts = code_of(value), [cell.cell_contents for cell in value.__closure__ or () if cell_is_filled(cell)]
    elif isinstance(value, dict):
        parts = itertools.islice(dict.values(value), _MOST)
    else:
        parts = itertools.islice((fields_in(value) or {}).values(), _MOST)
    return tuple([label, *[_kind(backend, part, depth - 1) for part in parts]])


_ATOMS = frozenset({int, float, complex, bool, str, bytes, type(None)})
_MOST = 16
"""The number of parts of an object whose kinds are compared."""


def _attempt(
    backend: Backend, loop: RolledLoop | None, functions: tuple[Any, ...], state: tuple[str, ...],
    stage: Callable[[RolledLoop], None], over: Sequence[Any] = (),
) -> _Attempt | None:
    """The attempt to roll a loop over items of the sequences `over`, which fails if the loop changes one of these; None
    if it is not tried."""
    if loop is None:
        return None
    key = _key(backend, functions)
    if _known.rolls.get(key) is False:
        return None
    made = _Attempt(backend, loop, functions, state, stage, key, over)
    return made if made.can_undo() else None


class _For:
    """`for item in iterable: body(item)` while a backend traces."""

    def __init__(
        self, backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
        stage: Callable[[RolledLoop], None], guard: Callable[[Iterable[Any]], Iterator[Any]],
    ) -> None:
        self.backend, self.body, self.test, self.state, self.guard = backend, body, test, state, guard
        source = source_of(iterable)
        self.iterator = None if source is None else iterable
        """The iterator whose items the loop takes. The loop takes them from the iterator's source, which can be
        repeated, and advances the iterator in step."""
        self.iterable = iterable if source is None else source
        self.mapping = dict_of(iterable)
        self.taken = 0
        """By how many items the iterator has been advanced."""
        self.stage = stage

    def attempt(self, first: int) -> _Attempt | None:
        """The attempt to roll the loop, from iteration `first` on."""
        items = self.iterable if self.mapping is None else tuple(self.iterable)
        if first:
            items = items.after(first) if isinstance(items, Source) else items[first:]
        functions = (self.body,) if self.test is None else (self.test, self.body)
        over = self.iterable.sequences() if isinstance(self.iterable, Source) else [self.iterable, self.mapping]
        attempt = _attempt(self.backend, self.backend.rolled(items), functions, self.state, self.stage, over)
        if attempt is not None:
            attempt.first = first
        return attempt

    def items(self) -> Iterator[Any]:
        """The items of the loop, from the first one."""
        return self.guard(self.iterable if self.iterator is None else self._followed(self.iterator))

    def _followed(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for count, item in enumerate(self.iterable):
            if count == self.taken:
                next(iterator, None)
                self.taken += 1
            yield item
        next(iterator, None)

    def roll(self, attempt: _Attempt) -> bool:
        """Roll the loop, if possible. The iterator is then exhausted or, if the test may leave the loop early,
        forbidden."""
        if not attempt.roll():
            return False
        if self.iterator is not None:
            if self.test is None:
                deque(self.iterator, 0)
            else:
                lose_after_exit(self.backend, self.iterator, self.body)
        return True

    def iterate(self, item: Any) -> Any:
        """Run an iteration; returns whether the loop continues."""
        self.body(item)
        return True if self.test is None else self.test()

    def run(self, attempt: _Attempt) -> None:
        """Run the loop; it is rolled if that is possible and pays."""
        if _known.rolls.get(attempt.key) and self.roll(attempt):
            return None
        items, done = self.items(), 0
        for item in items:
            done += 1
            going = self.iterate(item)
            if staging_backend(going) is not None or attempt.loop.has_traced():
                break
            if not going:
                return attempt.note_end()
        else:
            return attempt.note_end()
        _known.quiet.pop(attempt.key, None)
        if not attempt.is_worth(done):
            return self.rest(items, going, attempt, done)
        if self.roll(attempt):
            return None
        if attempt.before is not None:  # all has been undone
            items, done = self.items(), 1
            going = self.iterate(next(items))
        again = self.attempt(done) if staging_backend(going) is None and going else None
        if again is not None:  # often only the first iteration assigns other types than it finds, as in `total = 0`
            again.loop.expected = attempt.loop.ops
            if self.roll(again):
                return None
        return self.rest(items, going, again, done)

    def rest(self, items: Iterator[Any], going: Any, tried: _Attempt | None, done: int) -> None:
        """Run the rest of the loop, of which `done` iterations have run. `tried`: the last attempt to roll it."""
        stager, items = staging_backend(going), watched(items, self.body, self.backend)
        if stager is not None:
            assert self.test is not None
            unroll(stager, items, self.body, self.test, self.state)
        elif tried is not None and going:
            self._roll_later(items, tried, done)
        elif going:
            run_plainly(items, self.body, self.test, self.state)

    def _roll_later(self, items: Iterator[Any], tried: _Attempt, done: int) -> None:
        """The rest of a loop that was not rolled after `done` iterations. That is tried each time as many have run,
        since these may find other types, such as a dict that the first of them has made a table of the graph."""
        again = 2 * done
        for item in items:
            going, done = self.iterate(item), done + 1
            stager = staging_backend(going)
            if stager is not None:
                assert self.test is not None
                return unroll(stager, items, self.body, self.test, self.state)
            if not going:
                return None
            if done < again:
                continue
            again *= 2
            attempt = self.attempt(done) if tried.is_worth(done) else None
            if attempt is not None:
                attempt.loop.expected = tried.loop.ops
                if self.roll(attempt):
                    return None
                tried = attempt
        return None


def attempt_for(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    stage: Callable[[RolledLoop], None], guard: Callable[[Iterable[Any]], Iterator[Any]],
) -> Thunk | None:
    """A function that runs `for item in iterable: body(item)` while `backend` traces, and rolls it if it can; None if
    that is not tried. `test` says after an iteration whether the loop continues, `stage` stages it, and `guard` returns
    an iterator that may raise where an item is taken."""
    loop = _For(backend, iterable, body, test, state, stage, guard)
    if test is not None and isinstance(loop.iterable, Source) and loop.iterable.kind is iter:
        return None  # an iterator made explicitly, to be continued after the loop
    attempt = loop.attempt(0)
    return None if attempt is None else partial(loop.run, attempt)


class _While:
    """`while test(): body()` while a backend traces. `needs_undo`: whether effects of the test may have to be
    undone."""

    def __init__(self, attempt: _Attempt | None, watch: Callable[[], object]) -> None:
        self.attempt, self.watch = attempt, watch
        self.needs_undo = attempt is None or attempt.before is not None

    def after_iteration(self) -> bool:
        """Called after each iteration; rolls the loop if possible and worthwhile. Returns whether the loop has run."""
        self.watch()
        if self.attempt is not None:
            self.attempt = self.attempt.after_iteration()
        return self.attempt is not None and self.attempt.is_done

    def note_end(self) -> None:
        """Called where the loop has ended in Python."""
        if self.attempt is not None:
            self.attempt.note_end()


def traced_while(
    test: Thunk, body: Thunk, state: tuple[str, ...], stage: Callable[[Backend, RolledLoop], None]
) -> _While | None:
    """The object that may roll `while test(): body()`, if a backend traces; `stage` stages the loop."""
    backend = ambient.backend
    if backend is None:
        return None
    attempt = _attempt(backend, backend.rolled(None), (test, body), state, partial(stage, backend))
    return _While(attempt, backend.unrolling(code_of(body)))


def watched(items: Iterator[Any], body: Callable[[Any], Any], backend: Backend | None) -> Iterator[Any]:
    """The items of a loop that runs in Python; if `backend` traces, it is told of each iteration."""
    return items if backend is None else _watched(items, backend.unrolling(code_of(body)))


def _watched(items: Iterator[Any], watch: Callable[[], object]) -> Iterator[Any]:
    for item in items:
        yield item
        watch()


def run_plainly(
    items: Iterator[Any], body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...]
) -> None:
    """The rest of a `for`, as in Python, unless a staged value may end it early."""
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
