"""Replays the user's frames of an error of the graph in its traceback, with lines and columns."""
from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from autograph.backend import is_body, is_outermost, prune
from runtime.core.config import settings
from runtime.core.positions import Position, is_users, user_position

__all__ = ["raise_at", "raised_by_graph", "show_users", "trail"]


def trail(traceback: TracebackType | None) -> tuple[Position, ...]:
    """The frames from the traced function to the point where an exception was raised or, without one, to the line being
    traced. A body stands for its function."""
    frame: FrameType | None = sys._getframe(1)
    raised: dict[int, tuple[int, int]] = {}
    while traceback is not None:
        frame = traceback.tb_frame
        raised[id(frame)] = traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next
    places: list[tuple[Position, bool]] = []
    within = False
    while frame is not None and not is_outermost(frame.f_code):
        if is_users(frame):
            code = frame.f_code
            if not within:
                lineno, lasti = raised.get(id(frame), (frame.f_lineno, frame.f_lasti))
                places.append((Position(code.co_filename, lineno, code.co_name, code, lasti), id(frame) in raised))
            within = is_body(code)
        frame = frame.f_back
    if frame is None:  # the beginning of the traced function is unknown
        places = [each for each in places if each[1]] or places[:1]
    return tuple([place for place, _ in reversed(places)])


class _Place(NamedTuple):
    """The content of a frame in a traceback: a function, and the span of the expression."""

    filename: str
    lineno: int
    function: str
    end: int
    col: int
    end_col: int

    @classmethod
    def of(cls, position: Position) -> _Place:
        span = position.span
        if span is None:  # the whole line
            line = linecache.getline(position.filename, position.lineno)
            span = position.lineno, len(line) - len(line.lstrip()), len(line.rstrip())
        return cls(position.filename, position.lineno, position.function, *span)


@functools.lru_cache(maxsize=1024)
def _code(place: _Place) -> CodeType:
    """Code that calls `step()` from a frame that shows the place, as template engines do."""
    tree = ast.parse("step()")
    call: Any = tree.body[0].value  # type: ignore[attr-defined]
    call.end_lineno, call.col_offset = 1 + max(place.end - place.lineno, 0), place.col
    call.end_col_offset = place.end_col if call.end_lineno > 1 else max(place.end_col, place.col)
    code = compile(tree, place.filename, "exec")
    return code.replace(co_name=place.function, co_firstlineno=place.lineno)


def raised_by_graph(error: BaseException) -> bool:
    """Whether `raise_at` raised it."""
    code, traceback = None, error.__traceback__
    while traceback is not None:
        code, traceback = traceback.tb_frame.f_code, traceback.tb_next
    return code is not None and code.co_filename == __file__


def raise_at(exception: BaseException, places: Sequence[Position]) -> None:
    """Raise `exception` with these frames in its traceback."""

    def raise_() -> None:
        raise exception

    step: Callable[[], Any] = raise_
    for place in reversed(places):
        step = functools.partial(exec, _code(_Place.of(place)), {"step": step, "__name__": "__main__"})
    step()


def _is_here(place: Position) -> bool:
    """Whether it is the place of the call in progress."""
    here = user_position()
    return here is not None and (place.filename, place.lineno, place.function) == (
        here.filename, here.lineno, here.function)


def show_users(error: BaseException) -> None:
    """Reduce the traceback of `error`, which is being handled, to the user's frames. If there is none, as when a graph
    runs, the function and line of the failed op are replayed. Nothing, if `settings.filters_tracebacks` is False."""
    if not settings.filters_tracebacks:
        return
    prune(error)
    place = getattr(error, "place", None)
    if error.__traceback__ is None and isinstance(place, Position) and place.function and not _is_here(place):
        try:
            raise_at(error, [place])
        except type(error):
            pass
        prune(error)
