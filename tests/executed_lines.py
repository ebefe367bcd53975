"""How much work Python does, as a number that is the same in each run: the lines that it executes."""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["lines_of"]


def lines_of(call: Callable[[], object]) -> int:
    """The lines that a call executes, those of its `threading` threads, too; each turn of a loop counts."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before, threads = sys.gettrace(), threading.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        threading.settrace(threads)  # type: ignore[arg-type]
    return count
