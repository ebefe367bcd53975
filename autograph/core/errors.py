"""Errors that say where, what and what to do."""
from __future__ import annotations

import linecache

__all__ = [
    "AmbiguousLambdaError", "ConversionError", "NoSourceError", "StaleSourceError", "UnsupportedError",
    "VerificationError", "format_error",
]


def format_error(
    filename: str, lineno: int, col: int | None, what: str, remedy: str = "", *, line: str | None = None
) -> str:
    """The one format of error texts: `file:line: what`, the source line with a caret, and the remedy.

    `col` counts from 0; None omits the caret. `line` is the source text where linecache does not have it.
    """
    text = linecache.getline(filename, lineno) if line is None else line
    parts = [f"{filename}:{lineno}: {what}"]
    if text.strip():
        text = text.rstrip()
        gutter = f"    {lineno} | "
        parts.append(gutter + text)
        if col is not None:
            indent = "".join(c if c == "\t" else " " for c in text[:col])
            parts.append(" " * len(gutter) + indent + "^")
    if remedy:
        parts.append(remedy)
    return "\n".join(parts)


class ConversionError(Exception):
    """A function or module cannot be converted.

    Attributes: `filename`, `lineno` (from 1), `col` (from 0, or None), `what`, `remedy`; `str()` is the full text.
    """

    def __init__(
        self, what: str, *, filename: str = "<unknown>", lineno: int = 0, col: int | None = None, remedy: str = "",
        line: str | None = None,
    ) -> None:
        self.filename, self.lineno, self.col, self.what, self.remedy = filename, lineno, col, what, remedy
        super().__init__(format_error(filename, lineno, col, what, remedy, line=line))


class NoSourceError(ConversionError):
    """The function has no source text to convert: it was typed into a shell, made by `exec`, or is written in C."""


class AmbiguousLambdaError(ConversionError):
    """Several lambdas fit the code object and their texts differ."""


class StaleSourceError(ConversionError):
    """The source on disk is no longer the one the function was compiled from."""


class UnsupportedError(ConversionError):
    """The object is not something that converts: not a function, method, property or callable object."""


class VerificationError(Exception):
    """With `verify=True`: a converted function did not do what the original did. The attributes are those of
    ConversionError.
    """

    def __init__(self, what: str, *, filename: str, lineno: int, remedy: str = "") -> None:
        self.filename, self.lineno, self.what, self.remedy = filename, lineno, what, remedy
        super().__init__(format_error(filename, lineno, None, what, remedy))


for _error in [each for each in globals().values() if isinstance(each, type) and issubclass(each, Exception)]:
    _error.__module__ = "autograph"  # where users import it from: tracebacks name it so
