"""The layout of elements that are what they are by identity: members of an Enum, functions and classes; and of
keys that are one of several known texts."""
from __future__ import annotations

import enum
import itertools
import weakref
from collections.abc import Iterable, Sequence
from types import BuiltinFunctionType, FunctionType, GenericAlias, ModuleType
from typing import Any, Final, get_origin

from runtime.core.constant_arrays import constant_array
from runtime.core.tensor import Tensor
from runtime.core.text import TEXT, Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, int32, type_of_array, uint8
from runtime.ops.gather import gather
from runtime.ops.lists import (
    ListValue,
    list_append,
    list_from_tensor,
    list_get,
    list_length,
    list_reserve,
    list_stack,
)
from runtime.ops.logic import equal, less
from runtime.ops.math import cast
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import expand_dims
from runtime.ops.strings import as_bytes
from runtime.staging.elements.element_layout import STRING, LeafLayout
from runtime.staging.elements.select import Select, alternatives_of, choose
from runtime.staging.values.enum_members import is_member
from runtime.staging.values.iterables import StagedRange, first_true, stacked
from runtime.staging.values.list import fold
from runtime.staging.values.strings import place_of_text, text_among, text_at

__all__ = ["Constants", "Numbers", "Words", "classes_of_members", "constants_of", "words_of"]

_TYPE: Final = TensorType(int32)
_UTF8: Final = TensorType(uint8, (None,))
_NONE: Final = -1
"""The number of no value."""


class Constants(LeafLayout):
    """Values that are what they are by identity, each stored as its number (`_number_of`). `values`: those that the
    elements may be, by number."""

    spec = TEXT

    def __init__(self, values: Iterable[Any]) -> None:
        numbers = {_number_of(value): value for value in values}
        self.values = {number: numbers[number] for number in sorted(numbers)}
        self.of = tuple(self.values)

    plain_type: TensorType
    """The type of the column that holds the values if they are stored as `plain`."""

    @staticmethod
    def layout_of(x: Any) -> Constants | None:
        """The layout of such a value; None for other values."""
        return constants_of(x)

    @property
    def plain(self) -> Any:
        """The structure in which the values are stored beside others; this layout if they cannot be."""
        return self

    def made_plain(self, column: ListValue) -> ListValue:
        """The column of a list of such values in that structure."""
        raise NotImplementedError

    def has(self, other: Constants | None) -> bool:
        """Whether these are among the values."""
        return other is not None and other.values.keys() <= self.values.keys()

    def joined(self, other: Constants) -> Constants:
        """The layout of the values of both. ValueError if these are not of one kind."""
        if isinstance(self, Words) is not isinstance(other, Words):
            raise ValueError(f"the structures differ: {self} and {other}")
        return (type(self) if type(self) is type(other) else Constants)([*self.values.values(), *other.values.values()])

    def check(self, x: Any) -> None:
        if not self.has(self.layout_of(x)):
            raise ValueError(f"the structures differ: {x!r} is none of {self}")

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        values, at = _among(x)
        return [convert_to_tensor(_number_of(x), int32) if at is None else choose([*map(_number_of, values)], at)]

    def number_of(self, x: Any) -> Any:
        """The number of what equals `x` among these values, or any other number; None if nothing can."""
        return None if self.layout_of(x) is None else self.columns(x, [_TYPE])[0]

    def types(self, x: Any) -> list[TensorType]:
        return [_TYPE]

    def value(self, columns: Sequence[Any]) -> Any:
        return choose([*self.values.values()], self._place(columns[0]))

    def _place(self, number: Any) -> Any:
        """The index among the values of the one with that number."""
        return reduce_sum(cast(less(convert_to_tensor(self.of, int32), number), int32))

    def shown_columns(self, columns: Sequence[ListValue]) -> Sequence[ListValue]:
        return [self._texts(columns[0], [*map(repr, self.values.values())])]

    def _texts(self, column: ListValue, texts: Sequence[str]) -> Any:
        """For each element, that of the texts that belongs to its value."""
        def add(i: Any, found: Any) -> tuple[Any]:
            return (list_append(found, as_bytes(text_at(texts, self._place(list_get(column, i))))),)

        return fold(StagedRange(list_length(column)), add, (list_reserve(0, _UTF8),), ("texts",))[0]

    def __repr__(self) -> str:
        return " or ".join(dict.fromkeys(f"a {type(value).__name__}" for value in self.values.values()))


class Words(Constants):
    """Text that is one of several known texts, as a key of a dict or an item of a set."""

    plain = STRING
    plain_type = _UTF8

    def made_plain(self, column: ListValue) -> Any:
        return self._texts(column, [*self.values.values()])

    @staticmethod
    def layout_of(x: Any) -> Constants | None:
        return words_of(x)

    def number_of(self, x: Any) -> Any:
        found = super().number_of(x)
        if found is not None or not isinstance(x, (str, Text)):
            return found
        if isinstance(x, str):  # a member of an Enum
            return super().number_of(str.__str__(x))
        return choose([*self.of, _NONE], place_of_text([*self.values.values()], x))


