"""Writes to NumPy arrays in traced functions: an error where another name would have to show them.

An array among the arguments is a tensor while the function is traced, and so are results of Python's operators on it. A
tensor is immutable: `x[i] = v` binds the variable to another. In Python all aliases of the array, its views and the
caller's array show the write. So each such tensor knows the memory that it would occupy as an array, and the version of
that memory when it was made. A write to the caller's memory is refused, and so is the use of a tensor whose memory was
later written under another name.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from autograph.backend import fields_of, of_trace
from runtime.core.array_mode import want_objects
from runtime.core.errors import StagingError, locate
from runtime.core.graph import Graph, Position, Value, user_position
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import GraphList, GraphTensor, Tensor
from runtime.core.text import Text

__all__ = [
    "Hazard", "Held", "Leaving", "Memory", "applies", "check_call", "check_results", "element_of", "in_body",
    "in_one_list", "memories_of", "origins_of", "put_in", "remember", "set_item", "tracing_arrays", "with_memories",
    "written_back", "written_by",
]


class Memory:
    """Memory of an array, if the leaves `origins` of the call's arguments are arrays.

    argument   the name of the argument whose own memory it is, or None
    version    how often it was written
    place      where it was written last
    several    whether several elements of one list may be in it
    depth      how many bodies were open around what made it
    """

    __slots__ = ("argument", "depth", "is_over", "item", "origins", "place", "several", "version", "view")

    def __init__(self, origins: frozenset[int], argument: str | None = None) -> None:
        self.origins, self.argument = origins, argument
        self.version = 0
        self.place: Position | None = None
        self.item: tuple[Any, Any, Any] | None = None
        """The last view or element taken: it, its index, and the value of the graph it was taken of."""
        self.view: tuple[Any, Any, Any] | None = None
        """The result of a write to a view, with the index and value at which it still has to be stored."""
        self.is_over = False
        """Whether it was made in a body whose trace has ended."""
        self.several = False
        self.depth = _trace.depth
        if _trace.born is not None:
            _trace.born.append(self)


Held = tuple[tuple[Memory, int], ...]
"""The memory that an array, or the elements of a list, may occupy, with its versions when they were made."""
Hazard = tuple[frozenset[int], StagingError]
"""An error for calls in which these leaves of the arguments are all arrays."""


class _Trace(threading.local):
    arrays: frozenset[int] = frozenset()
    hazards: list[Hazard] | None = None
    written: list[tuple[Memory, Value | None]] | None = None
    born: list[Memory] | None = None
    depth = 0
    loop: in_body | None = None


_trace: Final = of_trace(_Trace())


class tracing_arrays(AbstractContextManager["list[Hazard]"]):
    """Trace a function for a call whose leaves `arrays` are NumPy arrays. Returns the list of hazards, which grows
    during the trace."""

    def __init__(
        self, inputs: Sequence[Any], names: Sequence[str], passed: Sequence[Any], as_objects: bool = False
    ) -> None:
        """`as_objects`: the arrays are objects, and need not be followed."""
        self.as_objects = as_objects
        self.arrays = frozenset(i for i, x in enumerate(passed) if isinstance(x, np.ndarray))
        for i, (x, name) in enumerate(zip(inputs, names, strict=True)):
            if isinstance(x, (GraphTensor, GraphList)) and not as_objects:
                x.memory = ((Memory(frozenset([i]), name), 0),)

    def __enter__(self) -> list[Hazard]:
        self.outer = _trace.arrays, _trace.hazards, _trace.written, _trace.born, _trace.depth, _trace.loop
        hazards: list[Hazard] = []
        _trace.arrays, _trace.hazards, _trace.written = self.arrays, None if self.as_objects else hazards, []
        _trace.born, _trace.depth, _trace.loop = None, 0, None
        return hazards

    def __exit__(self, *_: object) -> None:
        _trace.arrays, _trace.hazards, _trace.written, _trace.born, _trace.depth, _trace.loop = self.outer


def refuse(origins: frozenset[int], what: str, remedy: str, place: Position | None = None) -> None:
    """Raise StagingError if the leaves `origins` of the call are arrays; otherwise record a hazard for calls in which
    they are."""
    is_array = origins <= _trace.arrays
    if _trace.hazards is None or not (is_array or all(known != origins for known, _ in _trace.hazards)):
        return
    error = StagingError(what, remedy=remedy)
    locate(error, place or user_position())
    if is_array:
        raise want_objects(error)
    _trace.hazards.append((origins, error))


def check_call(hazards: Iterable[Hazard], leaves: Sequence[Any], passed: Sequence[Any]) -> None:
    """Raise StagingError for a call of a trace if one of its hazards applies. A leaf may be a tensor of an enclosing
    graph."""
    for origins, error in hazards:
        outer: set[int] = set()
        for i in origins:
            memory = getattr(leaves[i], "memory", ())
            if memory:
                outer |= set().union(*(each.origins for each, _ in memory))
            elif not isinstance(passed[i], np.ndarray):
                break
        else:
            if outer and not outer <= _trace.arrays:
                if _trace.hazards is not None:
                    _trace.hazards.append((frozenset(outer), error))
            else:
                raise want_objects(error.with_traceback(None))


def applies(hazards: Iterable[Hazard], passed: Sequence[Any]) -> bool:
    """Whether one of the hazards of a trace applies to a call with these leaves."""
    return any(all(isinstance(passed[i], np.ndarray) or getattr(passed[i], "is_object", False) for i in origins)
               for origins, _ in hazards)


def check_write(x: GraphTensor) -> None:
    """Raise StagingError if setting an item of `x` would have to change an array that others refer to."""
    for memory, _ in x.memory:
        if memory.argument is not None:
            refuse(memory.origins,
                   f"an array that the caller has is changed here: the argument {memory.argument!r}, or a part of it,"
                   " is a tensor while the function is traced, and a tensor does not change in place",
                   f"Change a copy, {memory.argument} = {memory.argument}.copy(), and return it; or call the function"
                   " with a tensor, rt.constant(array).")
    _check(x)


def _wrote(memories: Iterable[tuple[Memory, int]], index: Value | None = None) -> Held:
    place = user_position()
    new = []
    for memory, _ in memories:
        memory.version += 1
        memory.place = place
        if _trace.written is not None:
            _trace.written.append((memory, index))
        new.append((memory, memory.version))
    return tuple(new)


def _check(x: GraphTensor | GraphList, is_result: bool = False) -> None:
    """Raise StagingError if the memory of `x` was written under another name since `x` was made."""
    loop = _trace.loop
    if loop is not None and not loop.graph.contains(x.value.graph):
        loop.uses.append(_Use(x, user_position()))
    for memory, version in x.memory:
        if version < memory.version:
            where = f" (line {memory.place.lineno})" if memory.place is not None else ""
            what = ("an array is changed here that the function returns under another name, or as a list or array that"
                    " it is in" if is_result else
                    f"an array is used here that was changed under another name, or by way of a view{where}")
            refuse(memory.origins,
                   f"{what}: in a graph arrays are tensors, and only the name that was changed has what was written",
                   "Use that name from there on, or make the other one a copy before: b = a.copy().",
                   memory.place if is_result else None)


def check_results(outputs: Iterable[Any]) -> None:
    """Raise StagingError if the memory of a result was written under another name since it was made."""
    for x in outputs:
        if isinstance(x, (GraphTensor, GraphList)):
            _check(x, True)


def remember(x: Any, memories: Iterable[Memory]) -> Any:
    """`x`, marked as occupying one of these memories."""
    if isinstance(x, (GraphTensor, GraphList)):
        x.memory = tuple([(memory, memory.version) for memory in memories])
    return x


def with_memories(x: Any, values: Iterable[Any]) -> Any:
    """`x`, marked as being one of these values, or having them, or their contents, as elements."""
    versions: dict[Memory, int] = {}
    for value in values:
        for memory, version in value.memory if isinstance(value, (GraphTensor, GraphList)) else ():
            versions[memory] = min(version, versions.get(memory, version))
    if versions and isinstance(x, (GraphTensor, GraphList)):
        x.memory = tuple(versions.items())
    return x


def in_one_list(memories: Iterable[Iterable[Memory]]) -> frozenset[Memory]:
    """The memory that elements of one list may share, given that of each of them."""
    found: set[Memory] = set()
    for own in memories:
        for memory in own:
            memory.several |= memory in found
        found.update(own)
    return frozenset(found)


def put_in(result: Any, values: Sequence[Any]) -> Any:
    """`result`, marked as a list of these elements, and of the elements of the lists among these values."""
    in_one_list([memory for memory, _ in value.memory] for value in values
                if isinstance(value, (GraphTensor, GraphList)))
    return with_memories(result, values)


def element_of(result: Any, x: Any, index: Any) -> Any:
    """`result`, marked as `x[index]` of a list."""
    if isinstance(x, GraphList) and x.memory and result.type.shape:
        result.memory = x.memory
        _note_item(result, x, index)
    return result


def written_back(x: Any, index: Any, value: Any) -> Any:
    """The list `x`, up to date again, if `value` is the result of a write to `x[index]`, the only element that shows
    it; else None."""
    if not isinstance(x, GraphList) or not x.memory:
        return None
    memory = _is_set(x, index, value)
    if memory == x.memory:
        return None
    result = GraphList(x.value)
    result.memory = memory
    return result


def memories_of(x: Any) -> frozenset[Memory]:
    """The memory that `x`, or an element of it, may occupy, except memory made in a body whose trace has ended."""
    if not isinstance(x, (GraphTensor, GraphList)):
        return frozenset()
    return frozenset([memory for memory, _ in x.memory if not memory.is_over])


def origins_of(x: Any) -> frozenset[int]:
    """The leaves of the call's arguments whose own memory `x` may occupy."""
    memories = x.memory if isinstance(x, (GraphTensor, GraphList)) else ()
    return frozenset(i for memory, _ in memories if memory.argument is not None for i in memory.origins)


