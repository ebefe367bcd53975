"""Python numbers among the arguments of a traced function that are inputs of the graph, with 64 bits.

A single number is one input; so are the numbers of a list of more than `_FEWEST`, or of all rows of a list of lists.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from runtime.core.tensor import EagerTensor
from runtime.function.arguments.argument_structure import holds_numbers
from runtime.function.arguments.number_state import StagedNumber, array_of_numbers, number_of
from runtime.ops.lists import list_from_tensor
from runtime.staging.containers.row_table import RowItems, rows_of
from runtime.staging.values.list import StagedItems

__all__ = ["ArgumentNumber", "ArgumentNumbers", "ArgumentRow", "column_of", "matrix_of"]

_FEWEST: Final = 16
"""Lists of at most this many numbers have one input for each number."""


class ArgumentNumber(StagedNumber):
    """A number that is an argument; the traced function receives the number itself."""

    __slots__ = ()

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return number_of(leaves[0])


class ArgumentNumbers:
    """The numbers of a list, or of the rows of one, as a tensor of int64 or float64."""

    __slots__ = ("rows", "tensor")

    def __init__(self, numbers: Any) -> None:
        self.tensor = EagerTensor(numbers)
        self.rows: list[RowItems] = []  # set by the trace that has these as inputs

    def __leaves__(self) -> Sequence[Any]:
        return [self.tensor]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return StagedItems((list_from_tensor(number_of(leaves[0])),))

    def __repr__(self) -> str:
        return f"{self.tensor.type} of numbers"


class ArgumentRow:
    """One of the rows of a list of lists of numbers. The first row holds the input for all rows."""

    __slots__ = ("numbers", "place")

    def __init__(self, numbers: ArgumentNumbers, place: int) -> None:
        self.numbers, self.place = numbers, place

    @property
    def __static__(self) -> Any:
        """The part of the cache key besides the leaves."""
        return self.place

    def __leaves__(self) -> Sequence[Any]:
        return [] if self.place else [self.numbers.tensor]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        if not self.place:
            self.numbers.rows = rows_of(number_of(leaves[0]))
        return self.numbers.rows[self.place]

    def __repr__(self) -> str:
        return repr(self.numbers)


ArgumentNumber.__name__, ArgumentNumbers.__name__, ArgumentRow.__name__ = "number", "numbers", "numbers"  # in messages


def column_of(x: Any) -> ArgumentNumbers | None:
    """The numbers of a list, if they are floats or 64-bit ints; otherwise None."""
    if not (type(x) is list and len(x) > _FEWEST):
        return None
    numbers = array_of_numbers(x)
    return None if numbers is None else ArgumentNumbers(numbers)


def matrix_of(x: Any) -> ArgumentNumbers | None:
    """The numbers of a list of lists of equal length, if they are floats or 64-bit ints; otherwise None."""
    if not (type(x) is list and len(x) > 1 and type(x[0]) is list and x[0]):
        return None
    width = len(x[0])
    if width * len(x) <= _FEWEST or len(set(map(id, x))) < len(x) or not all(
            type(row) is list and len(row) == width and holds_numbers(row) for row in x):
        return None
    numbers = array_of_numbers([*chain.from_iterable(x)])
    return None if numbers is None else ArgumentNumbers(numbers.reshape(len(x), width))
