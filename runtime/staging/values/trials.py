"""Loops of Python that are tried as loops of the graph (`runtime.staging.control.rolled_loops`), and numbers that are
tried as its inputs (`runtime.function.shared_objects`): what must not happen while these are traced.

Anything that fails while a loop is tried fails the trial, and the loop is unrolled instead. So an exception that
Python or a library raises is an error of the trial, which no handler of the user's catches and no graph raises: it may
be due to the index, which is a tensor in the trial alone. An exception of a `raise` statement is the program's.
"""
from __future__ import annotations

import dis
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType, TracebackType
from typing import Any, Final, Protocol

from autograph.backend import is_converted, is_internal, of_trace
from runtime.core.array_mode import NeedsNumbers
from runtime.core.errors import StagingError
from runtime.core.graph import COUNT, Graph, Node, Value, loops
from runtime.core.positions import is_users
from runtime.staging.values.iteration_values import Undecided, all_values

__all__ = [
    "Trial", "TrialFailed", "act", "acts_outside", "is_accident", "leaking", "note_accident", "note_iteration",
    "refuse_accidents", "refuse_choice", "refuse_new_key", "trials", "trying_numbers", "watch_call"]


class TrialFailed(StagingError):
    """A loop that Python decides does not mean the same as a loop of the graph."""


class Trial(Protocol):
    """A loop that is tried."""

    def check(
        self, body: Graph, init: Sequence[Any] | None, specs: Sequence[Any], names: Sequence[str]
    ) -> None:
        """Raise TrialFailed if the loop does not mean the same as the unrolled one. `init`: the state before it; None
        if each iteration raises. `specs`: what describes the state of the staged loop."""

    def results(self, body: Graph, test: Graph | None, leaves: Sequence[Any], length: Any) -> Sequence[Any]:
        """The Python numbers after the loop, None for other variables (`runtime.staging.control.python_results`)."""


class _Trials(threading.local):
    depth = 0
    """How many loops that are tried are being traced."""
    outside: Graph | None = None
    """The graph in which the first of these was begun."""
    is_watched = False
    """Whether a loop that may be tried has begun in this trace, so that what acts on the outside world counts."""
    acts = 0
    """How often traced code has acted on the outside world since."""

    has_numbers = False
    """Whether the function is traced with numbers as inputs that it may need to know."""
    iterations_left: int | None = None
    """How many more iterations of loops may compute with Python's numbers alone, before these become inputs; None
    without a limit."""
    leaks: Callable[[Any, Any], bool] | None = None
    """Whether a value that the trace puts into an object would leave the graph with that object."""

    def __init__(self) -> None:
        self.accidents: dict[int, tuple[Node, BaseException]] = {}
        """By id: the nodes that raise exceptions that are accidents of a trial."""


trials: Final = of_trace(_Trials())


_MANY_ITERATIONS: Final = 1000


@contextmanager
def leaking(leaks: Callable[[Any, Any], bool]) -> Iterator[None]:
    """Declare which values would leave the graph that is traced."""
    outer, trials.leaks = trials.leaks, leaks
    try:
        yield
    finally:
        trials.leaks = outer


@contextmanager
def trying_numbers(size: int | None, may_be: bool) -> Iterator[None]:
    """A trace in which numbers of the arguments are inputs, and so a trial, too: it is made without them if it fails,
    or makes more than `size` nodes and values. Or one in which they are not (None), but become such (`may_be`) if it
    runs loops for long: NeedsNumbers then."""
    outer = trials.has_numbers, trials.iterations_left, trials.is_watched
    if size is not None and not trials.has_numbers:
        trials.has_numbers, loops.last_number = True, next(COUNT) + size
    if may_be:
        trials.iterations_left, trials.is_watched = _MANY_ITERATIONS, True
    try:
        yield
    finally:
        trials.has_numbers, trials.iterations_left, trials.is_watched = outer
        if not trials.has_numbers:
            loops.last_number = math.inf


def note_iteration() -> None:
    """Called after an iteration that has computed with Python's numbers alone."""
    if trials.iterations_left is None:
        return
    trials.iterations_left -= 1
    if trials.acts or trials.depth:
        trials.iterations_left = None
    elif trials.iterations_left < 0:
        raise NeedsNumbers("numbers among the arguments become inputs")


