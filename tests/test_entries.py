"""What a cache directory holds is used only if this user alone can have written it, and if it is whole."""
from __future__ import annotations

import ast
import os
import random
import resource
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph import cache as conversions
from autograph import entries
from autograph.importing import compile_module
from runtime.execute.native import cache as native

ROOT = Path(__file__).resolve().parent.parent
OTHER = 12345
"""Another user."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
HEADER = entries._HEADER


class Conversions:
    """The cache of conversions: what is forged is the code of another module."""

    variable = "AUTOGRAPH_CACHE"
    text = "def answer():\n    return {}\n"

    def use(self, directory: str | Path | None) -> None:
        ag.set_cache(directory)

    def run(self, answer: int = 1) -> int:
        module: dict[str, Any] = {}
        exec(compile_module(self.text.format(answer), "/answer.py"), module)
        return module["answer"]()

    def load(self, entry: Path) -> Any:
        return conversions.load_module(self.text.format(1), "/answer.py")


class Machine:
    """The cache of machine code: what is forged is the code of another function."""

    variable = "RUNTIME_CACHE"

    def use(self, directory: str | Path | None) -> None:
        rt.config.set_native_cache(directory)

    def run(self, answer: int = 1) -> int:
        return int(rt.function(lambda x: x + answer, executor="native")(rt.constant(0)).numpy())

    def load(self, entry: Path) -> Any:
        return native.load(entry.stem)


@pytest.fixture(params=[Conversions, Machine])
def cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if request.param is Machine:
        pytest.importorskip("llvmlite")
    monkeypatch.setattr(native, "_told", set())
    monkeypatch.setattr(entries, "_swept", set())
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
    return name, entries._header(name, held) + held


@pytest.fixture
def forged(cache: Any, tmp_path: Path) -> tuple[Path, bytes]:
    """Where the entry of `cache.run()` is looked for, and what is forged of it. There is none yet."""
    name, data = forgery(cache, tmp_path)
    directory = tmp_path / "cache"
    directory.mkdir(0o700)
    cache.use(directory)
    return directory / name, data


def is_whole(entry: Path) -> bool:
    status = entry.lstat()
    return stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == os.geteuid()


# What is put in the place of an entry. `entry` is its path, `data` what is forged.

def plain(entry: Path, data: bytes, mode: int = 0o600, owner: int = -1) -> None:
    entry.write_bytes(data)
    os.chown(entry, owner, -1)
    entry.chmod(mode)


def beside(entry: Path) -> Path:
    return entry.parent.with_name("elsewhere")


def symlink(entry: Path, data: bytes) -> None:
    plain(beside(entry), data)
    entry.symlink_to(beside(entry))


def full_directory(entry: Path, data: bytes) -> None:
    entry.mkdir()
    plain(entry / "entry", data)


def unix_socket(entry: Path, data: bytes) -> None:
    here = os.getcwd()
    os.chdir(entry.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind("s")
        os.rename("s", entry.name)
    finally:
        os.chdir(here)


def sparse(size: int) -> Callable[[Path, bytes], None]:
    def place(entry: Path, data: bytes) -> None:
        plain(entry, data)
        os.truncate(entry, size)
    return place


TRUSTED: dict[str, Callable[[Path, bytes], None]] = {
    "as it is written": plain,
    "others read it": lambda entry, data: plain(entry, data, 0o644),
    "nobody writes it": lambda entry, data: plain(entry, data, 0o400),
}
"""Here what is forged is used: without that the tests below would prove nothing."""

PLACED: dict[str, Any] = {
    **{f"mode {mode:o}": lambda entry, data, mode=mode: plain(entry, data, mode)
       for mode in (0o666, 0o664, 0o622, 0o602)},
    "of another user": lambda entry, data: plain(entry, data, 0o600, OTHER),
    "of another user, set-uid": lambda entry, data: plain(entry, data, 0o4755, OTHER),
    "symlink": symlink,
    "symlink to nothing": lambda entry, data: entry.symlink_to("nothing"),
    "symlink to itself": lambda entry, data: entry.symlink_to(entry),
    "symlink to a device": lambda entry, data: entry.symlink_to("/dev/zero"),
    "FIFO": lambda entry, data: os.mkfifo(entry, 0o600),
    "socket": unix_socket,
    "directory": lambda entry, data: entry.mkdir(),
    "device": lambda entry, data: os.mknod(entry, stat.S_IFCHR | 0o600, os.makedev(1, 5)),
    "1 TB": sparse(1 << 40),
    "too large": sparse(entries.LIMIT + HEADER + 1),
    "as large as may be": sparse(entries.LIMIT + HEADER),
}
NEEDS_ROOT = {"of another user", "of another user, set-uid", "device"}


def table(rows: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("placed", [
        pytest.param(place, id=name, marks=as_root if name in NEEDS_ROOT else ()) for name, place in rows.items()])


@table(TRUSTED)
def test_what_is_forged_is_used_where_this_user_wrote_it(cache: Any, forged: tuple[Path, bytes], placed: Any) -> None:
    placed(*forged)
    assert cache.run() == 2


@table(PLACED)
def test_what_others_may_have_put_there_is_not_used(
    cache: Any, forged: tuple[Path, bytes], placed: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry, data = forged
    read: list[int] = []
    monkeypatch.setattr(entries.os, "read", lambda file, size, of=os.read: read.append(size) or of(file, size))
    placed(entry, data)
    assert cache.load(entry) is None
    assert sum(read) <= HEADER
    assert cache.run() == 1
    assert is_whole(entry)  # it was written anew,
    before = entry.stat().st_mtime_ns
    assert cache.load(entry) is not None
    assert cache.run() == 1
    assert entry.stat().st_mtime_ns == before  # and found
    assert not beside(entry).exists() or beside(entry).read_bytes() == data


def test_a_directory_with_files_in_place_of_an_entry_stays(cache: Any, forged: tuple[Path, bytes]) -> None:
    entry, data = forged
    full_directory(entry, data)
    with pytest.warns(match=f"{cache.variable}: .*: Directory not empty; .* not kept"):
        assert cache.run() == 1
    assert (entry / "entry").read_bytes() == data
    assert list(entry.parent.iterdir()) == [entry]


def damaged(data: bytes) -> Iterator[bytes]:
    """Each bit of the header turned over, many of the rest, and other lengths."""
    choose = random.Random(5)
    bits = [*range(HEADER * 8), *choose.sample(range(HEADER * 8, len(data) * 8), 400)]
    for bit in bits:
        turned = bytearray(data)
        turned[bit // 8] ^= 1 << bit % 8
        yield bytes(turned)
    for length in {*range(HEADER + 60), *choose.sample(range(len(data)), 60), len(data) - 1}:
        yield data[:length]
        yield data[:length] + b"\0" * (len(data) - length - 1) + b"\1"
    for _ in range(100):
        first, last = sorted(choose.sample(range(len(data)), 2))
        changed = choose.randbytes(last - first)
        if changed != data[first:last]:
            yield data[:first] + changed + data[last:]
    yield from (data + b"\0", data + data, data[HEADER:], data[:HEADER], b"\xff" * len(data), data[:HEADER] + data)


def test_damage_is_found(cache: Any, forged: tuple[Path, bytes]) -> None:
    entry, data = forged
    tried = list(damaged(data))
    assert len(tried) > 1000
    for some in tried:
        plain(entry, some)
        assert cache.load(entry) is None
    for some in tried[::100]:
        plain(entry, some)
        assert cache.run() == 1
        assert is_whole(entry)
        assert cache.load(entry) is not None


def test_an_entry_of_another_name_is_not_used(cache: Any, forged: tuple[Path, bytes], tmp_path: Path) -> None:
    entry, _ = forged
    plain(entry, only(tmp_path / "apart 2").read_bytes())
    assert cache.load(entry) is None
    assert cache.run() == 1


# Directories. Each makes `top`/cache, with what is forged in it, such that it is not to be trusted, and gives its path.

def moded(mode: int, above: bool = False) -> Callable[[Path], Path]:
    def arrange(top: Path) -> Path:
        (top if above else top / "cache").chmod(mode)
        return top / "cache"
    return arrange


def owned(above: bool) -> Callable[[Path], Path]:
    def arrange(top: Path) -> Path:
        os.chown(top if above else top / "cache", OTHER, -1)
        return top / "cache"
    return arrange


def link(target: str, name: str, below: str = "", owner: int = -1) -> Callable[[Path], Path]:
    def arrange(top: Path) -> Path:
        (top / name).symlink_to(target.format(top=top))
        os.lchown(top / name, owner, -1)
        return top / name / below
    return arrange


def sticky_of_another(top: Path) -> Path:
    os.chown(top, OTHER, -1)
    return moded(0o1777, above=True)(top)


def link_to_writable(top: Path) -> Path:
    (top / "link").symlink_to(".")
    moded(0o777, above=True)(top)
    return top / "link" / "cache"


def loop(top: Path) -> Path:
    (top / "loop").symlink_to("loop")
    return top / "loop" / "cache"


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "all write it": (moded(0o777), r"others may write to .*cache: chmod go-w"),
    "its group writes it": (moded(0o775), r"others may write to .*cache: chmod go-w"),
    "sticky": (moded(0o1777), r"others may write to .*cache: chmod go-w"),
    "all write above it": (moded(0o777, above=True), "others may write to .*top: take another directory"),
    "a group writes above it": (moded(0o770, above=True), "others may write to .*top: take another directory"),
    "of another user": (owned(False), f"cache belongs to user {OTHER}: take a directory of your own"),
    "below another user's": (owned(True), f"top belongs to user {OTHER}, who could exchange what is below it"),
    "below another user's sticky one": (sticky_of_another, f"top belongs to user {OTHER}, who could exchange"),
    "symlink": (link("cache", "link"), "link is a symbolic link: name the directory itself"),
    "absolute symlink": (link("{top}/cache", "link"), "link is a symbolic link: name the directory itself"),
    "below another user's symlink": (link("{top}", "link", "cache", OTHER), f"link belongs to user {OTHER}, who could"),
    "symlink below what others write": (link_to_writable, "others may write to .*top"),
    "symlink to itself": (loop, "Not a directory|Too many levels of symbolic links"),
}
ALLOWED: dict[str, Callable[[Path], Path]] = {
    "others read it": moded(0o755),
    "below a sticky one, such as /tmp": moded(0o1777, above=True),
    "below a symlink of this user's": link(".", "link", "cache"),
    "below an absolute symlink": link("{top}", "link", "cache"),
    "a longer way": lambda top: Path(f"{top}/./cache//../../top/cache/"),
}
BY_ROOT = {"of another user", "below another user's", "below another user's sticky one", "below another user's symlink"}


def arranged(cache: Any, tmp_path: Path, arrange: Callable[[Path], Path]) -> Path:
    name, data = forgery(cache, tmp_path)
    (tmp_path / "top").mkdir(0o700)
    (tmp_path / "top" / "cache").mkdir(0o700)
    plain(tmp_path / "top" / "cache" / name, data)
    directory = arrange(tmp_path / "top")
    cache.use(directory)
    return tmp_path / "top" / "cache" / name


@pytest.mark.parametrize("arrange", ALLOWED.values(), ids=ALLOWED)
def test_directories_that_are_used(cache: Any, tmp_path: Path, arrange: Callable[[Path], Path]) -> None:
    entry = arranged(cache, tmp_path, arrange)
    assert cache.run() == 2
    entry.unlink()
    assert cache.run() == 1
    assert is_whole(entry)


@pytest.mark.parametrize("arrange, reason", [
    pytest.param(*row, id=name, marks=as_root if name in BY_ROOT else ()) for name, row in REFUSED.items()])
def test_directories_that_are_not_used(
    cache: Any, tmp_path: Path, arrange: Callable[[Path], Path], reason: str, recwarn: pytest.WarningsRecorder,
) -> None:
    entry = arranged(cache, tmp_path, arrange)
    data = entry.read_bytes()
    with pytest.warns(match=f"{cache.variable}: .*: .*({reason}).*; .* not kept") as told:
        assert [cache.run(), cache.run()] == [1, 1]
    assert len(told) == 1
    assert (entry.read_bytes(), list(entry.parent.iterdir())) == (data, [entry])


def test_directories_are_made_for_this_user_alone(cache: Any, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        cache.use(tmp_path / "a" / "b")
        assert cache.run() == 1
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]
    assert is_whole(only(tmp_path / "a" / "b"))


@as_root
def test_as_another_user() -> None:
    top = Path(f"/tmp/entries-{os.getpid()}-{time.time_ns()}")
    directory = top / "hidden" / "own"
    directory.mkdir(0o700, parents=True)
    top.chmod(0o755)
    (top / "hidden").chmod(0o711)  # which others search but do not list
    os.chown(directory, OTHER, -1)
    place = str(directory)
    try:
        entries.write(str(top / "hidden"), "k", b"root's")
        (top / "hidden" / "k").chmod(0o644)
        os.seteuid(OTHER)
        try:
            entries.write(place, "k", b"own")
            assert entries.read(place, "k") == b"own"
            with pytest.raises(PermissionError, match="hidden belongs to user 0: take a directory of your own"):
                entries.read(str(top / "hidden"), "k")
            directory.chmod(0o500)
            assert entries.read(place, "k") == b"own"
            with pytest.raises(PermissionError, match="Permission denied"):
                entries.write(place, "j", b"more")
            directory.chmod(0o700)
        finally:
            os.seteuid(0)
        with pytest.raises(PermissionError, match=f"belongs to user {OTHER}"):  # root, of another user's
            entries.read(place, "k")
        entries_of_root = top / "hidden" / "k"
        os.rename(entries_of_root, directory / "k")
        os.seteuid(OTHER)
        try:
            assert entries.read(place, "k") is None
        finally:
            os.seteuid(0)
    finally:
        subprocess.run(["rm", "-r", str(top)], check=True)


# Between a check and a use.

@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("exchanged", ["entry", "directory"])
def test_what_is_checked_is_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanged: str, good: bool,
) -> None:
    """The moment it is open, another one stands there under the same name."""
    opened = {True: tmp_path / "cache", False: tmp_path / "other"}
    for state, directory in opened.items():
        entries.write(str(directory), "k", b"good" if state else b"bad")
    (opened[False] / ("k" if exchanged == "entry" else ".")).chmod(0o777)
    place, other = opened[good], opened[not good]
    last = "k" if exchanged == "entry" else place.name

    def exchange(path: Any, *args: Any, of: Any = os.open, **kwargs: Any) -> int:
        file = of(path, *args, **kwargs)
        if path == last:
            monkeypatch.setattr(entries.os, "open", of)
            one, two = (place, other) if exchanged == "directory" else (place / "k", other / "k")
            for before, after in (one, tmp_path / "aside"), (two, one), (tmp_path / "aside", two):
                os.rename(before, after)
        return file

    monkeypatch.setattr(entries.os, "open", exchange)
    if good:
        assert entries.read(str(place), "k") == b"good"
    elif exchanged == "entry":
        assert entries.read(str(place), "k") is None
    else:
        with pytest.raises(PermissionError, match="others may write"):
            entries.read(str(place), "k")
    assert entries.os.open is not exchange


# Many at once, killed ones, and disks that do not take it.

def script(text: str, *arguments: str, **options: Any) -> str:
    options.setdefault("env", {**os.environ, "PYTHONPATH": str(ROOT)})
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text), *arguments], capture_output=True, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


KILLED = """
    import builtins, os, sys
    from autograph import entries

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
    entries.write(str(tmp_path / "made" / "cache"), "j", b"")
    assert {path.name for path in (tmp_path / "made" / "cache").iterdir()} == {"k", "j", ".now.new"}


