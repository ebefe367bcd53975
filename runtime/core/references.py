"""Hashable references to tensors and variables."""
from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Reference"]

T = TypeVar("T")


class Reference(Generic[T]):
    """A hashable reference to an unhashable object: the result of `Tensor.ref()` (`tf.Tensor.ref`)."""

    __slots__ = ("__weakref__", "_object")

    def __init__(self, object: T) -> None:
        self._object = object

    def deref(self) -> T:
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"
