"""Finds what a call changes, or an iterator while its items are taken."""
from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from types import CellType, GeneratorType
from typing import Any

from autograph.core.backend import Backend
from autograph.core.iterator_positions import Place, function_in
from autograph.core.slots import Globals
from autograph.core.tracebacks import is_opaque
from autograph.state.heap_snapshot import Heap
from autograph.state.reachability import Reach, Reached, advances_in_python
from autograph.state.references import references

__all__ = ["ReachedChanges", "VisibleChanges", "without_changes"]


class VisibleChanges:
    """What has changed since this was made, by the Python code that these iterators run."""

    def __init__(self, backend: Backend, iterators: Sequence[Any]) -> None:
        own: set[str] = set()
        heaps: list[Heap] = []
        for each in iterators:
            frame = each.gi_frame if type(each) is GeneratorType else None
            if frame is None:
                run = each if advances_in_python(each) else tuple(
                    [part for part in gc.get_referents(each) if function_in(part) is not None])
            elif is_opaque(frame.f_code.co_filename):
                run = frame.f_locals.get("clause", ())  # of a generator expression
            else:
                own.update(frame.f_code.co_cellvars)
                heaps.append(Heap(Reach(frame.f_locals.items(), (frame.f_code,), frame.f_globals)))
                continue
            if run != ():
                heaps.append(Heap(Reach([(type(each).__name__, run)])))
        self._own, self._heaps = own, heaps
        self._point = backend.checkpoint() if heaps else None
        taken = set(map(id, iterators))
        self._places = [(name, Place(each)) for heap in heaps for name, each in heap.reach.iterators
                        if id(each) not in taken]

    def found(self) -> str | None:
        """The name of something that has changed, or a description of an effect of the graph; None if there is none."""
        if self._point is not None and self._point.has_effects():
            return "what the graph prints, draws or may raise"
        for name, place in self._places:
            if place.has_advanced() and references([place.iterator]):
                return f"{name!r}"
        for heap in self._heaps:
            changed = [reached for reached, _, _ in heap.changes()]
            if (other := heap.changed()) is not None and references([other[1]]):
                return f"{other[0]!r}"
            for reached in changed:
                if self._is_visible(reached):
                    return repr(reached.path or reached.hint)
        return None

    def _is_visible(self, reached: Reached) -> bool:
        value = reached.value
        if isinstance(value, CellType):
            return reached.hint not in self._own
        return isinstance(value, (Globals, type)) or bool(references([value]))


class ReachedChanges:
    """What has changed, since this was made, of what `function`, known as `name`, reaches."""

    def __init__(self, name: str, function: Any) -> None:
        self._heap = Heap(Reach([(name, function)]))
        self._places = [(path, Place(each)) for path, each in self._heap.reach.iterators]

    def are_there(self) -> bool:
        return any(self._heap.changes()) or self._heap.changed() is not None or any(
            place.has_advanced() for _, place in self._places)

    def undo(self, backend: Backend) -> None:
        """An error for an iterator that has advanced, which cannot be undone."""
        self._heap.restore()
        for path, place in self._places:
            if place.has_advanced():
                raise backend.refusal("advanced", place.iterator, path, __file__, 0)


def without_changes(backend: Backend, name: str, function: Any, call: Callable[[], Any], otherwise: Any) -> Any:
    """The result of `call()`, which calls `function`, known as `name`. If that changes something or has effects in the
    graph, all is undone, and the result is `otherwise`; an error for an iterator that it advances, which cannot be
    undone."""
    changes = ReachedChanges(name, function)
    point = backend.checkpoint()
    made = call()
    if not (point.has_effects() or changes.are_there()):
        return made
    point.rollback()
    changes.undo(backend)
    return otherwise
