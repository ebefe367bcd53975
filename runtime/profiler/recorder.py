"""Measurements during an active session: calls of traced functions, and eager ops."""
from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

from autograph.backend import until_gone
from runtime.core.errors import AlreadyExistsError
from runtime.core.op import Op
from runtime.core.positions import located, user_position
from runtime.core.profiling import Session, active, now, setting_up
from runtime.core.recording import Recorder, forget_everywhere, record_everywhere
from runtime.core.tensor import EagerTensor
from runtime.core.trace import open_traces
from runtime.core.variable_bindings import binding
from runtime.function.execution.executors import Timed, arrays_of, tensors_of, timed

__all__ = ["begin", "end"]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.ops: list[tuple[Op, int]] = []


class Profiling(Recorder):
    """Times the calls and ops of all threads, and runs traced functions with timestamps."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._stack = _Stack()

    def begins(self, op: Op) -> None:
        self._stack.ops.append((op, now()))

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        end = now()
        while self._stack.ops:  # the stack may still have ops that raised
            begun, start = self._stack.ops.pop()
            if begun is op:
                size = sum(getattr(x._array, "nbytes", 0) for x in outputs if isinstance(x, EagerTensor))
                self.session.ran(self.session.region("eager", op.name, user_position()), start, end, size)
                return

    def called(self, function: Any, leaves: Sequence[Any], variables: Mapping[int, Any]) -> list[Any] | None:
        function = getattr(function, "general", function)  # variants for other variables run the same code
        run = self._taken(function)
        try:
            with binding(variables) if variables else nullcontext():
                results = run(self.session, arrays_of(leaves))
        finally:
            _idle[id(function)][0].append(run)
        return tensors_of(results, [value.type for value in function.graph.outputs])

    def _taken(self, function: Any) -> Timed:
        """A version of the code with timestamps that no other call is using."""
        with _lock:
            known = _idle.get(id(function))
            if known is None:
                known = _idle[id(function)] = [], until_gone(function, _idle, id(function))
            if known[0]:
                return known[0].pop()
        if hasattr(function, "compile"):  # a call without a profiler would compile, too, so this is part of the profile
            function.compile()
        with setting_up(self.session, f"compile {function.graph.name} with timestamps"):
            return timed(function.optimized, function.executor, function.fast_math)


_idle: Final[dict[int, tuple[list[Timed], object]]] = {}
"""By the id of a traced function, its idle versions with timestamps, so that a second profile finds warm code."""
_lock: Final = threading.Lock()


def begin() -> Session:
    """Start a new session. AlreadyExistsError if one is active."""
    if active.session is not None:
        raise located(AlreadyExistsError("another profiler is running: a process has at most one at a time"))
    session = Session()
    active.session = session
    open_traces[~id(session)] = None  # makes each call go through Python
    record_everywhere(Profiling(session))
    return session


def end(session: Session) -> None:
    """End a session: stop measuring."""
    forget_everywhere(Profiling)
    open_traces.pop(~id(session), None)
    active.session = None
    session.end = now()
