"""Who records what is computed eagerly: gradient tapes, and the like, that are open in a thread."""
from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from runtime.core.op import Op

__all__ = ["EVERYWHERE", "Recorder", "record", "record_call", "record_read", "recorders", "recording"]


class Recorder(Protocol):
    """What is told of each op, of reads of variables and of calls of traced functions."""

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        """`op` was applied. An input that is no tensor or list became the array at its place."""

    def read(self, variable: Any, tensor: Any) -> None:
        """`tensor` is the value of a variable."""

    def called(self, function: Any, leaves: Sequence[Any]) -> list[Any] | None:
        """The results of a call of a traced function (`runtime.function.concrete`) that is to be recorded; None if it
        need not be, and has not run."""


recorders: Final[dict[int, tuple[Recorder, ...]]] = {}
"""By thread, those that record there, the last opened last; and for `EVERYWHERE` those that record in all. Where nobody
does there is no thread in it."""
EVERYWHERE: Final = 0


def recording() -> tuple[Recorder, ...]:
    """Who records in this thread."""
    own = recorders.get(threading.get_ident(), ())
    return (*recorders[EVERYWHERE], *own) if EVERYWHERE in recorders else own


def record(
    op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: Any, params: Mapping[str, Any],
) -> None:
    """Tell who records in this thread."""
    for recorder in recording():
        recorder.computed(op, inputs, arrays, outputs if isinstance(outputs, tuple) else (outputs,), params)


def record_read(variable: Any, tensor: Any) -> None:
    """Tell who records in this thread of the value of a variable."""
    for recorder in recording():
        recorder.read(variable, tensor)


def record_call(function: Any, leaves: Sequence[Any]) -> list[Any] | None:
    """The results of a call, if somebody in this thread records it."""
    for recorder in reversed(recording()):
        results = recorder.called(function, leaves)
        if results is not None:
            return results
    return None
