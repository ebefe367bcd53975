"""What a tracer sees of a call: the calls, lines, returns and exceptions in the user's files, in their order."""
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

__all__ = ["KNOWN", "WATCHES", "Event", "difference", "monitored", "parted", "traced"]

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
    """Where two runs part, with the events around; None if they are the same."""
    if expected == got:
        return None
    at = next((i for i, (e, g) in enumerate(zip(expected, got)) if e != g), min(len(expected), len(got)))
    first = max(at - 4, 0)
    return f"event {at}: expected {expected[first:at + 3]}, got {got[first:at + 3]}"


KNOWN: dict[str, str] = {}
"""Programs whose events differ, and why."""
if sys.version_info < (3, 12):
    KNOWN["finally_returns_if"] = (
        "an exception that goes on after a `finally` is raised on the line that was compiled last, run or not")
if (3, 11) <= sys.version_info < (3, 12):
    KNOWN["except_star_behind_a_return"] = (
        "an `except*` may hold no `return`, so it has no end of its own where another `return` is lowered")
WATCHES = {"settrace": traced, **({"monitoring": monitored} if sys.version_info >= (3, 12) else {})}


def parted(program: Program, watch: Callable[..., list[Event]]) -> str | None:
    """Where the events of a program and of its converted form part, for the first arguments for which they do; or
    that they do not, though the program is listed as one."""
    found = _parted(program, watch)
    if program.name in KNOWN:
        return None if found is not None else f"{program.name}: the events are the same, and it is listed as known"
    return found


def _parted(program: Program, watch: Callable[..., list[Event]]) -> str | None:
    converted = ag.convert(program.fn)

    def events(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Event]:
        values = tuple(as_python(a) for a in arguments)

        def call() -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                fn(*values)

        return watch(call, {program.fn.__code__.co_filename})

    for arguments in program.arguments:
        events(converted, arguments)  # the first call converts what is called
        found = difference(events(program.fn, arguments), events(converted, arguments))
        if found is not None:
            return f"{program.name}{arguments}: {found}"
    return None
