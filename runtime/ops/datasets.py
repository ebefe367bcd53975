"""Ops on dataset iterators. An iterator is a param, not an operand; all of the ops are effects."""
from __future__ import annotations

from typing import Any, Final, Protocol

from runtime.core.op import Op
from runtime.core.types import TensorType, Type, bool_

__all__ = ["NEXT", "NEXT_OR_NONE", "START", "Iteration"]


class Iteration(Protocol):
    """The interface of iterators as used by the ops."""

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of the arrays of an element."""

    def start(self, *sources: Any) -> None:
        """Start in the current thread, with these values of the dataset's sources."""

    def advance(self) -> tuple[Any, ...]:
        """The arrays of the next element. OutOfRangeError after the last."""

    def advance_or_none(self) -> tuple[Any, ...]:
        """Whether there is a next element, and its arrays, or zeros."""


def _start_kernel(*sources: Any, iterator: Iteration) -> None:
    iterator.start(*sources)


def _start_rule(*sources: Type, iterator: Iteration) -> tuple[()]:
    return ()


def _next_kernel(*, iterator: Iteration) -> tuple[Any, ...]:
    return iterator.advance()


def _next_rule(*, iterator: Iteration) -> tuple[TensorType, ...]:
    return iterator.types


def _next_or_none_kernel(*, iterator: Iteration) -> tuple[Any, ...]:
    return iterator.advance_or_none()


def _next_or_none_rule(*, iterator: Iteration) -> tuple[TensorType, ...]:
    return TensorType(bool_), *iterator.types


START: Final = Op("iterator_start", _start_kernel, _start_rule, effect=True, errors=(Exception,),
                  doc="`iter(dataset)` in a graph.")
NEXT: Final = Op("iterator_next", _next_kernel, _next_rule, effect=True, errors=(Exception,),
                 doc="`next(iterator)`.")
NEXT_OR_NONE: Final = Op("iterator_next_or_none", _next_or_none_kernel, _next_or_none_rule, effect=True,
                         errors=(Exception,), doc="`next(iterator)`, or that there is none.")
