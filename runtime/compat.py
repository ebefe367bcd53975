"""What scripts say in their first lines to run on several versions of TensorFlow (`tf.compat`)."""
from __future__ import annotations

import logging as python_logging
import os
from typing import Any, Final

from autograph.backend import unknown
from runtime.core.public_names import hint_at_public_names
from runtime.core.tf1_names import INSTEAD
from runtime.ops.random_sources import set_seed
from runtime.ops.sequences import setdiff1d

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "get_logger", "path_to_str", "v1"]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text as bytes; bytes as they are (`tf.compat.as_bytes`). TypeError for other values."""
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as text; text as it is (`tf.compat.as_text`). TypeError for other values."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Any value as text, bytes decoded (`tf.compat.as_str_any`)."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path as text; other values as they are (`tf.compat.path_to_str`)."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def get_logger() -> python_logging.Logger:
    """The logger "runtime" (`tf.get_logger`), which shows messages from WARNING on, on stderr, unless the program sets
    up logging. The runtime itself warns by Python's `warnings`."""
    logger = python_logging.getLogger("runtime")
    if not logger.handlers and not logger.root.handlers:
        handler = python_logging.StreamHandler()
        handler.setFormatter(python_logging.Formatter(python_logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger


class _Logging:
    """`tf.compat.v1.logging`: messages and levels of `rt.get_logger()`."""

    DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50

    def set_verbosity(self, v: int | str) -> None:
        """Show messages of this level and above."""
        get_logger().setLevel(v)

    def get_verbosity(self) -> int:
        """The level from which on messages are shown."""
        return get_logger().getEffectiveLevel()

    def log(self, level: int, msg: object, *args: object) -> None:
        get_logger().log(level, msg, *args)

    def debug(self, msg: object, *args: object) -> None:
        self.log(self.DEBUG, msg, *args)

    def info(self, msg: object, *args: object) -> None:
        self.log(self.INFO, msg, *args)

    def warning(self, msg: object, *args: object) -> None:
        self.log(self.WARN, msg, *args)

    warn = warning

    def error(self, msg: object, *args: object) -> None:
        self.log(self.ERROR, msg, *args)

    def fatal(self, msg: object, *args: object) -> None:
        self.log(self.FATAL, msg, *args)


class _V1:
    """`tf.compat.v1`, of which only `logging`, `set_random_seed` and `setdiff1d` are there."""

    logging: Final = _Logging()
    set_random_seed = staticmethod(set_seed)
    setdiff1d = staticmethod(setdiff1d)

    def __getattr__(self, name: str) -> Any:
        raise unknown("runtime.compat.v1", name, ("logging", "set_random_seed", "setdiff1d"),
                      lambda name: INSTEAD.get(name, ""))


v1: Final = _V1()
"""`tf.compat.v1`."""

hint_at_public_names(__name__)
