"""The benchmarks run and print their table; how fast anything is, is not tested here."""
from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import imports
from benchmarks.__main__ import GROUPS, main, number
from benchmarks.measure import QUICK, Budget, Row, fastest
from benchmarks.nested import nested
from benchmarks.programs import plot
from benchmarks.programs.first_calls import main as first_call
from benchmarks.programs.steady import measured
from benchmarks.programs.subjects import REFERENCE
from benchmarks.programs.written import PROGRAMS, Program, agree, increment

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


def test_the_target_of_imports_is_what_they_take_beyond_numpy(monkeypatch):
    monkeypatch.setattr(imports, "_milliseconds", lambda module, before, *_: 100.0 if before else 200.0)
    rows = {row.name: row.target for row in imports.run(QUICK)}
    assert rows["import runtime, beyond numpy"] == "< 120 ms" and not rows["import runtime, numpy included"]


def test_unknown_group(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["speed"])
    assert exit.value.code == 2
    known = "conversion, plain, peers, items, calls, gradients, batching, imports, scaling, first, stdlib, training"
    assert f"no group 'speed': there are {known}" in capsys.readouterr().err


def test_numbers_are_short():
    assert [number(x) for x in (None, 0.01234, 1.234, 12.34, 123.4, 12345.6)] == [
        "-", "0.0123", "1.23", "12.3", "123", "12346"]


def test_the_function_is_as_said():
    assert len(inspect.getsource(nested).splitlines()) == 69


def test_a_wrong_result_is_caught():
    """Plant: NumPy's result is another."""
    wrong = Program("wrong", increment, lambda x: x + 2, lambda: [np.float32(1)])
    with pytest.raises(AssertionError, match="^wrong: the result of .* is not NumPy's$"):
        measured(wrong, QUICK)


def test_results_agree_but_for_rounding_and_the_border():
    program = PROGRAMS[2]
    one = np.zeros((100, 100), np.int32)
    other = one.copy()
    other[0, :10] = 1
    assert agree(program, one, other) and agree(program, (one, one), [one, one])
    other[0, 10] = 1
    assert not agree(program, one, other)
    assert not agree(program, one, one[:50])


def test_the_fastest_take_turns():
    calls = []
    times = fastest({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, Budget(seconds=0.001))
    assert set(times) == {"a", "b"} and all(0 < took < 0.1 for took in times.values())
    text = "".join(calls)
    assert text.startswith("a") and "ab" in text and "ba" in text


def test_a_first_call_is_measured(capsys):
    first_call(REFERENCE, "gradient descent")
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"imports", "call"} and found["call"] > 0


def test_plot_without_matplotlib(capsys, monkeypatch):
    monkeypatch.setattr(plot, "possible", lambda: False)
    with pytest.raises(SystemExit) as exit:
        main(["peers", "--plot", "peers.svg"])
    assert exit.value.code == 2
    assert "--plot needs matplotlib: pip install matplotlib" in capsys.readouterr().err


def test_plot_of_another_group(capsys, monkeypatch):
    monkeypatch.setattr(plot, "possible", lambda: True)
    with pytest.raises(SystemExit):
        main(["calls", "--plot", "peers.svg"])
    assert "--plot shows the group peers, which is not among those to run" in capsys.readouterr().err


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "peers.svg"
    plot.draw([Row("collatz", "ms", {"this": 2.0, "C": 1.0}), Row("call", "us", {"this": 1.0})], str(path))
    assert "<svg" in path.read_text()
