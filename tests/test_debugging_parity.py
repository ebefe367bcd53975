"""What debuggers, tracers, profilers and tracebacks show of converted code is what they show of the user's own."""
from __future__ import annotations

import calendar
import cProfile
import heapq
import io
import itertools
import pdb
import pstats
import re
import shlex
import statistics
import string
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import autograph as ag
from autograph import policy


class Box:
    def __init__(self, value):
        self.value = value

    def bump(self, by):
        if by:
            self.value += by
        return self.value


def lowered(x, low=2):
    if x > low:
        return x - 1
    return x


def stepped(items, flag):
    box = Box(1)
    out = []
    for x in items:
        if flag and x > 1:
            out.append(lowered(x))
        box.bump(x)
        if x == 3:
            break
        a = [lowered(i) for i in range(2)]
        out[0:0] = a
    while len(out) > 2:
        out.pop()
    out[0] = max(out[0], 1)
    return sorted(out), box.value if box else None


def stops(fn: Callable[..., Any], command: str) -> list[str]:
    """Where a debugger is, and what `where` shows there, as it takes `command` again and again."""
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO(f"where\n{command}\n" * 400), stdout=output, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    assert debugger.runcall(fn, [1, 2, 3], True) == ([1, 1], 7)
    lines = [line.removeprefix("(Pdb) ") for line in output.getvalue().splitlines()]
    frames = [line for line in lines if re.match(r"(> |  )\S+\(\d+\)|--", line)]
    return [line for line, _ in itertools.groupby(frames)]


def test_step_and_where_show_the_users_frames_alone():
    shown = "\n".join(stops(ag.convert(stepped), "step"))
    assert "/autograph/" not in shown
    ours = [line for line in shown.splitlines() if line.startswith("> ") and __file__ in line]
    theirs = [line for line in stops(stepped, "step") if line.startswith("> ") and __file__ in line]
    assert [line for line, _ in itertools.groupby(ours)] == [line for line, _ in itertools.groupby(theirs)]


def test_next_and_until_stay_in_the_function():
    ours = [line for line in stops(ag.convert(stepped), "next") if line.startswith("> ")]
    theirs = [line for line in stops(stepped, "next") if line.startswith("> ")]
    assert [line for line, _ in itertools.groupby(ours)] == [line for line, _ in itertools.groupby(theirs)]


def lines_run(filename: str, fn: Callable[..., Any], *args: Any) -> tuple[set[int], Any]:
    seen: set[int] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = fn(*args)
    finally:
        sys.settrace(before)
    return seen, result


@pytest.mark.parametrize("fn, args", [
    (textwrap.dedent, ("  a\n\n    b\n  c\n",)), (shlex.split, ("a 'b c' \"d \\\" e\" f\\ g",)),
    (statistics.median, ([3, 1, 2, 5],)),
    (statistics.mode, ("abracadabra",)), (calendar.month, (2024, 2)), (string.capwords, ("one two  three",)),
    (heapq.nlargest, (2, [5, 1, 8, 3])),
], ids=lambda value: getattr(value, "__name__", ""))
def test_lines_of_the_standard_library_run_as_they_do_unconverted(fn, args):
    module = sys.modules[fn.__module__]
    filename = str(module.__file__)
    added = {fn.__module__} - policy._included
    try:
        converted = ag.convert(fn)
        expected = lines_run(filename, fn, *args)
        ag.include(fn.__module__)
        lines, result = lines_run(filename, converted, *args)
        assert (sorted(lines ^ expected[0]), result) == ([], expected[1])
    finally:
        policy._included.difference_update(added)


def divides(items):
    total = 0
    for x in items:
        if x > 1 and total >= 0:
            total += (x + 1) // (x - 2)
    return total


def looks_up(d):
    while d["a"] and not d["b"]["c"]:
        d = d["b"]
    return d


def calls_badly(x):
    if x:
        return len(x, x)
    return lowered()


def asserts(x):
    y = 0 if x is None else x + None
    return y


def raises(x):
    try:
        if x:
            raise ValueError("bad") from KeyError("k")
    finally:
        x = 1


def unbound(x):
    if not x:
        value = 1
    return value


def unpacks(x):
    for a, b in x:
        a += b
    return a


@pytest.mark.parametrize("fn, arg", [
    (divides, [1, 2]), (looks_up, {"a": 1, "b": {}}), (calls_badly, [1]), (calls_badly, 0), (asserts, 1), (raises, 1),
    (unbound, 1), (unpacks, [1]),
], ids=lambda value: getattr(value, "__name__", repr(value)))
def test_tracebacks_are_the_same_to_the_column(fn, arg):
    texts = []
    for run in (fn, ag.convert(fn)):
        try:
            run(arg)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next  # without this frame
            texts.append("".join(traceback.format_exception(error)))
    assert len(texts) == 2
    assert texts[1] == texts[0]


def test_a_profile_names_the_users_functions():
    converted = ag.convert(stepped)
    converted([1], True)
    profiler = cProfile.Profile()
    profiler.runcall(converted, [1, 2, 3], True)
    stats: Any = pstats.Stats(profiler)
    names = {(name, line) for file, line, name in stats.stats if file == __file__}
    codes = {fn.__name__: fn.__code__.co_firstlineno for fn in (stepped, lowered, Box.__init__, Box.bump)}
    assert set(codes.items()) <= names
    assert {name for name, _ in names} <= {*codes, "<listcomp>"}


def deprecated():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def warns(x):
    for _ in range(2):
        if x:
            deprecated()
    return x


def test_a_warning_is_of_the_callers_line():
    seen = []
    for run in (warns, ag.convert(warns)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(1)
        seen.append([(w.filename, w.lineno) for w in caught])
    assert seen[0] == seen[1]
    assert seen[0][0] == (__file__, warns.__code__.co_firstlineno + 3)