AT_ONCE = """
    import os, sys, threading
    from autograph import entries

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

    monkeypatch.setattr(entries, "os", SimpleNamespace(**{**vars(os), fails: failing}))
    assert cache.load(entry) is None
    assert cache.run() == 1


HOMELESS = """
    import os
    os.rmdir(os.getcwd())
    import autograph as ag, runtime as rt
    from autograph.importing import compile_module
    module = {}
    exec(compile_module("def f(x): return 1 if x else 2", "/f.py"), module)
    print(module["f"](1), rt.function(module["f"])(rt.constant(0)).numpy())
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
            conversions.load_module(str(k), "/f.py")
            conversions.store_module(str(k), "/f.py", change.__code__)
    finally:
        stop.set()
        thread.join()
        ag.set_cache(before)


def test_nothing_is_unpickled() -> None:
    """And code is unmarshalled, and libraries are loaded, where docs/trust.md says."""
    found = set()
    for package in "autograph", "runtime":
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [
                    node.module or ""] if isinstance(node, ast.ImportFrom) else [
                    node.attr] if isinstance(node, ast.Attribute) else []
                found |= {(name, path.name) for name in names if name in (
                    "pickle", "_pickle", "shelve", "dill", "cloudpickle", "joblib", "marshal", "CDLL", "PyDLL",
                    "dlopen", "load_library_permanently", "fromfile", "memmap", "Unpickler")}
    assert found == {("marshal", "cache.py"), ("CDLL", "blas.py")}
