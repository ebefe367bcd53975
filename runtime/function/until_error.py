"""What a traced function has changed when it raises: as in Python, what came before the error.

A graph changes nothing of the caller's before its end. After an error the function runs again, with a `try` around it,
from what it had: so it leaves what it has changed until then. It must have no other effect than that and what it
prints.
"""
from __future__ import annotations

import linecache
import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakMethod

from autograph.backend import ConversionError
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
from runtime.function.concrete import ConcreteFunction
from runtime.ops.effects import PRINT

__all__ = ["can_run_again", "leaving", "raised", "until_error", "without_output"]

_TEXT: Final = '''
def until_error(function, /, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception:
        pass
'''
_FILE: Final = "<until_error>"
_FUNCTIONS: Final[dict[str, Any]] = {"__name__": "until_error"}


def until_error() -> Callable[..., None]:
    """The function of this text: it converts, which functions of this package do not."""
    linecache.cache[_FILE] = len(_TEXT), None, _TEXT.splitlines(keepends=True), _FILE
    if "until_error" not in _FUNCTIONS:
        exec(compile(_TEXT, _FILE, "exec"), _FUNCTIONS)
    found: Callable[..., None] = _FUNCTIONS["until_error"]
    return found


_HARMLESS: Final = frozenset({
    "assert_compare", "check", "check_bound", "check_numerics", "hold_error", "keep", "print", "raise", "raise_unless",
    "read_variable", "reraise"})
"""Ops with an effect that may run again."""


_OF_GRAPHS: Final = (
    ConversionError, DTypeError, InaccessibleTensorError, NotIterableError, OperatorNotAllowedInGraphError, ShapeError,
    StagingError, UnimplementedError)
"""Errors that Python would not raise."""


def can_run_again(graph: Graph) -> bool:
    """Whether a graph that has raised has no effect that would come twice, but for what it prints."""
    return all(node.op.name in _HARMLESS or not node.op.effect for node in graph.walk())


def without_output(graph: Graph) -> None:
    """Let a graph print nothing: that has been printed."""
    for inner in [graph, *(sub for node in graph.walk() for sub in node.subgraphs.values())]:
        inner.nodes = [node for node in inner.nodes if node.op is not PRINT]
    prune(graph)


class _Raised(threading.local):
    """The last error of traced functions in this thread, and where it came from."""

    error: BaseException | None = None
    concrete: ConcreteFunction | None = None

    def note(self, error: BaseException, concrete: ConcreteFunction | None = None) -> None:
        """An error in a run of `concrete`, or in a trace."""
        self.error, self.concrete = error, concrete

    def forget(self) -> None:
        """Keep no object alive that the error refers to."""
        self.error = self.concrete = None

    def in_trace(self, error: BaseException) -> bool:
        """Whether it was raised while a function was traced, so that nothing has run."""
        return self.error is error and self.concrete is None

    def is_of_numbers(self, error: BaseException) -> bool:
        """Whether a graph raised it because an int has more bits than there, and has done nothing before."""
        if self.error is not error or self.concrete is None or not isinstance(error, (DTypeError, NumberOverflowError)):
            return False
        graph = self.concrete.graph
        return can_run_again(graph) and all(node.op is not PRINT for node in graph.walk())

    def is_left(self, error: BaseException) -> bool:
        """Whether something can have been changed before the error, and is to be left as in Python: also what the trace
        has restored at its end, such as a flag."""
        if self.error is not error:
            return False
        if self.concrete is None:
            return not isinstance(error, _OF_GRAPHS)
        return self.concrete.can_change and can_run_again(self.concrete.graph)


raised: Final = _Raised()


def leaving(
    concrete: ConcreteFunction, leave: WeakMethod[Callable[..., None]]
) -> Callable[[Exception, tuple[Any, ...]], None]:
    """What to do about an error of a call that has only arrays: `leave(error, args, kwargs)`."""
    def failed(error: Exception, arrays: tuple[Any, ...]) -> None:
        if (found := leave()) is not None:
            raised.note(error, concrete)
            try:
                found(error, tuple([EagerTensor(x) for x in arrays]), {})
            finally:
                raised.forget()

    return failed
