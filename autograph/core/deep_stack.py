"""More stack where the recursion limit is too low: a few more frames, or, for deeply nested source, a thread with a
large stack."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from autograph.core.trace_cleanup import of_trace

__all__ = ["TooDeep", "lower_limit", "raise_limit", "users_limit", "with_limit", "with_room"]

T = TypeVar("T")
_STACK = 256 << 20  # bytes; reserved, and used only as the recursion needs it
_LIMIT = 40_000
_lock = threading.Lock()
_LARGE = "autograph: large stack"  # the name of the thread
_raised: dict[int, tuple[int, ...]] = {}
"""By thread, the limits that it has asked for, in ascending order; the highest of all applies."""
_users = 0
"""The limit when nobody has asked for a higher one."""
_limits = threading.Lock()


class _Asked(threading.local):
    """The limits that this thread has asked for. The end of a trace restores the earlier ones, since an interrupt may
    come between `raise_limit` and its caller's `lower_limit`."""

    limits: tuple[int, ...] = ()

    def __setattr__(self, name: str, limits: tuple[int, ...]) -> None:
        global _users
        with _limits:
            sys.setrecursionlimit(sys.getrecursionlimit())  # RecursionError here rather than when it is to be restored
            if not _raised:
                _users = sys.getrecursionlimit()
            super().__setattr__(name, limits)
            thread = threading.get_ident()
            if limits:
                _raised[thread] = limits
            elif thread not in _raised:
                return
            # The entry goes after the limit: one that an interrupt leaves behind is found by the next assignment.
            others = [each[-1] for owner, each in _raised.items() if owner != thread]
            sys.setrecursionlimit(max([*limits[-1:], *others], default=_users))
            if not limits:
                del _raised[thread]


_asked = of_trace(_Asked())


def raise_limit(frames: int) -> int:
    """Raise the recursion limit by `frames` and return a token for `lower_limit`. Raises RecursionError if so few
    frames remain (none or one) that the limit could not be restored."""
    limit = max((sys.getrecursionlimit(), *_asked.limits[-1:])) + frames
    _asked.limits = (*_asked.limits, limit)
    return limit


def lower_limit(limit: int) -> None:
    """Undo `raise_limit`."""
    limits = _asked.limits
    at = len(limits) - 1 if limits[-1] == limit else limits.index(limit)
    _asked.limits = limits[:at] + limits[at + 1:]


def with_limit(frames: int, work: Callable[[], T]) -> T:
    """The result of `work`, called with the recursion limit raised by `frames`; for use outside of traces, too: the
    limit is restored twice, since one signal cannot interrupt both."""
    before = _asked.limits
    try:
        try:
            raise_limit(frames)
            return work()
        finally:
            _asked.limits = before
    finally:
        _asked.limits = before


def users_limit() -> int:
    """The recursion limit that the user's program has set, for its own frames."""
    return _users if _raised else sys.getrecursionlimit()


class TooDeep(RecursionError):
    """Even a large stack is not enough."""


def with_room(work: Callable[[], T]) -> T:
    """The result of `work`, which must be restartable: on RecursionError it runs again with a higher limit in a thread
    with a large stack. Raises TooDeep if that is not enough, RecursionError if there are no frames left to start with.
    """
    try:
        return work()
    except RecursionError:
        if threading.current_thread().name == _LARGE:
            raise
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, work()))
        except BaseException as error:
            outcome.extend((False, error))

    def run_in_thread() -> None:
        size = threading.stack_size()
        try:
            thread = threading.Thread(target=run, name=_LARGE, daemon=True)
            threading.stack_size(_STACK)
            thread.start()
        except RuntimeError:
            raise TooDeep("no thread with a larger stack can be started") from None
        else:
            thread.join()
        finally:
            threading.stack_size(size)

    with _lock:
        with_limit(_LIMIT, run_in_thread)
    done, value = outcome
    if done:
        return value  # type: ignore[no-any-return]
    if type(value) is RecursionError:
        raise TooDeep("no stack is large enough") from value
    raise value

