"""Whether the traced function has its arrays as tensors or as objects, and other reasons to trace it again.

The first trace has them as tensors. If that is not possible, because an array that is aliased changes, the function is
traced again with its arrays as objects (`runtime.numpy.array_objects`).
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import numpy as np

from autograph.backend import Unwinding, can_be_record, of_trace
from runtime.core.errors import StagingError
from runtime.core.positions import Position

__all__ = [
    "NeedsArrayObjects", "NeedsNumbers", "NeedsRecords", "NeedsSets", "TraceAgain", "are_objects", "existed_before",
    "has_arrays", "is_seeded", "lists_hold_arrays", "lists_share_arrays", "live_objects", "may_be_0d_array",
    "may_be_array", "need_objects", "note_0d", "note_array", "note_class_asked", "note_copy", "note_draw", "note_end",
    "note_object", "note_put", "note_seeded", "note_undone", "object_for", "return_place", "sets_are_staged",
    "times_undone", "tracing_objects", "want_objects", "want_record", "want_sets", "watch_array", "with_sets",
    "writes_tensor",
]


class TraceAgain(Unwinding):
    """The function has to be traced again, in another way; all changes made by the trace are undone."""


class NeedsArrayObjects(TraceAgain):
    """The traced function needs its arrays as objects. `error` says why; `arrays` are the pre-existing NumPy arrays
    that it may change."""

    def __init__(self, error: Exception, arrays: Sequence[Any] = ()) -> None:
        super().__init__(str(error))
        self.error, self.arrays = error, arrays


class NeedsRecords(TraceAgain):
    """The traced function needs the objects of a class as state, since loops or branches make new ones. `error` is
    raised if that is impossible."""

    def __init__(self, error: Exception, cls: type) -> None:
        super().__init__(str(error))
        self.error, self.cls = error, cls


class NeedsSets(TraceAgain):
    """The traced function needs the sets that it makes as sets of the graph. `error` is raised if that is
    impossible."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class NeedsNumbers(TraceAgain):
    """The traced function computes at length with Python numbers: those among its arguments become inputs."""


class _Trace(threading.local):
    mode: tracing_objects | None = None
    has_sets = False


_trace: Final = of_trace(_Trace())


class tracing_objects(AbstractContextManager["tracing_objects"]):
    """Trace a function with its arrays as `objects`, or (false) as tensors.

    existed     whether a NumPy array existed before the trace
    sources     the pre-existing arrays that the trace can find
    captured    by id, the arrays that the trace has as objects
    has_arrays  whether some tensors of the trace are arrays in Python
    has_0d      whether some scalars of the trace are arrays in Python, of rank 0, which `+=` changes
    references  weak references to the objects of the trace
    """

    def __init__(self, objects: bool, has_arrays: bool = False, has_0d: bool = False) -> None:
        self.objects, self.has_arrays, self.has_0d = objects, has_arrays, has_0d
        self.returned_at: Callable[[], Position | None] = lambda: None
        """Returns where the traced function has returned."""
        self.lists_hold_arrays = self.lists_share_arrays = False
        """Whether arrays were put into lists of the graph, and whether some of these are aliased."""
        self.undone = 0
        """How often traced nodes have been rolled back."""
        self.writes_tensors = False
        """Whether the traced code sets items of tensors, which must not be arrays then."""
        self.asks_classes = False
        """Whether the trace depends on which of its tensors are arrays or scalars of NumPy in Python."""
        self.captured: dict[int, Any] = {}
        self.has_written: Callable[[Any], bool] = lambda _: False
        """Whether the traced code has changed an array from before in the body with a given graph."""
        self.loses_writes = False
        """Whether a body makes such a change and then always raises, so that the change is not among its results."""
        self.draw: Exception | None = None
        """The error for the first random number that was drawn, if that may be the initial value of a variable."""
        self.seeded: dict[int, Any] = {}
        """By id, the generators of random numbers that the traced code has seeded."""
        self.existed: Callable[[Any], bool] = lambda _: True
        self.sources: Sequence[Any] = ()
        self.references: list[weakref.ref[Any]] = []
        self.watched: dict[int, tuple[Any, Any]] = {}
        """By id, arrays that Python code has made and the graph has taken, with their contents then."""

    def __enter__(self) -> tracing_objects:
        self.outer, _trace.mode = _trace.mode, self
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        _trace.mode = self.outer
        if kind is None and any(array.tobytes() != before.tobytes() for array, before in self.watched.values()):
            raise NeedsArrayObjects(StagingError("an array is changed here that staged code has by another name"))

    def check_draws(self, sets_up: bool) -> None:
        """Raise the error for a random number that was drawn, unless the trace `sets_up` variables."""
        if self.draw is not None and not sets_up:
            raise self.draw


