"""What a tape keeps of something that was computed eagerly."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from runtime.core.recording import Recorder, recorders, recording

__all__ = ["Entry", "Pull", "Taking", "only", "without_tapes"]

Pull = Callable[[Sequence[Any], Sequence[bool]], Sequence[Any]]


class Entry(NamedTuple):
    """Something that was computed: `pull(cts, wanted)` gives cotangents of the inputs that are wanted for those of the
    outputs. Inputs are eager tensors and lists, and variables for what was read of them."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    pull: Pull


@runtime_checkable
class Taking(Protocol):
    """A recorder that takes entries: a tape."""

    def take(self, entry: Entry) -> None:
        """Keep what was computed, if it depends on what is watched."""


@contextmanager
def only(some: Sequence[Recorder]) -> Iterator[None]:
    """Nobody but `some` records in this thread inside."""
    thread = threading.get_ident()
    before = recorders.pop(thread, None)
    if some:
        recorders[thread] = tuple(some)
    try:
        yield
    finally:
        recorders.pop(thread, None)
        if before is not None:
            recorders[thread] = before


def without_tapes() -> AbstractContextManager[None]:
    """No tape records in this thread inside; other recorders do."""
    return only([recorder for recorder in recording() if not isinstance(recorder, Taking)])
