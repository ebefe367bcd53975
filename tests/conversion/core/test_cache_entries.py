"""What a cache directory holds is used only if this user alone can have written it, and if it is whole."""
from __future__ import annotations

import os
import random
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from entry_caches import HEADER, cache_in_use, forged_entry, forgery, is_whole, only, plain  # noqa: F401 (fixtures)

from autograph.core import cache_entries

ROOT = Path(__file__).resolve().parents[3]
OTHER = 12345
"""Another user."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")


# What is put in the place of an entry. `entry` is its path, `data` what is forged.

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


def too_large(entry: Path, data: bytes) -> None:
    """It says itself, rightly, how large it is."""
    plain(entry, cache_entries._begin(cache_entries.LIMIT + 1))
    os.truncate(entry, HEADER + cache_entries.LIMIT + 1)


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
    "too large": too_large,
    "as large as may be": sparse(cache_entries.LIMIT + HEADER),
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
    monkeypatch.setattr(cache_entries.os, "read", lambda file, size, of=os.read: read.append(size) or of(file, size))
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
        cache_entries.write(str(top / "hidden"), "k", b"root's")
        (top / "hidden" / "k").chmod(0o644)
        os.seteuid(OTHER)
        try:
            cache_entries.write(place, "k", b"own")
            assert cache_entries.read(place, "k") == b"own"
            with pytest.raises(PermissionError, match="hidden belongs to user 0: take a directory of your own"):
                cache_entries.read(str(top / "hidden"), "k")
            directory.chmod(0o500)
            assert cache_entries.read(place, "k") == b"own"
            with pytest.raises(PermissionError, match="Permission denied"):
                cache_entries.write(place, "j", b"more")
            directory.chmod(0o700)
        finally:
            os.seteuid(0)
        with pytest.raises(PermissionError, match=f"belongs to user {OTHER}"):  # root, of another user's
            cache_entries.read(place, "k")
        entries_of_root = top / "hidden" / "k"
        os.rename(entries_of_root, directory / "k")
        os.seteuid(OTHER)
        try:
            assert cache_entries.read(place, "k") is None
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
        cache_entries.write(str(directory), "k", b"good" if state else b"bad")
    (opened[False] / ("k" if exchanged == "entry" else ".")).chmod(0o777)
    place, other = opened[good], opened[not good]
    last = "k" if exchanged == "entry" else place.name

    def exchange(path: Any, *args: Any, of: Any = os.open, **kwargs: Any) -> int:
        file = of(path, *args, **kwargs)
        if path == last:
            monkeypatch.setattr(cache_entries.os, "open", of)
            one, two = (place, other) if exchanged == "directory" else (place / "k", other / "k")
            for before, after in (one, tmp_path / "aside"), (two, one), (tmp_path / "aside", two):
                os.rename(before, after)
        return file

    monkeypatch.setattr(cache_entries.os, "open", exchange)
    if good:
        assert cache_entries.read(str(place), "k") == b"good"
    elif exchanged == "entry":
        assert cache_entries.read(str(place), "k") is None
    else:
        with pytest.raises(PermissionError, match="others may write"):
            cache_entries.read(str(place), "k")
    assert cache_entries.os.open is not exchange
