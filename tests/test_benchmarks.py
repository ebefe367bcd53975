"""The benchmarks run and print their table; how fast anything is, is not tested here."""
from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import GROUPS, main, number
from benchmarks.nested import nested

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("group", GROUPS)
def test_group_prints_its_rows(group, capsys):
    assert main([group, "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Python ") and lines[2].startswith(group)
    assert len(lines) > 3


def test_json():
    command = [sys.executable, "-m", "benchmarks", "conversion", "--quick", "--json"]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    document = json.loads(child.stdout)
    rows = document["results"]["conversion"]
    assert [row["name"] for row in rows][0] == "convert the 69-line function"
    assert all(row["figures"]["this"] > 0 for row in rows)


def test_unknown_group(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["speed"])
    assert exit.value.code == 2
    assert "no group 'speed': there are conversion, calls, imports, stdlib" in capsys.readouterr().err


def test_numbers_are_short():
    assert [number(x) for x in (None, 0.01234, 1.234, 12.34, 123.4, 12345.6)] == [
        "-", "0.0123", "1.23", "12.3", "123", "12346"]


def test_the_function_is_as_said():
    assert len(inspect.getsource(nested).splitlines()) == 69