def are_objects() -> bool:
    """Whether the arrays of the traced function are objects."""
    return _trace.mode is not None and _trace.mode.objects


def existed_before(array: Any) -> bool:
    """Whether a NumPy array existed before the trace."""
    return _trace.mode is None or _trace.mode.existed(array)


def note_object(array: Any) -> None:
    """Record an array that the traced function has as an object."""
    if _trace.mode is not None:
        _trace.mode.references.append(weakref.ref(array))


def live_objects(graph: Any) -> list[Any]:
    """The arrays that the traced function has as objects in a graph, oldest first. Others are of earlier traces."""
    if _trace.mode is None or not _trace.mode.references:
        return []
    found = [(reference, array) for reference in _trace.mode.references if (array := reference()) is not None]
    _trace.mode.references[:] = [reference for reference, _ in found]
    return [array for _, array in found if array.born is None or array.born.contains(graph)]


def note_array() -> None:
    """Record that the traced function has made a NumPy array, which may become a tensor."""
    if _trace.mode is not None:
        _trace.mode.has_arrays = True


def may_be_array() -> bool:
    """Whether a tensor of the trace may be an array in Python."""
    return _trace.mode is not None and _trace.mode.has_arrays


def note_0d() -> None:
    """Record that a scalar of the trace is an array in Python, and no scalar of NumPy's."""
    if _trace.mode is not None:
        _trace.mode.has_0d = True


def may_be_0d_array() -> bool:
    """Whether a scalar of the trace that was made from arrays may be an array in Python."""
    return _trace.mode is not None and _trace.mode.has_0d


def has_arrays() -> bool:
    """Whether the function that is traced has arrays."""
    mode = _trace.mode
    return mode is not None and (mode.has_arrays or mode.objects or bool(mode.references))


def writes_tensor() -> None:
    """Called before an item of a tensor is set, or `x += y` replaces one. NeedsArrayObjects if the tensor may be an
    array."""
    mode = _trace.mode
    if mode is None:
        return
    mode.writes_tensors = True
    if mode.has_arrays and not mode.objects:
        raise NeedsArrayObjects(StagingError("an array is changed here"))


def note_class_asked() -> None:
    """Called where the trace depends on whether a tensor is an array or a scalar of NumPy in Python."""
    if _trace.mode is not None:
        _trace.mode.asks_classes = True


def note_end(graph: Any = None) -> None:
    """Note that the body with this graph, which is being traced, always raises; None: that a function that is called
    has lost changes of arrays by such a body."""
    mode = _trace.mode
    if mode is not None and (graph is None or mode.has_written(graph)):
        mode.loses_writes = True


def note_draw(error: Exception) -> None:
    """Note that a random number was drawn outside of staged bodies. `error`: for a trace that creates no variables."""
    if _trace.mode is not None:
        _trace.mode.draw = _trace.mode.draw or error


def note_seeded(generator: Any) -> None:
    if _trace.mode is not None:
        _trace.mode.seeded[id(generator)] = generator


