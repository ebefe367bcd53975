"""coverage reports of converted code equal those of the original: whole modules of the standard library, run by
CPython's own tests, line by line and branch by branch."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("coverage", reason="coverage is not installed")
pytest.importorskip("test.test_textwrap", reason="this Python comes without CPython's own tests")

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    "textwrap": "test_textwrap", "shlex": "test_shlex", "fnmatch": "test_fnmatch", "csv": "test_csv",
    "calendar": "test_calendar", "string": "test_string", "graphlib": "test_graphlib", "copy": "test_copy",
    "reprlib": "test_reprlib", "html.parser": "test_htmlparser", "difflib": "test_difflib",
    "urllib.parse": "test_urlparse", "bisect": "test_bisect", "configparser": "test_configparser",
}

RUN = """
import importlib, io, json, os, random, sys, tempfile, unittest
import coverage
from in_place import Converter
from test import support

modules, converted = json.loads(sys.argv[1]), sys.argv[2] == "converted"
support.use_resources = []
files = {name: importlib.import_module(name).__file__ for name in modules}
suites = [unittest.defaultTestLoader.loadTestsFromName(f"test.{test}") for test in modules.values()]
if converted:
    converter = Converter(lambda name: name in modules)
    converter.start()
    assert converter.converted > 300 and not converter.errors, converter.errors
random.seed(1)
measured = coverage.Coverage(data_file=None, branch=True, include=list(files.values()), config_file=False)
measured.start()
result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite(suites))
measured.stop()
with tempfile.TemporaryDirectory() as folder:
    measured.json_report(list(files.values()), outfile=f"{folder}/report.json")
    with open(f"{folder}/report.json") as file:
        shown = {os.path.realpath(name): report for name, report in json.load(file)["files"].items()}
report = {name: shown[os.path.realpath(file)] for name, file in files.items()}
print(json.dumps([result.testsRun, len(result.failures) + len(result.errors), report]))
sys.stdout.flush()
os._exit(0)
"""


def measure(how: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN, json.dumps(MODULES), how], capture_output=True, text=True, timeout=280,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "stdlib")]),
             "PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def reports() -> tuple[Any, Any]:
    count, failed, original = measure("original")
    count_converted, failed_converted, converted = measure("converted")
    assert (count_converted, failed_converted) == (count, failed)
    assert count > 700 and failed == 0
    return original, converted


@pytest.mark.parametrize("kind", ["executed_lines", "missing_lines", "executed_branches", "missing_branches"])
@pytest.mark.parametrize("module", MODULES)
def test_reports_are_the_same(reports: tuple[Any, Any], module: str, kind: str) -> None:
    original, converted = (report[module][kind] for report in reports)
    assert original or kind.startswith("missing")
    assert converted == original