def is_accident(error: BaseException) -> bool:
    """Whether an exception in traced code fails the trial of a loop, or of numbers as inputs: it is not one of a
    `raise` of the program's."""
    return (trials.depth > 0 or trials.has_numbers) and isinstance(error, Exception) and not (
        isinstance(error, AssertionError) or _is_raised(error.__traceback__))


def _is_raised(entry: TracebackType | None) -> bool:
    """Whether the last entry of a traceback is at a `raise` statement of the user's."""
    if entry is None:
        return True  # it has not been raised yet
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code.co_code
    return is_users(entry.tb_frame) and code[entry.tb_lasti] == _RAISE


def note_accident(error: BaseException, graph: Graph) -> None:
    """Note that the last node of `graph` raises an exception that is an accident. The trial fails if the node is still
    there when the loop is settled: it is not where lists that a tensor indexes have been staged since."""
    if graph.nodes:
        trials.accidents[id(graph.nodes[-1])] = graph.nodes[-1], error


def refuse_accidents(graph: Graph) -> None:
    """TrialFailed if a graph raises such an exception."""
    for node in graph.walk():
        if id(node) in trials.accidents:
            error = trials.accidents[id(node)][1]
            raise TrialFailed(f"{type(error).__name__}: {error}") from error


def refuse_choice(count: int) -> None:
    """Raise TrialFailed where a trial would choose among so many Python objects or tensors."""
    if trials.depth:
        raise TrialFailed(f"an index chooses one of {count} values that are no numbers")


def refuse_new_key(parts: Sequence[Value], is_there: Callable[[Any], bool]) -> bool:
    """Raise TrialFailed where a trial would set an item of a dict, at a key or place that has these parts, unless it is
    there in all iterations, or a part is one that Python does not know either. Whether it surely is there."""
    if trials.outside is None:
        return False
    found: list[Any] = []
    for part in parts:
        try:
            values = [*all_values(part, trials.outside)]
        except Undecided:
            found.append(None)
            continue
        if not values:
            return False
        found += values
    if not all([each is not None and is_there(each) for each in found]):
        raise TrialFailed("it adds keys to a dict")
    return bool(found)


_RAISE: Final = dis.opmap["RAISE_VARARGS"]


# Calls that act on the outside world.

_INERT: Final = frozenset({
    "abc", "array", "bisect", "builtins", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "heapq", "itertools", "math", "numbers", "numpy", "operator", "random", "re", "runtime",
    "statistics", "string", "struct", "textwrap", "types", "typing", "autograph"})
"""Modules, by the first part of the name, whose functions change nothing but what a trial sets back: lists, dicts,
objects, sets, arrays, generators of random numbers."""
_ACTING: Final = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "fromfile", "input", "load", "memmap", "open", "save",
    "savetxt", "savez", "savez_compressed", "tofile"})
"""Their functions that do more, or run any code."""


def act(what: str) -> None:
    """Note that traced code does what cannot be undone. TrialFailed in a trial."""
    if trials.depth:
        raise TrialFailed(what)
    trials.acts += 1


def watch_call(fn: Any) -> None:
    """Note the call of something that does not convert, if it may act on the outside world."""
    if acts_outside(fn):
        act(f"it calls {getattr(fn, '__qualname__', fn)!r}, which may act on what is outside of the program")


def acts_outside(fn: Any) -> bool:
    """Whether a callee that does not convert may change, or ask, something that a trial cannot set back."""
    kind = type(fn)
    if kind is FunctionType:
        if is_converted(fn.__code__) or is_internal(fn.__code__.co_filename) or fn.__name__.startswith("__"):
            return False
        return _root(fn.__globals__.get("__name__")) not in _INERT or fn.__name__ in _ACTING
    if isinstance(fn, type):  # what making an object calls is code of its own
        return False
    if kind is BuiltinFunctionType:
        owner = fn.__self__
        if owner is sys.stdout or owner is sys.stderr:  # the graph writes
            return False
        module = owner.__name__ if isinstance(owner, ModuleType) else getattr(
            owner if isinstance(owner, type) else type(owner), "__module__", None)
        return fn.__name__ in _ACTING or _root(module) not in _INERT
    return _root(getattr(fn, "__module__", None) or kind.__module__) not in _INERT


def _root(module: object) -> str:
    return str(module).partition(".")[0].lstrip("_")
