"""The two caches on disk, and forged entries of them, for the tests of what is read back."""
from __future__ import annotations

import linecache
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.codegen import disk_cache as conversions
from autograph.core import cache_entries
from runtime.backends.native.jit import object_cache as native

HEADER = cache_entries._HEADER


class Conversions:
    """The cache of conversions: what is forged is the code of another function."""

    variable = "AUTOGRAPH_CACHE"

    def use(self, directory: str | Path | None) -> None:
        ag.set_cache(directory)

    def function(self, answer: int) -> Any:
        text = f"def answer():\n    return {answer} if abs(1) else 0\n"
        linecache.cache["/answer.py"] = len(text), None, text.splitlines(keepends=True), "/answer.py"
        module: dict[str, Any] = {}
        exec(compile(text, "/answer.py", "exec"), module)
        return module["answer"]

    def run(self, answer: int = 1) -> int:
        result: int = ag.convert_traced(self.function(answer))()
        return result

    def load(self, entry: Path) -> Any:
        return conversions.load(self.function(1).__code__, True)


class Machine:
    """The cache of machine code: what is forged is the code of another function."""

    variable = "RUNTIME_CACHE"

    def use(self, directory: str | Path | None) -> None:
        rt.config.set_native_cache(directory)

    def run(self, answer: int = 1) -> int:
        return int(rt.function(lambda x: x + answer, executor="native")(rt.constant(0)).numpy())

    def load(self, entry: Path) -> Any:
        return native.load(entry.stem)


@pytest.fixture(name="cache", params=[Conversions, Machine])
def cache_in_use(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if request.param is Machine:
        pytest.importorskip("llvmlite")
    monkeypatch.setattr(native, "_told", set())
    monkeypatch.setattr(cache_entries, "_swept", set())
    before = conversions.cache_directory(), rt.config.native_cache()
    ag.set_cache(None)
    rt.config.set_native_cache(None)
    yield request.param()
    ag.set_cache(before[0])
    rt.config.set_native_cache(before[1])


def only(directory: Path) -> Path:
    (entry,) = directory.iterdir()
    return entry


def forgery(cache: Any, tmp_path: Path) -> tuple[str, bytes]:
    """The name of the entry of `cache.run()`, and an entry of that name, whole, with which `cache.run()` gives 2."""
    for answer in 1, 2:
        cache.use(tmp_path / f"apart {answer}")
        assert cache.run(answer) == answer
    name = only(tmp_path / "apart 1").name
    held = only(tmp_path / "apart 2").read_bytes()[HEADER:]
    return name, cache_entries._header(name, held) + held


@pytest.fixture(name="forged")
def forged_entry(cache: Any, tmp_path: Path) -> tuple[Path, bytes]:
    """Where the entry of `cache.run()` is looked for, and what is forged of it. There is none yet."""
    name, data = forgery(cache, tmp_path)
    directory = tmp_path / "cache"
    directory.mkdir(0o700)
    cache.use(directory)
    return directory / name, data


def is_whole(entry: Path) -> bool:
    status = entry.lstat()
    return stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == os.geteuid()


def plain(entry: Path, data: bytes, mode: int = 0o600, owner: int = -1) -> None:
    entry.write_bytes(data)
    os.chown(entry, owner, -1)
    entry.chmod(mode)
