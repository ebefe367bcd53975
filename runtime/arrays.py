"""Writes to NumPy arrays that a traced function is given: an error where somebody else would have to see them.

An array among the arguments is a tensor while the function is traced, and so is what Python's operators make of it. A
tensor does not change in place: `x[i] = v` gives the variable another. In Python all names of the array, its views and
the caller's array show the write. So each such tensor knows the memory that it would be in as an array, and how often
that had been written when it was made. A write to the caller's memory is refused, and so is the use of a tensor after
its memory was written under another name.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Final

import numpy as np

from autograph.restoring import at_end, of_trace
from runtime.errors import StagingError, locate
from runtime.graph import Graph, Position, is_users, user_position
from runtime.tensor import OPERATORS, GraphTensor, Tensor

__all__ = [
    "Hazard", "Memory", "check_call", "in_body", "memories_of", "origins_of", "remember", "set_item", "tracing_arrays",
    "unwritable", "written_by", "written_error",
]


class Memory:
    """Memory of an array, if the leaves `origins` of the call's arguments are arrays.

    argument   the name of the argument whose own memory it is, or None
    version    how often it was written
    place      where it was written last
    """

    __slots__ = ("argument", "is_over", "item", "origins", "place", "version", "view")

    def __init__(self, origins: frozenset[int], argument: str | None = None) -> None:
        self.origins, self.argument = origins, argument
        self.version = 0
        self.place: Position | None = None
        self.item: tuple[Any, Any] | None = None
        """The view that was taken of it last, and by which index."""
        self.view: tuple[Any, Any] | None = None
        """What an operator in place made of that view, which is due to be set as the item of that index."""
        self.is_over = False
        """Whether it was made in a body that has been traced."""
        if _trace.born is not None:
            _trace.born.append(self)


Hazard = tuple[frozenset[int], StagingError]
"""An error for a call in which these leaves of the arguments are all arrays."""


class _Trace(threading.local):
    arrays: frozenset[int] = frozenset()
    hazards: list[Hazard] | None = None
    written: list[Memory] | None = None
    born: list[Memory] | None = None
    locked: tuple[unwritable, ...] = ()


_trace: Final = of_trace(_Trace())


class tracing_arrays(AbstractContextManager["list[Hazard]"]):
    """While a function is traced for a call of which the leaves `arrays` are NumPy arrays. Gives the hazards, which
    grow."""

    def __init__(self, inputs: Sequence[Any], names: Sequence[str], given: Sequence[Any]) -> None:
        self.arrays = frozenset(i for i, x in enumerate(given) if isinstance(x, np.ndarray))
        for i, (x, name) in enumerate(zip(inputs, names, strict=True)):
            if isinstance(x, GraphTensor):
                x.memory = ((Memory(frozenset([i]), name), 0),)

    def __enter__(self) -> list[Hazard]:
        self.outer = _trace.arrays, _trace.hazards, _trace.written, _trace.born
        _trace.arrays, _trace.hazards, _trace.written, _trace.born = self.arrays, [], [], None
        return _trace.hazards

    def __exit__(self, *_: object) -> None:
        _trace.arrays, _trace.hazards, _trace.written, _trace.born = self.outer


def refuse(origins: frozenset[int], what: str, remedy: str, place: Position | None = None) -> None:
    """StagingError if the leaves `origins` of the call are arrays; else one is noted for calls in which they are."""
    is_array = origins <= _trace.arrays
    if _trace.hazards is None or not (is_array or all(known != origins for known, _ in _trace.hazards)):
        return
    error = StagingError(what, remedy=remedy)
    locate(error, place or user_position())
    if is_array:
        raise error
    _trace.hazards.append((origins, error))


def check_call(hazards: Iterable[Hazard], leaves: Sequence[Any], given: Sequence[Any]) -> None:
    """StagingError for a call of a trace that has such hazards. A leaf may be a tensor of a graph around it."""
    for origins, error in hazards:
        outer: set[int] = set()
        for i in origins:
            memory = getattr(leaves[i], "memory", ())
            if memory:
                outer |= set().union(*(each.origins for each, _ in memory))
            elif not isinstance(given[i], np.ndarray):
                break
        else:
            if outer and not outer <= _trace.arrays:
                if _trace.hazards is not None:
                    _trace.hazards.append((frozenset(outer), error))
            else:
                raise error.with_traceback(None)


def check_write(x: GraphTensor) -> None:
    """StagingError if an item of `x` cannot be set, and it cannot change in place, for all to see."""
    for memory, _ in x.memory:
        if memory.argument is not None:
            refuse(memory.origins,
                   f"an array that the caller has is changed here: the argument {memory.argument!r}, or a part of it,"
                   " is a tensor while the function is traced, and a tensor does not change in place",
                   f"Change a copy, {memory.argument} = {memory.argument}.copy(), and return it; or call the function"
                   " with a tensor, rt.constant(array).")
    _check(x)


def _wrote(held: Iterable[tuple[Memory, int]]) -> tuple[tuple[Memory, int], ...]:
    place = user_position()
    new = []
    for memory, _ in held:
        memory.version += 1
        memory.place = place
        if _trace.written is not None:
            _trace.written.append(memory)
        new.append((memory, memory.version))
    return tuple(new)


def _check(x: GraphTensor) -> None:
    """StagingError if the memory of `x` was written since it was made, under another name."""
    for memory, version in x.memory:
        if version < memory.version:
            where = f" (line {memory.place.lineno})" if memory.place is not None else ""
            refuse(memory.origins,
                   f"an array is used here that was changed under another name, or by way of a view{where}: in a graph"
                   " arrays are tensors, and only the name that was changed has what was written",
                   "Use that name from there on, or make the other one a copy before: b = a.copy().")


def remember(x: Any, memories: Iterable[Memory]) -> Any:
    """`x`, which is in one of these memories."""
    if isinstance(x, GraphTensor):
        x.memory = tuple([(memory, memory.version) for memory in memories])
    return x


def memories_of(x: Any) -> frozenset[Memory]:
    """What memory `x` may be in, but for that of arrays that a body made which has been traced."""
    if not isinstance(x, GraphTensor):
        return frozenset()
    return frozenset([memory for memory, _ in x.memory if not memory.is_over])


def origins_of(x: Any) -> frozenset[int]:
    """The leaves of the call's arguments whose own memory `x` may be in."""
    held = x.memory if isinstance(x, GraphTensor) else ()
    return frozenset(i for memory, _ in held if memory.argument is not None for i in memory.origins)


