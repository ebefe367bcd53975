"""Thread state while tracing, and how it is restored however the trace ends.

A signal handler may raise an exception, such as KeyboardInterrupt, where a Python function begins, after a call of a C
function, and at the end of a loop's iteration; nothing interrupts between these points. So the `__exit__` of a Python
class may not be reached, and a `finally` may be left early. The outermost trace therefore restores all state twice in a
`finally`: one signal cannot interrupt both.
"""
from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["at_end", "of_trace", "restored"]

T = TypeVar("T")
L = TypeVar("L", bound=threading.local)
_TABLES: Final = (dict, list, set, Counter)
_states: Final[list[threading.local]] = []
_ends: Final[list[Callable[[], object]]] = []


def at_end(end: Callable[[], object]) -> Callable[[], object]:
    """Call `end` when the outermost trace of a thread ends. It may be called twice: the first call may have been
    interrupted."""
    _ends.append(end)
    return end


def of_trace(state: L) -> L:
    """Restore the attributes of `state`, and the contents of those that are tables, when the outermost trace of a
    thread ends: they may keep graphs alive."""
    _states.append(state)
    return state


class _Here(threading.local):
    traces = False


_here: Final = of_trace(_Here())


def restored(trace: Callable[[], T]) -> T:
    """The result of `trace`; afterwards the registered state of this thread is as before."""
    if _here.traces:
        return trace()
    before = {state: {name: copy.copy(value) if type(value) in _TABLES else value
                      for name, value in vars(state).items()} for state in _states}
    try:
        try:
            _here.traces = True
            return trace()
        finally:
            _restore(before)
    finally:
        _restore(before)


def _restore(before: dict[threading.local, dict[str, Any]]) -> None:
    for end in _ends:
        end()
    for state in _states:
        attributes = before[state] if state in before else vars(type(state)())  # else the trace loaded its module
        for name in list(vars(state)):  # unchanged ones, too: an interrupt may have cut short the effects of a setter
            setattr(state, name, attributes[name] if name in attributes else getattr(type(state), name))
