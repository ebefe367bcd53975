"""Staged lists in staged lists: rows whose length only the graph knows, such as those of `[[0] * n for _ in range(m)]`.

An element that is, or has, such a row is a structure with the leaf ROW, which is stored as the tensor of the row's
items. Reading the element gives a staged list again.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.core import pytree
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, as_dtype
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import StagedList, is_staged_list

__all__ = ["EMPTY", "ROW", "as_tensors", "empty_row", "is_row", "leaves_of", "row_type", "with_rows"]


EMPTY: Final = TensorType(as_dtype(bool), (None,), weak=True)
"""The type of the tensor of a row of which no item is known; it adapts to any other."""


class _Row:
    """The leaf of a structure that stands for a row."""

    def __repr__(self) -> str:
        return "a list"


ROW: Final = _Row()


def is_row(x: Any) -> bool:
    """Whether `x` is a staged list of tensors."""
    return is_staged_list(x) and x[0].structure is None and type(x) is list


def empty_row() -> Any:
    """A new row without items, whose type adapts to that of the first one that is added."""
    return StagedList.from_items([], TensorType(EMPTY.dtype, (), weak=True)).owner


def row_type(element: TensorType) -> TensorType:
    """The type of the tensor of a row with elements of that type."""
    return TensorType(element.dtype, (None, *element.shape), element.weak)


def leaves_of(structure: Any, x: Any) -> list[Any]:
    """The leaves of `x`; a list where the structure has a ROW. ValueError or TypeError if the structures differ."""
    if structure is ROW:
        if isinstance(x, (tuple, dict, Tensor, int, float, complex, str, Text)):
            raise ValueError(f"the structures differ: {x!r} is not a list")
        return [x]
    if not (pytree.is_nested(structure) and pytree.is_nested(x)):
        pytree.assert_same_structure(structure, x)
        return [x]
    parts, own = [*pytree.children(structure)], [*pytree.children(x)]
    pytree.assert_same_structure(*[pytree.rebuild(each, [None] * len(children))
                                   for each, children in ((structure, parts), (x, own))])
    return [leaf for part, child in zip(parts, own, strict=True) for leaf in leaves_of(part, child)]


def as_tensors(structure: Any, leaves: Sequence[Any], types: Sequence[TensorType]) -> list[Any]:
    """The leaves with rows as tensors; `types` are those of the leaves."""
    return [_tensor_of(leaf, type) if part is ROW else leaf
            for part, leaf, type in zip(pytree.flatten(structure), leaves, types, strict=True)]


def _tensor_of(row: Any, type: TensorType) -> Any:
    if isinstance(row, list) and not is_staged_list(row):
        row = StagedList.from_items(row, TensorType(type.dtype, type.shape[1:], type.weak))
    return convert_to_tensor(view_of(row))


def with_rows(structure: Any, leaves: Sequence[Any]) -> Any:
    """The element with these leaves: a staged list where the structure has a ROW."""
    return pytree.pack_sequence_as(structure, [
        StagedList.from_tensor(leaf).owner if part is ROW else leaf
        for part, leaf in zip(pytree.flatten(structure), leaves, strict=True)])
