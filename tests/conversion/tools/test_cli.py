"""The command line: what it prints, writes and returns, and every error in full."""
from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from autograph import Explanation, convert_source, explain_source
from autograph.core.errors import ConversionError
from autograph.tools import cli, inputs

ROOT = Path(__file__).parents[3]
MODEL = '''\
#!/usr/bin/env python
"""A model."""
import math


def positive(items):
    total = 0
    # add what is above zero
    for x in items:
        if x > 0:  # only those
            total += x
    return total


class Net:
    def call(self, x):
        while x > 10:
            x = x / 2
        return math.floor(x)
'''
OPERATORS = "from autograph import operators as ag__"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("model.py")
    path.write_text(MODEL)
    return path


Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def load(text: str) -> ModuleType:
    module = ModuleType("converted")
    exec(compile(text, "converted.py", "exec"), module.__dict__)
    return module


# ---- convert ----


def test_convert_prints_a_module_that_runs(model: Path, capsys: Captured) -> None:
    status, out, err = run(capsys, "convert", "model.py")
    assert (status, err) == (0, "")
    assert out.startswith(f'#!/usr/bin/env python\n"""A model."""\n\n{OPERATORS}\n')
    assert "# add what is above zero" in out and "# only those" in out
    assert out == convert_source(MODEL, "model.py")
    module = load(out)
    assert module.positive([1, -2, 3]) == 4
    assert module.Net().call(44) == 5


def test_one_function(model: Path, capsys: Captured) -> None:
    status, out, _ = run(capsys, "convert", "model.py", "--function", "Net.call")
    assert status == 0
    assert "ag__.while_loop" in out and "ag__.reduce" not in out


def test_an_unknown_function(model: Path, capsys: Captured) -> None:
    for command in (["convert"], ["convert", "--check"], ["explain"]):
        status, out, err = run(capsys, *command, "model.py", "--function", "Net.run")
        assert (status, out) == (2, "")
        assert err == (
            "autograph: error: model.py: no function 'Net.run'\n"
            "Name it as Class.method or outer.inner; `autograph explain` lists them.\n"
        )


def test_a_function_is_looked_for_in_all_files(model: Path, capsys: Captured) -> None:
    Path("other.py").write_text("def f(x):\n    return x\n")
    status, out, err = run(capsys, "convert", "model.py", "other.py", "--function", "f")
    assert (status, err) == (0, "")
    assert out.startswith(OPERATORS)
    assert run(capsys, "convert", "model.py", "other.py", "--function", "g")[2] == (
        "autograph: error: these 2 files: no function 'g'\n"
        "Name it as Class.method or outer.inner; `autograph explain` lists them.\n"
    )


def test_a_stage(model: Path, capsys: Captured) -> None:
    status, out, _ = run(capsys, "convert", "model.py", "--stage", "capture")
    assert status == 0 and "for x in items:" in out and "ag__" not in out
    status, out, err = run(capsys, "convert", "model.py", "--stage", "lowering")
    assert status == 2 and "invalid choice: 'lowering'" in err


def test_what_is_compiled_can_be_shown(model: Path, capsys: Captured) -> None:
    model.write_text("def or_zero(x):\n    if x is None:\n        return [0][x or 0]\n    return x\n")
    for arguments, line in ((), "        return_ = [0][ag__.or_(x, lambda: 0)]"), (
        ("--stage", "compiled"), "        return_ = ag__.item([0], ag__.or_(x, lambda: 0))"
    ):
        status, out, err = run(capsys, "convert", *arguments, "model.py")
        assert (status, err) == (0, "") and line in out.splitlines()
        module = load(out)
        assert (module.or_zero(None), module.or_zero(3)) == (0, 3)


def test_several_files_are_headed_by_their_names(model: Path, capsys: Captured) -> None:
    Path("other.py").write_text("x = 1\n")
    status, out, _ = run(capsys, "convert", "model.py", "other.py", "model.py")
    assert status == 0
    assert [line for line in out.splitlines() if line.endswith(".py")] == ["# model.py", "# other.py"]


def test_standard_input() -> None:
    command = [sys.executable, "-m", "autograph", "convert", "-"]
    done = subprocess.run(command, input=MODEL, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == convert_source(MODEL, "<stdin>")
    broken = subprocess.run(command, input="if :\n", capture_output=True, text=True, cwd=ROOT)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr == (
        "autograph: error: <stdin>:1: syntax error: invalid syntax\n"
        "    1 | if :\n"
        "           ^\n"
        "Correct the source, then convert again.\n"
    )


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m autograph convert json argparse | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == "" and len(done.stdout.splitlines()) == 1


# ---- modules and directories ----


def test_a_module_is_found_without_importing_it(model: Path, capsys: Captured) -> None:
    package = Path("loud") / "inner"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "model.py").write_text("def f(x):\n    if x:\n        x = 1\n    return x\n")
    status, out, err = run(capsys, "convert", "loud.inner.model")
    assert (status, err) == (0, "") and "ag__.cond" in out
    status, _, err = run(capsys, "convert", "loud.inner", "--output", "out")
    assert (status, err) == (0, "")
    assert sorted(str(p) for p in Path("out").rglob("*.py")) == [
        "out/loud/inner/__init__.py", "out/loud/inner/model.py",
    ]
    assert "loud" not in sys.modules


