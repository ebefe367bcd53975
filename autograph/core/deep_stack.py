"""Room where the recursion limit leaves too little: a few frames more, or for deeply nested source a thread with a
large stack."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["TooDeep", "lower_limit", "raise_limit", "with_room"]

T = TypeVar("T")
_STACK = 256 << 20  # bytes; reserved, and used only as far as the recursion goes
_LIMIT = 40_000
_lock = threading.Lock()
_LARGE = "autograph: large stack"  # the name of the thread
_raised: list[int] = []
"""The limits that are wanted at present, by all threads: the highest holds."""
_users = 0
"""The limit when nobody wants a higher one."""
_limits = threading.Lock()


def raise_limit(frames: int) -> int:
    """Allow `frames` more, until `lower_limit` of the result. Raises RecursionError where so few are left (none or one)
    that the limit could not be set back."""
    global _users
    with _limits:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit)
        if not _raised:
            _users = limit
        _raised.append(limit + frames)
        sys.setrecursionlimit(limit + frames)
        return limit + frames


def lower_limit(limit: int) -> None:
    """Undo `raise_limit`."""
    with _limits:
        _raised.remove(limit)
        sys.setrecursionlimit(max(_raised, default=_users))


class TooDeep(RecursionError):
    """Also a large stack is too small."""


def with_room(work: Callable[[], T]) -> T:
    """The result of `work`, which must be something that can be begun anew: on RecursionError it runs once more, with
    a higher limit and a stack of the size for that. Raises TooDeep if it needs more than that, too; RecursionError
    where there are no frames left to begin with."""
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

    with _lock:
        limit, size = raise_limit(_LIMIT), threading.stack_size()
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
            lower_limit(limit)
    done, value = outcome
    if done:
        return value  # type: ignore[no-any-return]
    if type(value) is RecursionError:
        raise TooDeep("no stack is large enough") from value
    raise value

