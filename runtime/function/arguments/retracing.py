"""The history of a function's traces: why it was traced again, and warnings about retracing."""
from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from autograph.backend import format_error
from runtime.core.positions import user_position
from runtime.core.trace import current_graph
from runtime.core.types import TensorSpec
from runtime.function.arguments.argument_structure import is_leaf
from runtime.function.arguments.number_state import StagedNumber
from runtime.function.arguments.signature import ATTRIBUTES, Call, count

__all__ = ["CacheInfo", "History", "Pending", "RetracingWarning", "is_traced_here"]

_STORM = 5  # number of traces that differ in a single Python number, or in the length of one list, before a warning
_ABSENT = "not there"
_SHOWN = 3  # differences between two traces


class RetracingWarning(UserWarning):
    """A function is traced over and over, which costs more than running it."""


class CacheInfo(NamedTuple):
    """As in `functools.lru_cache`: a miss is a trace."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Pending:
    """A trace in progress. Other threads wait for it, unless its owner is waiting for them."""

    __slots__ = ("done", "owners")

    def __init__(self, owner: int) -> None:
        self.owners = {owner}
        self.done = threading.Event()

    def wait(self, me: int) -> bool:
        """Wait, as thread `me`, for the end of the trace. Returns False immediately if that would be a deadlock."""
        with _lock:
            visited = {me}
            ahead = list(self.owners)
            while ahead:
                thread = ahead.pop()
                if thread in visited:
                    return False
                visited.add(thread)
                if thread in _waiting:
                    ahead += _waiting[thread].owners
        try:
            _waiting[me] = self
            self.done.wait()
        finally:
            _waiting.pop(me, None)
        return True


def is_traced_here(pending: Mapping[Hashable, Pending]) -> bool:
    """Whether this thread makes one of these traces."""
    me = threading.get_ident()
    return any(me in each.owners for each in [*pending.values()])


_lock = threading.Lock()
_waiting: dict[int, Pending] = {}  # by waiting thread, over all functions


class _Leaf(NamedTuple):
    text: str
    number: bool  # whether it is a Python number


class History:
    """The arguments of each trace of a function as text, and the reason for the last trace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.traces: dict[Any, dict[str, _Leaf]] = {}
        self.reason = ""
        self.call = -1  # the number of the call that made the last trace
        self.differing: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()
        self.lengths: Counter[str] = Counter()
        self._state: set[str] = set()  # the paths of attributes, items and variables that calls change
        self._inputs: set[str] = set()  # the paths of numbers that are inputs in the last trace
        self._warned: set[str] = set()

    def add(self, concrete: Any, arguments: Call, leaves: list[tuple[str, Any]], call: int) -> None:
        new = _describe(arguments, leaves)
        self.call = call
        self._inputs = {path for path, leaf in leaves if isinstance(leaf, StagedNumber)}
        self._state.update(arguments.kwargs.get(ATTRIBUTES, ()))
        nearest: dict[str, tuple[str, str]] | None = None
        for old in self.traces.values():
            found = _differences(old, new)
            if nearest is None or len(found) <= len(nearest):  # of equally near ones, the latest
                nearest = found
        if nearest is None:
            self.reason = "there was no trace yet"
        else:
            texts = [f"argument {path!r} is {now}, and was {before} before" for path, (before, now) in nearest.items()]
            self.reason = "; ".join([*texts[:_SHOWN], *[f"{len(texts) - _SHOWN} more"] * (len(texts) > _SHOWN)]) or (
                "its trace had been dropped")
            self.differing.update(nearest.keys())
            if len(nearest) == 1:
                (path,) = nearest
                if path in new and new[path].number:
                    self.numbers[path] += 1
            lists = {path[:path.rfind("[")] if _ABSENT in sides else "" for path, sides in nearest.items()}
            if len(lists) == 1 and all(re.search(r"\[\d+\]$", path) for path in nearest):
                self.lengths.update(lists - {""})
        self.traces[concrete] = new

    def remove(self, concrete: Any) -> None:
        self.traces.pop(concrete, None)

    def explain(self, calls: int, traces: int, made: int) -> str:
        lines = [f"{self.name}: {count(calls, 'call')}, traced {count(made, 'time')}, {count(traces, 'trace')} kept"]
        if not calls:
            lines.append("    it was not called yet")
        elif self.call == calls:
            lines.append(f"    the last call was traced: {self.reason}")
        else:
            lines.append("    the last call used a trace that was there")
            if self.reason and made > 1:
                lines.append(f"    the last trace was made because {self.reason}")
        for path, _ in self.numbers.most_common(1):
            if path not in self._inputs:
                lines.append(f"    {self._remedy(path)}")
        return "\n".join(lines)

    def warn_of_storms(self, fn: Any) -> None:
        for path, times in self.lengths.items():
            if times + 1 >= _STORM:
                self._warn(fn, path, f"{self.name} was traced {times + 1} times because {path!r} has another length"
                           " each time", "Pass its items as one tensor, for example by rt.stack; or add what the"
                           " function returns to it, after the call.")
        for path, times in self.numbers.items():
            if times + 1 >= _STORM:
                self._warn(fn, path, f"{self.name} was traced {times + 1} times because argument {path!r} is another "
                           "Python number each time", self._remedy(path))

    def warn_of_eviction(self, fn: Any, limit: int) -> None:
        for path, _ in self.differing.most_common(1):
            self._warn(fn, "max_traces", f"{self.name} has more than {limit} traces, mostly because argument {path!r} "
                       "differs; the oldest are dropped",
                       "See explain(). Pass a tensor instead of a Python value, or raise max_traces.")

    def _remedy(self, path: str) -> str:
        if path in self._state:
            return "Keep a tensor there: then one trace serves all values."
        return f"Pass a tensor, for example rt.constant({path}): then one trace serves all values."

    def _warn(self, fn: Any, key: str, what: str, remedy: str) -> None:
        if key in self._warned or current_graph() is not None:  # what a caller's trace contains is traced once
            return
        self._warned.add(key)
        position = user_position()
        text = f"{what}. {remedy}"
        if position is not None:
            text = format_error(position.filename, position.lineno, position.col, what, remedy)
            warnings.warn_explicit(RetracingWarning(text), None, position.filename, position.lineno)
        else:
            warnings.warn(RetracingWarning(text), stacklevel=2)


def _describe(call: Call, leaves: list[tuple[str, Any]]) -> dict[str, _Leaf]:
    found: dict[str, _Leaf] = {}
    variables: dict[int, str] = {}
    for path, leaf in leaves:
        if call.number_of(leaf) is not None:
            first = variables.setdefault(id(leaf), path)
            kind = "trainable " if leaf.trainable else ""
            found[path] = _Leaf(f"a {kind}variable {leaf.type}" if first == path else f"the variable {first!r}", False)
            continue
        if is_leaf(leaf):
            shape = list(leaf.shape)
            found[path] = _Leaf(f"{_dtype(leaf)}[{','.join('?' if d is None else str(d) for d in shape)}]", False)
            continue
        text = repr(leaf)
        number = isinstance(leaf, (int, float, complex)) and not isinstance(leaf, bool)
        found[path] = _Leaf(text if len(text) <= 60 else text[:57] + "...", number)
    return found


def _dtype(leaf: Any) -> str:
    return str(leaf.dtype.name) if not isinstance(leaf, TensorSpec) else leaf.dtype.name


def _differences(old: dict[str, _Leaf], new: dict[str, _Leaf]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for path in {**old, **new}:
        before, now = old.get(path), new.get(path)
        if before != now:
            found[path] = (before.text if before else _ABSENT, now.text if now else _ABSENT)
    return found
