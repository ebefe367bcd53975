"""Members of an `enum.Enum` that are numbers or text, too: as state they stay members, unless they meet others."""
from __future__ import annotations

import enum
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from runtime.core.tensor import Tensor
from runtime.staging.values.iterables import indexable

__all__ = [
    "NumberMember", "asked_by_flags", "flag_methods", "is_member", "is_number_member", "number_methods", "numbers_of"]


class NumberMember:
    """Base class of one of several members that are numbers, for which builtins take their numbers."""

    __slots__ = ()


def is_member(x: Any) -> bool:
    """Whether a value is a member of an Enum that is a number or text, or one of several."""
    kind = getattr(type(x), "__stands_for__", type(x))
    return isinstance(kind, enum.EnumMeta) and issubclass(kind, (int, float, str))


def is_number_member(x: Any) -> bool:
    """Whether a value is one of several members of an Enum that are numbers."""
    return isinstance(x, NumberMember)


def numbers_of(members: Iterable[Any], at: Any) -> Tensor:
    """The number of the member at an index, as a weak scalar."""
    found: Tensor = indexable([float(x) if isinstance(x, float) else int(x) for x in members], "list")(at)
    return found


def number_methods(kind: Any, names: Iterable[str], number: Callable[[Any], Tensor]) -> dict[str, Any]:
    """The methods of one of several members that `int` or `float` defines: those of its number."""
    if not isinstance(kind, enum.EnumMeta) or not issubclass(kind, (int, float)):
        return {}
    base = int if issubclass(kind, int) else float
    own = [name for name in names if name not in _OF_TEXT and getattr(kind, name, None) is getattr(base, name, None)]
    return {"__tensor__": number} | {name: _of_number(name, number) for name in own}


_OF_FLAGS: Final = {"__or__": operator.or_, "__and__": operator.and_, "__xor__": operator.xor}


def flag_methods(kind: Any, of_both: Callable[[Any, Any, Callable[[Any, Any], Any]], Any]) -> dict[str, Any]:
    """The operators of one of several members of a Flag that is no number. Their result is a member, too, which Python
    finds for each pair of members."""
    if not isinstance(kind, enum.EnumMeta) or not issubclass(kind, enum.Flag) or issubclass(kind, int):
        return {}
    found: dict[str, Any] = {}
    if kind.__contains__ is enum.Flag.__contains__:
        found["__contains__"] = lambda self, other: of_both(self, other, operator.contains)
    for name, operate in _OF_FLAGS.items():
        if getattr(kind, name) is getattr(enum.Flag, name):
            found[name] = lambda self, other, operate=operate: of_both(self, other, operate)
            found[f"__r{name[2:]}"] = lambda self, other, operate=operate: of_both(other, self, operate)
    return found


def asked_by_flags() -> bool:
    """Whether an operator of a Flag asks for the class of its other operand, which is one of several members: it is to
    leave the result to that."""
    return sys._getframe(3).f_globals is vars(enum)  # below the property and `Select.__getattribute__`


_OF_TEXT = frozenset({"__repr__", "__str__", "__format__"})


def _of_number(name: str, number: Callable[[Any], Tensor]) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(number(self), name)(*args)

    method.__name__ = name
    return method
