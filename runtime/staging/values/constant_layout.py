"""The layout of elements that are what they are by identity: members of an Enum, functions and classes."""
from __future__ import annotations

import enum
import itertools
import weakref
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, GenericAlias, ModuleType
from typing import Any, Final, get_origin

from runtime.core.positions import staging_error
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, int32
from runtime.ops.logic import less
from runtime.ops.math import cast
from runtime.ops.reduction import reduce_sum
from runtime.staging.values.element_layout import LeafLayout
from runtime.staging.values.enum_members import is_member
from runtime.staging.values.select import Select, alternatives_of, choose

__all__ = ["Constants", "constants_of"]

_TYPE: Final = TensorType(int32)


class Constants(LeafLayout):
    """Values that are what they are by identity, each stored as its number (`_number_of`). `values`: those that the
    elements may be, by number."""

    def __init__(self, values: Mapping[int, Any]) -> None:
        self.values = {number: values[number] for number in sorted(values)}
        self.of = tuple(self.values)

    def has(self, other: Constants | None) -> bool:
        """Whether these are among the values."""
        return other is not None and other.values.keys() <= self.values.keys()

    def joined(self, other: Constants) -> Constants:
        return Constants({**self.values, **other.values})

    def check(self, x: Any) -> None:
        if not self.has(constants_of(x)):
            raise ValueError(f"the structures differ: {x!r} is none of {self}")

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        if isinstance(x, Select):
            values, at = alternatives_of(x)
            return [choose([*map(_number_of, values)], at)]
        return [convert_to_tensor(_number_of(x), int32)]

    def types(self, x: Any) -> list[TensorType]:
        return [_TYPE]

    def value(self, columns: Sequence[Any]) -> Any:
        at = reduce_sum(cast(less(convert_to_tensor(self.of, int32), columns[0]), int32))
        return choose([*self.values.values()], at)

    def shown(self, columns: Sequence[int]) -> Text:
        raise staging_error("the text of a list of members of an Enum, functions or classes is asked for",
                            "Format the elements one by one.")

    def __repr__(self) -> str:
        return " or ".join(dict.fromkeys(f"a {type(value).__name__}" for value in self.values.values()))


def constants_of(x: Any) -> Constants | None:
    """The layout of a member of an Enum that is no number or text, a function of a module, a class, or one of several
    of these; None for other values."""
    values = alternatives_of(x)[0] if isinstance(x, Select) else (x,)
    return Constants({_number_of(value): value for value in values}) if all(map(_is_constant, values)) else None


def _is_constant(x: Any) -> bool:
    if isinstance(x, FunctionType):
        return "<locals>" not in x.__qualname__  # others may be made anew by each iteration
    if isinstance(x, BuiltinFunctionType):
        return isinstance(x.__self__, ModuleType | None)
    return isinstance(x, (type, GenericAlias)) or get_origin(x) is not None or (
        isinstance(x, enum.Enum) and not is_member(x))


_numbers: Final[dict[int, tuple[weakref.ref[Any], int]]] = {}
"""Values and their numbers, by the ids of the values. They are those of the process and not of a trace, since functions
that are traced one by one hand lists to each other."""
_next: Final = itertools.count()


def _number_of(value: Any) -> int:
    known, number = _numbers.get(id(value), (None, 0))
    if known is None or known() is not value:
        number = next(_next)
        _numbers[id(value)] = weakref.ref(value), number
    return number
