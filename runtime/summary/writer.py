"""Writers of event files, and the default writer (`tf.summary`)."""
from __future__ import annotations

import itertools
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from runtime.core.record_files import record
from runtime.summary.events import event, graph_event, version_event

__all__ = ["SummaryWriter", "create_file_writer", "create_noop_writer", "current"]


class _Current(threading.local):
    """This thread's destination of summaries: the writer, the default step, and the condition."""

    writer: SummaryWriter | None = None
    step: Any = None
    condition: Any = True


current: Final = _Current()
_numbers: Final = itertools.count()


class SummaryWriter:
    """Writes summaries to an event file, which is created when the first one is written."""

    def __init__(self, logdir: str | None, max_queue: int, flush_seconds: float, suffix: str) -> None:
        self.logdir = logdir
        self._max_queue, self._flush_seconds, self._suffix = max_queue, flush_seconds, suffix
        self._queue: list[bytes] = []
        self._flushed = time.monotonic()
        self._path: str | None = None
        self._lock = threading.Lock()
        self._closed = False

    def write(self, summary: bytes, step: int) -> None:
        """Add a summary of this step. RuntimeError if the writer is closed."""
        self._add(event(time.time(), step, summary))

    def write_graph(self, graph_def: bytes) -> None:
        """Add a graph. RuntimeError if the writer is closed."""
        self._add(graph_event(time.time(), graph_def))

    def _add(self, event: bytes) -> None:
        if self.logdir is None:
            return
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the summary writer for {self.logdir} is closed")
            self._queue.append(record(event))
            if len(self._queue) >= self._max_queue or time.monotonic() - self._flushed >= self._flush_seconds:
                self._flush()

    def flush(self) -> None:
        """Write the queue to the file."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if self._queue:
            assert self.logdir is not None
            data = b"".join(self._queue)
            if self._path is None:
                os.makedirs(self.logdir, exist_ok=True)
                now = time.time()
                name = f"events.out.tfevents.{int(now)}.{platform.node()}.{os.getpid()}.{next(_numbers)}"
                self._path = os.path.join(self.logdir, name + self._suffix)
                data = record(version_event(now)) + data
            with open(self._path, "ab") as file:
                file.write(data)
            self._queue.clear()
        self._flushed = time.monotonic()

    def init(self) -> None:
        """Does nothing: the file is created when there is something to write."""

    def close(self) -> None:
        """Flush; afterwards nothing can be written."""
        self.flush()
        self._closed = True

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Inside, summaries go to this writer, with this default step if given; at the end it is flushed."""
        outer = current.writer, current.step
        current.writer = self
        if step is not None:
            current.step = step
        try:
            yield self
        finally:
            current.writer, current.step = outer
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Make this the default writer of this thread."""
        current.writer = self
        if step is not None:
            current.step = step

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def create_file_writer(
    logdir: Any, max_queue: int | None = None, flush_millis: int | None = None, filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of an event file in the directory `logdir` (`tf.summary.create_file_writer`).

    Summaries are queued. The queue is written when it has `max_queue` (default: 10) of them, when the last write was
    `flush_millis` (default: two minutes) ago, and by `flush`, `close` and the end of `as_default`; else it is lost.
    """
    queue = 10 if max_queue is None else int(max_queue)
    seconds = 120.0 if flush_millis is None else int(flush_millis) / 1000
    return SummaryWriter(str(os.fspath(logdir)), queue, seconds, ".v2" if filename_suffix is None else filename_suffix)


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing (`tf.summary.create_noop_writer`)."""
    return SummaryWriter(None, 1, 0.0, "")


@contextmanager
def record_if(condition: bool | Any | Callable[[], Any]) -> Iterator[None]:
    """Inside, summaries are written only if the condition holds: a bool, a bool tensor, or a function that returns one,
    called for each summary (`tf.summary.record_if`)."""
    outer = current.condition
    current.condition = condition
    try:
        yield
    finally:
        current.condition = outer
