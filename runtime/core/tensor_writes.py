"""Writes to items of tensors in traced functions: an error if an alias would have to show the write.

A tensor is immutable: `x[i] = v` binds the variable `x` to another tensor. An alias of the earlier one, such as another
name, a list item or the caller's variable, would see the write if it were an array. So a tensor that is written has a
`Memory` with a version, and using a tensor of an earlier version is an error.

The error is raised only if the alias is certain: the tensor certainly has that memory, and was written in the block
that uses it, or in a statement of that block. Otherwise, after a branch or loop, the alias keeps its earlier value.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from autograph.backend import LISTS, fields_of, of_trace
from runtime.core.errors import StagingError, locate
from runtime.core.graph import Graph
from runtime.core.operations import OPERATIONS
from runtime.core.positions import Position, user_position
from runtime.core.tensor import GraphTensor
from runtime.core.text import Text

__all__ = [
    "Leaving", "Memory", "check_results", "followed", "in_body", "memories_of", "remember", "set_item",
    "tracing_writes", "written_by"]


class Memory:
    """The memory shared by a tensor and the tensors that result from writes to it.

    version    the number of writes
    place      where it was last written
    body       the body of that write; None for the function's own block
    depth      the number of bodies that enclose its creation
    """

    __slots__ = ("body", "depth", "is_over", "place", "version")

    def __init__(self, depth: int) -> None:
        self.version, self.depth = 0, depth
        self.body: in_body | None = None
        self.place: Position | None = None
        self.is_over = False
        """Whether it was created in a body whose trace has ended."""
        if _trace.born is not None and depth == _trace.depth:
            _trace.born.append(self)


MemoryVersions = tuple[tuple[Memory, int], ...]
"""The memories that a tensor may have, each with its version when the tensor was made."""


class _Trace(threading.local):
    written: list[Memory] | None = None
    born: list[Memory] | None = None
    depth = 0
    body: in_body | None = None


_trace: Final = of_trace(_Trace())


class tracing_writes(AbstractContextManager[None]):
    """While a function is traced."""

    def __enter__(self) -> None:
        self.outer = _trace.written, _trace.born, _trace.depth, _trace.body
        _trace.written, _trace.born, _trace.depth, _trace.body = [], None, 0, None

    def __exit__(self, *_: object) -> None:
        _trace.written, _trace.born, _trace.depth, _trace.body = self.outer


def followed(x: Any) -> Any:
    """`x`; if it is a graph tensor, writes through its aliases are tracked from now on."""
    if isinstance(x, GraphTensor) and not (x.memory or x.is_object) and x.type.shape:
        depth, graph = 0, x.value.graph
        while graph.parent is not None:
            depth, graph = depth + 1, graph.parent
        x.memory = ((Memory(min(depth, _trace.depth)), 0),)
    return x


def set_item(setitem: Callable[[Any, Any, Any], Any], x: Any, index: Any, value: Any) -> Any:
    """The value of `x` after `x[index] = value`."""
    if not isinstance(x, GraphTensor) or not x.type.shape:
        return setitem(x, index, value)
    _check(followed(x))
    result = setitem(x, index, value)
    memories = _wrote([memory for memory, _ in x.memory])
    if isinstance(result, GraphTensor):
        result.memory = memories
    return result


def _wrote(memories: Sequence[Memory]) -> MemoryVersions:
    place = user_position() if memories else None
    new = []
    for memory in memories:
        memory.version += 1
        memory.place, memory.body = place, _trace.body
        if _trace.written is not None:
            _trace.written.append(memory)
        new.append((memory, memory.version))
    return tuple(new)


def _check(x: GraphTensor, is_result: bool = False) -> None:
    """Raise StagingError if `x` was certainly written through an alias since it was made."""
    if len(x.memory) != 1:
        return
    ((memory, version),) = x.memory
    if _UNSURE < version < memory.version and memory.body is _trace.body:
        where = f" (line {memory.place.lineno})" if memory.place is not None else ""
        _refuse("a tensor is changed here that the function returns under another name, or as an item of a list"
                if is_result else f"a tensor is used here that was changed under another name{where}",
                memory.place if is_result else None)


_UNSURE: Final = -1
"""The version of a tensor that a body may have written."""


def _refuse(what: str, place: Position | None) -> None:
    error = StagingError(
        f"{what}: a tensor stays as it is, and only the name that was changed has what was written",
        remedy="Use that name from there on; or make it an array, np.array(x), which all its names show.")
    locate(error, place or user_position())
    raise error


def check_results(outputs: Iterable[Any]) -> None:
    """Raise StagingError if a result was written through an alias since it was made."""
    for x in outputs:
        if isinstance(x, GraphTensor):
            _check(x, True)


def remember(x: Any, memories: Iterable[Memory]) -> Any:
    """`x`, marked as having these memories in their current versions."""
    if isinstance(x, GraphTensor):
        x.memory = tuple([(memory, memory.version) for memory in memories])
    return x


def memories_of(x: Any) -> frozenset[Memory]:
    """The memories of a tensor, except those created in a body whose trace has ended."""
    if not isinstance(x, GraphTensor):
        return frozenset()
    return frozenset([memory for memory, _ in x.memory if not memory.is_over])


class Leaving:
    """The memories that represent the body's results, after a statement and when its bodies are traced again: one for
    each place of the state; places that may share a memory created in a body share it."""

    def __init__(self) -> None:
        self.depth, self.born = _trace.depth, _trace.born
        self.memories: dict[Hashable, Memory] = {}

    def memories_after(self, memories: Mapping[Any, MemoryVersions]) -> dict[Any, MemoryVersions]:
        """The memories of the places after the statement, for those in a body. Outdated places stay outdated."""
        places: dict[Memory, list[Any]] = {}
        for place, own in memories.items():
            for memory, _ in own:
                if memory.depth > self.depth:
                    places.setdefault(memory, []).append(place)
        made: dict[Any, MemoryVersions] = {}
        for place, own in memories.items():
            found: dict[Memory, int] = {}
            for memory, version in own:
                for each in [self._at(other) for other in places.get(memory, ())] or [memory]:
                    now = each.version if version == memory.version else _UNSURE
                    found[each] = min(now, found.get(each, now))
            made[place] = tuple(found.items())
        return made

    def _at(self, place: Hashable) -> Memory:
        if place not in self.memories:
            made = self.memories[place] = Memory(-1)
            made.depth = self.depth
            if self.born is not None:
                self.born.append(made)
        return self.memories[place]


class in_body(AbstractContextManager["in_body"]):
    """Trace a body into `graph`; its writes take effect when a node uses the graph."""

    def __init__(self, graph: Graph, leaving: Leaving | None = None) -> None:
        self.graph, self.leaving = graph, leaving or Leaving()

    def __enter__(self) -> in_body:
        self.outer = _trace.written, _trace.born, _trace.depth, _trace.body
        self.written: list[Memory] = []
        self.born: list[Memory] = []
        _trace.written, _trace.born = self.written, self.born
        _trace.depth += 1
        _trace.body = self
        return self

    def note_results(self, values: Any) -> None:
        """Called with the values that the body returns."""
        found = {place: x for place, x in _leaves(values, ()) if x.memory} if _have_memory(values) else {}
        for place, memories in self.leaving.memories_after({place: x.memory for place, x in found.items()}).items():
            found[place].memory = memories

    def __exit__(self, *_: object) -> None:
        _trace.written, _trace.born, _trace.depth, _trace.body = self.outer
        for memory in self.written:
            memory.version -= 1
        for memory in self.born:
            memory.is_over = True
        self.graph.written = tuple(dict.fromkeys(memory for memory in self.written if not memory.is_over))


def _have_memory(values: Any) -> bool:
    """Whether a graph tensor in a value has memory. Each object is looked at once: there may be very many paths through
    objects that lead to each other."""
    seen: dict[int, Any] = {}
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if issubclass(type(value), GraphTensor):
            if value.memory:
                return True
        elif id(value) not in seen:
            seen[id(value)] = value
            waiting += [part for _, part in _parts(value)]
    return False


def _leaves(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], GraphTensor]]:
    """The graph tensors in a value, each with its path."""
    if issubclass(type(value), GraphTensor):
        yield place, value
    elif len(place) <= _DEEPEST:
        for key, part in _parts(value):
            yield from _leaves(part, (*place, key))


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """The parts of a value that is no graph tensor."""
    kind = type(value)  # `isinstance` would run code of proxies
    if issubclass(kind, (int, float, str, Text)):
        return ()
    if issubclass(kind, (*LISTS, tuple)):
        return enumerate(next(each for each in (*LISTS, tuple) if issubclass(kind, each)).__iter__(value))
    if issubclass(kind, dict):
        return dict.items(value)
    if hasattr(kind, "__leaves__"):
        return enumerate(value.__leaves__())
    if hasattr(kind, "presence"):  # a value that may be unbound
        return [("content", value.content)]
    return [(name, getattr(value, name)) for name in fields_of(value) or ()]


_DEEPEST: Final = 16  # a list may contain itself


def written_by(graphs: Iterable[Graph]) -> None:
    """Let the writes of these graphs take effect: they now belong to a node."""
    for graph in graphs:
        _wrote(graph.written)


OPERATIONS.define(check_current=_check)
