"""Fewer garbage collections, and one piece of stack, while code is converted, traced and compiled."""
from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["rarely_collected"]

T = TypeVar("T")
_OBJECTS: Final = 50_000


def rarely_collected(work: Callable[[], T]) -> T:
    """Run `work`, collecting garbage only after each `_OBJECTS` new objects: trees and graphs have many objects, hardly
    any of which become garbage before the end, and collections would take up to a third of the time.

    The threshold is that of the process: another thread whose work ends earlier restores it, and what other code sets
    meanwhile stays.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _OBJECTS:
        return _in_one_chunk(work)
    try:
        try:
            gc.set_threshold(_OBJECTS, *before[1:])
            return _in_one_chunk(work)
        finally:
            _restore(before)
    finally:
        _restore(before)  # a signal may have interrupted the first


def _in_one_chunk(work: Callable[[], T]) -> T:
    """Run `work` with its frames in one chunk of CPython's stack. CPython allocates chunks of 16 kB, and frees each as
    soon as the frame that it begins with returns, so that calls at some depths cost a system call or two: a fifth of
    the time of a trace. A frame too large for a chunk gets one of the next power of two, the rest of which is for the
    frames of its callees; the memory of its own slots is never touched."""
    return work()


_in_one_chunk.__code__ = _in_one_chunk.__code__.replace(co_stacksize=1 << 17)


def _restore(threshold: tuple[int, int, int]) -> None:
    if gc.get_threshold()[0] == _OBJECTS:
        gc.set_threshold(*threshold)
