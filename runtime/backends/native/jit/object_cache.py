"""Machine code on disk, between processes: where the environment variable RUNTIME_CACHE or `rt.config` names a folder.

A file is named for a hash of all that the code depends on. `autograph.core.cache_entries` says which files are read:
those that nobody but this user can have written, if they are whole. Each appears whole or not at all, whoever else
writes it.
"""
from __future__ import annotations

import hashlib
import warnings
from typing import Final

from autograph.backend import cache_entries
from runtime.core.config import settings

__all__ = ["key_of", "load", "save"]

_told: Final[set[str]] = set()
"""The folders that a warning was about."""


def key_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The machine code; None if there is none that is to be used. Warns, once, if the folder is not to be trusted."""
    folder = settings.native_cache
    if folder is None:
        return None
    try:
        return cache_entries.read(folder, f"{key}.o")
    except OSError as error:
        _warn(folder, error)
        return None


def save(key: str, code: bytes) -> None:
    """Keep the machine code. Warns, once, if the folder cannot be written: then the next process compiles again."""
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
