"""Conversions kept on disk between processes: found again, made anew when anything changed, safe against the worst."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import autograph as ag
from autograph import api
from autograph.codegen import disk_cache
from autograph.core.code_cache import inside

PROGRAM = """\
import sys
import autograph as ag
from autograph import api
from autograph.core.backend import ambient

ambient.forced = True

def no_conversion(*args):
    raise AssertionError("it was to be found on disk")

if "found" in sys.argv:
    api.capture = no_conversion

def scale(k):
    def run(items):
        total = 0
        for x in items:
            if x in {"a", "b", "c"}:
                continue
            total += x * k
            if total > 20:
                break
        return total
    return run

print(ag.convert(scale(2))([1, 2, "b", 3, 40, 5]), ag.convert(lambda x: x and not x)(3))
try:
    ag.convert(scale(3))([1, None])
except TypeError:
    print(sys.exc_info()[2].tb_next.tb_lineno)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    before = disk_cache.cache_directory()
    ag.set_cache(tmp_path / "cache")
    yield tmp_path / "cache"
    ag.set_cache(before)


def run(
    program: Path, directory: Path, *arguments: str, flags: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, str(program), *arguments], capture_output=True, text=True, timeout=50,
        env={**os.environ, "AUTOGRAPH_CACHE": str(directory)})


def entries(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_another_process_finds_what_one_converted(program: Path, tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "cache"
    first = run(program, directory)
    assert first.stdout == "92 False\n20\n", first.stderr
    kept = {path: path.stat().st_mtime_ns for path in entries(directory)}
    assert len(kept) == 2
    second = run(program, directory, "found")
    assert second.stdout == first.stdout, second.stderr
    assert {path: path.stat().st_mtime_ns for path in entries(directory)} == kept


@pytest.mark.parametrize("flags, old, new", [
    ((), "x * k", "x + k"), ((), "> 20", "> 21"), ((), "def scale", "\ndef scale"), (("-O",), "", ""),
])
def test_what_changed_converts_anew(
    program: Path, tmp_path: Path, flags: tuple[str, ...], old: str, new: str
) -> None:
    run(program, tmp_path / "cache")
    before = len(entries(tmp_path / "cache"))
    program.write_text(PROGRAM.replace(old, new) if old else PROGRAM)
    changed = run(program, tmp_path / "cache", flags=flags)
    assert changed.returncode == 0, changed.stderr
    assert len(entries(tmp_path / "cache")) > before
    assert changed.stdout == run(program, tmp_path / "none", flags=flags).stdout


def test_an_entry_that_is_not_whole_is_written_anew(program: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    expected = run(program, directory).stdout
    whole = {path: path.read_bytes() for path in entries(directory)}
    for spoil in (
        lambda data: b"", lambda data: data[:60], lambda data: data[:-9] + b"\xff" * 9, lambda data: b"x" * 500,
    ):
        for path, data in whole.items():
            path.write_bytes(spoil(data))
        again = run(program, directory)
        assert again.stdout == expected, again.stderr
        assert entries(directory) == list(whole)
        assert run(program, directory, "found").stdout == expected


def test_processes_that_write_at_once_agree(program: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: run(program, directory), range(6)))
    assert {(p.stdout, p.returncode) for p in done} == {("92 False\n20\n", 0)}
    assert len(entries(directory)) == 2  # and nothing half written beside them
    assert run(program, directory, "found").returncode == 0


def positive(x):
    return 1 if x > 0 else negated(x)


def negated(x):
    return -x


def test_options_have_entries_of_their_own(directory: Path) -> None:
    for recursive in (True, False):
        api.converted_call.makers.clear()
        api._unused[False].clear()
        assert ag.convert(positive, recursive=recursive)(-3) == 3
    assert len(entries(directory)) == 3  # `positive` both ways, and `negated`
    code = positive.__code__
    kept = [disk_cache.load(code, recursive) for recursive in (True, False)]
    assert kept[0] is not None and kept[1] is not None
    assert [any("call" in c.co_names for c in inside(code)) for code, _ in kept] == [True, False]  # of `negated`


def test_a_directory_that_cannot_be_written_warns_and_converts(tmp_path: Path, directory: Path) -> None:
    (tmp_path / "file").write_text("")
    ag.set_cache(tmp_path / "file")
    api.converted_call.makers.clear()
    with pytest.warns(UserWarning, match=r"AUTOGRAPH_CACHE: .*file.*: Not a directory; conversions are not kept"):
        assert ag.convert(positive)(-2) == 2
    assert disk_cache.cache_directory() is None
