"""Iterators that traced code must not advance, because their position is known only when the graph runs."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from autograph.core.trace_cleanup import of_trace

__all__ = ["check_items", "hidden", "lose", "lose_with", "lost"]

Errors = Mapping[int, tuple[Any, Callable[[], Exception]]]


class _Lost(threading.local):
    iterators: Errors = MappingProxyType({})
    """By id of the iterator, the function that makes the error for taking an item of it."""


lost: Final = of_trace(_Lost())


def lose(iterators: Iterable[Any], error: Callable[[Any], Exception]) -> None:
    """Forbid advancing these iterators until the trace ends."""
    lost.iterators = {**lost.iterators, **{id(each): (each, partial(error, each)) for each in iterators}}


def lose_with(iterator: Any, source: Any) -> None:
    """Forbid advancing `iterator` if that is already forbidden for `source`, which it takes its items from."""
    if id(source) in lost.iterators:
        _, make = lost.iterators[id(source)]
        lose([iterator], make.func)  # type: ignore[attr-defined]


@contextmanager
def hidden(iterators: Errors) -> Iterator[None]:
    """Forbid advancing these iterators while a body runs."""
    if not iterators:
        yield
        return
    before = lost.iterators
    lost.iterators = {**before, **iterators}
    try:
        yield
    finally:
        lost.iterators = {key: entry for key, entry in lost.iterators.items() if key not in iterators or key in before}


def check_items(value: Any) -> None:
    """Raise the error if `value`, whose items are about to be taken, is a lost iterator."""
    if lost.iterators and id(value) in lost.iterators:
        raise lost.iterators[id(value)][1]()
