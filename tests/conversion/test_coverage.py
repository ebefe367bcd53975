"""coverage misses no line of the converted form that Python runs: modules of the standard library, run by CPython's own
tests. All of them: `python -m tests.stdlib --lines`."""
from __future__ import annotations

import inspect
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from stdlib import compare
from stdlib.modules import LONG, Subject, is_measured, subjects

pytest.importorskip("coverage", reason="coverage is not installed")
pytest.importorskip("test.test_textwrap", reason="this Python comes without CPython's own tests")

MODULES = {
    "textwrap": "test_textwrap", "shlex": "test_shlex", "fnmatch": "test_fnmatch", "csv": "test_csv",
    "string": "test_string", "graphlib": "test_graphlib", "copy": "test_copy", "reprlib": "test_reprlib",
    "urllib.parse": "test_urlparse", "bisect": "test_bisect", "optparse": "test_optparse",
}
SUBJECT = Subject("several", tuple(MODULES), tuple(f"test.{name}" for name in MODULES.values()))


def test_reports_are_the_same() -> None:
    found = compare.compare_lines(SUBJECT)
    assert isinstance(found, compare.Lines), found
    assert found.tests > 600 and found.functions > 280 and found.count > 1900
    assert found.differences == ()


def test_reports_are_the_same_beside_tests_that_are_not_measured() -> None:
    """Those of dis that are listed as INHERENT differ."""
    found = compare.compare_lines(subjects(("dis",))[0]._replace(without=LONG))
    assert isinstance(found, compare.Lines), found
    assert found.tests > 60 and found.count > 200
    assert found.differences == ()


_TESTS = """
import sys, textwrap, unittest
del sys.modules["textwrap"]

class Tests(unittest.TestCase):
    def test_wrap(self):
        textwrap.wrap("a b")

    def test_get_event_loop_new_process(self):
        textwrap.indent("a", " ")
        textwrap.shorten("a b", 9)

    def test_shorten(self):
        textwrap.shorten("a b", 9)
"""


def test_what_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a module that the tests take out of sys.modules, and not what a test listed as UNMEASURED runs."""
    assert is_measured("m.test_wrap") and not is_measured("m.test_get_event_loop_new_process")
    (tmp_path / "outside.py").write_text(_TESTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = compare._run(Subject("textwrap", ("textwrap",), ("outside",)), "original", 60, "lines")
    assert set(run["outcomes"].values()) == {"ok"} and len(run["outcomes"]) == 3, run
    (found,) = run["lines"].values()

    def is_run(function: Any) -> bool:
        lines, first = inspect.getsourcelines(function)
        return bool(set(range(first + 1, first + len(lines))) & set(found["executed_lines"]))

    assert [is_run(f) for f in (textwrap.wrap, textwrap.indent, textwrap.shorten)] == [True, False, True]


def test_a_line_that_differs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "m.py"
    module.write_text("def f(x):\n    y = 1\n    z = 2\n")

    def run(subject: Subject, mode: str, timeout: float, *options: str) -> dict[str, Any]:
        lines = {"executed_lines": [1, 2, 3] if mode == "original" else [2]}
        return {"outcomes": {"a": "ok"}, "functions": 1, "errors": [], "lines": {str(module): lines}}

    monkeypatch.setattr(compare, "_run", run)
    assert compare.compare_lines(SUBJECT) == compare.Lines("several", 1, 1, 2, ("m.py executed lines 3 unconverted",))
    monkeypatch.setattr(compare, "_run", lambda *args: {"failed": "no end after 1 s"})
    assert compare.compare_lines(SUBJECT) == "several: no end after 1 s"


_BRANCHES = """
import runtime as rt

def clip(x):
    if x > 2:
        y = x * 2
    else:
        y = x - 1
    return y

def never(x):
    if isinstance(x, str):
        x = rt.constant(0)
    return x

@rt.function
def f(x):
    if x > 1:
        x = clip(x)
    elif x < -5:
        x = -x
    else:
        x = x + 0
    for i in rt.range(3):
        if i == 1:
            continue
        x = x + i
    while x < 10:
        x = x + 3
        if x > 100:
            break
    return never(x)

f(rt.constant(1))
"""


def test_branches_of_staged_statements_count_as_taken(tmp_path: Path) -> None:
    """Those that are traced; a branch that plain Python does not take is missing."""
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(_BRANCHES)
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "run", "--branch", f"--include={program}", str(program)], check=True, cwd=tmp_path)
    subprocess.run([*coverage, "json", "-o", str(report)], check=True, cwd=tmp_path)
    (found,) = json.loads(report.read_text())["files"].values()
    line = 1 + _BRANCHES[:_BRANCHES.index("    if isinstance")].count("\n")
    assert found["missing_branches"] == [[line, line + 1]] and found["missing_lines"] == [line + 1]