def is_seeded(generator: Any) -> bool:
    """Whether the traced code has seeded a generator of random numbers, so that each run draws the same."""
    return _trace.mode is None or id(generator) in _trace.mode.seeded


def return_place() -> Position | None:
    """Where the traced function has returned, if it has: later operations are due to its result."""
    return None if _trace.mode is None else _trace.mode.returned_at()


def note_undone() -> None:
    """Record that nodes have been removed from the graphs being traced."""
    if _trace.mode is not None:
        _trace.mode.undone += 1


def times_undone() -> int:
    return 0 if _trace.mode is None else _trace.mode.undone


def note_put(is_shared: bool) -> None:
    """Record that an array was put into a list of the graph; `is_shared`: it is aliased."""
    if _trace.mode is not None:
        _trace.mode.lists_hold_arrays = True
        _trace.mode.lists_share_arrays |= is_shared


def note_copy() -> None:
    """Record that two lists of the graph share their items."""
    if lists_hold_arrays():
        note_put(True)


def lists_hold_arrays() -> bool:
    return _trace.mode is not None and _trace.mode.lists_hold_arrays


def lists_share_arrays() -> bool:
    return _trace.mode is not None and _trace.mode.lists_share_arrays


def object_for(array: Any) -> Any:
    """The traced function's object for a pre-existing NumPy array that a callee changes."""
    mode = _trace.mode
    if mode is None or id(array) not in mode.captured:
        raise NeedsArrayObjects(StagingError(
            "a function is called here that changes a NumPy array which is neither an argument nor made in the traced"
            " function", remedy="Pass the array as an argument."), [array])
    return mode.captured[id(array)]


def need_objects(error: Exception) -> None:
    """Called where the result depends on whether a tensor is an array in Python. Raises NeedsArrayObjects, with the
    error for tensors, unless arrays are objects already: then the trace serves only calls with the same arrays."""
    note_class_asked()
    if _trace.mode is not None and not _trace.mode.objects:
        raise NeedsArrayObjects(error)


def watch_array(value: Any) -> None:
    """Called for a value whose contents the graph takes for a variable or an element of a list. If that is an array
    that Python code has made in this trace, and changes later by another name, arrays have to be objects."""
    mode = _trace.mode
    if mode is not None and not mode.objects and isinstance(value, np.ndarray) and value.ndim and id(
            value) not in mode.watched and not existed_before(value):
        mode.watched[id(value)] = value, value.copy()


def want_record(error: Exception, cls: type) -> None:
    """Called with the error for objects of which loops or branches make new ones. Raises NeedsRecords if their class
    can be treated as a dataclass."""
    if _trace.mode is not None and can_be_record(cls):
        raise NeedsRecords(error, cls)


@contextmanager
def with_sets(are_staged: bool) -> Iterator[None]:
    """While a function is traced: whether the sets that it makes are sets of the graph."""
    before, _trace.has_sets = _trace.has_sets, are_staged
    try:
        yield
    finally:
        _trace.has_sets = before


def sets_are_staged() -> bool:
    return _trace.has_sets


def want_sets(error: Exception) -> Exception:
    """The error for a tensor as an item of a set. Raises NeedsSets instead if tracing again may help."""
    if _trace.mode is not None and not _trace.has_sets:
        raise NeedsSets(error)
    return error


def want_objects(error: Exception, arrays: Sequence[Any] = ()) -> Exception:
    """The error for a change of an array. Raises NeedsArrayObjects instead if tracing again may help: with arrays as
    objects; if they are, with these pre-existing `arrays` too, or, for an array that the function computes, with all
    pre-existing ones that the trace can find."""
    mode = _trace.mode
    if mode is not None and mode.objects:
        arrays = [array for array in arrays or mode.sources if id(array) not in mode.captured]
    if mode is not None and (not mode.objects or arrays):
        raise NeedsArrayObjects(error, arrays)
    return error
