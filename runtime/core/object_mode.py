"""Whether a traced function has the objects, lists and dicts that it makes by value or by reference.

The first trace has them by value: each name has attributes that are tensors, and lists store the attributes of their
elements. Where that is an error, since several names lead to one object and only the graph knows which, the function is
traced again with these objects by reference, in arenas (`runtime.staging.storage.arenas`), and then, if lists or dicts
were the cause, also with those that are elements of others (`runtime.staging.joins.container_arenas`).
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Protocol

from autograph.backend import Reach, meet_all, of_trace
from runtime.core.array_mode import TraceAgain
from runtime.core.errors import InaccessibleTensorError, StagingError
from runtime.core.memos import memos

__all__ = [
    "Arena", "Classes", "ContainerArenas", "Key", "Name", "NeedsAdoption", "NeedsArgument", "NeedsOneArena",
    "NeedsReferences", "NeedsReferencesIn", "arenas_of_objects", "by_reference", "container_arenas", "known_at_end",
    "lists_of_arenas", "name_of", "note_known", "note_made", "note_outside", "reached_by_call", "storing",
    "want_adoption", "want_references"]


Name = tuple[str, str]
"""The module of a class and its qualified name. (A function may define the class anew in each trace.)"""
Classes = Mapping[Name, tuple[type, tuple[str, ...]]]
"""Classes, with the attributes of their objects."""


def name_of(cls: type) -> Name:
    return cls.__module__, cls.__qualname__


class Arena(Protocol):
    """Where a trace has the objects of a class by reference."""

    fields: dict[str, list[Any]]

    def takes(self, cls: type) -> bool: ...


Key = tuple[str, str, int]
"""What tells which arena a container belongs to: the line where it became an element, or the variable with it."""


class ContainerArenas(Protocol):
    """Where a trace has lists and dicts by reference."""

    @property
    def arenas(self) -> Sequence[Any]: ...

    def of(self, key: Key, x: Any) -> Any:
        """The arena of a container with that key."""


class NeedsReferences(TraceAgain):
    """The traced function may need the objects that it makes, or its lists and dicts, by reference. `error` is raised
    if that fails, too."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class NeedsAdoption(TraceAgain):
    """The traced function had better have the objects from before the call by reference."""


class NeedsOneArena(TraceAgain):
    """The traced function needs one arena for the containers with these keys."""

    def __init__(self, key: Key, *others: Key) -> None:
        super().__init__(" and ".join(map(str, (key, *others))))
        self.key, self.others = key, others


class NeedsArgument(TraceAgain):
    """The traced function needs a container from before the call by reference, so that its place has to be an argument.
    `error` is raised if it cannot be one."""

    def __init__(self, value: Any, error: Exception) -> None:
        super().__init__(str(error))
        self.value, self.error = value, error


class NeedsReferencesIn(TraceAgain):
    """The traced function needs the containers of these variables by reference."""

    def __init__(self, keys: Collection[Key]) -> None:
        super().__init__(str(keys))
        self.keys = frozenset(keys)


class _Trace(threading.local):
    mode: by_reference | None = None


_trace: Final = of_trace(_Trace())


class by_reference(AbstractContextManager["by_reference"]):
    """Trace a function with these arenas of objects, by the names of classes. `made`: the classes of other objects that
    it makes, with their attributes. `containers`: those of lists and dicts, or None; `may_adopt`: whether the trace may
    ask for those from before the call by reference without an error. At an error that there may not be by reference,
    NeedsReferences if there are such, or containers were the cause.
    """

    def __init__(
        self, arenas: Mapping[Name, Arena], containers: ContainerArenas | None = None, may_adopt: bool = False,
    ) -> None:
        self.arenas, self.containers, self.may_adopt = arenas, containers, may_adopt
        self.made: dict[Name, tuple[type, tuple[str, ...]]] = {}
        self.outside: Callable[[], Classes] = dict
        """Finds the classes of objects from before the call that can be, and are not, by reference."""
        self.is_wanted = False
        self.needs_containers = False
        """Whether it may be an error of containers by value."""
        self.known: Any = None
        """What the trace knows about containers and elements when its function returns (`open_bodies.Body`)."""

    def __enter__(self) -> by_reference:
        self.outer, _trace.mode = _trace.mode, self
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        _trace.mode = self.outer
        always = isinstance(error, (InaccessibleTensorError, RecursionError))  # objects may have cycles
        self.needs_containers |= isinstance(error, RecursionError)
        if isinstance(error, Exception) and (always or (self.is_wanted and isinstance(error, StagingError))) and (
                self.made or (self.needs_containers and self.containers is None) or self.outside()):
            raise NeedsReferences(error)


def reached_by_call(fn: Any, args: Iterable[Any], keywords: Mapping[str, Any]) -> Reach:
    """What a call of traced code can reach: through the function, its arguments, and the objects by reference."""
    return meet_all(fn, *args, *keywords.values(), *lists_of_arenas(), *memos())


def note_outside(find: Callable[[], Classes]) -> None:
    """Called where a trace of a function begins: `find` finds the classes of objects from before the call that can be
    by reference."""
    if _trace.mode is not None:
        _trace.mode.outside = find


def arenas_of_objects() -> Mapping[Name, Any]:
    """The arenas of objects of the function that is traced, by the names of the classes."""
    return {} if _trace.mode is None else _trace.mode.arenas


def note_known(known: Any) -> None:
    """Called at the end of a trace of a function, with what it knows about containers and elements."""
    if _trace.mode is not None:
        _trace.mode.known = known


def known_at_end() -> Any:
    """What was noted at the end of the trace."""
    return None if _trace.mode is None else _trace.mode.known


def want_references(of_containers: bool = False) -> bool:
    """Called where code raises an error that there may not be if the trace has its objects, or (`of_containers`) lists
    and dicts, by reference. Returns whether the function is then traced in that way, because of objects."""
    mode = _trace.mode
    if mode is not None:
        mode.is_wanted = True
        mode.needs_containers |= of_containers
    return mode is not None and bool(mode.made)


def want_adoption() -> None:
    """Called where the state of a statement is many choices among objects from before the call: NeedsAdoption if these
    can be by reference, so that each choice is an index. It is raised again where an enclosing statement has been
    staged again in place of it."""
    mode = _trace.mode
    if mode is not None and mode.may_adopt:
        mode.may_adopt = bool(mode.outside())
        if mode.may_adopt:
            raise NeedsAdoption("objects from before the call become ones by reference")


def note_made(cls: type, attributes: Iterable[str]) -> Any:
    """The arena of a new object of that class; None if the trace has such objects by value."""
    mode, name = _trace.mode, name_of(cls)
    if mode is None:
        return None
    arena = mode.arenas.get(name)
    if arena is None:
        mode.made[name] = cls, tuple(attributes)
        return None
    return arena if arena.takes(cls) else None


def container_arenas() -> Any:
    """The arenas of the lists and dicts of the function that is traced; None if it has them by value."""
    return None if _trace.mode is None else _trace.mode.containers


@contextmanager
def storing(attribute: str) -> Iterator[None]:
    """Store the value of an attribute of a new object."""
    arenas = container_arenas()
    if arenas is not None:
        arenas.attribute = f".{attribute}"
    try:
        yield
    finally:
        if arenas is not None:
            arenas.attribute = ""


def lists_of_arenas() -> list[list[Any]]:
    """The lists in the arenas of the function that is traced, which any of its code may change."""
    mode = _trace.mode
    if mode is None:
        return []
    arenas = [*mode.arenas.values(), *(() if mode.containers is None else mode.containers.arenas)]
    return [values for arena in arenas for values in arena.fields.values()]

