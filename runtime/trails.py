"""The user's frames that an error of the graph comes through, as a traceback shows them: with lines and columns."""
from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from autograph.frames import is_body
from autograph.references import outermost
from runtime.graph import Position, is_users, span_of

__all__ = ["Place", "place_of", "raise_at", "trail"]


class Place(NamedTuple):
    """A frame of the user's, and what runs there: from a line and column to another."""

    filename: str
    lineno: int
    function: str
    end: int
    col: int
    end_col: int


def place_of(position: Position) -> Place:
    return _place(position.filename, position.lineno, position.function, position.span)


def _place(filename: str, lineno: int, function: str, span: tuple[int, int, int] | None) -> Place:
    if span is None:  # the whole line
        line = linecache.getline(filename, lineno)
        span = lineno, len(line) - len(line.lstrip()), max(len(line.rstrip()), 0)
    return Place(filename, lineno, function, *span)


def trail(traceback: TracebackType | None) -> tuple[Place, ...]:
    """The frames from the function that is traced to where an exception was raised; for one that is not raised yet, to
    the line that is being traced. A body stands for its function."""
    frame: FrameType | None = sys._getframe(1)
    raised: dict[int, tuple[int, int]] = {}
    while traceback is not None:
        frame = traceback.tb_frame
        raised[id(frame)] = traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next
    places: list[tuple[Place, bool]] = []
    within = False
    while frame is not None and frame.f_code not in outermost:
        if is_users(frame):
            code = frame.f_code
            if not within:
                lineno, lasti = raised.get(id(frame), (frame.f_lineno, frame.f_lasti))
                places.append((_place(code.co_filename, lineno, code.co_name, span_of(code, lasti, lineno)),
                               id(frame) in raised))
            within = is_body(code)
        frame = frame.f_back
    if frame is None:  # nothing says where the function begins that is traced
        places = [each for each in places if each[1]] or places[:1]
    return tuple([place for place, _ in reversed(places)])


@functools.lru_cache(maxsize=1024)
def _code(place: Place) -> CodeType:
    """Code that calls `step()` from a frame that looks like the place, as template engines do."""
    tree = ast.parse("step()")
    call: Any = tree.body[0].value  # type: ignore[attr-defined]
    call.end_lineno, call.col_offset = 1 + max(place.end - place.lineno, 0), place.col
    call.end_col_offset = place.end_col if call.end_lineno > 1 else max(place.end_col, place.col)
    code = compile(tree, place.filename, "exec")
    return code.replace(co_name=place.function, co_firstlineno=place.lineno)


def raise_at(exception: BaseException, places: Sequence[Place]) -> None:
    """Raise `exception` with these frames in its traceback."""

    def raise_() -> None:
        raise exception

    step: Callable[[], Any] = raise_
    for place in reversed(places):
        step = functools.partial(exec, _code(place), {"step": step, "__name__": "__main__"})
    step()
