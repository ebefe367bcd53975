"""NumPy arrays that existed before a trace are read-only during it.

Writing to them would happen only once, at trace time, and not at each call: the error names the line.
"""
from __future__ import annotations

import threading
from collections.abc import Container, Iterable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Final

import numpy as np

from autograph.backend import at_end, of_trace
from runtime.core.array_mode import want_objects
from runtime.core.errors import StagingError, locate
from runtime.core.positions import Position, is_users, user_position

__all__ = ["is_writeable", "unwritable", "written_error"]


class _Locked(threading.local):
    locked: tuple[unwritable, ...] = ()


_trace: Final = of_trace(_Locked())


class unwritable(AbstractContextManager[None]):
    """Make pre-existing NumPy arrays read-only while a function is traced, in all threads."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.arrays = [*arrays]

    def __enter__(self) -> None:
        _trace.locked = (*_trace.locked, self)
        with _lock:
            for array in sorted(self.arrays, key=_depth, reverse=True):  # a view is writable only if its base is
                if id(array) in _unwritable or _can_be_put_back(array, _unwritable):
                    _unwritable.setdefault(id(array), (array, set()))[1].add(self)
                    array.flags.writeable = False

    def __exit__(self, *_: object) -> None:
        self.leave()
        _trace.locked = _trace.locked[:-1]

    def leave(self) -> None:
        """Make those arrays writable again that no other trace needs read-only. It may be called again after an
        interruption."""
        with _lock:
            for array in self.arrays:
                if id(array) in _unwritable:
                    _unwritable[id(array)][1].discard(self)
            for array, needed_by in sorted(_unwritable.values(), key=lambda entry: _depth(entry[0])):
                # a view of an array that another trace needs is restored together with that array
                if not needed_by and _can_be_put_back(array):
                    array.flags.writeable = True
                    _unwritable.pop(id(array), None)


def _can_be_put_back(array: Any, later: Container[int] = ()) -> bool:
    """Whether NumPy lets an array be made writable: each of its bases is writable, or has its id in `later`."""
    base = array.base
    return not isinstance(base, np.ndarray) or (
        (bool(base.flags.writeable) or id(base) in later) and _can_be_put_back(base, later))


@at_end
def _leave_all() -> None:
    for each in _trace.locked:
        each.leave()


_unwritable: Final[dict[int, tuple[Any, set[unwritable]]]] = {}
"""By id: the read-only arrays, and the traces that need them read-only."""
_lock: Final = threading.Lock()


def is_writeable(array: Any) -> bool:
    """Whether an array is writable, or would be if no function were traced."""
    return bool(array.flags.writeable) or id(array) in _unwritable


def _depth(array: Any) -> int:
    depth = 0
    while isinstance(array.base, np.ndarray):
        array, depth = array.base, depth + 1
    return depth


def written_error(error: BaseException) -> Exception | None:
    """The error to raise in place of NumPy's `error` if that is due to a write to one of these arrays; None for other
    errors."""
    what = error.args[0] if error.args else None  # text of the graph has no characters to look into
    if not _unwritable or type(error) is not ValueError or not isinstance(what, str) or "read-only" not in what:
        return None
    place, name, found, entry = None, "a NumPy array", None, error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if is_users(frame):
            place = Position(frame.f_code.co_filename, entry.tb_lineno, frame.f_code.co_name)
            name, found = _name_in(frame)
        entry = entry.tb_next
    is_structured = found is not None and found.dtype.names is not None
    other = ("Pass the fields of the structured array, f(a['x'], a['m']): they are arrays, which change in it"
             if is_structured else "Use a tensor or an rt.Variable")
    made = StagingError(
        f"{name} that was there before the call is changed here: that would happen once, while the function is"
        " traced, and not at each call",
        remedy=f"{other}; or return what is to be in the array, and put it there after the call.")
    locate(made, place or user_position())
    return want_objects(made, _trace.locked[-1].arrays if found is None and _trace.locked else [found])


def _name_in(frame: FrameType) -> tuple[str, Any]:
    """The name in a frame of its read-only array, with the array; a general name and None unless there is exactly
    one."""
    code = frame.f_code
    names = [*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names]
    found = [name for name in names if not name.endswith("_")  # as generated names do
             and id(frame.f_locals.get(name, frame.f_globals.get(name))) in _unwritable]
    if len(found) != 1:
        return "a NumPy array", None
    return f"the NumPy array {found[0]!r}", frame.f_locals.get(found[0], frame.f_globals.get(found[0]))
