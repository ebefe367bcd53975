"""Conversions cached on disk between processes, on request: `AUTOGRAPH_CACHE=DIR`, or `set_cache(DIR)`.

An entry is the marshalled converted code of one function. Its name is a digest of everything that the conversion
depends on: the code object of the function (instructions and constants, names, file, lines and columns), the options,
the version and files of autograph, and the version and flags of Python. So a changed source has another name, and a hit
needs neither parser nor source. `cache_entries` decides which entries are trusted: complete ones that nobody but this
user can have written. Others are ignored and replaced.
"""
from __future__ import annotations

import marshal
import os
import sys
import warnings
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from autograph.core import cache_entries
from autograph.core.late_binding import deferred

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = deferred("hashlib")  # only caches on disk need it

__all__ = ["cache_directory", "load", "set_cache", "store"]

_directory: Path | None = None
_environment = b""
"""All that the conversions of this process depend on besides their source."""


def set_cache(directory: str | os.PathLike[str] | None) -> None:
    """Cache conversions in this directory, which is created when it is first written to; None disables the cache.

    A directory that others could write to is not used, with a warning (docs/trust.md).
    """
    global _directory, _environment
    place = None if directory is None else Path(directory).absolute()
    if place is not None and not _environment:
        package = Path(__file__).parents[1]
        files = sorted((str(path.relative_to(package)), path.stat().st_size, path.stat().st_mtime_ns)
                       for path in package.rglob("*.py"))
        _environment = repr((MAGIC_NUMBER, sys.version, sys.flags.optimize, files)).encode()
    _directory = place


def cache_directory() -> Path | None:
    """The directory of the cache, if any."""
    return _directory


def load(code: CodeType, options: Any) -> tuple[CodeType, str] | None:
    """The cached conversion of a code object with these options, and the name of the operators in it. Warns, once, if
    the directory is not to be trusted, as `store` does."""
    directory = _directory
    if directory is None:
        return None
    kept: tuple[CodeType, str] | None = _read(directory, _name(options, _signature(code)))
    return kept


def store(code: CodeType, options: Any, converted: CodeType, operators: str) -> None:
    """Cache a conversion. Warns, once, if the directory cannot be written to."""
    directory = _directory
    if directory is not None:
        _write(directory, _name(options, _signature(code)), (converted, operators))


def _read(directory: Path, name: str) -> Any:
    """The content of an entry; None if there is no usable one."""
    try:
        content = cache_entries.read(str(directory), name)
    except OSError as error:
        _give_up(directory, error)
        return None
    return None if content is None else marshal.loads(content)


def _write(directory: Path, name: str, value: Any) -> None:
    try:
        cache_entries.write(str(directory), name, marshal.dumps(value))
    except OSError as error:
        _give_up(directory, error)


def _give_up(directory: str | Path, error: OSError) -> None:
    set_cache(None)
    warnings.warn(f"AUTOGRAPH_CACHE: {directory}: {error.strerror}; conversions are not kept", stacklevel=3)


def _name(*depends: Any) -> str:
    digest = hashlib.sha256(_environment)
    digest.update(repr(depends).encode("utf-8", "surrogatepass"))
    return digest.hexdigest() + ".code"


def _signature(code: CodeType) -> tuple[Any, ...]:
    """The identity of a code object, the same in each process."""
    return (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_filename, code.co_name,
        getattr(code, "co_qualname", ""), code.co_firstlineno, code.co_linetable,
        getattr(code, "co_exceptiontable", b""),
        [_constant(c) for c in code.co_consts],
    )


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _signature(value)
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    return value


def _start() -> None:
    directory = os.environ.get("AUTOGRAPH_CACHE")
    if directory:
        try:
            set_cache(directory)
        except OSError as error:  # there is no working directory, or autograph's own files cannot be listed
            _give_up(directory, error)


_start()
