"""Ops on dataset iterators. An iterator is a param, not an operand; all of the ops are effects."""
from __future__ import annotations

from typing import Any, Final, Protocol

from runtime.core.op import Op
from runtime.core.types import TensorType, Type

__all__ = ["NEXT", "START", "Iteration"]


class Iteration(Protocol):
    """The interface of iterators as used by the ops."""

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of the arrays of an element."""

    def start(self, *sources: Any) -> None:
        """Start in the current thread, with these values of the dataset's sources."""

    def advance(self) -> tuple[Any, ...]:
        """The arrays of the next element. OutOfRangeError after the last."""


def _start_kernel(*sources: Any, iterator: Iteration) -> None:
    iterator.start(*sources)


def _start_rule(*sources: Type, iterator: Iteration) -> tuple[()]:
    return ()


def _next_kernel(*, iterator: Iteration) -> tuple[Any, ...]:
    return iterator.advance()


def _next_rule(*, iterator: Iteration) -> tuple[TensorType, ...]:
    return iterator.types


START: Final = Op("iterator_start", _start_kernel, _start_rule, effect=True, errors=(Exception,),
                  doc="`iter(dataset)` in a graph.")
NEXT: Final = Op("iterator_next", _next_kernel, _next_rule, effect=True, errors=(Exception,),
                 doc="`next(iterator)`.")
