"""Converted code that counts, follows or traces frames meets those of the user's functions alone."""
from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.core.tracebacks import is_internal


def outward(frame: FrameType | None) -> list[tuple[str, int]]:
    found = []
    while frame is not None and frame.f_code.co_filename == __file__:
        found.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return found


def innermost(depth: int) -> list[tuple[str, int]]:
    if depth:
        with contextlib.suppress(ValueError):
            return innermost(depth - 1)
    for _ in range(1):
        if depth == 0:
            return outward(sys._getframe())
    return []


def middle(depth: int) -> list[tuple[str, int]]:
    try:
        found = innermost(depth)
        return found
    finally:
        depth = 0


def outermost(depth: int) -> list[tuple[str, int]]:
    while True:
        return middle(depth)


@pytest.mark.parametrize("depth", [0, 2])
def test_frames_lead_outward_to_the_users_frames(depth: int) -> None:
    ways = outermost, ag.convert(outermost)
    expected, got = map(lambda call: call(depth), ways)
    names = [*["innermost"] * (depth + 1), "middle", "outermost", "<lambda>"]
    assert [name for name, _ in expected][:-1] == names
    assert got == expected


def test_frames_lead_outward_in_a_trace() -> None:
    seen: list[list[tuple[str, int]]] = []

    @rt.function
    def traced(x: Any) -> Any:
        if x > 0:
            seen.append(outward(sys._getframe()))
        return x

    traced(rt.constant(1))
    assert [name for name, _ in seen[0]] == ["traced", "test_frames_lead_outward_in_a_trace"]


def test_what_is_no_frame_has_its_own_attribute() -> None:
    class Node:
        f_back = 5

    def read(x: Any) -> Any:
        return x.f_back

    assert ag.convert(read)(Node()) == 5
    assert "ag__.caller(x)" in ag.to_code(read, stage="compiled") and "x.f_back" in ag.to_code(read)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'f_back'"):
        ag.convert(read)(3)


def warned(depth: int) -> None:
    if depth:
        for _ in range(1):
            warned(depth - 1)
    else:
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and frame.f_code.co_name == "warned":
            frame, level = frame.f_back, level + 1
        warnings.warn("here", stacklevel=level)


def test_a_stacklevel_that_was_counted_by_following_frames() -> None:
    def warns() -> None:
        if True:
            warned(2)

    places = []
    for fn in (warns, ag.convert(warns)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn()
        places.append([(w.filename, w.lineno) for w in caught])
    assert places[0] == places[1] and places[0][0][0] == __file__


# --- Tracers ---


def stepped(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 2:
            total += i
        else:
            total -= 1
    with contextlib.suppress(ZeroDivisionError):
        total += helper(0)
    while total < 5:
        total += 3
    return total


def helper(x: int) -> float:
    try:
        return 1 / x
    finally:
        x = 2


Events = list[tuple[str, str, int]]


def events_of(fn: Callable[[int], int]) -> Events:
    """What a tracer that converted code sets is told."""
    events: Events = []

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        events.append((event, frame.f_code.co_name, frame.f_lineno))
        return trace

    def run() -> None:
        before = sys.gettrace()
        sys.settrace(trace)
        found = sys.gettrace()
        try:
            fn(4)
        finally:
            sys.settrace(before)
        assert found is trace and sys.gettrace() is before

    ag.convert(run)()
    return events


@pytest.mark.parametrize("repeated", [False, True])
def test_a_tracer_is_told_of_the_users_calls_and_lines(repeated: bool) -> None:
    """The converted form may come to a line again, and an error to the frame that holds the body which it leaves."""
    def original(n: int) -> int:
        return stepped(n)

    def named(events: Events, *kinds: str) -> list[tuple[str, str, int]]:
        return [e for e in events if e[0] in kinds and e[1] in ("stepped", "helper")]

    if repeated:
        events_of(original)
    expected = events_of(ag.do_not_convert(original))
    got = events_of(original)
    assert named(got, "call", "return") == named(expected, "call", "return")
    assert {*named(got, "line", "exception")} >= {*named(expected, "line", "exception")}
    assert not [e for e in got if e[1] not in {name for _, name, _ in expected}]


def test_a_tracer_is_told_of_nothing_but_the_users_files() -> None:
    """Nothing of operators, of what they use, and of the conversion of what is called for the first time."""
    files: set[str] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        files.add(frame.f_code.co_filename)
        return trace

    def first(n: int) -> Any:
        for i in range(n):
            while i < 2:
                i += 1
                try:
                    i = [j + i for j in (1, 2)][-1]
                except ValueError:
                    pass
        return i

    def run() -> None:
        sys.settrace(trace)
        try:
            first(3)
        finally:
            sys.settrace(None)

    before = sys.gettrace()
    try:
        ag.convert(run)()
    finally:
        sys.settrace(before)
    assert files == {__file__} and not is_internal(__file__)


def test_internal_files_by_names_with_dots() -> None:
    folder = os.path.dirname(os.path.dirname(ag.__file__))
    assert is_internal(os.path.join(folder, ".", "autograph", "api.py"))  # from the entry "." of sys.path
    assert is_internal(os.path.join(folder, "tests", os.pardir, "autograph", "api.py"))
    assert not is_internal(os.path.join(folder, ".", "tests", "api.py")) and not is_internal("<string>")


@pytest.mark.skipif(not hasattr(sys, "_getframemodulename"), reason="Python 3.12 has it")
def test_the_name_of_the_callers_module() -> None:
    def name(depth: int) -> object:
        if depth >= 0:
            for _ in range(1):
                return sys._getframemodulename(depth)  # type: ignore[attr-defined,unused-ignore]
        return None

    namespace: dict[str, Any] = {"__name__": "elsewhere"}
    exec("def call(name, depth): return name(depth)", namespace)
    for depth, found in enumerate((__name__, "elsewhere", __name__)):
        assert namespace["call"](ag.do_not_convert(name), depth) == found
        assert namespace["call"](ag.convert(name), depth) == found
    assert ag.convert(lambda: sys._getframemodulename(500))() is None  # type: ignore[attr-defined,unused-ignore]
