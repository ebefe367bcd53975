"""Calls that Python nests in one another, each traced into its caller's graph: how deep they may go.

Python's recursion limit is meant for the user's own frames, so there is room for the tracer's between them; but for no
more than the C stack has.
"""
from __future__ import annotations

import sys
import threading
from typing import Any, Final

from autograph.backend import CALLS_SHARE_STACK, is_body, is_internal, lower_limit, of_trace, raise_limit, users_limit
from runtime.core.errors import locate
from runtime.core.positions import user_position

__all__ = ["begin", "end", "explain", "nested"]

_CALLS: Final = 8  # room is made for this many calls at a time,
_FRAMES: Final = 40  # for so many frames of operators between the frames of a call
_MOST_FRAMES: Final = 14_000 if CALLS_SHARE_STACK else 7_000
"""The tracer's; with the C code between them, they take most of a stack of 8 MB."""

_TEXT: Final = "maximum recursion depth exceeded"


class _Nested(threading.local):
    calls = 0
    frames = 0


nested: Final = of_trace(_Nested())
"""The calls in progress outside bodies of control flow, and the tracer's frames between them."""


def begin(fn: Any) -> tuple[int, int | None]:
    """Begin a call of `fn`. Returns a token for `end`. RecursionError if there is no room for it."""
    frames, room = nested.frames, None
    deep = nested.calls >= users_limit()
    if not (nested.calls + 1) % _CALLS:
        within = _frames_within(_CALLS)
        deep = deep or frames + within > _MOST_FRAMES
    if deep:
        error = RecursionError(f"{_TEXT}: {fn.__name__!r} is traced in {nested.calls} calls of itself or others")
        explain(error)
        raise error
    if not (nested.calls + 1) % _CALLS:
        nested.frames = frames + within
        room = raise_limit(_FRAMES * _CALLS) if CALLS_SHARE_STACK else None
    nested.calls += 1
    return frames, room


def explain(error: RecursionError) -> None:
    """Add the line and the remedy to an error of the interpreter or of `begin`, which is being handled."""
    if str(error).startswith(_TEXT):
        error.remedy = (  # type: ignore[attr-defined]
            "Let a tensor decide how often it calls itself, rt.constant(n) in place of n, so that its graph can call"
            " itself; or write a loop.")
        locate(error, user_position())


def end(token: tuple[int, int | None]) -> None:
    """End the call."""
    nested.calls -= 1
    nested.frames, room = token
    if room is not None:
        lower_limit(room)


def _frames_within(calls: int) -> int:
    """The tracer's frames between the caller's caller and as many earlier calls of the same code."""
    frame, found = sys._getframe(2), 0
    code = frame.f_code
    while calls and (outer := frame.f_back) is not None:
        frame = outer
        calls -= frame.f_code is code
        found += is_internal(frame.f_code.co_filename) or is_body(frame.f_code)
    return found
