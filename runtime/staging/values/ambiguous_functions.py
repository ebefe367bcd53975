"""Functions defined in a loop body or branch, where it is unknown which of them a variable refers to."""
from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import Any, NoReturn

from runtime.core.positions import staging_error

__all__ = ["Redefined", "redefined"]


class Redefined:
    """Represents an unknown one of several functions with these code objects, which loops or branches define."""

    def __init__(self, codes: frozenset[CodeType]) -> None:
        self.codes = codes
        self.lineno, self.__name__ = min((code.co_firstlineno, code.co_name) for code in codes)

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise staging_error(
            f"{self.__name__!r} of line {self.lineno} is made anew in each iteration or branch, and here it may be any"
            " of these functions",
            "Call it where it is made, or make it before the loop or branch.")


_of = functools.lru_cache(maxsize=1024)(Redefined)  # equal code sets: one object, so loops reach a fixpoint


def redefined(a: Any, b: Any) -> Redefined | None:
    """The `Redefined` that is the join of two values, if both are functions."""
    codes: frozenset[CodeType] = frozenset()
    for value in (a, b):
        if isinstance(value, Redefined):
            codes |= value.codes
        elif isinstance(value, FunctionType):
            codes |= {value.__code__}
        else:
            return None
    return _of(codes)
