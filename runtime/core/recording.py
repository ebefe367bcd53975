"""Recorders of eager computations, such as open gradient tapes, by thread."""
from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime.core.op import Op
from runtime.core.variable_bindings import NO_VARIABLES

__all__ = ["Recorder", "announce", "forget_everywhere", "record", "record_call", "record_everywhere", "record_read",
           "record_taken", "recorders", "recording"]


class Recorder:
    """Is notified of each op, of reads of variables and of calls of traced functions; this base class ignores them."""

    def begins(self, op: Op) -> None:
        """Called before `op` is applied."""

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        """Called after `op` was applied. Inputs that are not tensors or lists were converted to the arrays in the same
        places."""

    def read(self, variable: Any, tensor: Any) -> None:
        """Called when the value `tensor` of a variable was read."""

    def called(self, function: Any, leaves: Sequence[Any], variables: Mapping[int, Any]) -> list[Any] | None:
        """The results of a call of a traced function (`runtime.function.concrete`), if the call has to be recorded;
        otherwise None, without running it. `variables`: those that the call passes for placeholders, by the ids of
        these."""
        return None

    def taken(self, tensor: Any) -> None:
        """Called when Python or NumPy takes the value of a tensor, as a number or an array."""


recorders: Final[dict[int, tuple[Recorder, ...]]] = {}
"""By thread: its recorders, the last opened last; under `EVERYWHERE` those for all threads. Threads without recorders
have no entry."""
EVERYWHERE: Final = 0


def record_everywhere(recorder: Recorder) -> None:
    """Notify `recorder` of events in any thread, from now on."""
    recorders[EVERYWHERE] = (*recorders.get(EVERYWHERE, ()), recorder)


def forget_everywhere(kind: type[Recorder]) -> None:
    """Remove the recorders of this class that are for all threads."""
    rest = tuple([x for x in recorders.pop(EVERYWHERE, ()) if not isinstance(x, kind)])
    if rest:
        recorders[EVERYWHERE] = rest


def recording() -> tuple[Recorder, ...]:
    """The recorders of this thread."""
    own = recorders.get(threading.get_ident(), ())
    return (*recorders[EVERYWHERE], *own) if EVERYWHERE in recorders else own


def record(
    op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: Any, params: Mapping[str, Any],
) -> None:
    """Notify this thread's recorders of an op."""
    for recorder in recording():
        recorder.computed(op, inputs, arrays, outputs if isinstance(outputs, tuple) else (outputs,), params)


def announce(op: Op) -> None:
    """Notify this thread's recorders that an op begins."""
    for recorder in recording():
        recorder.begins(op)


def record_read(variable: Any, tensor: Any) -> None:
    """Notify this thread's recorders of a read of a variable."""
    for recorder in recording():
        recorder.read(variable, tensor)


def record_taken(tensor: Any) -> None:
    """Notify this thread's recorders that the value of a tensor is taken."""
    for recorder in recording():
        recorder.taken(tensor)


def record_call(
    function: Any, leaves: Sequence[Any], variables: Mapping[int, Any] = NO_VARIABLES
) -> list[Any] | None:
    """The results of a call if a recorder of this thread records it; otherwise None."""
    for recorder in reversed(recording()):
        results = recorder.called(function, leaves, variables)
        if results is not None:
            return results
    return None