class Leaving:
    """The memory that represents, after a statement and when its bodies are traced again, what the bodies made.

    Each place of the state has memory of its own; places that may share memory made in a body share it.
    """

    is_loop = False
    """Whether the body is that of a loop, or its test, which is traced after it."""
    counter: Value | None = None
    """The iteration counter, if the body has one: different in each iteration."""

    def __init__(self) -> None:
        self.depth, self.born = _trace.depth, _trace.born
        self.memories: dict[tuple[Hashable, frozenset[int]], Memory] = {}
        self.written: list[tuple[Memory, Value | None]] = []

    def left(self, memories: Mapping[Any, Held]) -> dict[Any, Held]:
        """The memory of the places, given their memory in a body. Outdated places stay outdated."""
        places: dict[Memory, list[Any]] = {}
        for place, own in memories.items():
            for memory, _ in own:
                if memory.depth > self.depth:
                    places.setdefault(memory, []).append(place)
        made: dict[Any, Held] = {}
        for place, own in memories.items():
            found: dict[Memory, int] = {}
            for memory, version in own:
                for each in [self._at(other, memory) for other in places.get(memory, ())] or [memory]:
                    now = each.version if version == memory.version else -1
                    found[each] = min(now, found.get(each, now))
            made[place] = tuple(found.items())
        return made

    def _at(self, place: Hashable, memory: Memory) -> Memory:
        key = place, memory.origins
        if key not in self.memories:
            made = self.memories[key] = Memory(memory.origins)
            made.depth = self.depth
            if _trace.born is not None and _trace.born is not self.born:
                _trace.born.remove(made)
                if self.born is not None:
                    self.born.append(made)
        self.memories[key].several |= memory.several
        return self.memories[key]


