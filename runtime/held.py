"""Lists and dicts that are elements of a staged list.

Such a list holds the tensors that were in them, not themselves. So a list that is changed after it was put in, or after
it was read, would leave the list as it was, where Python's has changed: that is an error.
"""
from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from runtime.errors import StagingError, locate
from runtime.graph import Position, user_position
from runtime.tensor import GraphTensor

__all__ = ["began", "holding", "put", "read"]


@dataclass(frozen=True)
class _Element:
    """A list or dict, what was in it, and where it was put into a staged list or (with the index) read from one."""

    value: Any
    contents: tuple[Any, ...]
    place: Position | None
    is_put: bool
    index: Any = None

    def is_changed(self) -> bool:
        return not _same(_contents(self.value), self.contents)


@dataclass
class _Body:
    """What became an element in a body, or was read as one; and by id, what an iteration of it begins with."""

    elements: list[_Element] = field(default_factory=list)
    start: dict[int, tuple[Any, tuple[Any, ...]]] = field(default_factory=dict)


class _Open(threading.local):
    bodies: tuple[_Body, ...] = ()


_open: Final = _Open()


class holding(AbstractContextManager[None]):
    """While a body is traced, or (`alone`) a function. At its end, StagingError for elements that were changed."""

    def __init__(self, alone: bool = False) -> None:
        self.alone = alone

    def __enter__(self) -> None:
        self.outer = _open.bodies
        _open.bodies = (_Body(),) if self.alone else (*self.outer, _Body())

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        body, _open.bodies = _open.bodies[-1], self.outer
        if exc is not None:
            return
        for element in body.elements:
            start = body.start.get(id(element.value))
            again = element.is_put and start is not None and not _same(_contents(element.value), start[1])
            if again or element.is_changed():
                _refuse(element)
        if self.outer and not self.alone:
            self.outer[-1].elements += [element for element in body.elements if element.is_put]


def began(values: Iterable[Any]) -> None:
    """An iteration of the body that is traced begins with these lists and dicts, which it leaves for the next."""
    if _open.bodies:
        _open.bodies[-1].start.update(
            (id(value), (value, _contents(value))) for value in values if type(value) in (list, dict))


def put(x: Any, index: Any = None) -> None:
    """`x` becomes an element: the one at `index`, or a new one."""
    found = list(_containers(x))
    if found and _open.bodies:
        elements = _open.bodies[-1].elements
        ids = {id(value) for value in found}
        elements[:] = [e for e in elements if e.is_put or id(e.value) not in ids or not _is_index(e.index, index)]
        _note(found, True, None)


def read(x: Any, index: Any = None) -> Any:
    """`x`, which is what the element at `index` holds."""
    _note(_containers(x), False, index)
    return x


def _note(values: Iterable[Any], is_put: bool, index: Any) -> None:
    if _open.bodies:
        _open.bodies[-1].elements += [
            _Element(value, _contents(value), user_position(), is_put, index) for value in values]


def _containers(x: Any) -> Iterator[Any]:
    """The lists and dicts in an element."""
    if isinstance(x, (list, dict)):
        yield x
    if isinstance(x, (list, tuple, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _containers(part)


def _contents(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (*value, *value.values())


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(_is_same, a, b))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, GraphTensor) and isinstance(b, GraphTensor) and a.value is b.value)


def _is_index(a: Any, b: Any) -> bool:
    return a is not None and (_is_same(a, b) or (type(a) is int and type(b) is int and a == b))


def _refuse(element: _Element) -> None:
    kind = type(element.value).__name__
    when = "was put into another list here" if element.is_put else "was read from another list here"
    remedy = (f"Put in a copy: {kind}(x); or change it before." if element.is_put
              else f"Change a copy, and put that in: x = {kind}(xs[i]), then xs[i] = x.")
    error = StagingError(
        f"a {kind} is changed after it {when}, which holds what was in it: staged code does not see the change there",
        remedy=remedy)
    locate(error, element.place)
    raise error
