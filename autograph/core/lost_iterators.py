"""Iterators of Python's of which code that is traced may take no item: only the graph would know where they are."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from autograph.core.trace_cleanup import of_trace

__all__ = ["check_items", "hidden", "lose", "lost"]

Errors = Mapping[int, tuple[Any, Callable[[], Exception]]]


class _Lost(threading.local):
    iterators: Errors = MappingProxyType({})
    """By id, each with what makes the error for who takes an item of it."""


lost: Final = of_trace(_Lost())


def lose(iterators: Iterable[Any], error: Callable[[Any], Exception]) -> None:
    """Let nobody take an item of these, up to the end of the trace."""
    lost.iterators = {**lost.iterators, **{id(each): (each, partial(error, each)) for each in iterators}}


@contextmanager
def hidden(iterators: Errors) -> Iterator[None]:
    """While a body runs that may take no item of these."""
    before = lost.iterators
    lost.iterators = {**before, **iterators}
    try:
        yield
    finally:
        lost.iterators = {key: entry for key, entry in lost.iterators.items() if key not in iterators or key in before}


def check_items(value: Any) -> None:
    """Raise the error if `value`, of which items are to be taken, is one of them."""
    if lost.iterators and id(value) in lost.iterators:
        raise lost.iterators[id(value)][1]()
