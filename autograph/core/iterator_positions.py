"""Detection of iterators that a staged body advances: that would happen only once, while the body is traced.

Python cannot rewind an iterator, and a graph cannot advance it, so advancing is only detected: by comparing the
position of an iterator, and of the iterators that it takes its items from, before and after the body.
"""
from __future__ import annotations

import dis
import functools
import gc
import io
import itertools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import length_hint
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
)
from typing import Any, Final

from autograph.core.backend import backend_for
from autograph.core.slots import fields_in
from autograph.core.tracebacks import is_opaque
from autograph.core.untracked_mutables import IN_MEMORY, is_file
from autograph.core.versions import GENERATORS_SHOW_LOCALS

__all__ = ["Place", "function_in", "hides_place", "is_iterator", "line_of_use", "taken_by"]

_REDUCED: Final = frozenset({*map(type, (
    iter([]), iter(()), iter(""), iter("é"), iter(b""), iter(bytearray()), iter(range(0)), iter(range(1 << 99)),
    reversed([]), reversed(()), enumerate(()), zip(), map(len, ()), filter(None, ()),
))})
"""Builtins whose `__reduce__` gives their position. (Those of itertools have none from Python 3.14 on.)"""
_HIDING: Final = frozenset({itertools.cycle, type(itertools.tee(())[0])})
"""Iterators of itertools that buffer items and do not tell which item is next."""
_OPEN: Final = (tuple, partial, CellType, BuiltinMethodType, MethodWrapperType)
"""Types that are searched for iterators."""
_COUNTED: Final = frozenset({itertools.repeat, *(type(view) for d in [dict[Any, Any]()] for view in (
    iter(d), iter(d.values()), iter(d.items()), reversed(d), reversed(d.values()), reversed(d.items()), iter(set(d)),
    iter(deque(d)), reversed(deque(d))))})
"""Iterators whose `__length_hint__` is the number of remaining items, if that is finite."""


_CALLING: Final = type(iter(int, 1))
_KNOWN: Final = _REDUCED | _COUNTED | {*IN_MEMORY, GeneratorType}


def is_iterator(value: Any) -> bool:
    """Whether `next` advances `value` at trace time. An iterator of a backend's is advanced by the graph, unless it has
    `__takes_from__`, a method that returns what it takes its items from."""
    kind: Any = type(value)
    return _may_be_iterators(kind) and not (is_file(value) and not value.readable())


@functools.lru_cache(maxsize=1024)
def _may_be_iterators(kind: Any) -> bool:
    return hasattr(kind, "__next__") and (backend_for(kind) is None or hasattr(kind, "__takes_from__"))


class Place:
    """The position of an iterator at some time."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.parts = _position(iterator, set())

    def has_advanced(self) -> bool:
        """Whether the iterator has been advanced since."""
        now = _position(self.iterator, set())
        return len(now) != len(self.parts) or not all(map(_is_same, now, self.parts))


def taken_by(iterator: Any) -> list[Any]:
    """An iterator and those that it takes its items from, transitively."""
    return [iterator, *filter(is_iterator, _position(iterator, set()))]


def function_in(called: Any) -> FunctionType | None:
    """The Python function that a call of `called` runs; None if that is none, or not known."""
    while isinstance(called, (partial, MethodType)):
        called = called.func if isinstance(called, partial) else called.__func__
    return called if isinstance(called, FunctionType) else None


def hides_place(iterator: Any) -> bool:
    """Whether the position of an iterator cannot be read: one written in C that this file does not know, and files that
    are only read."""
    kind = type(iterator)
    if kind in _HIDING:
        return True
    if kind in _KNOWN or kind.__module__ == "itertools" or isinstance(kind.__next__, FunctionType):
        return False
    if isinstance(iterator, io.IOBase):
        return not iterator.closed and iterator.readable() and not iterator.writable()
    if kind is not _CALLING:
        return True
    called = [part for part in gc.get_referents(iterator) if isinstance(part, BuiltinMethodType)]
    return any(not is_iterator(fn.__self__) for fn in called)


def _position(iterator: Any, visited: set[int]) -> list[Any]:
    """The values that change when an iterator advances: its own parts, and the positions of iterators among them."""
    visited.add(id(iterator))
    found: list[Any] = []
    pending = list(_parts(iterator))
    for part in pending:  # grows meanwhile
        if isinstance(part, (*_OPEN, FunctionType)):
            if id(part) in visited:  # such as a function that calls itself
                continue
            visited.add(id(part))
        if isinstance(part, _OPEN):
            pending += gc.get_referents(part)  # not the items of a tuple: those of C code may be missing
            continue
        if type(part) is FunctionType:
            pending += (*(part.__closure__ or ()), *(part.__defaults__ or ()))
        found.append(part)
        if is_iterator(part) and id(part) not in visited:
            found += _position(part, visited)
    return found


def _parts(iterator: Any) -> Iterable[Any]:
    kind = type(iterator)
    if kind is GeneratorType:
        return _parts_of_generator(iterator)
    if kind in _REDUCED:
        return iterator.__reduce__()[1:]  # type: ignore[no-any-return]
    if kind in _COUNTED:
        return [length_hint(iterator, -1)]
    if kind in IN_MEMORY:  # appended items do not count
        return [] if iterator.closed else [iterator.tell() - len(iterator.getvalue())]
    if kind is itertools.count:
        return [repr(iterator)]
    if hasattr(kind, "__takes_from__"):
        return [iterator.__takes_from__()]
    if isinstance(getattr(kind, "__next__", None), FunctionType):
        return (fields_in(iterator) or {}).values()
    return gc.get_referents(iterator)


def _parts_of_generator(generator: Any) -> list[Any]:
    frame = generator.gi_frame
    if frame is None or generator.gi_running:  # a running generator cannot be advanced
        return [frame]
    referents = gc.get_referents(generator)
    if not GENERATORS_SHOW_LOCALS:
        referents += gc.get_referents(frame)
    return [frame.f_lasti, *(part for part in referents if not isinstance(part, FrameType))]


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    return bool(a == b) if type(a) in (int, str, range) else type(a) is list and not (a or b)


_READS: Final = frozenset({
    "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD"})


def line_of_use(functions: Sequence[FunctionType], path: str) -> tuple[str, int]:
    """The file and line where one of the functions first reads a path such as `self.it`, judged by the last name in the
    path that is read at all. If none reads it, where one of their callees does; else the line of the first function."""
    contents = [content for fn in functions for cell in fn.__closure__ or () for content in gc.get_referents(cell)]
    callees = [value for value in contents if type(value) is FunctionType and not is_opaque(value.__code__.co_filename)]
    for codes in ([fn.__code__ for fn in functions], [fn.__code__ for fn in callees]):
        for name in reversed(re.findall(r"[^\W\d]\w*", path)):
            lines = [(code.co_filename, line) for code in codes for line in _lines_reading(code, name)]
            if lines:
                return min(lines)
    return functions[0].__code__.co_filename, functions[0].__code__.co_firstlineno


def _lines_reading(code: CodeType, name: str) -> Iterator[int]:
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        if instruction.argval == name and instruction.opname in _READS:
            yield line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines_reading(constant, name)
