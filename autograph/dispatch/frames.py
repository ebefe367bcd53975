"""Frames as converted code sees them: those of the user's functions, without operators' frames in between.

A statement's body runs in a frame of its own, below that of an operator. It stands for its function here: where a frame
is counted, followed outward or traced, a body and its function are one, at the body's line.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from operator import index
from types import FrameType
from typing import Any

from autograph.core.backend import ambient
from autograph.core.tracebacks import is_body, is_internal
from autograph.dispatch.at_work import at_work

__all__ = ["OVERRIDES", "caller"]


def _outward(frame: FrameType, levels: int) -> tuple[FrameType | None, int]:
    """The user's frame `levels` above `frame`, and the number of frames in between. Frames of operators do not count,
    and bodies count as their function."""
    current: FrameType | None = frame
    count = 0
    while current is not None and (levels > 0 or is_internal(current.f_code.co_filename)):
        levels -= not (is_body(current.f_code) or is_internal(current.f_code.co_filename))
        count += not current.f_code.co_filename.startswith("<frozen importlib")
        current = current.f_back
    return current, count


def caller(frame: Any, /) -> Any:
    """`frame.f_back`."""
    return _outward(frame, 1)[0] if type(frame) is FrameType else frame.f_back


def _getframe(depth: int = 0, /) -> FrameType:
    """`sys._getframe`, counting only the user's frames."""
    found, _ = _outward(sys._getframe(1), max(index(depth), 0))
    if found is None:
        raise ValueError("call stack is not deep enough")
    return found


def _getframemodulename(depth: int = 0) -> Any:
    """`sys._getframemodulename` (Python 3.12), counting only the user's frames."""
    frame: Any = sys._getframe(1)
    found, _ = _outward(frame, max(index(depth), 0))
    steps = 1
    while frame is not found:
        frame = frame.f_back
        steps += 1
    return _python_module_name(steps)


_python_module_name: Any = getattr(sys, "_getframemodulename", None)


def _warn(message: Any, category: Any = None, stacklevel: Any = 1, source: Any = None, **options: Any) -> None:
    """`warnings.warn` with a `stacklevel` that counts only the user's frames."""
    warn: Any = _python_warn if ambient.backend is None else ambient.backend.callee(_python_warn)
    _, between = _outward(sys._getframe(), index(stacklevel) - 1)
    warn(message, category, between + 1 + (warn is not _python_warn), source, **options)


_python_warn = warnings.warn


class _Tracer:
    """What the trace function of a user is set as: operators and conversion are not traced, and a body is not a
    call."""

    __slots__ = ("users",)

    def __init__(self, users: Callable[..., Any]) -> None:
        self.users = users

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if at_work.depth or is_internal(frame.f_code.co_filename):
            return None
        if not is_body(frame.f_code):
            return self.users(frame, event, arg)
        owner = frame.f_back
        while owner is not None and is_internal(owner.f_code.co_filename):
            owner = owner.f_back
        local = owner and owner.f_trace
        return local and _Body(local.local if type(local) is _Body else local)


class _Body:
    """The local trace function of a body: that of its function, which has not returned when a body has."""

    __slots__ = ("local",)

    def __init__(self, local: Callable[..., Any]) -> None:
        self.local = local

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "return":
            self.local = self.local(frame, event, arg) or self.local
        return self


def _settrace(tracer: Any, /) -> None:
    """`sys.settrace` of a function that is told of the user's frames only."""
    sys.settrace(tracer and _Tracer(tracer))


def _gettrace() -> Any:
    """`sys.gettrace`."""
    found = sys.gettrace()
    return found.users if type(found) is _Tracer else found


OVERRIDES: dict[Any, Callable[..., Any]] = {
    sys._getframe: _getframe, _python_warn: _warn, sys.settrace: _settrace, sys.gettrace: _gettrace,
    **({} if _python_module_name is None else {_python_module_name: _getframemodulename}),
}
"""What converted code calls in place of functions that count, follow or trace frames."""
