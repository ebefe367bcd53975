"""Computation of elements by threads, ahead of their use.

Native code and NumPy's work on larger arrays release the GIL, so they overlap with the program that uses the elements.
A thread ends when its iterator is exhausted, closed, or no longer referenced.
"""
from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from autograph.backend import deferred

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = deferred("concurrent.futures")  # it loads logging

__all__ = ["AUTOTUNE", "mapped", "prefetched"]

AUTOTUNE: Final = -1
_PREFETCHED: Final = 4
"""Elements that `prefetch(AUTOTUNE)` keeps ready."""
_MEASURED: Final = 8
"""Elements that `map(num_parallel_calls=AUTOTUNE)` computes sequentially, to measure their time."""
_WORTHWHILE: Final = 200e-6
"""Seconds per element from which on AUTOTUNE uses threads: a thread costs about 50 us for each."""
_END: Final = object()
T = TypeVar("T")
R = TypeVar("R")


def _fill(stream: Iterator[Any], ready: SimpleQueue[Any], room: SimpleQueue[bool]) -> None:
    """Put the elements into `ready`, each in a tuple, as long as `room` has True; at the end put an empty tuple, or
    the error."""
    try:
        while room.get():
            element = next(stream, _END)
            if element is _END:
                break
            ready.put((element,))
        else:
            if hasattr(stream, "close"):
                stream.close()
        ready.put(())
    except BaseException as error:  # raised where the element would have been used
        ready.put(error)


def prefetched(stream: Iterator[T], size: int) -> Iterator[T]:
    """The elements of `stream`; a thread computes up to `size` of them ahead, for AUTOTUNE a few."""
    ready: SimpleQueue[Any] = SimpleQueue()
    room: SimpleQueue[bool] = SimpleQueue()
    for _ in range(_PREFETCHED if size == AUTOTUNE else size):
        room.put(True)
    threading.Thread(target=_fill, args=(stream, ready, room), name="runtime.data.prefetch", daemon=True).start()
    try:
        while found := ready.get():
            if isinstance(found, BaseException):
                raise found
            room.put(True)
            yield found[0]
    finally:
        room.put(False)


Outcome = tuple[Any, Exception | None]
"""A value, or the error in its place."""


class _Attempts(Iterator[Outcome]):
    """The elements of a stream as outcomes: a stream that goes on after an error is read on."""

    def __init__(self, stream: Iterator[Any]) -> None:
        self._stream = stream

    def __next__(self) -> Outcome:
        try:
            return next(self._stream), None
        except StopIteration:
            raise
        except Exception as error:
            return None, error


def _value(outcome: Outcome) -> Any:
    value, error = outcome
    if error is not None:
        raise error
    return value


def mapped(
    run: Callable[[T], R], stream: Iterator[T], workers: int | None, ordered: bool = True
) -> Iterator[R]:
    """`run` of each element: sequentially if `workers` is None; else in so many threads, for AUTOTUNE in as many as
    there are processors if that pays. If not `ordered`, results come as they complete. After an error the next elements
    follow."""
    if workers is None:
        return map(run, stream)

    def outcome(attempt: Outcome) -> Outcome:
        try:
            return attempt if attempt[1] is not None else (run(attempt[0]), None)
        except Exception as error:
            return None, error

    return map(_value, _in_threads(outcome, _Attempts(stream), workers, ordered))


def _in_threads(run: Callable[[T], R], stream: Iterator[T], workers: int | None, ordered: bool) -> Iterator[R]:
    if workers == AUTOTUNE:
        took = []
        for element in itertools.islice(stream, _MEASURED):
            start = time.perf_counter()
            result = run(element)
            took.append(time.perf_counter() - start)
            yield result
        worthwhile = len(took) == _MEASURED and min(took) > _WORTHWHILE  # the first call may compile
        workers = os.cpu_count() if worthwhile else None
    if workers is None or workers < 2:
        yield from map(run, stream)
        return
    pool = futures.ThreadPoolExecutor(workers, "runtime.data.map")
    pending: deque[futures.Future[R]] = deque()
    try:
        for element in stream:
            pending.append(pool.submit(run, element))
            if len(pending) > workers:
                yield _next(pending, ordered)
        while pending:
            yield _next(pending, ordered)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _next(pending: deque[futures.Future[R]], ordered: bool) -> R:
    if ordered:
        return pending.popleft().result()
    done = next(iter(futures.wait(pending, return_when=futures.FIRST_COMPLETED).done))
    pending.remove(done)
    return done.result()
