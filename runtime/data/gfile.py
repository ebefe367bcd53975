"""File functions (`tf.io.gfile`): Python's, on local files, with TensorFlow's errors."""
from __future__ import annotations

import errno
import glob as globbing
import os
import shutil
from typing import IO, Any

from runtime.core.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from runtime.core.positions import located

__all__ = ["GFile", "copy", "exists", "glob", "isdir", "join", "listdir", "makedirs", "mkdir", "remove", "rename",
           "rmtree"]

_MODES = [base + binary + plus for base in "rwa" for binary in ("", "b") for plus in ("", "+")]


class _errors:
    """A context that translates Python's errors to TensorFlow's, at the user's line and with the file's name."""

    def __init__(self, path: Any) -> None:
        self._name = os.fsdecode(path)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise located(NotFoundError(f"{self._name}; No such file or directory")) from None
        if isinstance(error, FileExistsError):
            raise located(AlreadyExistsError(f"{self._name}; File exists")) from None
        if isinstance(error, (IsADirectoryError, NotADirectoryError)):
            raise located(FailedPreconditionError(f"{self._name}; {error.strerror}")) from None


def GFile(name: Any, mode: str = "r") -> IO[Any]:  # TF's name of a class
    """Open a file: as UTF-8 text, or as bytes with "b" in `mode` (`tf.io.gfile.GFile`). The result is Python's file
    object, a context manager with `read`, `write`, `readline`, `seek`, `close`, and iteration over lines. NotFoundError
    if there is no file to read, InvalidArgumentError for another mode."""
    if mode.replace("+b", "b+") not in _MODES:
        raise located(InvalidArgumentError(f"the mode of a file is 'r', 'w' or 'a', with 'b' and '+', not {mode!r}"))
    with _errors(name):
        return open(name, mode, encoding=None if "b" in mode else "utf-8")


def exists(path: Any) -> bool:
    """Whether there is a file or directory of that name (`tf.io.gfile.exists`)."""
    return os.path.exists(path)


def isdir(path: Any) -> bool:
    """Whether there is a directory of that name (`tf.io.gfile.isdir`)."""
    return os.path.isdir(path)


def glob(pattern: Any) -> list[str]:
    """The names that match a pattern, sorted; for a list, those of one pattern after the other (`tf.io.gfile.glob`)."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for each in patterns for name in sorted(globbing.glob(os.fsdecode(each)))]


def listdir(path: Any) -> list[str]:
    """The names in a directory, sorted (`tf.io.gfile.listdir`). NotFoundError if there is none."""
    with _errors(path):
        return sorted(map(os.fsdecode, os.listdir(path)))


def makedirs(path: Any) -> None:
    """Create a directory and its missing parents (`tf.io.gfile.makedirs`)."""
    with _errors(path):
        os.makedirs(path, exist_ok=True)


def mkdir(path: Any) -> None:
    """Create a directory unless it exists (`tf.io.gfile.mkdir`). NotFoundError if its parent is missing."""
    with _errors(path):
        if not os.path.isdir(path):
            os.mkdir(path)


def remove(path: Any) -> None:
    """Remove a file (`tf.io.gfile.remove`). NotFoundError if there is none, FailedPreconditionError for a directory."""
    with _errors(path):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        os.remove(path)


def rmtree(path: Any) -> None:
    """Remove a directory with its contents (`tf.io.gfile.rmtree`). NotFoundError if there is none."""
    with _errors(path):
        shutil.rmtree(path)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file (`tf.io.gfile.copy`). AlreadyExistsError if `dst` exists, unless `overwrite`."""
    with _errors(src):
        _check_free(dst, overwrite)
        shutil.copyfile(src, dst)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file (`tf.io.gfile.rename`). AlreadyExistsError if `dst` exists, unless `overwrite`."""
    with _errors(src):
        _check_free(dst, overwrite)
        os.replace(src, dst)


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise located(AlreadyExistsError(f"{os.fsdecode(path)}; File exists"))


def join(path: Any, *paths: Any) -> Any:
    """Join the parts of a path (`tf.io.gfile.join`)."""
    return os.path.join(path, *paths)
