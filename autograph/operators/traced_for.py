"""A `for` over an iterable of Python's while a backend traces."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from autograph.core.backend import Backend, RolledLoop, deciding
from autograph.core.iterator_positions import is_iterator, taken_by
from autograph.core.iterator_sources import Source, source_of
from autograph.core.staged_items import has_staged_items
from autograph.operators.counting import loop_over_rest
from autograph.operators.loop_rolling import attempt_for, run_plainly, watched
from autograph.operators.loop_unrolling import lose_after_exit

__all__ = ["run_traced"]


class _BecameStaged(Exception):
    """A list of that source has become one of the graph after `taken` items have been taken."""

    def __init__(self, source: Source, taken: int) -> None:
        super().__init__(taken)
        self.source, self.taken = source, taken


def run_traced(
    backend: Backend, iterable: Any, body: Callable[[Any], Any], test: Callable[[], Any] | None,
    state: tuple[str, ...], stage: Callable[[RolledLoop], None], run: Callable[[Any], None],
    while_loop: Callable[..., None],
) -> None:
    """`for item in iterable: body(item)`, which ends early when `test()` is false after an iteration; rolled, if it can
    be. `stage` stages a loop, `run` runs it over an iterator of the backend's, and `while_loop` runs a `while`. If the
    body makes a list from which the items come one of the graph, the remaining iterations are a `while` with the index
    as state."""
    source = Source(iter, (iterable,)) if type(iterable) is list else source_of(iterable)
    guard = partial(_guarded, backend, source)
    try:
        rolling = attempt_for(backend, iterable, body, test, state, stage, guard)
        if rolling is not None:
            rolling()
            return
        items = iter(iterable)
        if deciding(items) is not None:  # the iterator returned by a user's __iter__
            run(items)
            return
        with backend.iterating(iterable):
            run_plainly(watched(guard(items), body, backend), body, test, state)
        return
    except _BecameStaged as staged:
        if source is None or staged.source is not source:
            raise
        rest = source.after(staged.taken)
    if not rest.has_index():
        _refuse(backend)
    if type(iterable) is not list:
        lose_after_exit(backend, iterable, body)
    loop_over_rest(rest, body, test, state, while_loop)


def _guarded(backend: Backend, source: Source | None, items: Any) -> Iterator[Any]:
    """The items, which come from that source. Where one is taken and a list of these is meanwhile one of the graph,
    raises _BecameStaged, or the backend's error if the source is not known."""
    lists = [] if source is None else [x for x in source.sequences() if _is_pythons(x)]
    for taken, item in enumerate(items, 1):
        if source is None and taken == 1 and is_iterator(items):
            found = [source_of(each) for each in taken_by(items)]
            lists = [x for each in found if each is not None for x in each.sequences() if _is_pythons(x)]
        yield item
        if lists and any(map(has_staged_items, lists)):
            if source is None:
                _refuse(backend)
            raise _BecameStaged(source, taken)


def _is_pythons(x: Any) -> bool:
    return type(x) is list and not has_staged_items(x)


def _refuse(backend: Backend) -> NoReturn:
    raise backend.error(
        "a list from which the items of this loop come is changed in it, and then only the graph knows its length or"
        " items", "Loop over a copy, list(xs).")
