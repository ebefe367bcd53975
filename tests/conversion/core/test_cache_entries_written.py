"""Cache directories that many write at once, writers that are killed, and disks that do not take what is written."""
from __future__ import annotations

import ast
import os
import resource
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from entry_caches import cache_in_use, forged_entry, plain  # noqa: F401 (fixtures)

import autograph as ag
from autograph.codegen import disk_cache as conversions
from autograph.core import cache_entries

ROOT = Path(__file__).resolve().parents[3]
OTHER = 12345
"""Another user."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")


def script(text: str, *arguments: str, **options: Any) -> str:
    options.setdefault("env", {**os.environ, "PYTHONPATH": str(ROOT)})
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text), *arguments], capture_output=True, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


KILLED = """
    import builtins, os, sys
    from autograph.core import cache_entries as entries

    directory, step = sys.argv[1], 0
    values = [b"old" * 30000, b"new" * 40000]

    class Killed:
        "The module `os`, which ends the process before the call of this number."
        def __init__(self, left): self.left = left
        def __getattr__(self, name):
            found = getattr(os, name)
            return self.counted(found) if name in ("open", "close", "mkdir", "replace", "fstat", "listdir") else found
        def counted(self, function):
            def call(*args, **kwargs):
                self.left -= 1
                if self.left < 0:
                    os._exit(9)
                return function(*args, **kwargs)
            return call

    class Written:
        "A file that is written in three parts."
        def __init__(self, ends, file): self.ends, self.file = ends, file
        def __enter__(self): return self
        def __exit__(self, *error): self.ends.counted(self.file.close)()
        def write(self, data):
            for part in data[:9], data[9:len(data) // 2], data[len(data) // 2:]:
                self.ends.counted(self.file.write)(part)
                self.file.flush()

    def child(left):
        entries.os = Killed(left)
        entries.open = lambda file, mode: Written(entries.os, builtins.open(file, mode))
        entries.write(directory, "k", values[1])
        os._exit(0)

    found = set()
    while True:
        before = entries.read(directory, "k")
        pid = os.fork()
        if pid == 0:
            child(step)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        after = entries.read(directory, "k")
        assert after in (before, values[1]), step
        found.add((before, after))
        if ended == 0:
            break
        assert ended == 9
        step += 1
        if step > 4:  # the directory was made by one that was killed later
            entries.write(directory, "k", values[0])
            assert entries.read(directory, "k") == values[0]
    assert step > 20 and (None, None) in found and {(values[0], v) for v in values} <= found
    print(*os.listdir(directory))
"""


def test_a_writer_killed_before_any_call_leaves_a_good_entry(tmp_path: Path) -> None:
    names = script(KILLED, str(tmp_path / "made" / "cache")).split()
    left = {name for name in names if name != "k"}
    assert "k" in names and left  # of the killed ones, which later writers remove:
    for name in left:
        os.utime(tmp_path / "made" / "cache" / name, (time.time() - 7200,) * 2)
    (tmp_path / "made" / "cache" / ".now.new").write_bytes(b"")  # but for those that may still be at work
    cache_entries.write(str(tmp_path / "made" / "cache"), "j", b"")
    assert {path.name for path in (tmp_path / "made" / "cache").iterdir()} == {"k", "j", ".now.new"}


AT_ONCE = """
    import os, sys, threading
    from autograph.core import cache_entries as entries

    values = [bytes([k]) * (1 + 9000 * k) for k in range(8)]

    def work(seed):
        for k in range(150):
            entries.write(sys.argv[1], "k", values[(seed + k) % 8])
            assert entries.read(sys.argv[1], "k") in values

    pids = []
    for seed in range(3):
        pid = os.fork()
        if pid == 0:
            failed = []
            def watched(seed):
                try:
                    work(seed)
                except BaseException as error:
                    failed.append(error)
            threads = [threading.Thread(target=watched, args=(seed + k,)) for k in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            os._exit(len(failed))
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    print(*os.listdir(sys.argv[1]))
"""


def test_threads_and_processes_at_once(tmp_path: Path) -> None:
    assert script(AT_ONCE, str(tmp_path / "cache")) == "k\n"


def test_a_full_disk(cache: Any, tmp_path: Path) -> None:
    cache.use(tmp_path / "cache")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # a file that may not grow further, as on a full disk
    try:
        with pytest.warns(match=f"{cache.variable}: .*: File too large; .* not kept"):
            assert cache.run() == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("directory", ["/proc/cache", "/dev/null/cache", "/" + "a" * 300])
def test_places_where_nothing_can_be_written(cache: Any, directory: str) -> None:
    cache.use(directory)
    with pytest.warns(match=f"{cache.variable}: {directory}: .*; .* not kept") as told:
        assert [cache.run(), cache.run()] == [1, 1]
    assert len(told) == 1


@pytest.mark.parametrize("fails", ["read", "fstat", "open"])
def test_an_entry_that_cannot_be_read(
    cache: Any, forged: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch, fails: str,
) -> None:
    """As on a disk with faults."""
    entry, data = forged
    plain(entry, data)
    function = getattr(os, fails)

    def failing(what: Any, *args: Any, **kwargs: Any) -> Any:
        if what == entry.name or (isinstance(what, int) and stat.S_ISREG(os.stat(what).st_mode)):
            raise OSError(5, "Input/output error")
        return function(what, *args, **kwargs)

    monkeypatch.setattr(cache_entries, "os", SimpleNamespace(**{**vars(os), fails: failing}))
    assert cache.load(entry) is None
    assert cache.run() == 1


HOMELESS = """
    import os
    import numpy, safetensors  # which CPython 3.13.0 cannot import without a working directory
    os.rmdir(os.getcwd())
    import autograph as ag, runtime as rt
    import linecache
    text = "def f(x): return 1 if x else 2"
    linecache.cache["/f.py"] = len(text), None, [text], "/f.py"
    exec(compile(text, "/f.py", "exec"))
    print(f(1), rt.function(f)(rt.constant(0)).numpy())
"""


def test_no_home_and_no_working_directory(tmp_path: Path) -> None:
    for directory in "relative", str(tmp_path / "cache"):
        (tmp_path / "gone").mkdir()
        env = {"PYTHONPATH": str(ROOT), "AUTOGRAPH_CACHE": directory, "RUNTIME_CACHE": directory}
        assert script(HOMELESS, env=env, cwd=tmp_path / "gone") == "1 2\n"
    assert (tmp_path / "cache").is_dir()


def test_a_conversion_is_not_lost_while_another_thread_gives_up(tmp_path: Path) -> None:
    """The directory is one and the same through a call."""
    stop = threading.Event()
    before = conversions.cache_directory()

    def change() -> None:
        while not stop.is_set():
            ag.set_cache(tmp_path / "cache")
            ag.set_cache(None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for k in range(300):
            conversions.load(change.__code__, k)
            conversions.store(change.__code__, k, change.__code__, "ag__")
    finally:
        stop.set()
        thread.join()
        ag.set_cache(before)


def test_nothing_is_unpickled() -> None:
    """And code is unmarshalled, and libraries are loaded, where docs/trust.md says."""
    wanted = {"pickle", "_pickle", "shelve", "dill", "cloudpickle", "joblib", "marshal", "CDLL", "PyDLL", "dlopen",
              "load_library_permanently", "fromfile", "memmap", "Unpickler"}
    texts = [(path.name, path.read_text()) for package in ("autograph", "runtime")
             for path in (ROOT / package).rglob("*.py")]
    found = set()
    for file, text in texts:
        for node in ast.walk(ast.parse(text)) if any(name in text for name in wanted) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [
                node.module or ""] if isinstance(node, ast.ImportFrom) else [
                node.attr] if isinstance(node, ast.Attribute) else []
            found |= {(name, file) for name in names if name in wanted}
    asked_for = {("memmap", "elements.py")}  # by isinstance: the user has opened it
    assert found == {("marshal", "disk_cache.py"), ("CDLL", "blas.py")} | asked_for
