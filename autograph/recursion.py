"""Room for deeply nested source: what exceeds the recursion limit runs again, in a thread with a large stack."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["with_room"]

T = TypeVar("T")
_STACK = 256 << 20  # bytes; reserved, and used only as far as the recursion goes
_LIMIT = 40_000
_lock = threading.Lock()
_LARGE = "autograph: large stack"  # the name of the thread


def with_room(work: Callable[[], T]) -> T:
    """The result of `work`, which must be something that can be begun anew: on RecursionError it runs once more, with
    a higher limit and a stack of the size for that. Raises RecursionError if it needs more than that, too."""
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
        limit, size = sys.getrecursionlimit(), threading.stack_size()
        try:
            thread = threading.Thread(target=run, name=_LARGE, daemon=True)
            threading.stack_size(_STACK)
            sys.setrecursionlimit(max(limit, _LIMIT))
            thread.start()
        except RuntimeError:
            raise RecursionError("no thread with a larger stack can be started") from None
        else:
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    done, value = outcome
    if done:
        return value  # type: ignore[no-any-return]
    raise value

