"""Conversions kept on disk between processes, when asked for: `AUTOGRAPH_CACHE=DIR`, or `set_cache(DIR)`.

An entry is the converted code of one function, or of a module that `install` converts, marshalled. Its name is a digest
of all that it depends on: the code object of the function (its instructions and constants, with names, file, lines and
columns) or the text and file of the module, the options, the version and files of autograph, and the version and flags
of Python. So a changed source has another name, and a hit needs no parser, and for a function not even the source.
Nothing is ever changed in place: an entry is written beside and renamed. One that is not whole is passed over and
written anew. Like `__pycache__`, the directory must be one that only trusted users write.
"""
from __future__ import annotations

import hashlib
import marshal
import os
import sys
import threading
import warnings
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

__all__ = ["cache_directory", "load", "load_module", "set_cache", "store", "store_module"]

_HEADER = b"autograph\x01"
_directory: Path | None = None
_environment = b""
"""What the conversions of this process depend on besides their source."""


def set_cache(directory: str | os.PathLike[str] | None) -> None:
    """Keep conversions in this directory, which is made when it is first written to; None: keep none on disk."""
    global _directory, _environment
    _directory = None if directory is None else Path(directory).absolute()
    if _directory is not None and not _environment:
        files = sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
                       for entry in os.scandir(Path(__file__).parent) if entry.name.endswith(".py"))
        _environment = repr((MAGIC_NUMBER, sys.version, sys.flags.optimize, files)).encode()


def cache_directory() -> Path | None:
    """Where conversions are kept on disk, if they are."""
    return _directory


def load(code: CodeType, options: Any) -> tuple[CodeType, str] | None:
    """The kept conversion of a code object with these options, with what it calls the operators."""
    if _directory is None:
        return None
    kept: tuple[CodeType, str] | None = _read(_path(_directory, options, _signature(code)))
    return kept


def store(code: CodeType, options: Any, converted: CodeType, operators: str) -> None:
    """Keep a conversion. Warns, once, if the directory cannot be written to."""
    if _directory is not None:
        _write(_path(_directory, options, _signature(code)), (converted, operators))


def load_module(text: str, filename: str) -> CodeType | None:
    """The kept conversion of a module."""
    if _directory is None:
        return None
    kept: CodeType | None = _read(_path(_directory, text, filename))
    return kept


def store_module(text: str, filename: str, converted: CodeType) -> None:
    """Keep the conversion of a module, as `store` does."""
    if _directory is not None:
        _write(_path(_directory, text, filename), converted)


def _read(path: Path) -> Any:
    """What an entry holds; None if there is none, or it is not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_HEADER) + 32
    if data[: len(_HEADER)] != _HEADER or data[len(_HEADER):start] != hashlib.sha256(data[start:]).digest():
        return None
    return marshal.loads(data[start:])


def _write(path: Path, value: Any) -> None:
    data = marshal.dumps(value)
    beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(_HEADER + hashlib.sha256(data).digest() + data)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(f"AUTOGRAPH_CACHE: {path.parent}: {error.strerror}; conversions are not kept", stacklevel=2)
        set_cache(None)


def _path(directory: Path, *depends: Any) -> Path:
    digest = hashlib.sha256(_environment)
    digest.update(repr(depends).encode("utf-8", "surrogatepass"))
    name = digest.hexdigest()
    return directory / name[:2] / name[2:]


def _signature(code: CodeType) -> tuple[Any, ...]:
    """What tells code objects apart, the same in each process."""
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


set_cache(os.environ.get("AUTOGRAPH_CACHE") or None)
