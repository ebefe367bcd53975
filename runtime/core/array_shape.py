"""The shape of arrays in traced functions."""
from __future__ import annotations

from typing import Any

from runtime.core.types import TensorShape

__all__ = ["ArrayShape"]


class ArrayShape(tuple[Any, ...]):
    """The shape of an array: a tuple, as in NumPy, which has the methods of a TensorShape, too: code written for TF may
    be given an array."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy look for protocols
            raise AttributeError(f"'tuple' object has no attribute {name!r}")
        return getattr(TensorShape(self), name)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return ArrayShape(found) if type(index) is slice else found

    def __radd__(self, other: list[Any]) -> Any:
        return other + TensorShape(self) if isinstance(other, list) else NotImplemented
