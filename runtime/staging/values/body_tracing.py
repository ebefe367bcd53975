"""Tracing the bodies of control flow into sub-graphs, and undoing a trace.

An exception in a body does not fail the trace: the body's graph raises that exception when it gets there.
"""
from __future__ import annotations

import dis
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from autograph.backend import at_end, is_body, is_internal, lower_limit, of_trace, outermost, raise_limit, settle
from runtime.core.array_mode import note_undone
from runtime.core.errors import InaccessibleTensorError, StagingError
from runtime.core.graph import COUNT, Graph, Node
from runtime.core.positions import Position, staging_error, user_position
from runtime.core.read_only_arrays import written_error
from runtime.core.tensor_writes import Leaving
from runtime.core.tensor_writes import in_body as in_body_of
from runtime.core.trace import current_graph, raising, tracing
from runtime.ops.effects import holds_values, raise_error
from runtime.ops.exceptions import caught_by
from runtime.staging.values.alias_tracking import KnownElements, known_elements, restore_elements, tracking
from runtime.staging.values.trials import is_accident, note_accident, refuse_accidents, trials

__all__ = [
    "NEVER", "Branch", "Mark", "Step", "Unreachable", "checkpoint", "depth", "in_body", "line_of", "rollback",
    "trace_body", "trace_function",
]

MAX_RECURSION: Final = 32  # how often a body may be open inside itself
_FRAMES: Final = 24  # of the tracer, between one body and the next; the limit is for the user's own
_BODIES: Final = 16  # for so many at a time the limit is raised


class Unreachable(BaseException):
    """The traced code is unreachable: the graph before it always raises. The enclosing body ends there."""

    def __init__(self) -> None:
        super().__init__("both branches of a condition raise, so what follows never runs")


NEVER: Final = object()
"""In place of a function's result: it never returns, since its graph always raises."""


class Branch(Protocol):
    """A traced body: one of `autograph.core.backend`, or a function made for one statement."""

    filename: str
    lineno: int

    def __call__(self, *values: Any) -> Any: ...


