"""A session in the trace event format of Chrome, which Perfetto and TensorBoard read.

Format: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from runtime.core.profiling import Region, Session, Totals

__all__ = ["trace"]


def trace(session: Session) -> dict[str, Any]:
    """The JSON document. Times are in microseconds from the beginning of the session."""
    document: dict[str, Any] = {"traceEvents": list(_events(session)), "displayTimeUnit": "ns"}
    if session.dropped:
        document["otherData"] = {"spans that are not shown, only counted": session.dropped}
    return document


def _events(session: Session) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "runtime"}}
    threads = dict.fromkeys(span.thread for span in session.spans)
    for number, thread in enumerate(threads):
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "ts": 0,
               "args": {"name": "thread" if number == 0 else f"thread {number + 1}"}}
    for span in sorted(session.spans, key=lambda span: (span.thread, span.start, -span.end)):
        yield {"ph": "X", "name": span.region.name, "cat": span.region.kind, "pid": process, "tid": span.thread,
               "ts": (span.start - session.start) / 1000, "dur": (span.end - span.start) / 1000,
               "args": {**_args(span.region, session.totals.get(span.region)), **span.args}}
    for time, size in session.memory:
        yield {"ph": "C", "name": "memory of native code", "pid": process, "tid": 0,
               "ts": (time - session.start) / 1000, "args": {"bytes": size}}


def _args(region: Region, totals: Totals | None) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if len(region.ops) > 1:
        args["ops"] = ", ".join(region.ops)
    if region.places:
        args["source"] = ", ".join(f"{filename}:{line}" for filename, line in region.places)
    if region.scopes:
        args["scope"] = ", ".join(region.scopes)
    if region.note:
        args["how"] = region.note
    if totals is not None:
        args["runs in all"] = totals.runs
        if totals.iterations is not None:
            args["iterations in all"] = totals.iterations
        if totals.bytes:
            args["bytes"] = totals.bytes
    return args
