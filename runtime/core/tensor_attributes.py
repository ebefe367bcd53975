"""Attributes that a library stores on tensors, such as Keras' masks: what it has changed there is undone with the nodes
when a body is traced again."""
from __future__ import annotations

import threading
from typing import Any, Final

from autograph.backend import ambient, of_trace
from runtime.core.graph import COUNT

__all__ = ["Attributes", "undo_after"]


class _Trace(threading.local):
    def __init__(self) -> None:
        self.changes: list[tuple[int, Any, Any]] = []
        """A number as nodes have, which tells when it was, the tensor, and its mask before."""


_trace: Final = of_trace(_Trace())


class Attributes:
    """The attributes, as a base class of tensors; None and to have none is one."""

    __slots__ = ()
    _mask: Any

    @property
    def _keras_mask(self) -> Any:
        return getattr(self, "_mask", None)

    @_keras_mask.setter
    def _keras_mask(self, mask: Any) -> None:
        if ambient.backend is not None:
            _trace.changes.append((next(COUNT), self, self._keras_mask))
        self._mask = mask


def undo_after(number: int) -> None:
    """Undo the changes made after the node with that number, which the trace removes."""
    changes = _trace.changes
    while changes and changes[-1][0] > number:
        _, x, mask = changes.pop()
        x._mask = mask
