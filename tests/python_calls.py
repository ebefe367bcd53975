"""Which Python functions a call runs: what the tests of calls that go to native code at once share."""
from __future__ import annotations

import sys
from types import FrameType
from typing import Any

__all__ = ["frames", "native_call", "python_call"]


def frames(fn: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    """The result of a call, and the names of the Python functions that it called."""
    seen: list[str] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result = fn(*args, **kwargs)
    finally:
        sys.setprofile(before)
    return result, seen


def native_call(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a call that runs no Python."""
    result, seen = frames(fn, *args, **kwargs)
    assert seen == []
    return result


def python_call(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a call that goes through Python."""
    result, seen = frames(fn, *args, **kwargs)
    assert seen[0] == "__call__"
    return result

