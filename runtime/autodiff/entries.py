"""The entries that tapes record for eager computations."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from runtime.core.recording import Recorder, recorders, recording

__all__ = ["Entry", "EntryRecorder", "Pull", "recording_only", "without_tapes"]

Pull = Callable[[Sequence[Any], Sequence[bool]], Sequence[Any]]


class Entry(NamedTuple):
    """A recorded computation: `pull(cts, wanted)` maps the cotangents of the outputs to those of the wanted inputs.
    Inputs are eager tensors and lists, and variables that were read. `passes`: it reads a variable or casts, so that
    slices of the output's cotangent are slices of the input's."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    pull: Pull
    passes: bool = False


@runtime_checkable
class EntryRecorder(Protocol):
    """A recorder that takes entries: a tape."""

    def take(self, entry: Entry) -> None:
        """Record a computation, if it depends on a watched tensor or variable."""


@contextmanager
def recording_only(some: Sequence[Recorder]) -> Iterator[None]:
    """A context in which only `some` record in this thread."""
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
    """A context in which no tape records in this thread; other recorders do."""
    return recording_only([recorder for recorder in recording() if not isinstance(recorder, EntryRecorder)])
