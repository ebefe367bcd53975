"""Applies the changes that a traced function made before it raised an error, as in Python.

A graph changes the caller's objects only at its end. After an error the function runs again from the same state, inside
a `try`, and so leaves the changes made up to the error. It must have no other effects, except what it prints.
"""
from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final
from weakref import WeakMethod

from autograph.backend import ConversionError, raised_by_program
from runtime.core.errors import (
    DTypeError,
    InaccessibleTensorError,
    NotIterableError,
    NumberOverflowError,
    OperatorNotAllowedInGraphError,
    ShapeError,
    StagingError,
    UnimplementedError,
)
from runtime.core.graph import Graph
from runtime.core.pruning import prune
from runtime.core.tensor import EagerTensor
from runtime.core.traceback_replay import raised_by_graph
from runtime.function.concrete import ConcreteFunction
from runtime.ops.effects import PRINT

__all__ = ["ChangesWarning", "applying", "can_run_again", "leaving", "raised", "until_error", "without_output"]

_TEXT: Final = '''
def until_error(kinds, function, /, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kinds:
        pass
'''
_FILE: Final = "<until_error>"
_FUNCTIONS: Final[dict[str, Any]] = {"__name__": "until_error"}


def until_error() -> Callable[..., None]:
    """The function with this text, registered so that it converts, unlike functions of this package. It calls a
    function, and catches errors of some kinds."""
    linecache.cache[_FILE] = len(_TEXT), None, _TEXT.splitlines(keepends=True), _FILE
    if "until_error" not in _FUNCTIONS:
        exec(compile(_TEXT, _FILE, "exec"), _FUNCTIONS)
    found: Callable[..., None] = _FUNCTIONS["until_error"]
    return found


_HARMLESS: Final = frozenset({
    "assert_compare", "check", "check_bound", "check_numerics", "hold_error", "keep", "print", "raise", "raise_unless",
    "read_variable", "reraise"})
"""Ops with an effect that may be repeated."""


_OF_GRAPHS: Final = (
    ConversionError, DTypeError, InaccessibleTensorError, NotIterableError, OperatorNotAllowedInGraphError, ShapeError,
    StagingError, UnimplementedError)
"""Errors that Python would not raise."""


def can_run_again(graph: Graph, but: frozenset[str] = frozenset()) -> bool:
    """Whether a graph that has raised has no effect, apart from printing and the ops `but`, that a second run would
    repeat."""
    return all(node.op.name in _HARMLESS or node.op.name in but or not node.op.effect for node in graph.walk())


def without_output(graph: Graph) -> None:
    """Remove the prints of a graph: they have been executed already."""
    for inner in [graph, *(sub for node in graph.walk() for sub in node.subgraphs.values())]:
        inner.nodes = [node for node in inner.nodes if node.op is not PRINT]
    prune(graph)


class ChangesWarning(UserWarning):
    """The caller's objects do not have what a call changed before an error."""


class applying(AbstractContextManager[None]):
    """Suppress errors in applying the changes of a call of `concrete`, with a warning if it has any."""

    def __init__(self, concrete: ConcreteFunction | None) -> None:
        self.concrete = concrete

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        if isinstance(error, Exception) and self.concrete is not None and self.concrete.changes:
            warnings.warn(
                f"{self.concrete.name}: what the call has changed before its error is lost, since the function cannot "
                f"be staged up to there: {str(error).partition(chr(10))[0]}", ChangesWarning, stacklevel=4)
        return isinstance(error, Exception)


class _Raised(threading.local):
    """The last error of traced functions in this thread, and its origin."""

    error: BaseException | None = None
    concrete: ConcreteFunction | None = None

    def note(self, error: BaseException, concrete: ConcreteFunction | None = None) -> None:
        """Record an error of the program in a run of `concrete`, or (None) in a trace."""
        if self.is_of_program(error):
            self.error, self.concrete = error, concrete

    @staticmethod
    def is_of_program(error: BaseException) -> bool:
        """Whether the program raised it in a graph or trace, not a signal handler."""
        return isinstance(error, (Exception, SystemExit)) or raised_by_graph(error) or raised_by_program(error)

    @staticmethod
    def kinds_until(error: BaseException) -> tuple[type[BaseException], ...]:
        """The kinds of errors that end a call whose changes are applied until that error."""
        kind = type(error)
        return (Exception, SystemExit) if issubclass(kind, (Exception, SystemExit)) else (Exception, SystemExit, kind)

    def forget(self) -> None:
        """Drop the references to the error and its objects."""
        self.error = self.concrete = None

    def in_trace(self, error: BaseException) -> bool:
        """Whether it was raised while a function was traced, so that nothing has run."""
        return self.error is error and self.concrete is None

    def is_of_numbers(self, error: BaseException) -> bool:
        """Whether a graph raised it because an int exceeds its bits, before any effect."""
        if self.error is not error or self.concrete is None or not isinstance(error, (DTypeError, NumberOverflowError)):
            return False
        graph = self.concrete.graph
        return can_run_again(graph) and all(node.op is not PRINT for node in graph.walk())

    def may_have_changes(self, error: BaseException) -> bool:
        """Whether the call may have changed something before the error that has to be applied as in Python, including
        changes that the trace reverted at its end, such as a flag."""
        if self.error is not error:
            return False
        if self.concrete is None:
            return not isinstance(error, _OF_GRAPHS)
        return self.concrete.can_change and can_run_again(self.concrete.graph)


raised: Final = _Raised()


def leaving(
    concrete: ConcreteFunction, leave: WeakMethod[Callable[..., None]]
) -> Callable[[BaseException, tuple[Any, ...]], None]:
    """The handler for an error of a call with arrays only: it calls `leave(error, args, kwargs)`."""
    def failed(error: BaseException, arrays: tuple[Any, ...]) -> None:
        if (found := leave()) is not None:
            raised.note(error, concrete)
            try:
                found(error, tuple([EagerTensor(x) for x in arrays]), {})
            finally:
                raised.forget()

    return failed
