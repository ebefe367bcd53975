"""Mutable objects that are not state: sets, bytearrays, subclasses of list and deque, arrays, writable files, and
random number generators, which every draw changes. A staged body must not change them: the change would happen only
once, while the body is traced."""
from __future__ import annotations

import contextlib
import functools
import io
import operator
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from autograph.core.lists import LISTS, refill

__all__ = [
    "IN_MEMORY", "Other", "draws_random_numbers", "generators_of", "is_array", "is_file", "is_other", "is_output",
    "is_written",
]

_COLLECTIONS: Final = (*LISTS, set, bytearray)
IN_MEMORY: Final = (io.StringIO, io.BytesIO)
_FILES: Final = (*IN_MEMORY, io.TextIOWrapper, io.BufferedWriter, io.BufferedReader, io.BufferedRandom, io.FileIO)
_MOST: Final = 1 << 20


def is_other(value: Any, named: bool = False) -> bool:
    """Whether `value` is mutable but not state. Arrays of more than a megabyte count only if the statement names them
    (`named`), since comparing them takes time."""
    kind: Any = type(value)
    if not _may_be_other(kind):
        return False
    if is_array(value):
        return bool(value.flags.writeable) and (named or value.nbytes <= _MOST)
    return (issubclass(kind, _COLLECTIONS) and kind not in LISTS) or draws_random_numbers(kind) or is_written(value)


@functools.lru_cache(maxsize=1024)
def _may_be_other(kind: Any) -> bool:
    """Whether objects of a class may be mutable but not state."""
    return _are_arrays(kind) or (issubclass(kind, _COLLECTIONS) and kind not in LISTS) or issubclass(
        kind, _FILES) or draws_random_numbers(kind)


def is_array(value: Any) -> bool:
    """Whether `value` is an array such as NumPy's; array scalars are not."""
    return _are_arrays(type(value))


def _are_arrays(kind: type) -> bool:
    return hasattr(kind, "__array_interface__") and hasattr(kind, "__setitem__")


def is_file(value: Any) -> bool:
    """Whether `value` is an open file, including one in memory."""
    return issubclass(type(value), _FILES) and not value.closed


def is_output(value: Any) -> bool:
    """Whether `value` is standard output or standard error."""
    return any(value is each for each in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__))


def is_written(value: Any) -> bool:
    """Whether `value` is a writable file, standard output and error excepted."""
    return is_file(value) and value.writable() and not is_output(value)


def draws_random_numbers(kind: type) -> bool:
    """Whether objects of this class are random number generators of Python's or NumPy's whose state can be read."""
    module = sys.modules.get("random")
    if module is not None and issubclass(kind, module.Random):
        return not issubclass(kind, module.SystemRandom)
    return kind.__name__ in ("Generator", "RandomState") and str(kind.__module__).startswith("numpy.random.")


def generators_of(module: ModuleType) -> SimpleNamespace | None:
    """Its random number generator by each name by which code may use it, for the modules `random`, `numpy.random` and
    `numpy`; None for others."""
    if module.__name__ in ("random", "numpy.random"):
        return SimpleNamespace(**dict.fromkeys(vars(module), module.random.__self__))
    if module.__name__ == "numpy" and (inner := sys.modules.get("numpy.random")) is not None:
        return SimpleNamespace(random=inner.random.__self__)
    return None


class Other:
    """A snapshot of the content of an untracked mutable object."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.before = _content(value)

    def put_back(self) -> bool:
        """Restore the content; returns whether it had changed."""
        value, before = self.value, self.before
        now = _content(value)
        if draws_random_numbers(type(value)):
            if _is_same_state(now, before):
                return False
            _set_state(value, before)
        elif is_array(value):
            if now.tobytes() == before.tobytes():
                return False
            value[...] = before
        elif issubclass(type(value), _FILES):
            if now == before or value.closed:
                return False
            _rewrite(value, before)
        else:
            if len(now) == len(before) and all(map(operator.is_, now, before)):
                return False
            if isinstance(value, set):
                value.clear()
                value.update(before)
            elif isinstance(value, bytearray):
                value[:] = bytearray(before)
            else:
                refill(value, before)
        return True


def _content(value: Any) -> Any:
    if draws_random_numbers(type(value)):
        return _state(value)
    if issubclass(type(value), _FILES):
        return _written(value)
    return value.copy() if is_array(value) else list(value)


def _written(file: Any) -> Any:
    """The content of a file in memory, or the position and length of another file, as far as known."""
    if file.closed:
        return None
    if isinstance(file, IN_MEMORY):
        return file.getvalue()
    position = size = None
    with contextlib.suppress(OSError):
        position = file.tell()
        size = os.fstat(file.fileno()).st_size
    return position, size


def _rewrite(file: Any, before: Any) -> None:
    if isinstance(file, IN_MEMORY):
        file.seek(0)
        file.truncate()
        file.write(before)
    elif before is not None:
        position, size = before
        if size is not None:
            file.truncate(size)
        if position is not None:
            file.seek(position)


def _state(generator: Any) -> Any:
    for name in ("getstate", "get_state"):
        if hasattr(generator, name):
            return getattr(generator, name)()
    return generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    for name in ("setstate", "set_state"):
        if hasattr(generator, name):
            getattr(generator, name)(state)
            return
    generator.bit_generator.state = state


def _is_same_state(now: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return all(_is_same_state(now[key], before[key]) for key in before)
    if isinstance(before, tuple):
        return all(map(_is_same_state, now, before))
    return bool(now.tobytes() == before.tobytes() if is_array(before) else now == before)
