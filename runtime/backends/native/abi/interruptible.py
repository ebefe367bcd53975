"""Long C calls, run such that signals are handled meanwhile.

Python handles signals on its main thread, between two bytecode instructions, hence not while LLVM compiles. So the main
thread has another thread compile, and waits. If a handler raises an exception, the wait ends with it; the other thread
abandons its work before its next step and frees its results. llvmlite code never runs on the main thread: its locks are
written in Python, and stay locked if an exception interrupts their release; exceptions in its finalizers and callbacks
are lost.
"""
from __future__ import annotations

import _thread
import atexit
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import ref

__all__ = ["close_after", "lock", "run_off_main_thread", "step"]

T = TypeVar("T")
lock: Final = threading.RLock()
"""Protects LLVM's global state. Also held while the process forks: the child has no thread that could release it."""
_LOOK: Final = 0.05  # s between polls for signals that another thread received


class _Abandoned(Exception):
    """No thread waits for the work any more."""


class _Job(threading.local):
    waits: list[None] | None = None
    """A list that stands for the thread waiting for this thread's work; empty if that thread no longer waits."""


_job: Final = _Job()
_running: Final[dict[int, Any]] = {}
"""Locks, by id, that the working threads release when they end."""


def run_off_main_thread(work: Callable[[], T]) -> T:
    """The result of `work`, which holds `lock` and runs on a thread of its own if this is the main thread.

    The result must not keep LLVM's objects alive: the main thread may drop it, and would run their finalizers."""
    if threading.current_thread() is not threading.main_thread():
        with lock:
            return _cleared(work)
    outcome: list[Any] = []
    waits: list[None] = [None]
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        _job.waits = waits
        try:
            with lock:
                step()
                outcome.append(_cleared(work))
        except BaseException as error:
            _release_frames(error)
            outcome.append(error)
            outcome.append(None)
        finally:
            _running.pop(id(done), None)
            done.release()

    _running[id(done)] = done
    try:
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:  # the interpreter is shutting down
            run()
        while not done.acquire(timeout=_LOOK):
            pass
    finally:
        waits.clear()
    if len(outcome) == 2:
        raise outcome[0]
    result: T = outcome.pop()
    return result


def _release_frames(error: BaseException) -> None:
    """Clear the frames of an error, which the main thread may free: they must not keep LLVM's objects alive."""
    chain: list[BaseException] = [error]
    for found in chain:
        traceback.clear_frames(found.__traceback__)
        chain += [other for other in (found.__cause__, found.__context__) if other is not None and other not in chain]


def step() -> None:
    """Called before a long step of work: abandons it if nobody waits for it."""
    if _job.waits is not None and not _job.waits:
        raise _Abandoned


class _Owner(ref[Any]):
    """A weak reference that also keeps what its object owned, so that this can be closed after the object is freed."""

    __slots__ = ("owned",)
    owned: Any


_owners: Final[set[_Owner]] = set()
_gone: Final[deque[_Owner]] = deque()


def close_after(owner: Any, owned: Any) -> None:
    """Close an LLVM object after its owner has been freed, before the next work under `lock`: not in the callback of
    the weak reference, where the exception of a signal handler would be lost."""
    reference = _Owner(owner, _gone.append)
    reference.owned = owned
    _owners.add(reference)


def _cleared(work: Callable[[], T]) -> T:
    while _gone:
        reference = _gone.popleft()
        _owners.discard(reference)
        reference.owned.close()
    return work()


def _finish() -> None:
    """Let abandoned work reach its next step before the process ends, which would free LLVM's state while in use."""
    for done in list(_running.values()):
        done.acquire()


atexit.register(_finish)
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
os.register_at_fork(after_in_child=_running.clear)