class unwritable(AbstractContextManager[None]):
    """While a function is traced: NumPy arrays from before cannot be written, as that would happen once, and not at
    each call. Nor can other threads write them."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.arrays = sorted(arrays, key=_depth)

    def __enter__(self) -> None:
        _trace.locked = (*_trace.locked, self)
        with _lock:
            for array in self.arrays:
                _unwritable.setdefault(id(array), (array, set()))[1].add(self)
                array.flags.writeable = False

    def __exit__(self, *_: object) -> None:
        self.leave()
        _trace.locked = _trace.locked[:-1]

    def leave(self) -> None:
        """Let arrays be written again that no other trace needs. It may be done again, after it was left midway."""
        with _lock:
            for array in self.arrays:  # what others are views of comes first
                known = _unwritable.get(id(array))
                if known is not None:
                    known[1].discard(self)
                    if not known[1]:
                        array.flags.writeable = True
                        _unwritable.pop(id(array), None)


def _leave_all() -> None:
    for each in _trace.locked:
        each.leave()


at_end.append(_leave_all)
_unwritable: Final[dict[int, tuple[Any, set[unwritable]]]] = {}
"""By id, arrays that cannot be written, and what needs that."""
_lock: Final = threading.Lock()


def _depth(array: Any) -> int:
    depth = 0
    while isinstance(array.base, np.ndarray):
        array, depth = array.base, depth + 1
    return depth


def written_error(error: Exception) -> StagingError | None:
    """The error for NumPy's `error` where one of these arrays is written; None for another."""
    if not _unwritable or type(error) is not ValueError or "read-only" not in str(error):
        return None
    place, name, entry = None, "a NumPy array", error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if is_users(frame):
            place, name = Position(frame.f_code.co_filename, entry.tb_lineno, frame.f_code.co_name), _name_in(frame)
        entry = entry.tb_next
    made = StagingError(
        f"{name} that was there before the call is changed here: that would happen once, while the function is"
        " traced, and not at each call", remedy="Use a tensor or an rt.Variable; or return what is to be in the array,"
        " and put it there after the call.")
    locate(made, place or user_position())
    return made


def _name_in(frame: FrameType) -> str:
    """What to call the array, of those that cannot be written, that a frame has."""
    code = frame.f_code
    names = [*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names]
    found = [name for name in names if not name.endswith("_")  # as the tool's temporaries do
             and id(frame.f_locals.get(name, frame.f_globals.get(name))) in _unwritable]
    return f"the NumPy array {found[0]!r}" if len(found) == 1 else "a NumPy array"


