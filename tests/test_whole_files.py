"""Whole files: a sample of what `python -m tests.whole_files` does with the standard library and what is installed."""
from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
import whole_files
from whole_files import Result, conversion_fault, files, import_fault, printing_fault, read

import autograph as ag

ROOT = Path(__file__).resolve().parent.parent
STDLIB = Path(sysconfig.get_path("stdlib"))
HARD = {
    "test_fstring", "test_patma", "test_grammar", "test_syntax", "test_unparse", "test_type_params",
    "test_type_aliases", "test_except_star", "test_coroutines", "test_named_expressions", "test_tokenize",
    "test_positional_only_arg", "test_with", "test_string_literals", "test_unpack_ex", "test_generators",
}
OTHERS = {"site-packages", "lib2to3"}
CONVERTED = ("abc", "bisect", "calendar", "heapq", "json.decoder", "textwrap", "shlex", "sched", "cmd", "tokenize")


def sample() -> list[Path]:
    """The files of the library that are hard to print, and some others."""
    places = (p for p in STDLIB.iterdir() if p.name not in OTHERS and (p.is_dir() or p.suffix == ".py"))
    paths = sorted(p for p in files(places) if OTHERS.isdisjoint(p.parts))
    plain = [p for p in paths if "test" not in p.parts and p.stat().st_size < 60_000]
    return [p for p in paths if p.stem in HARD] + random.Random(0).sample(plain, 15)


def path_of(name: str) -> Path:
    return STDLIB.joinpath(*name.split(".")).with_suffix(".py")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sample(), ids=lambda path: str(path.relative_to(STDLIB)))
def test_printed_files_parse_to_the_same_tree(path: Path) -> None:
    text = read(path)
    if text is None:
        pytest.skip("is not meant to compile")
    assert not printing_fault(text)


@pytest.mark.parametrize("name", CONVERTED)
def test_modules_convert_once(name: str) -> None:
    text = read(path_of(name))
    assert text is not None
    assert not conversion_fault(text, name)


@pytest.mark.parametrize("name", ["bisect", "enum", "json.decoder", "shlex", "typing"])
def test_converted_modules_are_imported(name: str, tmp_path: Path) -> None:
    assert import_fault(name, path_of(name), tmp_path) == ""


def test_faults_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "# a\nx = 1  # b\n"
    assert not printing_fault(text)
    with monkeypatch.context() as patch:
        patch.setattr("whole_files.unparse", lambda tree, source=None: "x = 1\n")
        assert printing_fault(text) == "comments lost: ['# a', '# b'], new: []"
        assert printing_fault("x = 2\n") == "the printed tree is another one"
    with monkeypatch.context() as patch:
        patch.setattr("whole_files.convert_source", lambda text, filename: f"{text}y = 1\n")
        assert conversion_fault(text, "m.py") == "converting it again changes the text"
        patch.setattr("whole_files.convert_source", lambda text, filename: "import nothing_of_this_name\n")
        assert conversion_fault(text, "m.py").startswith("comments lost")
        assert import_fault("bisect", path_of("bisect"), tmp_path) == (
            "ModuleNotFoundError: No module named 'nothing_of_this_name'")
        patch.setattr("whole_files.convert_source", lambda text, filename: "insort = bisect = 1\nsurplus = 1\n")
        assert "'insort_left'" in (found := str(import_fault("bisect", path_of("bisect"), tmp_path)))
        assert found.endswith("are missing, ['surplus'] are new")


def slowly(name: str) -> Result:
    time.sleep(0.2)
    return Result(name, "a fault" if name == "b" else "", 0.5, 2_000_000)


def die(name: str) -> Result:
    os._exit(1)


def test_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("whole_files.MINUTE", 0.05)
    assert whole_files._report(whole_files._results(slowly, ["a", "b"], 1), "are passed over") == 1
    out, err = capsys.readouterr()
    assert {re.sub(r"^\d+ s: ", "", line) for line in err.splitlines()} == {"0 of 2, at a", "1 of 2, at b"}
    assert out.splitlines() == ["b: a fault", "0.5 s, 2.00 MB: a", "0.5 s, 2.00 MB: b",
                                "2 checked, 1 with a fault; 0 more are passed over"]
    with pytest.raises(SystemExit, match=r"^the process that checked a, or one of the next 1, died$"):
        list(whole_files._results(die, ["a", "b"], 1))


SIGN = "def f(x):\n    if x > 0:\n        return 1\n    return -1\n"


def test_converted_text_runs_where_nothing_is_installed(tmp_path: Path) -> None:
    """Of the two packages only `autograph` is there, and no other: neither numpy nor what parses and prints."""
    (tmp_path / "autograph").symlink_to(ROOT / "autograph")
    (tmp_path / "ahead.py").write_text(ag.convert_source(SIGN + "print(f(3), f(-3), len([1]))\n", "ahead.py"))
    program = (f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ahead\n"
               "import importlib.util as u; print([n for n in ('gast', 'astunparse', 'numpy') if u.find_spec(n)])")
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", program], capture_output=True, text=True, timeout=60,
                          env={k: v for k, v in os.environ.items() if not k.startswith("PYTHON")})
    assert (done.stdout, done.stderr) == ("1 -1 1\n[]\n", "")
