"""Files by name (`tf.io.gfile`): Python's functions on local files, with TensorFlow's errors."""
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
    """A context that raises Python's errors as those of TensorFlow, at the user's line and with the name of the
    file."""

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
    """The file, opened: of text in UTF-8, or of bytes with "b" in `mode` (`tf.io.gfile.GFile`). It is Python's object,
    a context manager with `read`, `write`, `readline`, `seek`, `close`, and the lines to iterate over. NotFoundError
    if there is none to read, InvalidArgumentError for another mode."""
    if mode.replace("+b", "b+") not in _MODES:
        raise located(InvalidArgumentError(f"the mode of a file is 'r', 'w' or 'a', with 'b' and '+', not {mode!r}"))
    with _errors(name):
        return open(name, mode, encoding=None if "b" in mode else "utf-8")


def exists(path: Any) -> bool:
    """Whether there is a file or folder of that name (`tf.io.gfile.exists`)."""
    return os.path.exists(path)


def isdir(path: Any) -> bool:
    """Whether there is a folder of that name (`tf.io.gfile.isdir`)."""
    return os.path.isdir(path)


def glob(pattern: Any) -> list[str]:
    """The names that match a pattern, or each of a list of patterns, in order (`tf.io.gfile.glob`)."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for each in patterns for name in sorted(globbing.glob(os.fsdecode(each)))]


def listdir(path: Any) -> list[str]:
    """The names in a folder, in order (`tf.io.gfile.listdir`). NotFoundError if there is none."""
    with _errors(path):
        return sorted(map(os.fsdecode, os.listdir(path)))


def makedirs(path: Any) -> None:
    """Make a folder, and those that it is in, where they are missing (`tf.io.gfile.makedirs`)."""
    with _errors(path):
        os.makedirs(path, exist_ok=True)


def mkdir(path: Any) -> None:
    """Make a folder where it is missing (`tf.io.gfile.mkdir`). NotFoundError if that which it is in is missing."""
    with _errors(path):
        if not os.path.isdir(path):
            os.mkdir(path)


def remove(path: Any) -> None:
    """Remove a file (`tf.io.gfile.remove`). NotFoundError if there is none, FailedPreconditionError for a folder."""
    with _errors(path):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        os.remove(path)


def rmtree(path: Any) -> None:
    """Remove a folder and what is in it (`tf.io.gfile.rmtree`). NotFoundError if there is none."""
    with _errors(path):
        shutil.rmtree(path)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file (`tf.io.gfile.copy`). AlreadyExistsError if `dst` is there, unless `overwrite`."""
    with _errors(src):
        _check_free(dst, overwrite)
        shutil.copyfile(src, dst)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file another name (`tf.io.gfile.rename`). AlreadyExistsError if `dst` is there, unless `overwrite`."""
    with _errors(src):
        _check_free(dst, overwrite)
        os.replace(src, dst)


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise located(AlreadyExistsError(f"{os.fsdecode(path)}; File exists"))


def join(path: Any, *paths: Any) -> Any:
    """The parts of a name as one (`tf.io.gfile.join`)."""
    return os.path.join(path, *paths)
