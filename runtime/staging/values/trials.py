"""Trials: Python loops that are tentatively traced as graph loops (`runtime.staging.control.rolled_loops`), and numbers
that are tentatively graph inputs (`runtime.function.shared_objects`). This module defines what makes a trial fail.

If a trial of a loop fails, the loop is unrolled instead. An exception that Python or a library raises may be due to
the index, which is a tensor in the trial only: so it fails the trial, is never caught by a user's handler, and never
becomes a raise of the graph. An exception of a `raise` statement belongs to the program.
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

from autograph.backend import Reached, is_converted, is_internal, of_trace
from runtime.core.array_mode import NeedsNumbers
from runtime.core.errors import StagingError
from runtime.core.graph import COUNT, Graph, Node, Value, loops
from runtime.core.positions import is_users
from runtime.staging.values.iteration_values import Undecided, all_values

__all__ = [
    "Store", "Trial", "TrialFailed", "act", "acts_outside", "is_accident", "leaking", "note_accident", "note_iteration",
    "refuse_accidents", "refuse_choice", "refuse_new_key",
    "refuse_number_as_key", "trials", "trying_numbers", "watch_call"]


Store = tuple[Reached, Any, Any]
"""An object, a key in it, and the value that is stored there."""


class TrialFailed(StagingError):
    """A Python loop is not equivalent to a graph loop."""


class Trial(Protocol):
    """A loop under trial."""

    def guessed(self, specs: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """The specs with which it starts, given those of the values before it."""

    def check(
        self, body: Graph, init: Sequence[Any], specs: Sequence[Any], out: Sequence[Any] | None, names: Sequence[str]
    ) -> None:
        """Raise TrialFailed if the graph loop is not equivalent to the unrolled one. `init`: the state before it.
        `specs`: those of the graph loop's state; `out`: those of the state after an iteration, None if each raises."""

    def results(
        self, body: Graph, test: Graph | None, leaves: Sequence[Any], length: Any, may_be_numbers: Sequence[bool]
    ) -> Sequence[Any]:
        """The Python numbers after the loop; None for other variables (`runtime.staging.control.python_results`)."""


class _Trials(threading.local):
    depth = 0
    """How many nested trials of loops are being traced."""
    outside: Graph | None = None
    """The graph in which the outermost of them was started."""
    is_watched = False
    """Whether a loop that may be tried has begun in this trace, so external side effects are counted."""
    acts = 0
    """The number of external side effects of traced code since."""
    last_act = ""
    """The last of them."""

    has_numbers = False
    """Whether the function is being traced with numbers as inputs whose values it may need to know."""
    iterations_left: int | None = None
    """How many more loop iterations may compute with Python numbers alone before these become inputs; None: any."""
    leaks: Callable[[Sequence[Store]], bool] | None = None
    """Whether a value that the trace stores in an object would escape from the graph with it."""

    def __init__(self) -> None:
        self.accidents: dict[int, tuple[Node, BaseException]] = {}
        """The nodes that raise exceptions not of the program's making, by id, with the exceptions."""


trials: Final = of_trace(_Trials())


_MANY_ITERATIONS: Final = 1000


@contextmanager
def leaking(leaks: Callable[[Sequence[Store]], bool]) -> Iterator[None]:
    """Set the predicate for values that would escape from the graph being traced."""
    outer, trials.leaks = trials.leaks, leaks
    try:
        yield
    finally:
        trials.leaks = outer


@contextmanager
def trying_numbers(size: int | None, may_be: bool) -> Iterator[None]:
    """Trace with numbers among the arguments as inputs, if `size` is given: a trial, which fails (and is repeated
    without such inputs) if it creates more than `size` nodes and values. Otherwise (None), if `may_be`, raise
    NeedsNumbers once loops have run many iterations on Python numbers."""
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
    """Count an iteration that computed with Python numbers alone."""
    if trials.iterations_left is None:
        return
    trials.iterations_left -= 1
    if trials.acts or trials.depth:
        trials.iterations_left = None
    elif trials.iterations_left < 0:
        raise NeedsNumbers("numbers among the arguments become inputs")


def is_accident(error: BaseException) -> bool:
    """Whether an exception in traced code fails the trial of a loop, or of numbers as inputs: it does not come from a
    `raise` or `assert` statement of the program."""
    return (trials.depth > 0 or trials.has_numbers) and isinstance(error, Exception) and not (
        isinstance(error, AssertionError) or _is_raised(error.__traceback__))