class Step:
    """A function of the state as a body at the line that is being traced."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        position = user_position() or Position("<unknown>", 0)
        self.fn, self.filename, self.lineno = fn, position.filename, position.lineno

    def __call__(self, *values: Any) -> Any:
        return self.fn(*values)


class _Open(threading.local):
    """The bodies that this thread traces: their number, and how often each is open, by its place."""

    depth = 0

    def __init__(self) -> None:
        self.times: Counter[tuple[object, ...]] = Counter()


_open: Final = of_trace(_Open())
at_end(lambda: _open.times.clear())


def in_body() -> bool:
    """Whether this thread traces a body of a loop, branch or operand."""
    return _open.depth > 0


def depth() -> int:
    """The number of bodies that this thread traces, each in the one before."""
    return _open.depth


def trace_body(
    graph: Graph, body: Branch, make_values: Callable[[], Sequence[Any]], leaving: Leaving | None = None,
    exported: Callable[[Any], Any] = lambda values: values,
) -> Any:
    """The result of `body` for `make_values()`, traced into `graph`; None if it raises, which `graph` then does.
    `leaving`: represents the memory of arrays that it makes, if the body is traced several times.

    StagingError, leaked tensors, MemoryError and RecursionError, and exceptions that are no Exception, are raised at
    once.
    """
    depth, place = _open.depth, _open_body(body)
    room = None if depth % _BODIES else raise_limit(_FRAMES * _BODIES)
    with tracing(graph), in_body_of(graph, leaving) as arrays:
        try:
            with tracking():
                values = exported(body(*make_values()))
            arrays.left(values)
            return values
        except Unreachable:
            return None
        except (StagingError, InaccessibleTensorError, MemoryError, RecursionError):
            raise
        except Exception as exc:
            written = written_error(exc)
            if written is not None:
                raise written from None
            accident = is_accident(exc)  # asks for the traceback, which goes when the graph raises it
            with raising(exc):
                raise_error(settle(exc) or exc)
            if accident:
                note_accident(exc, graph)
            return None
        except BaseException as exc:
            if caught_by(exc) is None:  # otherwise it stands for a handler's error, which is raised again
                raise
            with raising(exc):
                raise_error(exc)
            return None
        finally:
            if room is not None:
                lower_limit(room)
            _open.depth = depth
            _open.times[place] -= 1


@outermost
def trace_function(call: Callable[[], Any]) -> Any:
    """The result of `call()`, traced into the current graph; NEVER if the graph always raises. TrialFailed if it raises
    what Python may not.

    An exception is raised at once, unless it contains values of the graph, or something precedes it when the graph
    runs, such as a `raise` under a condition: then the graph does that, and raises the exception after it.
    """
    try:
        with tracking(alone=True) as held:
            held.returned = call()
            _refuse_accidents()
            return held.returned
    except Unreachable:
        _refuse_accidents()
        return NEVER
    except (StagingError, InaccessibleTensorError, MemoryError, RecursionError):
        raise
    except Exception as exc:
        written = written_error(exc)
        if written is not None:
            raise written from None
        graph = current_graph()
        if graph is None or is_accident(exc) or not (graph.effect or holds_values(exc)):
            raise
        raise_error(exc)
        return NEVER


def _refuse_accidents() -> None:
    """TrialFailed if the graph of a function that is traced with numbers as inputs raises what Python may not."""
    if trials.has_numbers and (graph := current_graph()) is not None:
        refuse_accidents(graph)


def _open_body(body: Branch) -> tuple[object, ...]:
    """Record that `body` is being traced; returns its place. StagingError for endless recursion."""
    at = user_position()  # nested expressions have one line, but bodies of their own
    place = (body.filename, body.lineno) if at is None else (body.filename, body.lineno, at.instruction)
    if _open.times[place] >= MAX_RECURSION:
        raise staging_error(
            f"{_function()!r} calls itself without end while it is traced: this condition is a tensor, known only when"
            " the graph runs, so both of its branches are traced",
            "Give it tensors for what changes from call to call, return what it changes, or write a loop.")
    _open.depth += 1
    _open.times[place] += 1
    return place


def _function() -> str:
    """The name of the user's function that is being traced."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_body(frame.f_code) or is_internal(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame.f_code.co_name if frame is not None else "a function"


def line_of(body: Branch, name: str) -> int:
    """The line where `body` assigns `name`, else that of its first statement."""
    fn = getattr(body, "fn", None)
    code: CodeType | None = getattr(getattr(fn, "place", fn), "__code__", None)
    if code is None or is_internal(code.co_filename):
        return body.lineno
    lines = [(start, line) for start, _, line in code.co_lines() if line is not None]
    stores = [i.offset for i in dis.get_instructions(code) if i.opname.startswith("STORE_") and i.argval == name]
    if stores:
        return max(lines, key=lambda entry: (entry[0] <= stores[-1], entry[0]))[1]
    return min((line for _, line in lines if line != code.co_firstlineno), default=body.lineno)


@dataclass(frozen=True)
class Mark:
    """A point of a trace."""

    graph: Graph | None
    """The current graph; those that enclose it change, too, as captures are passed through them."""
    nodes: int
    """How many nodes it has."""
    number: int
    """All nodes and values that are made after it have higher numbers."""
    elements: KnownElements | None

    def added(self) -> Sequence[Node]:
        """The nodes added to the current graph since."""
        return self.graph.nodes[self.nodes:] if self.graph is not None else ()


def checkpoint() -> Mark:
    """The mark of this point."""
    graph = current_graph()
    return Mark(graph, len(graph.nodes) if graph is not None else 0, next(COUNT), known_elements())


def rollback(mark: Mark) -> None:
    """Remove the nodes and captures added since `mark`, and what is known of elements of lists since."""
    note_undone()
    if mark.elements is not None:
        restore_elements(mark.elements)
    graph = mark.graph
    while graph is not None:
        graph.remove_after(mark.number)
        graph = graph.parent