@dataclass
class _Use:
    """A use, in a loop, of an array or list from outside of it, and the index used."""

    x: GraphTensor | GraphList
    place: Position | None
    index: Value | None = None


class in_body(AbstractContextManager["in_body"]):
    """Trace a body into `graph`; its writes take effect when a node gets the graph."""

    def __init__(self, graph: Graph, leaving: Leaving | None = None) -> None:
        self.graph, self.leaving = graph, leaving or Leaving()
        self.uses: list[_Use] = []

    def __enter__(self) -> in_body:
        self.outer = _trace.written, _trace.born, _trace.depth, _trace.loop
        self.written: list[tuple[Memory, Value | None]] = []
        self.born: list[Memory] = []
        if _trace.hazards is not None:
            _trace.written, _trace.born = self.written, self.born
            _trace.depth += 1
            if self.leaving.is_loop:
                _trace.loop = self
        return self

    def left(self, values: Any) -> None:
        """Called with the values that the body returns. StagingError if a loop's body uses an array from outside and
        writes it under another name, which the next iteration would not see."""
        if self.leaving.is_loop:
            self.leaving.written = [*self.leaving.written, *self.written]
            for use in self.uses:
                self._check_use(use)
        found = {place: x for place, x in _leaves(values, ()) if x.memory}
        for place, memories in self.leaving.left({place: x.memory for place, x in found.items()}).items():
            found[place].memory = memories

    def _check_use(self, use: _Use) -> None:
        for memory, _ in use.x.memory:
            apart = use.index if use.index is self.leaving.counter else None
            if any(other is memory and (apart is None or index is not apart)
                   for other, index in self.leaving.written):
                refuse(memory.origins,
                       "an array is used here that the loop changes under another name, or by way of a view, or whose"
                       " rows it runs over: in a graph arrays are tensors, and the next iteration does not see what was"
                       " written", "Use the name that is changed, or a copy of the array from before the loop:"
                       " b = a.copy().", use.place)
        outer = self.outer[3]
        if outer is not None and not outer.graph.contains(use.x.value.graph):
            outer.uses.append(use)

    def __exit__(self, *_: object) -> None:
        _trace.written, _trace.born, _trace.depth, _trace.loop = self.outer
        for each in self.written:
            each[0].version -= 1
        for memory in self.born:
            memory.is_over = True
        self.graph.written = tuple(dict.fromkeys(each for each in self.written if not each[0].is_over))