def _is_raised(entry: TracebackType | None) -> bool:
    """Whether the last entry of a traceback is at a `raise` statement in user code."""
    if entry is None:
        return True  # not raised yet
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code.co_code
    return is_users(entry.tb_frame) and code[entry.tb_lasti] == _RAISE


def note_accident(error: BaseException, graph: Graph) -> None:
    """Record that the last node of `graph` raises an accidental exception. The trial fails if the node is still there
    in the end: staging lists that a tensor indexes may have replaced it."""
    if graph.nodes:
        trials.accidents[id(graph.nodes[-1])] = graph.nodes[-1], error


def refuse_accidents(graph: Graph) -> None:
    """TrialFailed if a graph raises an accidental exception."""
    for node in graph.walk():
        if id(node) in trials.accidents:
            error = trials.accidents[id(node)][1]
            raise TrialFailed(f"{type(error).__name__}: {error}") from error


def refuse_choice(count: int) -> None:
    """TrialFailed where a trial would select among `count` Python objects or tensors."""
    if trials.depth:
        raise TrialFailed(f"an index chooses one of {count} values that are no numbers")


def refuse_new_key(parts: Sequence[Value], is_there: Callable[[Any], bool]) -> bool:
    """TrialFailed where a trial would set a dict item, at a key or index with these parts, unless it exists in all
    iterations, or a part comes from outside the trial. Returns whether it certainly exists."""
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


def refuse_number_as_key(parts: Sequence[Value]) -> None:
    """TrialFailed where a dict item may be added at a key that the graph computes from Python's numbers, if these are
    tentatively inputs: the dict needs their values."""
    if trials.has_numbers and any([getattr(part.type, "weak", False) for part in parts]):
        raise TrialFailed("it adds keys to a dict")


_RAISE: Final = dis.opmap["RAISE_VARARGS"]


# Calls that act on the outside world.

_INERT: Final = frozenset({
    "abc", "array", "bisect", "builtins", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "heapq", "itertools", "math", "numbers", "numpy", "operator", "random", "re", "runtime",
    "statistics", "string", "struct", "textwrap", "types", "typing", "autograph"})
"""Modules, by the first part of the name, whose functions have only effects that a trial undoes: on lists, dicts,
objects, sets, arrays and random generators."""
_ACTING: Final = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "fromfile", "input", "load", "memmap", "open", "save",
    "savetxt", "savez", "savez_compressed", "tofile"})
"""Names of functions in them that have other effects, or run arbitrary code."""
_INERT_OF_KERAS: Final = frozenset({
    "activations", "backend", "constraints", "initializers", "layers", "legacy", "losses", "metrics", "ops",
    "optimizers", "random", "regularizers", "tree"})
"""Modules of Keras, by the part of the name after `keras.src`, of which the same holds: they change attributes and
variables only."""


def act(what: str) -> None:
    """Record an effect of traced code that cannot be undone. TrialFailed in a trial."""
    if trials.depth:
        raise TrialFailed(what)
    trials.acts += 1
    trials.last_act = what


def watch_call(fn: Any) -> None:
    """Record the call of an unconverted callable if it may have external side effects."""
    if acts_outside(fn):
        act(f"it calls {getattr(fn, '__qualname__', fn)!r}, which may act on what is outside of the program")


def acts_outside(fn: Any) -> bool:
    """Whether an unconverted callee may change, or read, external state that a trial cannot restore."""
    kind = type(fn)
    if kind is FunctionType:
        if is_converted(fn.__code__) or is_internal(fn.__code__.co_filename) or fn.__name__.startswith("__"):
            return False
        return not _is_inert(fn.__globals__.get("__name__")) or fn.__name__ in _ACTING
    if isinstance(fn, type):  # the constructor's own calls are judged separately
        return False
    if kind is BuiltinFunctionType:
        owner = fn.__self__
        if owner is sys.stdout or owner is sys.stderr:  # written by the graph
            return False
        module = owner.__name__ if isinstance(owner, ModuleType) else getattr(
            owner if isinstance(owner, type) else type(owner), "__module__", None)
        return fn.__name__ in _ACTING or not _is_inert(module)
    return not _is_inert(getattr(fn, "__module__", None) or kind.__module__)


def _is_inert(module: object) -> bool:
    """Whether what functions of a module do can be undone."""
    if _root(module) != "keras":
        return _root(module) in _INERT
    return not _INERT_OF_KERAS.isdisjoint(str(module).split(".")[2:3])


def _root(module: object) -> str:
    return str(module).partition(".")[0].lstrip("_")
