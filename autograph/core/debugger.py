"""The standard debugger passes over the tool's own frames: `step` goes from the user's lines to the user's lines,
and `where` shows those alone.

`bdb` asks `stop_here` whether to stop in a frame, and `get_stack` for the frames to show. Both are wrapped once, and
change nothing for frames of other code. AUTOGRAPH_FULL_TRACEBACK=1 leaves the debugger as it is.
"""
from __future__ import annotations

import bdb
import functools
from types import FrameType, TracebackType
from typing import Any

from autograph.core.tracebacks import is_internal, shows_internal

__all__ = ["pass_over_internal_frames"]


def pass_over_internal_frames() -> None:
    """Let every debugger built on `bdb` (pdb, IPython's) leave out frames of autograph and runtime."""
    if shows_internal() or hasattr(bdb.Bdb.stop_here, "__wrapped__"):
        return
    stop_here, get_stack = bdb.Bdb.stop_here, bdb.Bdb.get_stack

    @functools.wraps(stop_here)
    def stop_in_users(self: bdb.Bdb, frame: FrameType) -> bool:
        return not is_internal(frame.f_code.co_filename) and bool(stop_here(self, frame))

    @functools.wraps(get_stack)
    def users_stack(
        self: bdb.Bdb, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        stack, index = get_stack(self, f, t)
        kept = [entry for entry in stack if not is_internal(entry[0].f_code.co_filename)]
        hidden = sum(is_internal(frame.f_code.co_filename) for frame, _ in stack[: index + 1])
        return (kept, max(index - hidden, 0)) if kept else (stack, index)

    patched: Any = bdb.Bdb
    patched.stop_here, patched.get_stack = stop_in_users, users_stack
