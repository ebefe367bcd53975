"""More room where the recursion limit is too low: some more frames, or, for deeply nested source, a thread with a large
stack."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["TooDeep", "lower_limit", "raise_limit", "with_room"]

T = TypeVar("T")
_STACK = 256 << 20  # bytes; reserved, and used only as the recursion needs it
_LIMIT = 40_000
_lock = threading.Lock()
_LARGE = "autograph: large stack"  # the name of the thread
_raised: list[int] = []
"""The limits that threads have asked for; the highest applies."""
_users = 0
"""The limit when nobody has asked for a higher one."""
_limits = threading.Lock()


def raise_limit(frames: int) -> int:
    """Allow `frames` more and return a token for `lower_limit`. Raises RecursionError if so few frames are left (none
    or one) that the limit could not be restored."""
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
    """A large stack is not enough either."""


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