def _leaves(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], GraphTensor | GraphList]]:
    """The graph tensors and lists in a value, each with its place."""
    parts: Iterable[tuple[Any, Any]] = ()
    kind = type(value)  # `isinstance` would run code of proxies
    if issubclass(kind, (GraphTensor, GraphList)):
        yield place, value
    elif len(place) > _DEEPEST or issubclass(kind, (int, float, str, Text)):
        pass
    elif issubclass(kind, (list, tuple)):
        parts = enumerate((list if issubclass(kind, list) else tuple).__iter__(value))
    elif issubclass(kind, dict):
        parts = dict.items(value)
    elif hasattr(kind, "__leaves__"):
        parts = enumerate(value.__leaves__())
    elif hasattr(kind, "presence"):  # may be unbound
        parts = [("content", value.content)]
    elif (names := fields_of(value)) is not None:
        parts = [(name, getattr(value, name)) for name in names]
    for key, part in parts:
        yield from _leaves(part, (*place, key))


_DEEPEST: Final = 16  # a list may contain itself


def written_by(graphs: Iterable[Graph]) -> None:
    """Let the writes of these graphs take effect: a node has them."""
    for graph in graphs:
        for memory, index in graph.written:
            _wrote([(memory, 0)], index)


def copied(x: GraphTensor) -> Any:
    """A copy of an array: the same value in memory of its own."""
    _check(x)
    return made_by_operator(GraphTensor(x.value), [x])


