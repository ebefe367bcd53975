"""Tracing the bodies of control flow into sub-graphs, and undoing a trace.

An exception in a body does not fail the trace: the body's graph raises it when it reaches that point.
"""
from __future__ import annotations

import dis
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from autograph.backend import (
    Unwinding,
    at_end,
    is_body,
    is_internal,
    lower_limit,
    of_trace,
    outermost,
    raise_limit,
    raised_by_program,
    settle,
)
from runtime.core.array_mode import note_end, note_undone
from runtime.core.errors import DTypeError, InaccessibleTensorError, OpError, ShapeError, StagingError, locate
from runtime.core.graph import COUNT, Graph, Node
from runtime.core.memos import forget_after
from runtime.core.object_mode import note_known
from runtime.core.positions import Position, located, user_position
from runtime.core.read_only_arrays import written_error
from runtime.core.relaxed_shapes import NeedsKnownShapes, is_relaxed
from runtime.core.tensor_attributes import undo_after
from runtime.core.tensor_writes import Leaving
from runtime.core.tensor_writes import in_body as in_body_of
from runtime.core.trace import current_graph, raising, tracing
from runtime.core.traceback_replay import trail
from runtime.ops.effects import holds_values, raise_error
from runtime.ops.exceptions import caught_by
from runtime.staging.aliases.alias_tracking import tracking
from runtime.staging.aliases.open_bodies import KnownElements, bodies_open, known_elements, restore_elements
from runtime.staging.values.trials import is_accident, note_accident, refuse_accidents, trials

__all__ = [
    "NEVER", "Branch", "Costly", "Mark", "Step", "UnboundedError", "Unreachable", "checkpoint", "depth", "in_body",
    "line_of", "refuse_speculation", "rollback", "speculating", "trace_body", "trace_function",
]

MAX_RECURSION: Final = 32  # how often a body may be open inside itself
_FRAMES: Final = 24  # the tracer's frames between nested bodies; the recursion limit is meant for the user's own
_BODIES: Final = 16  # the limit is raised for this many bodies at a time


class Unreachable(Unwinding):
    """The traced code is unreachable, since the graph always raises before it. The enclosing body ends there."""

    def __init__(self) -> None:
        super().__init__("both branches of a condition raise, so what follows never runs")


class Costly(Unwinding):
    """What is traced without a branch, as an operand, has branches or loops, and so needs one. The outermost such
    operand is traced again: if each was, there would be twice as many traces for each of the operands around it."""


NEVER: Final = object()
"""Stands for the result of a function that never returns, since its graph always raises."""


class Branch(Protocol):
    """A traced body: one of `autograph.core.backend`'s, or a function made for one statement."""

    filename: str
    lineno: int

    def __call__(self, *values: Any) -> Any: ...


class Step:
    """A function of the state as a body, positioned at that of another body, if the user wrote that, or at the line
    being traced."""

    def __init__(self, fn: Callable[..., Any], body: Any = None) -> None:
        is_users = body is not None and not is_internal(body.filename)
        position = (body if is_users else user_position()) or Position("<unknown>", 0)
        self.fn, self.filename, self.lineno = fn, position.filename, position.lineno

    def __call__(self, *values: Any) -> Any:
        return self.fn(*values)


class _Open(threading.local):
    """The bodies that this thread is tracing: how deep they nest, and how often each is open, by its place."""

    depth = 0
    speculated: Graph | None = None
    """The graph into which an operand is traced without a branch."""

    def __init__(self) -> None:
        self.times: Counter[tuple[object, ...]] = Counter()


_open: Final = of_trace(_Open())
at_end(lambda: _open.times.clear())


def in_body() -> bool:
    """Whether this thread is tracing a body of a loop, branch or operand."""
    return _open.depth > 0


def depth() -> int:
    """How many nested bodies this thread is tracing."""
    return _open.depth


@contextmanager
def speculating(graph: Graph) -> Iterator[None]:
    """Trace an operand into the current graph, without a branch. Costly if it has a body with a graph of its own."""
    outer, _open.speculated = _open.speculated, graph
    try:
        yield
    finally:
        _open.speculated = outer


def refuse_speculation(graph: Graph | None = None) -> None:
    """Costly if an operand is being traced without a branch, but not into `graph`."""
    if _open.speculated is not None and _open.speculated is not graph:
        raise Costly


class UnboundedError(StagingError):
    """A body of control flow is traced within itself without end."""


