"""Converted code runs at the user's own lines: breakpoints, coverage, tracebacks."""
from __future__ import annotations

import io
import os
import pdb
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest

import autograph as ag
import runtime as rt

ROOT = str(Path(__file__).resolve().parents[2])


def test_a_breakpoint_in_a_converted_loop_body_stops(tmp_path, monkeypatch):
    source = tmp_path / "stops.py"
    source.write_text(textwrap.dedent("""\
        def total(items):
            s = 0
            for x in items:
                if x > 1:
                    s += x
            return s
        """))
    monkeypatch.syspath_prepend(tmp_path)
    import stops

    commands = io.StringIO("continue\np x, s\nwhere\ncontinue\np s\ncontinue\n")
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=commands, stdout=output, nosigint=True, readrc=False, skip=["autograph.*"])
    debugger.use_rawinput = False
    debugger.set_break(str(source), 5)
    converted = ag.convert(stops.total)
    assert debugger.runcall(converted, [1, 2, 3]) == 5
    text = output.getvalue()
    assert text.count(f"> {source}(5)total()") >= 2
    assert "(2, 0)" in text
    assert "\n(Pdb) 2\n" in text


def test_coverage_finds_the_lines_of_a_converted_function(tmp_path):
    (tmp_path / "covered.py").write_text(textwrap.dedent("""\
        def f(items):
            s = 0
            for x in items:
                if x < 0:
                    continue
                if x > 10:
                    break
                elif x == 5:
                    pass
                else:
                    s += x
                while s > 100:
                    s -= 1
            else:
                s = -1
            if s == 77:
                return 0
            return s
        """))
    (tmp_path / "main.py").write_text(
        "import autograph as ag, covered\nf = ag.convert(covered.f)\nf([1, -1, 5, 2, 11])\nf([1, 5])\n")
    run = [sys.executable, "-m", "coverage"]
    subprocess.run([*run, "run", "--include=covered.py", "main.py"], cwd=tmp_path, check=True,
                   env={**os.environ, "PYTHONPATH": ROOT})
    report = subprocess.run([*run, "report", "-m"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "13, 17" in report.stdout, report.stdout


def deep(n):
    while n > 0:
        n -= 1
        if n == 2:
            return middle(n)
    return n


def middle(n):
    for k in range(3):
        if k == n:
            return inner(k)
    return None


def inner(k):
    if k:
        return 1 // (k - 2)
    return 0


def test_traceback_holds_only_the_users_lines():
    with pytest.raises(ZeroDivisionError) as error:
        ag.convert(deep)(5)
    entries = traceback.extract_tb(error.value.__traceback__)[1:]
    assert {e.filename for e in entries} == {__file__}
    assert [e.name for e in entries if e.name != "deep"] == ["middle", "inner"]
    assert [e.line for e in entries][-3:] == ["return middle(n)", "return inner(k)", "return 1 // (k - 2)"]


def test_full_tracebacks_on_demand(tmp_path):
    script = tmp_path / "full.py"
    script.write_text("import autograph as ag\n\nclass Zero:\n    def __init__(self):\n        self.x = int(1) // 0\n\n"
        "@ag.convert\ndef f():\n    return Zero()\n\nf()\n")
    for value, shown in (("1", True), ("0", False)):
        run = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": ROOT, "AUTOGRAPH_FULL_TRACEBACK": value})
        assert ("api.py" in run.stderr) is shown
        assert "ZeroDivisionError" in run.stderr


def test_breakpoint_in_a_traced_function_stops_in_its_frame(monkeypatch):
    stops: list[tuple[str, int, set[str]]] = []

    def hook() -> None:
        frame = sys._getframe(1)
        stops.append((frame.f_code.co_filename, frame.f_lineno - first, {*frame.f_locals}))

    def f(n):
        uncertain = {}
        if n > 0:
            uncertain["a"] = 1
        breakpoint()
        items = iter([1, 2])
        for i in range(n):
            if i > 5:
                uncertain["b"] = i
            breakpoint()
        y = next(items, 0) + n
        breakpoint()
        return y

    first = f.__code__.co_firstlineno
    monkeypatch.setattr(sys, "breakpointhook", hook)
    assert rt.function(f)(rt.constant(4)) == 5
    assert {(file, line) for file, line, _ in stops} == {(__file__, line) for line in (4, 9, 11)}
    assert all("i" in names for _, line, names in stops if line == 9)
    assert "y" in stops[-1][2]