class in_body(AbstractContextManager["in_body"]):
    """While a body is traced into `graph`: what it writes is written when a node has the graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __enter__(self) -> in_body:
        self.outer = _trace.written, _trace.born
        self.written: list[Memory] = []
        self.born: list[Memory] = []
        if _trace.hazards is not None:
            _trace.written, _trace.born = self.written, self.born
        return self

    def left(self, values: Any) -> None:
        """The body gives these values: one that is out of date stays so. StagingError if two have one array that the
        body made."""
        found: dict[Memory, GraphTensor] = {}
        for x in _tensors(values):
            if any(version < memory.version for memory, version in x.memory):
                x.memory = tuple([(memory, version if version == memory.version else -1)
                                  for memory, version in x.memory])
            for memory, _ in x.memory:
                if memory in self.born and found.setdefault(memory, x) is not x:
                    refuse(memory.origins, "two variables have one array after this statement, or one is a view of it,"
                           " and in a graph arrays are tensors", "Make one of them a copy: b = a.copy().")

    def __exit__(self, *_: object) -> None:
        _trace.written, _trace.born = self.outer
        for memory in self.written:
            memory.version -= 1
        for memory in self.born:
            memory.is_over = True
        self.graph.written = tuple(dict.fromkeys(memory for memory in self.written if not memory.is_over))


def _tensors(value: Any, depth: int = 4) -> Iterator[GraphTensor]:
    if isinstance(value, GraphTensor):
        yield value
    elif depth and isinstance(value, (list, tuple, dict)):
        for item in dict.values(value) if isinstance(value, dict) else value:
            yield from _tensors(item, depth - 1)


def written_by(graphs: Iterable[Graph]) -> None:
    """A node has these graphs: what they write is written."""
    for graph in graphs:
        _wrote([(memory, 0) for memory in graph.written])


def copied(x: GraphTensor) -> Any:
    """A copy of an array: the same value, in memory of its own."""
    _check(x)
    return made_by_operator(GraphTensor(x.value), [x])


def made_by_operator(result: Any, operands: Iterable[Any]) -> Any:
    """The result of an operator of Python's: an array, if all that are no numbers are arrays."""
    if isinstance(result, GraphTensor) and result.type.shape and not result.memory:
        origins: set[int] = set()
        for x in operands:
            if isinstance(x, Tensor):
                held = x.memory if isinstance(x, GraphTensor) else ()
                if not held and x.ndim:
                    return result
                origins |= set().union(*(memory.origins for memory, _ in held))
        if origins:
            result.memory = ((Memory(frozenset(origins)), 0),)
    return result


def item_of(result: Any, x: Any, index: Any) -> Any:
    """What `x[index]` gives: a view by numbers and slices, else a copy."""
    if not (isinstance(x, GraphTensor) and x.memory and isinstance(result, GraphTensor) and result.type.shape):
        return result
    parts = index if isinstance(index, tuple) else (index,)
    if all(map(_keeps_memory, parts)):
        result.memory = x.memory
        for memory, _ in x.memory:
            memory.item = result, index
        return result
    return made_by_operator(result, [x])


def _keeps_memory(part: Any) -> bool:
    """Whether an index of this kind gives a view."""
    if isinstance(part, Tensor):
        return not part.ndim and not part.dtype.is_bool
    return part is None or part is Ellipsis or (
        isinstance(part, (int, slice, np.integer)) and not isinstance(part, bool))


def set_item(setitem: Callable[[Any, Any, Any], Any], x: Any, index: Any, value: Any) -> Any:
    """What `x` becomes by `x[index] = value`."""
    if not isinstance(x, GraphTensor) or not x.memory:
        return setitem(x, index, value)
    for memory, version in x.memory:  # `x[i] += v` has changed `x[i]` in place, and sets it
        due = memory.view
        if due is not None and due[0] is value and _same(due[1], index) and version == memory.version - 1:
            x.memory = tuple([(m, m.version if m is memory else v) for m, v in x.memory])
        memory.view = None
    check_write(x)
    result = setitem(x, index, value)
    held = _wrote(x.memory)
    if isinstance(result, GraphTensor):
        result.memory = held
    return result


def in_place(operator: Callable[[Any, Any], Any], x: GraphTensor, value: Any) -> Any:
    """What a variable becomes by `x += value` or the like."""
    if not x.memory:
        return NotImplemented
    check_write(x)
    result = operator(x, value)
    if result is NotImplemented:
        return result
    held = _wrote(x.memory)
    if isinstance(result, GraphTensor):
        result.memory = held
        for memory, _ in held:
            memory.view = (result, memory.item[1]) if memory.item is not None and memory.item[0] is x else None
    return result


def _same(a: Any, b: Any) -> bool:
    """Whether two indices are the same."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (int, slice, np.integer)) and bool(a == b)


OPERATORS.update(in_place=in_place, made=made_by_operator, item_of=item_of, current=_check, copied=copied)
