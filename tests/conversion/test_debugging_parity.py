"""What debuggers, tracers, profilers and tracebacks show of converted code is what they show of the user's own."""
from __future__ import annotations

import bdb
import cProfile
import inspect
import io
import os
import pdb
import pstats
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import autograph as ag
from autograph.core.versions import ANNOTATES_LATER


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


def session(fn: Callable[..., Any], commands: str) -> str:
    """What a debugger shows as it takes these commands."""
    output = io.StringIO()
    bdb.Breakpoint.clearBreakpoints()
    debugger = pdb.Pdb(stdin=io.StringIO(commands + "continue\n" * 30), stdout=output, nosigint=True, readrc=False,
                       skip=["autograph.*"])
    debugger.use_rawinput = False
    debugger.runcall(fn, [1, 2, 3], True)
    bdb.Breakpoint.clearBreakpoints()
    return output.getvalue()


DECORATOR = """
import functools

def decorated(fn):
    @functools.wraps(fn)
    def entered(*args, **kwargs):
        return fn(*args, **kwargs)
    return entered
"""
MODULE: dict[str, Any] = {"__name__": "autograph.of_this_test"}
exec(compile(DECORATOR, "decorator.py", "exec"), MODULE)
decorated = MODULE["decorated"]
_DECORATORS_FRAME = re.compile(r"^(> |  )\S*(decorator|api)\.py\(\d+\)entered\(\)\n(-> .*\n)?", re.M)


LINE = {text: stepped.__code__.co_firstlineno + number for number, text in enumerate(
    inspect.getsource(stepped).splitlines())}
BUMP, POP, BREAK = LINE["        box.bump(x)"], LINE["        out.pop()"], LINE["            break"]
SESSIONS = {
    "step": "where\nstep\n" * 400,
    "next": "where\nnext\n" * 200,
    "until": "where\nuntil\n" * 100,
    "return": "step\n" * 4 + "where\nreturn\nwhere\nreturn\nwhere\n" * 3 + "continue\n",
    "up and down": "step\n" * 3 + "where\nup\np box, x, out\nlist\ndown\np self, args\ndown\nargs\n" * 2 + "continue\n",
    "a condition": f"break {BUMP}, x == 2\ncontinue\np x, box.value\nwhere\nargs\ncontinue\n",
    "breakpoints": f"break {BUMP}\nbreak {POP}\ntbreak {BREAK}\n" + "continue\nwhere\np x, out, box.value\n" * 8,
    "a change": f"break {POP}\ncontinue\np out\n!out.append(0)\np out\ncontinue\np out\nclear {BUMP}\n",
    "a function": "break Box.bump\ncontinue\nargs\nup\np x\ncontinue\nreturn\nstep\nwhere\ndisable 1\ncontinue\n",
    "a jump": f"break {BUMP}\ncontinue\njump {BUMP + 1}\nwhere\njump {BUMP}\nclear 1\ncontinue\n",
}


@pytest.mark.entry
@pytest.mark.parametrize("name", SESSIONS)
def test_a_debugger_shows_the_same(name: str) -> None:
    """The whole transcript is that of a function with any decorator, which adds one frame."""
    theirs, ours = (
        _DECORATORS_FRAME.sub("  a decorator\n", re.sub("0x[0-9a-f]+", "0x", session(fn, SESSIONS[name])))
        for fn in (decorated(stepped), ag.convert(stepped)))
    assert theirs.count("(Pdb)") > 5
    assert ours == theirs


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


def in_list(xs):
    return [x or {}[None] for x in xs]


def in_filtered_list(xs):
    return [x for x in xs if not (x or {}[None])]


def in_set(xs):
    return {{}[None] if x else 1 for x in xs}


def in_dict(xs):
    return {0: [x and 0 < {}[None] < 1 for x in xs] for _ in "a"}


@pytest.mark.entry
@pytest.mark.parametrize("fn, arg", [
    (in_list, [0]), (in_filtered_list, [0]), (in_set, [1]), (in_dict, [1]), (divides, [1, 2]),
    (looks_up, {"a": 1, "b": {}}), (calls_badly, [1]), (calls_badly, 0), (asserts, 1), (raises, 1),
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


def test_line_profiler_counts_the_same_lines():
    line_profiler = pytest.importorskip("line_profiler", reason="line_profiler is not installed")
    counts = []
    for fn in (stepped, ag.convert(stepped)):
        fn([1], True)
        profiler = line_profiler.LineProfiler(fn)
        assert profiler.runcall(fn, [1, 2, 3], True) == ([1, 1], 7)
        timings = profiler.get_stats().timings
        counts.append({key: [(line, hits) for line, hits, _ in lines] for key, lines in timings.items()})
    assert list(counts[0]) == [(__file__, stepped.__code__.co_firstlineno, "stepped")]
    assert len(counts[0][__file__, stepped.__code__.co_firstlineno, "stepped"]) > 10
    assert counts[1] == counts[0]


def test_importing_autograph_imports_no_parser_and_no_runtime():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", "import autograph; print(autograph.__name__)"],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, check=True)
    lines = done.stderr.splitlines()
    assert done.stdout == "autograph\n" and all(line.startswith("import time:") for line in lines)
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "autograph" in imported
    own = {"ast"} if ANNOTATES_LATER else set()  # Python's annotationlib imports it for protocols
    assert not imported & {"gast", "astunparse", "numpy", "llvmlite", "runtime", "ast", "inspect", "pdb"} - own
