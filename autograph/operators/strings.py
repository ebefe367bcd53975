"""Text that converted code puts together while a backend traces: there may be values of a graph in it."""
from __future__ import annotations

from typing import Any, Final

from autograph.core.backend import ambient
from autograph.dispatch.converted_call import call

__all__ = ["percent", "shown", "spec", "text"]


def text(value: Any, /) -> Any:
    """A text that was put together, which may have values of a graph in it, or any other value."""
    return value if ambient.backend is None else ambient.backend.text(value)


def percent(template: Any, values: Any, /) -> Any:
    """`template % values`, which makes a text."""
    found = getattr(ambient.backend, "percent", None)
    return template % values if found is None else found(template, values)


def shown(value: Any, letter: int, /) -> Any:
    """What an f-string has of `value` with `!s`, `!r` or `!a` (the code of the letter) before it is formatted."""
    return call(_CONVERSIONS[letter])(value)


_CONVERSIONS: Final[dict[int, Any]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def spec(value: str, /) -> str:
    """A format spec that was put together, which Python looks into."""
    len(text(value))  # an error if there are values of a graph in it
    return value
