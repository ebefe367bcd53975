"""The static shapes of tensors in a trace whose unknown dimensions the user has not asked for.

A function whose arguments keep changing their sizes is traced with unknown dimensions (`reduce_retracing`). Python code
in it that reads such a dimension, as in `if x.shape[0] == 5`, would get None, where it gets a number in the other
traces: then the function is traced for known shapes instead.
"""
from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any, Final, NoReturn

from autograph.backend import of_trace
from runtime.core.array_mode import TraceAgain
from runtime.core.types import Shape, TensorShape

__all__ = ["NeedsKnownShapes", "is_relaxed", "relaxed", "static_shape"]


class NeedsKnownShapes(TraceAgain):
    """The traced function reads a dimension that is unknown because it is traced for several shapes at once."""

    def __init__(self) -> None:
        super().__init__("an unknown dimension is read in Python")


class _Trace(threading.local):
    is_relaxed = False


_trace: Final = of_trace(_Trace())


class relaxed(AbstractContextManager[None]):
    """Trace a function for several shapes at once: NeedsKnownShapes if it reads a dimension that differs."""

    def __enter__(self) -> None:
        self.before, _trace.is_relaxed = _trace.is_relaxed, True

    def __exit__(self, *_: object) -> None:
        _trace.is_relaxed = self.before


def is_relaxed() -> bool:
    """Whether a function is being traced for several shapes at once."""
    return _trace.is_relaxed


def static_shape(dims: Shape) -> TensorShape:
    """The `shape` of a tensor of the graph."""
    return RelaxedShape(dims) if _trace.is_relaxed and None in dims else TensorShape(dims)


class RelaxedShape(TensorShape):
    """A shape with unknown dimensions, whose rank and known dimensions may be read."""

    __slots__ = ("_all",)

    def __init__(self, dims: Shape) -> None:
        self._all = dims

    @property
    def _dims(self) -> NoReturn:  # type: ignore[override]
        raise NeedsKnownShapes

    @property
    def rank(self) -> int:
        return len(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        found = self._all[index]
        if found is None:
            raise NeedsKnownShapes
        return static_shape(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return repr(TensorShape(self._all))

    def __str__(self) -> str:
        return str(TensorShape(self._all))