def made_by_operator(result: Any, operands: Iterable[Any]) -> Any:
    """The result of a Python operator: an array if all operands that are not numbers are arrays."""
    if isinstance(result, GraphTensor) and result.type.shape and not result.memory:
        origins: set[int] = set()
        for x in operands:
            if isinstance(x, Tensor):
                memories = x.memory if isinstance(x, GraphTensor) else ()
                if not memories and x.ndim:
                    return result
                origins |= set().union(*(memory.origins for memory, _ in memories))
        if origins:
            result.memory = ((Memory(frozenset(origins)), 0),)
    return result


def item_of(result: Any, x: Any, index: Any) -> Any:
    """The result of `x[index]`: a view for numbers and slices, else a copy."""
    if not (isinstance(x, GraphTensor) and x.memory and isinstance(result, GraphTensor) and result.type.shape):
        return result
    parts = index if isinstance(index, tuple) else (index,)
    if all(map(_keeps_memory, parts)):
        result.memory = x.memory
        _note_item(result, x, index)
    else:
        made_by_operator(result, [x])
    loop = _trace.loop
    if loop is not None and loop.uses and loop.uses[-1].x is x:
        loop.uses[-1].index = _first(index)
    return result



def _note_item(result: Any, x: GraphTensor | GraphList, index: Any) -> None:
    for memory, _ in x.memory:
        memory.item = result, index, x.value


def _note_write(result: Any, x: GraphTensor) -> None:
    """Record that a write turned `x`, which may be an item, into `result`."""
    for memory, _ in x.memory:
        memory.view = (result, *memory.item[1:]) if memory.item is not None and memory.item[0] is x else None


def _is_set(x: GraphTensor | GraphList, index: Any, value: Any) -> Held:
    """The memory of `x` after `x[index] = value`, which is up to date if `value` is the result of a write to
    `x[index]`."""
    memories = []
    for memory, version in x.memory:
        due, memory.view = memory.view, None
        if due is not None and due[0] is value and _same(due[1], index) and due[2] is x.value and (
                version == memory.version - 1) and not (isinstance(x, GraphList) and memory.several):
            version = memory.version
        memories.append((memory, version))
    return tuple(memories)


def _keeps_memory(part: Any) -> bool:
    """Whether an index of this kind gives a view."""
    if isinstance(part, Tensor):
        return not part.ndim and not part.dtype.is_bool
    return part is None or part is Ellipsis or (
        isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool))


def set_item(setitem: Callable[[Any, Any, Any], Any], x: Any, index: Any, value: Any) -> Any:
    """The value of `x` after `x[index] = value`."""
    if not isinstance(x, GraphTensor) or not x.memory:
        return setitem(x, index, value)
    x.memory = _is_set(x, index, value)  # `x[i] += v` has changed `x[i]` in place, and now stores it
    check_write(x)
    return _written(setitem(x, index, value), x, _first(index))


def in_place(operator: Callable[[Any, Any], Any], x: GraphTensor, value: Any) -> Any:
    """The value of a variable after `x += value` and the like."""
    if not x.memory:
        return NotImplemented
    check_write(x)
    result = operator(x, value)
    if result is NotImplemented:
        return result
    return _written(result, x)


def _first(index: Any) -> Value | None:
    """The first graph value in an index."""
    first = index[0] if isinstance(index, tuple) and index else index
    return first.value if isinstance(first, GraphTensor) else None


def _written(result: Any, x: GraphTensor, index: Value | None = None) -> Any:
    """`result`, marked as the result of a write to `x` at this index."""
    items = [memory.item for memory, _ in x.memory if memory.item is not None and memory.item[0] is x]
    memories = _wrote(x.memory, _first(items[0][1]) if items else index)
    if isinstance(result, GraphTensor):
        result.memory = memories
        _note_write(result, x)
    return result


def _same(a: Any, b: Any) -> bool:
    """Whether two indices are the same."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (int, slice, np.integer)) and bool(a == b)


OPERATIONS.define(in_place=in_place, made=made_by_operator, item_of=item_of, check_current=_check, copied=copied)