class _Members(Constants):
    """Members of Enums that are numbers or text."""

    def equal_to(self, x: Any) -> Any:
        """`number_of` what is no such member: a number or text."""
        raise NotImplementedError

    def number_of(self, x: Any) -> Any:
        return super().number_of(x) if classes_of_members(constants_of(x)) == self.kinds else self.equal_to(x)

    @property
    def kinds(self) -> frozenset[type]:
        """The classes of the values."""
        return frozenset(map(type, self.values.values()))


class Numbers(_Members):
    """Members of Enums that are numbers, such as those of an `IntEnum`."""

    plain = None

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.numbers = [float(x) if isinstance(x, float) else int(x) for x in self.values.values()]
        of_all = type_of_array(*constant_array(self.numbers))
        self.plain_type = TensorType(of_all.dtype, weak=of_all.weak)

    def equal_to(self, x: Any) -> Any:
        if isinstance(x, (int, float)):
            return next((number for number, value in self.values.items() if value == x), None)
        if not hasattr(type(x), "__tensor__") and not isinstance(x, Tensor):
            return None
        return choose([*self.of, _NONE], first_true(equal(stacked(self.numbers), convert_to_tensor(x))))

    def made_plain(self, column: ListValue) -> Any:
        smaller = less(convert_to_tensor(self.of, int32), expand_dims(list_stack(column), 1))
        return list_from_tensor(gather(stacked(self.numbers), reduce_sum(cast(smaller, int32), 1)))


class TextMembers(_Members):
    """Members of Enums that are text, such as those of a `StrEnum`."""

    plain = STRING
    plain_type = _UTF8

    @property
    def texts(self) -> list[str]:
        return [*map(str.__str__, self.values.values())]

    def equal_to(self, x: Any) -> Any:
        if isinstance(x, str):
            return next((number for number, text in zip(self.of, self.texts, strict=True) if text == x), None)
        return choose([*self.of, _NONE], place_of_text(self.texts, x)) if isinstance(x, Text) else None

    def made_plain(self, column: ListValue) -> Any:
        return self._texts(column, self.texts)


def constants_of(x: Any) -> Constants | None:
    """The layout of a member of an Enum, a function of a module, a class, or one of several of these; None for other
    values."""
    values = alternatives_of(x)[0] if isinstance(x, Select) else (x,)
    if not all(map(_is_constant, values)):
        return None
    if not all(map(is_member, values)):
        return Constants(values)
    are_text = [isinstance(value, str) for value in values]
    return TextMembers(values) if all(are_text) else Constants(values) if any(are_text) else Numbers(values)


def classes_of_members(layout: Any) -> frozenset[type]:
    """The Enums of the members that are numbers or text of which a layout is; empty for other layouts."""
    return layout.kinds if isinstance(layout, _Members) else frozenset()


def words_of(x: Any) -> Words | None:
    """The layout of text of which the graph knows which of several known texts it is; None for other values."""
    found = _among(x)[0]
    return Words(found) if all([type(each) is str for each in found]) else None


def _among(x: Any) -> tuple[Sequence[Any], Any]:
    """The values that `x` may be, and the index of the one that it is; itself, and None, if that is known."""
    if isinstance(x, Select):
        return alternatives_of(x)
    among = text_among(x)
    return ((x,), None) if among is None else (among.texts, among.place)


def _is_constant(x: Any) -> bool:
    if isinstance(x, FunctionType):
        return "<locals>" not in x.__qualname__  # others may be made anew by each iteration
    if isinstance(x, BuiltinFunctionType):
        return isinstance(x.__self__, ModuleType | None)
    return isinstance(x, (type, GenericAlias)) or get_origin(x) is not None or (
        isinstance(x, enum.Enum))


_numbers: Final[dict[int, tuple[weakref.ref[Any], int]]] = {}
"""Values, or the Enums of members, and the numbers of the values, by the ids of these. The numbers are those of the
process and not of a trace, since functions that are traced one by one hand lists to each other."""
_words: Final[dict[str, int]] = {}
"""Likewise the numbers of texts."""
_next: Final = itertools.count()


def _number_of(value: Any) -> int:
    if type(value) is str:
        return _words[value] if value in _words else _words.setdefault(value, next(_next))
    holder = type(value) if isinstance(value, enum.Enum) else value  # numbers have no weak references
    known, number = _numbers.get(id(value), (None, 0))
    if known is None or known() is not holder:
        number = next(_next)
        _numbers[id(value)] = weakref.ref(holder), number
    return number
