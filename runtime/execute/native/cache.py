"""Machine code on disk, between processes: where the environment variable RUNTIME_CACHE or `rt.config` names a folder.

A file is named for a hash of all that the code depends on, and starts with a hash of what it holds, so a file that was
cut short or changed is not used. It appears whole or not at all, whoever else writes it.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from runtime.config import settings

__all__ = ["folder", "key_of", "load", "save"]

_DIGEST = hashlib.sha256().digest_size


def folder() -> Path | None:
    """Where the files are, or None for no cache."""
    path = settings.native_cache
    return None if path is None else Path(path)


def key_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The machine code, or None if there is none that is whole."""
    place = folder()
    if place is None:
        return None
    try:
        data = (place / f"{key}.o").read_bytes()
    except OSError:
        return None
    digest, code = data[:_DIGEST], data[_DIGEST:]
    return code if hashlib.sha256(code).digest() == digest else None


def save(key: str, code: bytes) -> None:
    """Keep the machine code. A folder that cannot be written costs only the time of the next compilation."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(name, place / f"{key}.o")
        except BaseException:
            os.unlink(name)
            raise