def trace_body(
    graph: Graph, body: Branch, make_values: Callable[[], Sequence[Any]], leaving: Leaving | None = None,
    exported: Callable[[Any], Any] = lambda values: values,
) -> Any:
    """Trace `body` for `make_values()` into `graph`; returns its result, or None if it raises, as `graph` then does.
    `leaving`: represents the memory of arrays that the body creates, if it is traced several times.
    StagingError, leaked tensors, and the errors that the program does not raise (`raised_by_program`) are raised at
    once.
    """
    refuse_speculation(graph)
    depth, place = _open.depth, _open_body(body)
    room = None if depth % _BODIES else raise_limit(_FRAMES * _BODIES)
    with tracing(graph), in_body_of(graph, leaving) as arrays:
        try:
            with tracking():
                values = exported(body(*make_values()))
            arrays.note_results(values)
            return values
        except Unreachable:
            note_end(graph)
            return None
        except (StagingError, InaccessibleTensorError):
            raise
        except Exception as exc:
            if not raised_by_program(exc):
                raise
            note_end(graph)
            _locate(exc)
            written = written_error(exc)
            if written is not None:
                raise written from None
            accident = is_accident(exc)  # reads the traceback, which `raise_error` drops
            if is_relaxed() and (accident or isinstance(exc, OpError)):
                raise NeedsKnownShapes from exc
            with raising(exc):
                raise_error(settle(exc) or exc)
            if accident:
                note_accident(exc, graph)
            return None
        except BaseException as exc:
            if caught_by(exc) is None and not raised_by_program(exc):  # a handler's error is raised again
                raise
            note_end(graph)
            with raising(exc):
                raise_error(exc)
            return None
        finally:
            if room is not None:
                lower_limit(room)
            _open.depth = depth
            _open.times[place] -= 1


def _locate(error: BaseException) -> None:
    """Give an error about types or shapes, which is raised before there is a node, its place in the user's code."""
    if isinstance(error, (DTypeError, ShapeError)) and not getattr(error, "located", False) and (
            places := trail(error.__traceback__)):
        locate(error, places[-1])


@outermost
def trace_function(call: Callable[[], Any]) -> Any:
    """Trace `call()` into the current graph; returns its result, or NEVER if the graph always raises. TrialFailed if it
    raises an error that Python may not raise.

    An exception is raised at once, unless it contains values of the graph, or the graph may raise or act before it,
    such as by a `raise` under a condition: then the graph raises it, in order.
    """
    try:
        with tracking(alone=True):
            returned = call()
            _refuse_accidents()
            note_known(bodies_open()[-1])
            return returned
    except Unreachable:
        _refuse_accidents()
        return NEVER
    except (StagingError, InaccessibleTensorError):
        raise
    except BaseException as exc:
        if not raised_by_program(exc):
            raise
        _locate(exc)
        written = written_error(exc)
        if written is not None:
            raise written from None
        graph = current_graph()
        if graph is None or is_accident(exc) or not (graph.effect or holds_values(exc)):
            raise
        raise_error(exc)
        return NEVER


def _refuse_accidents() -> None:
    """TrialFailed if the graph of a function traced with numbers as inputs raises an error that Python may not."""
    if trials.has_numbers and (graph := current_graph()) is not None:
        refuse_accidents(graph)


def _open_body(body: Branch) -> tuple[object, ...]:
    """Record that `body` is being traced; return its place. UnboundedError for unbounded recursion."""
    at = user_position()  # nested expressions share a line, but have different bodies
    place = (body.filename, body.lineno) if at is None else (body.filename, body.lineno, at.instruction)
    if _open.times[place] >= MAX_RECURSION:
        code = _code()
        raise located(UnboundedError(
            f"{'a function' if code is None else repr(code.co_name)} calls itself without end while it is traced: this"
            " condition is a tensor, known only when the graph runs, so both of its branches are traced",
            remedy="Let Python values decide how often a generator calls itself, or write a loop."
            if code is not None and "ag__body" in code.co_freevars else
            "Give it tensors for what changes from call to call, return what it changes, or write a loop."))
    _open.depth += 1
    _open.times[place] += 1
    return place


def _code() -> CodeType | None:
    """The code of the user's function that is being traced."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_body(frame.f_code) or is_internal(frame.f_code.co_filename)):
        frame = frame.f_back
    return None if frame is None else frame.f_code


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
    """The current graph; enclosing graphs change, too, as they pass captures in."""
    nodes: int
    """Its number of nodes."""
    number: int
    """A bound: nodes and values created later have higher numbers."""
    elements: KnownElements | None

    def added(self) -> Sequence[Node]:
        """The nodes added to the current graph since."""
        return self.graph.nodes[self.nodes:] if self.graph is not None else ()


def checkpoint() -> Mark:
    """A mark of the current point of the trace."""
    graph = current_graph()
    return Mark(graph, len(graph.nodes) if graph is not None else 0, next(COUNT), known_elements())


def rollback(mark: Mark) -> None:
    """Remove nodes and captures added since `mark`, and forget what was learnt since about elements of lists."""
    note_undone()
    forget_after(mark.number)
    undo_after(mark.number)
    if mark.elements is not None:
        restore_elements(mark.elements)
    graph = mark.graph
    while graph is not None:
        graph.remove_after(mark.number)
        graph = graph.parent
