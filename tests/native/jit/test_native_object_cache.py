"""Native code between processes: the disk cache, and what happens where llvmlite is missing."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import runtime as rt
from runtime.backends.native.jit import object_cache

ROOT = Path(__file__).resolve().parents[3]

needs_llvm = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("llvmlite") is None, reason="the native executor needs llvmlite")

PROGRAM = """
    import numpy as np
    import runtime as rt

    @rt.function(executor="native")
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    assert collatz(rt.constant(27)).numpy() == 111
    print(collatz.concrete_functions[-1]._executable.code.cached)
"""


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def other(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 1 * n + 2 * n + 1
        steps += 1
    return steps


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether the code of a function that is made anew in this process comes from a cache."""
    def found(folder: Path | None, level: int | None = None, fn: Any = collatz) -> bool:
        monkeypatch.setattr(rt.config.settings, "native_cache", folder and str(folder))
        if level is not None:
            monkeypatch.setattr(rt.config.settings, "llvm_level", level)
        f = rt.function(fn, executor="native")
        assert f(rt.constant(27)).numpy() == 111
        return bool(f.concrete_functions[-1]._executable.code.cached)

    return found


def start(text: str, **environment: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    for name in ("RUNTIME_CACHE", "RUNTIME_EXECUTOR"):
        if name not in environment or environment[name] == os.environ.get(name):
            environment.pop(name, None)
    path = Path(environment.pop("SCRATCH")) / "program.py"
    path.write_text(textwrap.dedent(text))
    return subprocess.Popen([sys.executable, str(path)], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def output(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def run(tmp_path: Path, text: str = PROGRAM, **environment: str) -> str:
    return output(start(text, SCRATCH=str(tmp_path), **environment))[0]


@needs_llvm
def test_a_second_process_finds_the_code(tmp_path: Path, cached: Callable[..., bool]) -> None:
    folder = tmp_path / "made" / "by the first"
    assert run(tmp_path, RUNTIME_CACHE=str(folder)) == "False"
    (file,) = folder.iterdir()
    assert file.suffix == ".o"
    before = file.stat().st_mtime_ns
    assert run(tmp_path, RUNTIME_CACHE=str(folder)) == "True"
    assert [file.stat().st_mtime_ns] == [before]
    assert cached(folder) and len(list(folder.iterdir())) == 1
    assert not cached(folder, fn=other) and len(list(folder.iterdir())) == 2  # another graph
    assert not cached(None)


@needs_llvm
def test_each_level_has_its_code(tmp_path: Path, cached: Callable[..., bool]) -> None:
    """RUNTIME_LLVM_LEVEL=0: what LLVM optimised is not taken, nor the other way round."""
    folder = tmp_path / "cache"
    assert not cached(folder, 2)
    assert run(tmp_path, RUNTIME_CACHE=str(folder), RUNTIME_LLVM_LEVEL="0") == "False"
    assert cached(folder, 2) and cached(folder, 0)
    assert len(list(folder.iterdir())) == 2


def test_a_level_that_there_is_not(tmp_path: Path) -> None:
    process = start("import runtime", SCRATCH=str(tmp_path), RUNTIME_LLVM_LEVEL="fast")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert err.endswith("ValueError: the environment variable RUNTIME_LLVM_LEVEL is 0, 1 or 2, not 'fast'\n")


DAMAGES = {
    "empty": lambda data: b"", "cut early": lambda data: data[:40], "cut late": lambda data: data[:-1],
    "longer": lambda data: data + b"\0", "a bit": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "zeros": lambda data: b"\0" * len(data)}


@needs_llvm
def test_damaged_files_are_not_used(tmp_path: Path, cached: Callable[..., bool]) -> None:
    whole = tmp_path / "whole"
    assert [cached(whole, 2), cached(whole, 2)] == [False, True]
    folders = {name: tmp_path / name for name in DAMAGES}
    for name, folder in folders.items():
        shutil.copytree(whole, folder)
        (file,) = folder.iterdir()
        file.write_bytes(DAMAGES[name](file.read_bytes()))
    assert [cached(folder) for folder in folders.values()] == [False] * len(DAMAGES)
    for name, folder in folders.items():
        (file,) = folder.iterdir()
        (original,) = whole.iterdir()
        found, damaged = file.read_bytes(), DAMAGES[name](original.read_bytes())
        assert found[:32] != damaged[:32] or len(found) > 200, name
    assert [cached(folder) for folder in folders.values()] == [True] * len(DAMAGES)  # they were written anew


@needs_llvm
def test_many_writers(tmp_path: Path, cached: Callable[..., bool]) -> None:
    folder = tmp_path / "cache"
    places = [tmp_path / str(k) for k in range(4)]
    for place in places:
        place.mkdir()
    writers = [start(PROGRAM, SCRATCH=str(place), RUNTIME_CACHE=str(folder)) for place in places]
    assert {output(writer)[0] for writer in writers} <= {"False", "True"}
    assert [file.suffix for file in folder.iterdir()] == [".o"]  # nothing half written is left
    assert cached(folder)


@needs_llvm
def test_a_folder_that_cannot_be_written(tmp_path: Path, cached: Callable[..., bool]) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.warns(RuntimeWarning, match="machine code is not kept"):
        assert not cached(taken)  # for root, too, whom no permission stops
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        assert not cached(folder)
    finally:
        folder.chmod(0o700)


def test_the_key_has_all_that_the_code_depends_on(tmp_path: Path) -> None:
    parts = ["text of a module", "cpu", "+avx2", "0.44.0", "3"]
    key = object_cache.key_of(*parts)
    others = {object_cache.key_of(*parts[:k], parts[k] + "x", *parts[k + 1:]) for k in range(len(parts))}
    assert len(others | {key}) == len(parts) + 1
    assert object_cache.key_of("ab", "c") != object_cache.key_of("a", "bc")


@needs_llvm
def test_code_of_another_machine_is_not_taken(tmp_path: Path, cached: Callable[..., bool]) -> None:
    folder = tmp_path / "cache"
    assert [cached(folder), cached(folder)] == [False, True]
    of_another = """
    import llvmlite.binding as llvm
    found = llvm.get_host_cpu_features()
    found.pop(next(name for name in found if found[name] and name not in ("sse2", "f16c", "fma", "avx", "avx2")))
    llvm.get_host_cpu_features = lambda: found
    """
    assert run(tmp_path, textwrap.dedent(of_another) + textwrap.dedent(PROGRAM), RUNTIME_CACHE=str(folder)) == "False"


def test_load_and_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache.settings, "native_cache", str(tmp_path / "c"))
    assert object_cache.load("k") is None
    object_cache.save("k", b"code")
    assert object_cache.load("k") == b"code"
    monkeypatch.setattr(object_cache.settings, "native_cache", None)
    object_cache.save("k", b"other")
    assert object_cache.load("k") is None


# Without llvmlite.

WITHOUT = """
    import sys, warnings
    sys.modules["llvmlite"] = None  # as if it were not there
    import runtime as rt
    rt.config.set_default_executor(None)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        @rt.function
        def f(n):
            s = 0
            while n > 0:
                s += n
                n -= 1
            return s
        @rt.function
        def g(x):
            return x + 1
        print(f(rt.constant(4)).numpy(), g(rt.constant(1.5)).numpy(), f.get_concrete_function(rt.constant(1)).executor)
    for warning in told:
        print(warning.category.__name__, warning.message)
    try:
        rt.function(lambda x: x + 1, executor="native")(rt.constant(1))
    except ValueError as error:
        print(type(error).__name__, error)
    try:
        f.inspect_llvm()
    except ValueError as error:
        print(error)
    print(f.explain_native())
    assert "llvmlite.binding" not in sys.modules
"""


def test_without_llvmlite_all_runs_on_numpy(tmp_path: Path) -> None:
    assert run(tmp_path, WITHOUT).splitlines() == [
        "10 2.5 numpy",
        "RuntimeWarning llvmlite is not installed, so graphs run on NumPy, which is slow for loops: "
        "pip install llvmlite",
        "ValueError the native executor needs llvmlite: pip install llvmlite, or take executor='numpy'",
        "f runs on NumPy and has no native code; use executor='native'",
        "f runs on NumPy: 7 kernels are called in order.",
    ]
