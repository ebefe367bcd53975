"""Entries of a cache directory: files that one process writes, and that later processes of the same user read back.

The content of an entry is executed, so it is read only if nobody but this user, or root, can have written it. The
directory belongs to this user and nobody else may write to it; each directory above it belongs to this user or to root,
and others may write to it only if it is sticky, as /tmp is; the entry is a regular file that belongs to this user and
that nobody else may write to. Everything is checked on open file descriptors, each opened relative to the one before,
so nothing can be exchanged between check and use. Root trusts only what belongs to root.

An entry begins with its length and a SHA-256 digest of its name, length and content. The digest detects damage; it is
no proof of origin, since anybody can compute one. An entry is written to a temporary file and renamed.
"""
from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Final

from autograph.core.late_binding import deferred

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = deferred("hashlib")  # only caches on disk need it

__all__ = ["LIMIT", "read", "write"]

LIMIT: Final = 1 << 26
"""Maximal size of an entry in bytes: larger ones are neither read nor written."""

_MAGIC: Final = b"entry\0\0\x01"
_DIGEST: Final = 32  # bytes of SHA-256
_HEADER: Final = len(_MAGIC) + 8 + _DIGEST
_KNOWN: Final = os.open in os.supports_dir_fd and hasattr(os, "geteuid") and hasattr(os, "O_NOFOLLOW")
"""Whether this system can tell who may write to an open file."""
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO opens at once, too
_DIRECTORY: Final = _NO_LINK | getattr(os, "O_DIRECTORY", 0)
_SEARCHED: Final = getattr(os, "O_PATH", getattr(os, "O_SEARCH", 0))  # for directories that may not be listed
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_LINKS: Final = 40  # as many symbolic links in a path as Linux follows
_BESIDE: Final = ".", ".new"
"""Prefix and suffix of temporary files."""
_ABANDONED: Final = 3600.0
"""Seconds after which a temporary file is taken to be left by a killed process."""
_swept: Final[set[str]] = set()


def read(directory: str, name: str) -> bytes | None:
    """The content of an entry; None if there is none, or it is damaged, too large, not a regular file, or may be
    written by others.

    Raises OSError, with the reason as `strerror`, if the directory cannot be opened or is not to be trusted.
    """
    try:
        folder = _opened(directory)
    except FileNotFoundError:
        return None
    try:
        file = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    try:
        status = os.fstat(file)
        length = status.st_size - _HEADER
        if not stat.S_ISREG(status.st_mode) or not _is_own(status) or not 0 <= length <= LIMIT:
            return None
        header = os.read(file, _HEADER)
        if not header.startswith(_begin(length)):
            return None
        content = os.read(file, length)
    except OSError:
        return None
    finally:
        os.close(file)
    return content if header == _header(name, content) else None


def write(directory: str, name: str, content: bytes) -> None:
    """Write an entry, replacing one of the same name. Missing directories are made with mode 0700.

    Raises OSError as `read` does, and if the entry cannot be written; the old entry, if any, is kept then.
    """
    if len(content) > LIMIT:
        return
    folder = _opened(directory, make=True)
    try:
        _sweep(directory, folder)
        beside = os.urandom(8).hex().join(_BESIDE)
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=folder)
        try:
            with open(file, "wb") as whole:
                whole.write(_header(name, content))
                whole.write(content)
            try:
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            except IsADirectoryError:
                os.rmdir(name, dir_fd=folder)
                os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def _begin(length: int) -> bytes:
    return _MAGIC + length.to_bytes(8, "little")


def _header(name: str, content: bytes) -> bytes:
    begin = _begin(len(content))
    digest = hashlib.sha256(begin + name.encode() + b"\0")
    digest.update(content)
    return begin + digest.digest()


def _is_own(status: os.stat_result) -> bool:
    """Whether only this user may write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS


def _opened(path: str, make: bool = False) -> int:
    """An open descriptor of a directory of this user's, which is created if `make`. OSError if others could change its
    content."""
    if not _KNOWN:
        raise OSError(errno.ENOTSUP, "this system does not tell who may write there", path)
    where, links = "/", 0
    rest = _parts(path if path.startswith("/") else os.path.join(os.getcwd(), path))
    here = _opened_below(None, where)
    try:
        while rest:
            _check_above(os.fstat(here), where)
            part = rest.pop()
            try:
                below = _opened_below(here, part)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):  # another process made it now
                    os.mkdir(part, 0o700, dir_fd=here)
                below = _opened_below(here, part)
            except OSError:
                target = _target(here, os.path.join(where, part), part, not rest)
                links += 1
                if target is None or links > _LINKS:
                    raise
                rest += _parts(target)
                if not target.startswith("/"):
                    continue
                where, part = "/", ""
                below = _opened_below(None, where)
            os.close(here)
            here, where = below, os.path.join(where, part)
        _check_own(os.fstat(here), where)
    except BaseException:
        os.close(here)
        raise
    return here


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _opened_below(folder: int | None, part: str) -> int:
    try:
        return os.open(part, os.O_RDONLY | _DIRECTORY, dir_fd=folder)
    except PermissionError:
        return os.open(part, _SEARCHED | _DIRECTORY, dir_fd=folder)


def _target(folder: int, where: str, part: str, last: bool) -> str | None:
    """The target of a symbolic link; None if this is not one. PermissionError if it must not be followed."""
    status = os.stat(part, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        return None
    if last:
        raise _refusal(where, f"{where} is a symbolic link: name the directory itself")
    _check_owner(status, where)
    return os.readlink(part, dir_fd=folder)


def _check_above(status: os.stat_result, where: str) -> None:
    _check_owner(status, where)
    if status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX:
        raise _refusal(where, f"others may write to {where}: take another directory, or chmod go-w {where}")


def _check_own(status: os.stat_result, where: str) -> None:
    if status.st_uid != os.geteuid():
        raise _refusal(where, f"{where} belongs to user {status.st_uid}: take a directory of your own")
    if status.st_mode & _OTHERS:
        raise _refusal(where, f"others may write to {where}: chmod go-w {where}")


def _check_owner(status: os.stat_result, where: str) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise _refusal(where, f"{where} belongs to user {status.st_uid}, who could exchange what is below it")


def _refusal(where: str, reason: str) -> PermissionError:
    return PermissionError(errno.EPERM, reason, where)


def _sweep(directory: str, folder: int) -> None:
    """Remove, once per process, temporary files left by killed processes."""
    if directory in _swept:
        return
    _swept.add(directory)
    begin, end = _BESIDE
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(begin) and name.endswith(end):
                with contextlib.suppress(OSError):
                    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < time.time() - _ABANDONED:
                        os.unlink(name, dir_fd=folder)
