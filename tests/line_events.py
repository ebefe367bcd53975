"""What a tracer sees of a call: the calls, lines, returns and exceptions in the user's files."""
from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Collection
from types import CodeType, FrameType
from typing import Any

from programs import Program
from ways import as_python

import autograph as ag

__all__ = ["WATCHES", "Event", "difference", "monitored", "parted", "traced"]

Event = tuple[str, str, int]
"""What happened, the name of the function, and the line."""


def traced(call: Callable[[], Any], files: Collection[str]) -> list[Event]:
    """The events of `sys.settrace` in these files while `call` runs; it must not raise."""
    events: list[Event] = []

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in files:
            return None
        events.append((event, code.co_name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return events


def monitored(call: Callable[[], Any], files: Collection[str]) -> list[Event]:
    """The starts and lines that `sys.monitoring` (Python 3.12) reports in these files while `call` runs."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    happens, tool = monitoring.events, monitoring.PROFILER_ID
    events: list[Event] = []

    def start(code: CodeType, offset: int) -> None:
        if code.co_filename in files:
            events.append(("call", code.co_name, code.co_firstlineno))

    def line(code: CodeType, lineno: int) -> None:
        if code.co_filename in files:
            events.append(("line", code.co_name, lineno))

    monitoring.use_tool_id(tool, "line events")
    monitoring.register_callback(tool, happens.PY_START, start)
    monitoring.register_callback(tool, happens.LINE, line)
    monitoring.set_events(tool, happens.PY_START | happens.LINE)
    try:
        call()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, happens.PY_START, None)
        monitoring.register_callback(tool, happens.LINE, None)
        monitoring.free_tool_id(tool)
    return events


def difference(expected: list[Event], got: list[Event]) -> str | None:
    """The lines that Python comes to and the converted form does not; None if there are none. It may come to a line
    more often, and to the first line of a handler, or the last of a function, that does not run."""
    theirs, ours = ({line for kind, _, line in events if kind == "line"} for events in (expected, got))
    return None if theirs <= ours else f"lines not seen: {sorted(theirs - ours)}"


MISPLACED = {"finally_returns_if"} if sys.version_info < (3, 12) else set()
"""Programs of which Python reports a line that does not run: an exception that goes on after a `finally` is raised on
the line that was compiled last."""
WATCHES = {"settrace": traced, **({"monitoring": monitored} if sys.version_info >= (3, 12) else {})}


def parted(program: Program, watch: Callable[..., list[Event]]) -> str | None:
    """How the lines that a tracer sees of a program and of its converted form differ, for the first arguments for which
    they do."""
    converted = ag.convert_traced(program.fn)

    def events(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Event]:
        values = tuple(as_python(a) for a in arguments)

        def call() -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                fn(*values)

        return watch(call, {program.fn.__code__.co_filename})

    for arguments in program.arguments:
        events(converted, arguments)  # the first call converts what is called
        found = difference(events(program.fn, arguments), events(converted, arguments))
        if found is not None and program.name not in MISPLACED:
            return f"{program.name}{arguments}: {found}"
    return None
