"""Whether a thread is converting."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from autograph.core.trace_cleanup import of_trace

__all__ = ["at_work"]

T = TypeVar("T")


class _AtWork(threading.local):
    """Whether this thread is converting. Conversion itself calls unconverted code, although modules that it uses
    (`linecache`, `ast`) may have been converted and would otherwise request conversions of their callees."""

    depth = 0

    def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, which converts. (A signal may interrupt the exit of a `with`, but not this.)"""
        depth = self.depth
        try:
            self.depth = depth + 1
            return work()
        finally:
            self.depth = depth


at_work: Final = of_trace(_AtWork())