@pytest.mark.parametrize(("name", "error"), [
    ("nothere", "nothere: no such file, directory or module\nModules are looked for here and on sys.path.\n"),
    ("json.nothere", "json.nothere: no such file, directory or module\nModules are looked for here and on sys.path.\n"),
    ("nothere.py", "nothere.py: no such file, directory or module\n"),
    ("a/b.py", "a/b.py: no such file, directory or module\n"),
    ("sys", "sys: this module is built into Python and has no source\n"),
    ("empty", "empty: no .py files in this directory\n"),
])
def test_what_is_not_there(model: Path, capsys: Captured, name: str, error: str) -> None:
    Path("empty").mkdir()
    assert run(capsys, "convert", name) == (2, "", f"autograph: error: {error}")
    assert run(capsys, "explain", name) == (2, "", f"autograph: error: {error}")


def test_a_module_in_c(model: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("fast.cpython.so").write_bytes(b"\x7fELF")
    suffixes = [".cpython.so"]
    monkeypatch.setattr(inputs.PathFinder, "find_spec", lambda name, path: _extension_spec(name, suffixes[0]))
    assert run(capsys, "convert", "fast") == (
        2, "", "autograph: error: fast: this module is not written in Python (fast.cpython.so)\n",
    )


def _extension_spec(name: str, suffix: str) -> inputs.ModuleSpec:
    return inputs.ModuleSpec(name, None, origin=name + suffix)


# ---- text and bytes ----


@pytest.mark.parametrize(("data", "error"), [
    (b"x = 1\n\0\x7fELF", "bad.py:2: this is a binary file, not Python source\nGive a .py file.\n"),
    (b"x = 1\ny = '\xe9'\n", "bad.py:2: byte 0xe9 is not utf-8\n{declare}"),
    (b"# coding: klingon\n", "bad.py:1: unknown encoding: klingon\n{declare}"),
])
def test_text_that_cannot_be_decoded(model: Path, capsys: Captured, data: bytes, error: str) -> None:
    declare = "Declare the encoding of the file in its first line, for example `# -*- coding: latin-1 -*-`.\n"
    Path("bad.py").write_bytes(data)
    status, out, err = run(capsys, "convert", "bad.py")
    assert (status, out) == (2, "")
    assert err == "autograph: error: " + error.replace("{declare}", declare)


def test_encodings_and_line_ends(model: Path, capsys: Captured) -> None:
    Path("latin.py").write_bytes("# coding: latin-1\r\nx = 'é'\r\n".encode("latin-1"))
    Path("marked.py").write_bytes("\ufeffx = 'é'\n".encode())
    status, out, err = run(capsys, "convert", "latin.py", "marked.py", "--output", "out")
    assert (status, out, err) == (0, "", "")
    assert Path("out/latin.py").read_bytes().startswith(b"# coding: latin-1\n")
    assert Path("out/latin.py").read_bytes().endswith(b"x = '\xe9'\n")
    assert Path("out/marked.py").read_bytes().startswith(b"\xef\xbb\xbf" + OPERATORS.encode())


def test_a_syntax_error_stops_everything(model: Path, capsys: Captured) -> None:
    Path("broken.py").write_text("def f(:\n    pass\n")
    for form in ([], ["--diff"], ["--check"], ["--output", "out"]):
        status, out, err = run(capsys, "convert", "model.py", "broken.py", *form)
        assert (status, out) == (2, "")
        assert err == (
            "autograph: error: broken.py:1: syntax error: invalid syntax\n"
            "    1 | def f(:\n"
            "              ^\n"
            "Correct the source, then convert again.\n"
        )
    assert not Path("out").exists()


# ---- --output ----


def test_output_mirrors_directories(model: Path, capsys: Captured) -> None:
    for path in ("src/a/b.py", "src/c.py", "pkg/__init__.py", "pkg/d.py", "src/__pycache__/e.py", "src/.hidden/f.py"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("x = 1\n")
    Path("src/c.py").chmod(0o755)
    status, out, err = run(capsys, "convert", "src", "pkg", "model.py", "--output", "out")
    assert (status, out, err) == (0, "", "")
    assert sorted(str(p) for p in Path("out").rglob("*") if p.is_file()) == [
        "out/a/b.py", "out/c.py", "out/model.py", "out/pkg/__init__.py", "out/pkg/d.py",
    ]
    assert stat.S_IMODE(Path("out/c.py").stat().st_mode) == 0o755
    assert Path("out/model.py").read_text() == convert_source(MODEL, "model.py")


def test_output_never_overwrites_its_source(model: Path, capsys: Captured) -> None:
    assert run(capsys, "convert", "model.py", "--output", ".") == (
        2, "", "autograph: error: model.py: --output would overwrite the source\nChoose another directory.\n",
    )
    assert model.read_text() == MODEL


def test_two_files_for_one_place(model: Path, capsys: Captured) -> None:
    Path("sub").mkdir()
    Path("sub/model.py").write_text("x = 1\n")
    assert run(capsys, "convert", "model.py", "sub/model.py", "--output", "out") == (
        2, "",
        "autograph: error: sub/model.py: both this and model.py would be written to out/model.py\n"
        "Convert them with different --output directories.\n",
    )
    assert not Path("out").exists()


def test_output_of_standard_input(model: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_bytes", lambda name: b"x = 1\n")
    assert run(capsys, "convert", "-", "--output", "out") == (
        2, "",
        "autograph: error: --output needs a file name\nWrite `autograph convert - > FILE` for standard input.\n",
    )


def test_a_write_that_fails_leaves_nothing(model: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert run(capsys, "convert", "model.py", "--output", "out") == (
        2, "", "autograph: error: out/model.py: cannot write: No space left on device\n",
    )
    assert list(Path("out").iterdir()) == []


# ---- --diff, --check, explain ----


def test_diff(model: Path, capsys: Captured) -> None:
    status, out, _ = run(capsys, "convert", "model.py", "--diff", "--function", "Net.call")
    assert status == 0
    lines = out.splitlines()
    assert lines[:2] == ["--- model.py", "+++ model.py (converted)"]
    assert "-        while x > 10:" in lines and "+            return x > 10" in lines
    Path("open.py").write_text("x = 1")
    assert "-x = 1\n\\ No newline at end of file\n" in run(capsys, "convert", "open.py", "--diff")[1]


def test_check(model: Path, capsys: Captured) -> None:
    status, out, err = run(capsys, "convert", "model.py", "--check")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "model.py:6: positive: staged if a tensor 2, Python 0"
    assert lines[1].startswith("    model.py:9: for: staged if a tensor: ")
    assert lines[2].startswith("    model.py:10: if: staged if a tensor: ")
    assert lines[3] == "model.py:16: Net.call: staged if a tensor 1, Python 0"


def test_a_function_that_cannot_convert(model: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    error = ConversionError("no", filename="model.py", lineno=9, col=4, remedy="Do not.", line="    for x in items:")
    text = "autograph: error: model.py:9: no\n    9 |     for x in items:\n            ^\nDo not.\n"
    report = Explanation("positive", "model.py", 6, (), error=error)
    monkeypatch.setattr(cli, "explain_source", lambda *_, **__: [report])
    status, out, err = run(capsys, "convert", "model.py", "--check")
    assert (status, out, err) == (1, "model.py:6: positive: cannot convert\n", text)
    assert run(capsys, "explain", "model.py")[0] == 1
    status, out, _ = run(capsys, "explain", "model.py", "--json")
    assert status == 1 and json.loads(out)[0]["error"] == str(error)

    def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(cli, "convert_source", fail)
    assert run(capsys, "convert", "model.py", "--output", "out") == (1, "", text)
    assert not Path("out").exists()
    assert run(capsys, "convert", "model.py", "--check") == (1, "model.py:6: positive: cannot convert\n", text)
    monkeypatch.setattr(cli, "explain_source", explain_source)
    status, out, err = run(capsys, "convert", "model.py", "--check")
    assert (status, err) == (1, text)
    assert out.startswith(
        "model.py:6: positive: cannot convert\nmodel.py:16: Net.call: staged if a tensor 1, Python 0\n")


def test_explain(model: Path, capsys: Captured) -> None:
    status, out, err = run(capsys, "explain", "model.py", "--function", "positive")
    assert (status, err) == (0, "")
    assert out.startswith("model.py:6: positive\n") and "staged" in out
    status, out, _ = run(capsys, "explain", "model.py", "--json")
    data = json.loads(out)
    assert status == 0
    assert [d["function"] for d in data] == ["positive", "Net.call"]
    assert data[0]["decisions"][0].keys() == {"lineno", "col", "statement", "staged", "rule"}
    assert (data[0]["decisions"][0]["statement"], data[0]["decisions"][0]["staged"]) == ("for", True)


# ---- usage and colour ----


@pytest.mark.parametrize("line", ["", "convert", "compile x", "convert x --diff --check", "explain x --diff", "--what"])
def test_usage_errors(line: str, capsys: Captured) -> None:
    status, out, err = run(capsys, *line.split())
    assert (status, out) == (2, "")
    assert err.startswith("usage: autograph") and "error: " in err


def test_help_and_version(capsys: Captured) -> None:
    status, out, _ = run(capsys, "convert", "--help")
    assert status == 0 and "examples:" in out and "exit status: 0 ok" in out
    assert run(capsys, "--help")[0] == 0
    assert run(capsys, "--version")[1].startswith("autograph 0.")


def test_colour_only_where_it_is_wanted(model: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygments")
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert "\x1b[" not in run(capsys, "convert", "model.py")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[" in run(capsys, "convert", "model.py")[1]
    assert "\x1b[" in run(capsys, "convert", "model.py", "--diff")[1]
    assert "\x1b[" not in run(capsys, "convert", "model.py", "--no-color")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(capsys, "convert", "model.py")[1]
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setattr(cli, "highlight", None)
    assert "\x1b[" not in run(capsys, "convert", "model.py")[1]
