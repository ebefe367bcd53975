"""Unknown sizes as symbols."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from runtime.core.graph import Graph, Value
from runtime.core.types import ListType

__all__ = ["SMALL", "Numbers", "Shape", "Size", "Symbol", "either", "factors_of", "is_size"]

SMALL: Final = (1 << 31) - 1


class Symbol:
    """An unknown size, or an int computed of sizes. `homes`: the graphs of the values that it is made of. `is_size`: it
    is not negative. `factors`: a number and symbols whose product it is."""

    __slots__ = ("factors", "homes", "is_size", "key")

    @property
    def is_several(self) -> bool:
        """Whether elements of a list have several sizes here."""
        return isinstance(self.key[0], Value) and isinstance(self.key[0].type, ListType)

    def __init__(self, key: Any, homes: frozenset[Graph], is_size: bool,
                 factors: tuple[int, tuple[Symbol, ...]] | None = None) -> None:
        self.key = key
        self.homes = homes
        self.is_size = is_size
        self.factors = factors or (1, (self,))

Size = int | Symbol
Shape = tuple[Size, ...]
Numbers = tuple[Size | None, ...]


def is_size(size: Size | None) -> bool:
    """Whether it is known and not negative."""
    return size.is_size if isinstance(size, Symbol) else size is not None and size >= 0


def factors_of(sizes: Sequence[Size]) -> tuple[int, Counter[Symbol]]:
    """The product of sizes, as a number and symbols."""
    count, symbols = 1, Counter[Symbol]()
    for size in sizes:
        factor, more = (size, ()) if isinstance(size, int) else size.factors
        count *= factor
        symbols.update(more)
    return count, symbols


def either(x: Numbers | None, y: Numbers | None) -> Numbers | None:
    """What the items of a list are, if some are `x` and some `y`; () if there are none, None if nothing is known."""
    return None if x is None or y is None else x or y if not (x and y) or x == y else None
