"""coverage reports of converted code equal those of the original: modules of the standard library, run by CPython's own
tests, line by line and branch by branch. All of them: `python -m tests.stdlib --lines`."""
from __future__ import annotations

from typing import Any

import pytest
from stdlib import compare
from stdlib.modules import Subject

pytest.importorskip("coverage", reason="coverage is not installed")
pytest.importorskip("test.test_textwrap", reason="this Python comes without CPython's own tests")

MODULES = {
    "textwrap": "test_textwrap", "shlex": "test_shlex", "fnmatch": "test_fnmatch", "csv": "test_csv",
    "calendar": "test_calendar", "string": "test_string", "graphlib": "test_graphlib", "copy": "test_copy",
    "reprlib": "test_reprlib", "html.parser": "test_htmlparser", "difflib": "test_difflib",
    "urllib.parse": "test_urlparse", "bisect": "test_bisect", "configparser": "test_configparser",
    "optparse": "test_optparse", "glob": "test_glob",
}
SUBJECT = Subject("several", tuple(MODULES), tuple(f"test.{name}" for name in MODULES.values()))


def test_reports_are_the_same() -> None:
    found = compare.compare_lines(SUBJECT)
    assert isinstance(found, compare.Lines), found
    assert found.tests > 800 and found.functions > 400 and found.count > 6000
    assert found.differences == ()


def test_a_line_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(subject: Subject, mode: str, timeout: float, *options: str) -> dict[str, Any]:
        lines = {"executed_lines": [1, 2] if mode == "original" else [1], "missing_branches": [[1, 2]]}
        return {"outcomes": {"a": "ok"}, "functions": 1, "errors": [], "lines": {"/m.py": lines}}

    monkeypatch.setattr(compare, "_run", run)
    assert compare.compare_lines(SUBJECT) == compare.Lines("several", 1, 1, 3, ("m.py executed lines 2 unconverted",))
    monkeypatch.setattr(compare, "_run", lambda *args: {"failed": "no end after 1 s"})
    assert compare.compare_lines(SUBJECT) == "several: no end after 1 s"
