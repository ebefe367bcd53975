"""Calls of an Enum class with a value that only the graph knows."""
from __future__ import annotations

import enum
from typing import Any, Final

from runtime.core.formatting import message_of
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.ops.effects import raise_unless
from runtime.ops.reduction import reduce_any
from runtime.ops.shape import stack
from runtime.staging.containers.comparison import equals
from runtime.staging.elements.select import Select, choose
from runtime.staging.storage.dict_keys import is_staged_key
from runtime.staging.values.iterables import first_true

__all__ = ["member_of"]

_SAMPLE: Final = 9.25
"""A value that no member has, passed to the class to obtain its message."""


def member_of(cls: Any, /, *args: Any, **keywords: Any) -> Any:
    """`cls(value)`: the member with that value. ValueError at run time if there is none."""
    looks_up = len(args) == 1 and not keywords and current_graph() is not None and not issubclass(cls, enum.Flag) and (
        cls._missing_.__func__ is enum.Enum._missing_.__func__)  # type: ignore[attr-defined]
    if not looks_up or not is_staged_key(args[0]):
        return cls(*args, **keywords)
    (value,) = args
    if isinstance(value, Select) and type(value).__stands_for__ is cls:
        return value
    members = [*cls]
    same = stack([convert_to_tensor(equals(value, member.value)) for member in members])
    raise_unless(reduce_any(same), ValueError(message_of(cls, _SAMPLE, value)))
    return choose(members, first_true(same))
