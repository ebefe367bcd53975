"""Machine code cached on disk between processes, in the directory of the environment variable RUNTIME_CACHE or of
`rt.config`.

A file is named by a hash of everything that the code depends on. `autograph.core.cache_entries` decides which files are
read: complete ones that nobody but this user can have written. Files are replaced atomically.
"""
from __future__ import annotations

import hashlib
import warnings
from typing import Final

from autograph.backend import cache_entries
from runtime.core.config import settings

__all__ = ["key_of", "load", "save"]

_told: Final[set[str]] = set()
"""The directories about which a warning was issued."""


def key_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The machine code; None if there is no usable one. Warns once if the directory is not to be trusted."""
    folder = settings.native_cache
    if folder is None:
        return None
    try:
        return cache_entries.read(folder, f"{key}.o")
    except OSError as error:
        _warn(folder, error)
        return None


def save(key: str, code: bytes) -> None:
    """Cache the machine code. Warns, once, if the directory cannot be written to: then the next process compiles
    again."""
    folder = settings.native_cache
    if folder is None:
        return
    try:
        cache_entries.write(folder, f"{key}.o", code)
    except OSError as error:
        _warn(folder, error)


def _warn(folder: str, error: OSError) -> None:
    if folder not in _told:
        _told.add(folder)
        text = f"RUNTIME_CACHE: {folder}: {error.strerror}; machine code is not kept"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
