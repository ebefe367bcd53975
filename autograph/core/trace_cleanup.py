"""State of a thread while it traces, and how it becomes what it was whatever ends the trace.

A signal's handler may raise an exception, such as KeyboardInterrupt, where a Python function begins, after a call of
one in C, and where a loop goes on. Between there and the next such place nothing interrupts. So a `with` may not get to
the `__exit__` of a class of Python, and a `finally` not to its end. Who begins a trace therefore puts back all state,
in a `finally`, twice: one signal cannot meet both.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["at_end", "of_trace", "restored"]

T = TypeVar("T")
L = TypeVar("L", bound=threading.local)
_states: Final[list[threading.local]] = []
_ends: Final[list[Callable[[], object]]] = []


def at_end(end: Callable[[], object]) -> Callable[[], object]:
    """Let `end` be done when the outermost trace of a thread ends. It may be done again, or be left midway before."""
    _ends.append(end)
    return end


def of_trace(state: L) -> L:
    """Let the attributes of `state` be what they were when the outermost trace of a thread ends."""
    _states.append(state)
    return state


class _Here(threading.local):
    traces = False


_here: Final = of_trace(_Here())


def restored(trace: Callable[[], T]) -> T:
    """The result of `trace`, after which this thread is as it was."""
    if _here.traces:
        return trace()
    before = [(state, dict(vars(state))) for state in _states]
    try:
        try:
            _here.traces = True
            return trace()
        finally:
            _restore(before)
    finally:
        _restore(before)


def _restore(before: list[tuple[threading.local, dict[str, Any]]]) -> None:
    for end in _ends:
        end()
    for state, attributes in before:
        for name in list(vars(state)):  # also what is as it was: to set it may do more, and have been left midway
            setattr(state, name, attributes[name] if name in attributes else getattr(type(state), name))
